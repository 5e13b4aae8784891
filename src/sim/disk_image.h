// DiskImage: a copy of directories of a node's disk, as `cp -a` makes one beside a running server
// or a stopped one, to be put back later: a disk that is older than it was.
//
// Shapes   What running programs see when a file is copied, synced or not. Copied in two halves
//          with time between them it is torn: files are of different moments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace arion::sim {

class SimDisk;
struct SimInode;

// A value: whoever keeps images owns them. An image holds whole contents, so keep few.
class DiskImage {
 public:
  // Of all files, those of even or of odd names; of the same half an earlier copy is forgotten.
  enum class Half { kFirst, kSecond };
  void Copy(const SimDisk& disk, const std::vector<std::string>& directories, Half half);
  bool IsEmpty() const { return files_.empty(); }
  // Directory `path` of a disk on which nothing runs becomes what was copied of it, durably.
  void PutBack(const std::string& path, SimDisk* disk) const;

 private:
  struct File {
    Half half = Half::kFirst;
    // The directory that was copied, which it was part of.
    std::string directory;
    std::string content;
    int64_t modified_unix_nanos = 0;
  };
  void CopyFolder(const std::string& directory, const std::string& path, const SimInode& folder,
                  Half half);

  std::map<std::string, File> files_;
  // By copied directory: all folders in it, the empty ones too.
  std::map<std::string, std::set<std::string>> folders_;
};

}  // namespace arion::sim
