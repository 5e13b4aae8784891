// SPDX-License-Identifier: Apache-2.0
#include "base/cluster_identity.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "base/crc.h"

namespace arion {
namespace {

constexpr int kIdBits = 32;
// 20 of the name's 32 checksum bits: with the id they fill the 52 bits of a tag.
constexpr uint64_t kNameMask = 0xfffff;
constexpr size_t kIdDigits = 8;

// 0 is "not known", which goes with everything.
bool Differ(uint64_t a, uint64_t b) { return a != 0 && b != 0 && a != b; }

}  // namespace

ClusterIdentity::ClusterIdentity(std::string name)
    : name_(std::move(name)),
      // A name whose checksum ends in 20 zeros must not look like "no name".
      name_tag_(std::max<uint64_t>(1, Crc32c(name_) & kNameMask)),
      tag_(name_tag_ << kIdBits) {}

// The exchange decides between two threads that learn an id at the same time. Until the tag
// follows, peers are told the name alone, which goes with either.
bool ClusterIdentity::Adopt(uint32_t id) {
  uint32_t known = 0;
  if (!id_.compare_exchange_strong(known, id)) return known == id;
  tag_.store(name_tag_ << kIdBits | id, std::memory_order_release);
  return true;
}

void ClusterIdentity::Forget() {
  // The tag first: nobody may state an id that this server does not hold any more.
  tag_.store(name_tag_ << kIdBits, std::memory_order_release);
  id_.store(0, std::memory_order_release);
}

bool ClusterIdentity::HasNameOf(uint64_t tag) const { return tag >> kIdBits == name_tag_; }

std::optional<std::string_view> ClusterIdentity::DiffersIn(uint64_t tag) const {
  const uint64_t ours = this->tag();
  if (Differ(tag >> kIdBits, ours >> kIdBits)) return "its cluster_name is another";
  if (Differ(IdOf(tag), IdOf(ours))) return "its cluster's id is another";
  return std::nullopt;
}

std::string ClusterIdentity::ToString() const {
  const uint32_t known = id();
  return "\"" + name_ + "\"" + (known == 0 ? "" : " (id " + FormatClusterId(known) + ")");
}

std::string FormatClusterId(uint32_t id) {
  char text[kIdDigits + 1];
  std::snprintf(text, sizeof(text), "%08x", id);
  return text;
}

std::optional<uint32_t> ParseClusterId(std::string_view text) {
  uint32_t id = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, id, 16);
  // Exactly what FormatClusterId writes: a cut-off file must not pass for a shorter id.
  if (text.size() != kIdDigits || error != std::errc() || read != end || id == 0)
    return std::nullopt;
  return id;
}

}  // namespace arion
