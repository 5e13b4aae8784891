// MemoryEngine: the engine of the simulator and of ThreadSanitizer builds. An ordered map that is
// written whole, without what has expired for good (env/clock.h).
//
// Shapes    A `records` file, little-endian: "ARIONMEM" · i64 decree · u64 count · count x {u32 key
//           bytes, u32 value bytes, u32 expiry, key, value} · time tags (where a mutation had a
//           time: i64 the latest; u64 of each record; u64 count of tombstones x {u32 key bytes, u64
//           tag, key}; positions of duplications) · u32 CRC-32C of all before.
//           <data>/memory/records is what a crash leaves, <data>/checkpoint.<decree>/records a
//           checkpoint.
// Threads   As Engine.
// Promises  memory_engine/M1  Deterministic: equal calls at equal times leave equal files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace arion {

class Environment;

// Settings of all engines of a factory.
struct MemoryEngineOptions {
  size_t checkpoints_kept = 2;
  // Goes into time tags.
  uint8_t cluster_id = 1;
};

// Makes engines that hold all their records in memory. One for a simulated server.
//
//   MemoryEngineFactory factory(environment);
//   ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, factory.Open("/data/1/2.1.pegasus/data"));
class MemoryEngineFactory : public EngineFactory {
 public:
  // `environment` outlives the factory and its engines.
  explicit MemoryEngineFactory(Environment& environment, MemoryEngineOptions options = {});

  absl::StatusOr<std::unique_ptr<Engine>> Open(const std::string& data_directory) override;
  absl::StatusOr<std::unique_ptr<IndexStore>> OpenIndexStore(const std::string& directory) override;
  absl::Status InstallCheckpoint(const std::string& checkpoint_directory, Decree decree,
                                 const std::string& data_directory) override;
  std::string description() const override { return "in memory"; }

  // Damages a record as a fault below the engine would, so that nobody is told. Chosen is the first
  // record that never expires from raw key `from` on, or else the very first, of the open engine of
  // that directory. It gets `value`, or is lost (nullopt); the engine's decree stays. Returns the
  // raw key; nullopt: there is no such record.
  std::optional<std::string> ChangeSilently(const std::string& data_directory,
                                            const std::string& from,
                                            std::optional<std::string> value);
  // The data directories of the engines that are open.
  std::vector<std::string> OpenDirectories() const;

  struct OpenOnes;

 private:
  Environment& environment_;
  const MemoryEngineOptions options_;
  const std::shared_ptr<OpenOnes> open_;
};

}  // namespace arion
