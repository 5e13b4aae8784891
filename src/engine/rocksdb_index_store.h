// What makes a RocksDB engine the store of indexes: bulk loads beneath its records, and ranges that
// go. Included by the engine's .cc files alone: it names RocksDB's types.
//
// Shapes    A bulk load is sorted in runs of kRunBytes, each a table file in <store>/bulk; the runs
//           are merged into files that RocksDB takes at its last level, beneath all else: no write
//           waits for that, and none is merged again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/options.h>

#include <memory>
#include <string>

#include "engine/index_store.h"
#include "engine/rocksdb_database.h"

namespace arion {

class FileSystem;

// Changes options of a data engine into those of a store.
void MakeIndexStoreOptions(DatabaseOptions* options);
// `engine`: open on `database`. `directory`: the store's.
std::unique_ptr<IndexStore> MakeIndexStore(std::unique_ptr<Engine> engine,
                                           std::shared_ptr<Database> database, FileSystem& files,
                                           const std::string& directory);

}  // namespace arion
