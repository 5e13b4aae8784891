// DeferredMemtableFactory: memtables whose records find their places later, many at a time.
//
// To find a record's place in a skip list of tens of thousands costs a dozen cache misses, on each
// member, and only a primary is read. So records wait in a list. When kWaitingMax wait they are
// sorted and put in one after the other, each search beginning where the one before ended. A reader
// first puts in all that wait.
//
// Shapes    To all else it is RocksDB's SkipListFactory, also by name (OPTIONS files). An insertion
//           puts in two others, so that no write waits for many; at most 2 * kWaitingMax wait.
// Threads   As RocksDB asks of a memtable: one thread inserts, any number read. Whoever puts
//           records in holds a mutex; where nothing waits nobody takes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/memtablerep.h>

namespace arion {

// For ColumnFamilyOptions::memtable_factory of a database that applies no two batches at once.
// RocksDB makes a memtable of it whenever one is sealed, and owns what it gets.
class DeferredMemtableFactory : public rocksdb::SkipListFactory {
 public:
  // Records that are sorted together.
  static constexpr size_t kWaitingMax = 2048;

  using SkipListFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& compare,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform* transform,
                                          rocksdb::Logger* logger) override;
  // False, so that RocksDB inserts from one thread.
  bool IsInsertConcurrentlySupported() const override { return false; }
};

}  // namespace arion
