// EngineFigures: what an engine says of itself to displays. EngineMeter: who says it.
//
// Units     Bytes, files, records. Counts begin with the engine's opening and only rise.
// Threads   See EngineMeter.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace arion {

// What is counted since the engine was opened. RocksDB has more; these are the ones that displays
// name.
enum class EngineCount : uint8_t {
  // Blocks of files that the block cache had, or lacked.
  kCacheHits,
  kCacheMisses,
  // Gets answered by what is in no file yet, or not.
  kMemoryHits,
  kMemoryMisses,
  // Gets answered by a file of that level.
  kLevel0Hits,
  kLevel1Hits,
  kDeeperHits,
  // Files that a filter spared a get, or did not; kFilterTruePositives: it did not, and the key was
  // there.
  kFilterNegatives,
  kFilterPositives,
  kFilterTruePositives,
  // Files that a walk asked a filter about, and that the filter spared it.
  kSeekFilterChecks,
  kSeekFilterNegatives,
  kFlushes,
  kFlushedBytes,
  kCompactions,
  kCompactionReadBytes,
  kCompactionWrittenBytes,
  // Times that writes began to be slowed down, or to be held up altogether.
  kWriteDelays,
  kWriteStops,
};
constexpr size_t kEngineCounts = static_cast<size_t>(EngineCount::kWriteStops) + 1;

// What an engine looks like now; made by EngineMeter::Read. Estimates, but for the numbers of
// files.
struct EngineFigures {
  // Files of records.
  uint64_t files = 0;
  uint64_t level0_files = 0;
  uint64_t file_bytes = 0;
  // Each put or remove counts until it is merged.
  uint64_t keys = 0;
  // Of what is in no file yet.
  uint64_t memory_bytes = 0;
  // Of files' indexes and filters, as far as they are in memory.
  uint64_t reader_bytes = 0;
  // What compactions have yet to rewrite.
  uint64_t uncompacted_bytes = 0;

  // By EngineCount.
  std::array<uint64_t, kEngineCounts> counts{};
  uint64_t count(EngineCount what) const { return counts[static_cast<size_t>(what)]; }
};

// One for an engine, held by shared_ptr: by the engine and by whoever shows it. Thread-safe, at any
// time: also beside the engine's Close, and after its end, when what it last counted is left.
class EngineMeter {
 public:
  virtual ~EngineMeter() = default;
  // May wait a moment for the engine: not on a strand.
  virtual EngineFigures Read() const = 0;
  // The counts alone. Waits for nothing.
  virtual std::array<uint64_t, kEngineCounts> Counts() const = 0;
};

}  // namespace arion
