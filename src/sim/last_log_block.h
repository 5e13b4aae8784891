// FindLastLogBlock: the block with which a private log on a SimDisk ends.
//
// Why       Nothing that befalls this block alone can be told from a write that a power cut tore,
//           so that only other copies know better.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace arion::sim {

class SimDisk;

// Where the block lies. Bytes count from the file's start.
struct LastLogBlock {
  // The path of its file.
  std::string path;
  uint64_t position = 0;
  // Whether damage anywhere before it shows: a file's first two blocks are one write.
  bool is_behind_others = false;
};
// Of the log whose files lie in `folder`, its last whole block; nullopt: there is none.
std::optional<LastLogBlock> FindLastLogBlock(const SimDisk& disk, const std::string& folder);

}  // namespace arion::sim
