// Tree: what lies on a disk, as a value: cheap to copy, because files share their bytes.
//
// Shapes    A node is a file or a directory, named by its inode number; 1 is the root. A node that
//           no name leads to stays until KeepReachable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace arion::crash {

constexpr uint64_t kSectorBytes = 512;

struct FileBytes {
  std::string bytes;
  mutable uint64_t hash = 0;  // of the bytes; 0: not known yet
};

struct Node {
  bool is_directory = false;
  int64_t birth_nanos = 0;
  std::shared_ptr<FileBytes> content = std::make_shared<FileBytes>();
  std::map<std::string, uint64_t> entries;  // directories: name -> inode
  // Files: from the start to here written and synced. Only there an overwrite changes no metadata.
  uint64_t written_end = 0;

  // The content, this node's alone.
  std::string& Edit();
};

struct Tree {
  std::map<uint64_t, Node> nodes;
  uint64_t next_inode = 2;
  int64_t next_birth_nanos = 1'790'000'000'000'000'000;

  Tree() { nodes[1].is_directory = true; }
  absl::StatusOr<uint64_t> Find(const std::string& path) const;
  // The directory that holds (or would hold) `path`, and the last part of it.
  struct Place {
    uint64_t directory = 0;
    std::string name;
  };
  absl::StatusOr<Place> FindPlace(const std::string& path) const;
  // Forgets what no name leads to; the lowest inode number above all others is free again.
  void KeepReachable();
  // The same with other inode numbers and births, as `cp -a` to another disk makes it.
  Tree Copied() const;
  // Of names, inodes, births and bytes.
  uint64_t Hash() const;
  std::string ToString() const;
};

uint64_t HashBytes(std::string_view bytes, uint64_t seed);
void PutBytes(std::string* content, uint64_t offset, std::string_view bytes);

}  // namespace arion::crash
