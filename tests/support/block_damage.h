// What may happen to one block of one file at rest, on the simulator's disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "env/file_system.h"
#include "sim/sim_disk.h"

namespace arion {

enum class Damage { kZero, kFlip, kRandom, kUnreadable, kTruncate };

// Contents by path.
using Files = std::map<std::string, std::string>;

inline Files FilesOf(const sim::SimDisk& disk, const std::string& directory) {
  Files files;
  disk.ForEachFile([&](const std::string& path, const sim::SimInode& inode) {
    if (path.starts_with(directory)) files[path] = inode.content;
  });
  return files;
}

inline void WriteFiles(const Files& files, sim::SimDisk& disk) {
  for (const auto& [path, content] : files) {
    CHECK(disk.CreateDirectories(ParentDirectory(path)).ok());
    (*disk.CreateFile(path))->content = content;
  }
  disk.MakeDurable();
}

struct DamagedBlock {
  static constexpr uint64_t kBytes = 4096;
  std::string path;
  uint64_t offset = 0;
  Damage damage = Damage::kZero;

  std::string ToString() const {
    return path + " at " + std::to_string(offset) + ", damage " +
           std::to_string(static_cast<int>(damage));
  }

  // Does nothing where the file went or became shorter meanwhile.
  void Apply(sim::SimDisk& disk) const {
    const auto inode = disk.Find(path);
    if (!inode.ok() || offset >= (*inode)->content.size()) return;
    std::string& content = (*inode)->content;
    const uint64_t n = std::min<uint64_t>(kBytes, content.size() - offset);
    sim::SimRandom random(offset + 1);
    switch (damage) {
      case Damage::kZero:
        content.replace(offset, n, n, '\0');
        return;
      case Damage::kFlip:
        content[offset + random.Below(n)] ^= static_cast<char>(1 << random.Below(8));
        return;
      case Damage::kRandom:
        for (uint64_t i = 0; i < n; ++i) content[offset + i] = static_cast<char>(random.Below(256));
        return;
      case Damage::kUnreadable:
        CHECK(disk.SpoilBlock(path, offset, n).ok());
        return;
      case Damage::kTruncate:
        content.resize(offset);
        return;
    }
  }
};

// Each damage of each block, but for zeros in place of zeros.
inline std::vector<DamagedBlock> EveryDamage(const Files& files) {
  std::vector<DamagedBlock> all;
  for (const auto& [path, content] : files) {
    for (uint64_t at = 0; at < content.size(); at += DamagedBlock::kBytes) {
      const bool is_zero =
          content.substr(at, DamagedBlock::kBytes).find_first_not_of('\0') == std::string::npos;
      for (const Damage damage :
           {Damage::kZero, Damage::kFlip, Damage::kRandom, Damage::kUnreadable, Damage::kTruncate})
        if (damage != Damage::kZero || !is_zero) all.push_back({path, at, damage});
    }
  }
  return all;
}

}  // namespace arion
