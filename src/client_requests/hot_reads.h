// HotReads: a sample of the keys that were read last, kept beside a replica's data, so that the
// block cache can be warmed after a restart.
//
// Shapes    <replica directory>/.arion-hot-reads: "ARHR", version u32 = 1, for each key length u32
//           and bytes, at the end CRC-32C of all before. Older versions do not look at it, and
//           what can't be read is no more than a cold cache.
// Threads   Strand-bound; the functions below wait for the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace arion {

class FileSystem;

// One for each replica. The sample is stored with checkpoints and at the end, and read at the next
// start.
class HotReads {
 public:
  static constexpr size_t kKeysMax = 1024;
  // Of keys; a server holds thousands of samples.
  static constexpr size_t kBytesMax = 64 << 10;

  // Every eighth is taken, so that a key read often is likely among them.
  void Note(std::string_view raw_key);
  // Each once, in order.
  std::vector<std::string> Keys() const;

 private:
  // Oldest first.
  std::deque<std::string> last_;
  // Of last_.
  size_t bytes_ = 0;
  uint64_t seen_ = 0;
};

absl::Status StoreHotReads(FileSystem& files, const std::string& replica_directory,
                           const std::vector<std::string>& keys);
// NotFound: none were stored. DataLoss: not what was.
absl::StatusOr<std::vector<std::string>> LoadHotReads(FileSystem& files,
                                                      const std::string& replica_directory);

}  // namespace arion
