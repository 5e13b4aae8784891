// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/disk_tree.h"

#include <absl/strings/str_cat.h>

#include <cstring>
#include <set>
#include <utility>

#include "base/status.h"

namespace arion::crash {
namespace {

std::vector<std::string> Parts(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

absl::Status Missing(const std::string& path) {
  return absl::NotFoundError(absl::StrCat(path, ": No such file or directory"));
}

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t z = (a ^ b) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
  return z ^ (z >> 32);
}

}  // namespace

uint64_t HashBytes(std::string_view bytes, uint64_t seed) {
  uint64_t hash = Mix(seed, bytes.size());
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  uint64_t rest = 0;
  std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
  return Mix(hash, rest) | 1;
}

void PutBytes(std::string* content, uint64_t offset, std::string_view bytes) {
  if (content->size() < offset + bytes.size()) content->resize(offset + bytes.size(), '\0');
  content->replace(offset, bytes.size(), bytes);
}

std::string& Node::Edit() {
  if (content.use_count() > 1) content = std::make_shared<FileBytes>(FileBytes{content->bytes});
  content->hash = 0;
  return content->bytes;
}

absl::StatusOr<uint64_t> Tree::Find(const std::string& path) const {
  uint64_t at = 1;
  for (const std::string& part : Parts(path)) {
    const Node& node = nodes.at(at);
    const auto found = node.entries.find(part);
    if (found == node.entries.end()) return Missing(path);
    at = found->second;
  }
  return at;
}

absl::StatusOr<Tree::Place> Tree::FindPlace(const std::string& path) const {
  std::vector<std::string> parts = Parts(path);
  if (parts.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": is the root"));
  Place place{1, parts.back()};
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const auto& entries = nodes.at(place.directory).entries;
    const auto found = entries.find(parts[i]);
    if (found == entries.end() || !nodes.at(found->second).is_directory) return Missing(path);
    place.directory = found->second;
  }
  return place;
}

void Tree::KeepReachable() {
  std::set<uint64_t> reached = {1};
  std::vector<uint64_t> stack = {1};
  while (!stack.empty()) {
    const uint64_t at = stack.back();
    stack.pop_back();
    for (const auto& [name, inode] : nodes.at(at).entries)
      if (reached.insert(inode).second) stack.push_back(inode);
  }
  for (auto it = nodes.begin(); it != nodes.end();)
    it = reached.contains(it->first) ? std::next(it) : nodes.erase(it);
  next_inode = *reached.rbegin() + 1;
}

Tree Tree::Copied() const {
  constexpr uint64_t kFurther = 1000;
  Tree copy;
  copy.next_inode = next_inode + kFurther;
  copy.next_birth_nanos = next_birth_nanos + 3'600'000'000'000;
  const auto moved = [](uint64_t inode) { return inode == 1 ? 1 : inode + kFurther; };
  for (const auto& [number, node] : nodes) {
    Node& to = copy.nodes[moved(number)];
    to = node;
    to.birth_nanos = copy.next_birth_nanos++;
    for (auto& [name, inode] : to.entries) inode = moved(inode);
  }
  return copy;
}

uint64_t Tree::Hash() const {
  uint64_t hash = 0;
  for (const auto& [number, node] : nodes) {
    hash = Mix(hash, number);
    for (const auto& [name, inode] : node.entries) hash = HashBytes(name, Mix(hash, inode));
    if (node.is_directory) continue;
    hash = Mix(hash, static_cast<uint64_t>(node.birth_nanos));
    if (node.content->hash == 0) node.content->hash = HashBytes(node.content->bytes, 1);
    hash = Mix(hash, node.content->hash);
  }
  return hash;
}

std::string Tree::ToString() const {
  std::string text;
  std::vector<std::pair<std::string, uint64_t>> stack = {{"", 1}};
  while (!stack.empty()) {
    const auto [path, number] = stack.back();
    stack.pop_back();
    const Node& node = nodes.at(number);
    if (node.is_directory) {
      for (const auto& [name, inode] : node.entries)
        stack.emplace_back(absl::StrCat(path, "/", name), inode);
      continue;
    }
    size_t content = node.content->bytes.size();
    while (content > 0 && node.content->bytes[content - 1] == '\0') --content;
    absl::StrAppend(&text, "  ", path, " inode ", number, ", ", node.content->bytes.size(),
                    " bytes, the last not zero at ", content, "\n");
  }
  return text;
}

}  // namespace arion::crash
