// RocksdbMeter: the figures of one RocksDB database. Of RocksDB's some two hundred tickers it keeps
// the few that displays name, as plain atomics. So a database costs 200 bytes and no clock is read
// for it, where RocksDB's own Statistics are 100 KiB a core.
//
// Threads   As EngineMeter.
// Lifetime  What Statistics() and Listener() return is part of the options the database is opened
//           with. Watch is called once the database is open, and again before the database goes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/listener.h>
#include <rocksdb/statistics.h>

#include <array>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "engine/engine_figures.h"

namespace arion {

class Database;

// One for each engine; displays hold it too, and may outlive the engine. Construct, open the
// database with Statistics() and Listener(), Watch(database), and at the end Watch(nullptr).
class RocksdbMeter : public EngineMeter {
 public:
  RocksdbMeter();

  std::shared_ptr<rocksdb::Statistics> Statistics() const;
  std::shared_ptr<rocksdb::EventListener> Listener() const;
  // The database whose figures are read. nullptr: it goes; this waits for a Read under way.
  void Watch(std::shared_ptr<const Database> database);

  EngineFigures Read() const override;
  std::array<uint64_t, kEngineCounts> Counts() const override;

 private:
  struct Book;
  class Tickers;
  class Jobs;

  const std::shared_ptr<Book> book_;
  mutable Mutex mutex_;
  std::shared_ptr<const Database> database_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
