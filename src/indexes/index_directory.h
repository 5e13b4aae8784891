// IndexDirectory: <replica>/index on disk: the list, the store, and what in the store tells how far
// it goes; and copies of all that for learners.
//
// Shapes    list    which indexes there are (index_list.h)
//           store   their entries (field_order.h), and Covered under an empty hash key
// Errors    DataLoss: what is there can't be understood. The file system's and the store's.
// Threads   None of its own: calls wait for the disk, and come one at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/index_store.h"
#include "env/file_system.h"
#include "indexes/index_list.h"

namespace arion {

// What entries in a store cover: the data up to a decree, of the list with that serial.
struct Covered {
  Decree decree{-1};
  int64_t serial = 0;
};
// Where it stands in a store.
const std::string& CoveredKey();
std::string EncodeCovered(const Covered& covered);
absl::StatusOr<Covered> CoveredBy(const Engine& store);

// One for each replica; what it is given outlives it.
class IndexDirectory {
 public:
  IndexDirectory(FileSystem& files, EngineFactory& stores, std::string path);

  const std::string& path() const { return path_; }
  absl::StatusOr<bool> HasList() const;
  absl::StatusOr<IndexList> ReadList() const;
  absl::Status WriteList(const IndexList& list) const;
  absl::StatusOr<std::unique_ptr<IndexStore>> OpenStore() const;
  // Makes it, where it is missing.
  absl::Status Create() const;
  absl::Status Remove() const;
  // Makes a copy at `to`, unless one is there. Its files, below `to`.
  absl::StatusOr<std::vector<std::string>> CopyTo(const std::string& to, const IndexList& list,
                                                  IndexStore& store) const;
  absl::StatusOr<bool> HasCopy(const std::string& copy) const { return IsThere(files_, copy); }
  // Or what a crash left of it.
  absl::Status RemoveCopy(const std::string& copy) const;

 private:
  FileSystem& files_;
  EngineFactory& stores_;
  const std::string path_;
};

}  // namespace arion
