// RocksdbEngine: a replica's data in RocksDB, in the form of engine/FORMAT.md 4, so that Pegasus
// 2.1 to 2.5 can open it and theirs opens here.
//
// Shapes    <data>/rdb: column families `default` (records) and `pegasus_meta_cf` (decimal
//           numbers). WAL off; each mutation is one WriteBatch that also puts its decree into the
//           meta family; atomic flush takes both families to disk together (engine/E1).
// Errors    As Engine. Open also: FailedPrecondition: whole, but not ours to open (other column
//           families, a later data version, before Pegasus 2.1, locked); ResourceExhausted: no
//           space or file descriptors left. A flush that finds no space stops the database. Each
//           later Apply, Flush or Checkpoint first tries that flush again, and goes on once it has
//           succeeded.
// Threads   As Engine. Apply writes memory only, but waits when RocksDB stalls writes (three full
//           write buffers, or 30 files on level 0), where TryApply says Unavailable.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/engine.h"

namespace arion {

struct EngineIoStats;
class Environment;

// Settings of all engines of a factory.
struct RocksdbEngineOptions {
  // Shared by the factory's engines.
  uint64_t block_cache_bytes = 256 << 20;
  // Shared by them too. Beyond it the engines flush.
  uint64_t write_buffers_total_bytes = 512 << 20;
  // One write buffer of one engine, which has up to three of them.
  uint64_t write_buffer_bytes = 64 << 20;
  // Threads of flushes and compactions.
  int background_jobs = 4;
  // Of one engine's tables; -1: all stay open.
  int open_files_max = -1;
  size_t checkpoints_kept = 2;
  // Goes into the values' time tags.
  uint8_t cluster_id = 1;
};

// One for a server, made in main/. It owns what its engines share: the cache, the bound on write
// buffers, each disk's threads.
//
//   RocksdbEngineFactory factory(environment, {.block_cache_bytes = 1 << 30});
//   ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, factory.Open(data_directory));   // in a pool
class RocksdbEngineFactory : public EngineFactory {
 public:
  // `environment` outlives the factory and its engines. All their files are the environment's, and
  // its clock tells compactions what has expired for good.
  explicit RocksdbEngineFactory(Environment& environment, RocksdbEngineOptions options = {});
  ~RocksdbEngineFactory() override;

  absl::StatusOr<std::unique_ptr<Engine>> Open(const std::string& data_directory) override;
  absl::StatusOr<std::unique_ptr<IndexStore>> OpenIndexStore(const std::string& directory) override;
  absl::Status InstallCheckpoint(const std::string& checkpoint_directory, Decree decree,
                                 const std::string& data_directory) override;
  void LimitUnflushed(uint64_t bytes) override;
  // Returns a function that sets open_files_max for engines to come and for those that are open. An
  // open engine then closes the tables that it has not used for longest, except a quarter of its
  // limit, which RocksDB pins. The function waits for the disks, is thread-safe and may
  // outlive the factory.
  std::function<void(int open_files_max)> OpenFilesLimiter() const;
  uint64_t unflushed_bytes() const override;
  std::string description() const override;
  // How full the block cache is.
  struct CacheUse {
    uint64_t capacity_bytes = 0;
    uint64_t used_bytes = 0;
    // Of the used bytes, what readers hold at the moment.
    uint64_t pinned_bytes = 0;
  };
  CacheUse block_cache() const;
  // Of all engines on the device of `directory`. Lives as long as the factory.
  const EngineIoStats& io_stats(const std::string& directory);

  // Caches and pools.
  struct Shared;

 private:
  Environment& environment_;
  const RocksdbEngineOptions options_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace arion
