// EngineFigures: what an engine says of itself to displays. EngineMeter: who says it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace arion {

// What is counted since the engine was opened.
enum class EngineCount : uint8_t {
  kCacheHits,     // blocks of files that the block cache had,
  kCacheMisses,   // or lacked
  kMemoryHits,    // gets answered by what is in no file yet,
  kMemoryMisses,  // or not
  kLevel0Hits,    // gets answered by a file of that level
  kLevel1Hits,
  kDeeperHits,
  kFilterNegatives,      // files that a filter spared a get,
  kFilterPositives,      // or did not,
  kFilterTruePositives,  // and the key was there
  kSeekFilterChecks,     // files that a filter was asked about by a walk,
  kSeekFilterNegatives,  // and spared it
  kFlushes,
  kFlushedBytes,
  kCompactions,
  kCompactionReadBytes,
  kCompactionWrittenBytes,
  kWriteDelays,  // times that writes began to be slowed down,
  kWriteStops,   // or to be held up altogether
};
constexpr size_t kEngineCounts = static_cast<size_t>(EngineCount::kWriteStops) + 1;

struct EngineFigures {
  // Now. Estimates, but for the files.
  uint64_t files = 0;  // of records
  uint64_t level0_files = 0;
  uint64_t file_bytes = 0;
  uint64_t keys = 0;               // each put or remove counts until it is merged
  uint64_t memory_bytes = 0;       // of what is in no file yet
  uint64_t reader_bytes = 0;       // of files' indexes and filters, as far as they are in memory
  uint64_t uncompacted_bytes = 0;  // that compactions have yet to rewrite

  std::array<uint64_t, kEngineCounts> counts{};
  uint64_t count(EngineCount what) const { return counts[static_cast<size_t>(what)]; }
};

// Thread-safe, at any time: also beside the engine's Close, and behind its end, when what it last
// counted is left.
class EngineMeter {
 public:
  virtual ~EngineMeter() = default;
  // May wait a moment for the engine: not on a strand.
  virtual EngineFigures Read() const = 0;
  // Of these the counts alone; waits for nothing.
  virtual std::array<uint64_t, kEngineCounts> Counts() const = 0;
};

}  // namespace arion
