// Enumeration: every crash state of one recording, each judged.
//
// Shapes    The states of a prefix of the recording are tried when all marks up to the next change
//           of the disk are known: equal disks under the strongest demand. Equal images are
//           recovered once; each demand is still held against what that gave.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tests/crash/crash_judge.h"
#include "tests/crash/crash_model.h"
#include "tests/crash/crash_states.h"
#include "tests/crash/recording.h"

namespace arion::crash {

// How a state came about; counted under the first that made it.
enum class Origin : uint8_t {
  kPrefix,     // the oldest unsynced changes up to some point
  kTorn,       // the last of them torn at a sector
  kReordered,  // whole files and directories written back, others not
  kSubset,     // any subset
  kDepth2,     // power cut again while recovery worked, or right after
  kProcess,    // the process died; then the power was cut as in kDepth2
  kGoesOn,     // recovery, an append reported durable, power cut
  kCopied,     // the image was copied before (cp -a), or power cut while that was recovered
  kFailed,     // after a write or sync failed
  kFull,       // while the disk is full, and after
};
constexpr size_t kOrigins = 10;
std::string_view OriginName(Origin origin);

struct Tally {
  std::array<uint64_t, kOrigins> states{};
  uint64_t violations = 0;
  uint64_t recoveries = 0;
  std::unordered_set<uint64_t> seen;  // of images, over all recordings

  uint64_t total() const;
};

struct EnumerationOptions {
  StateVolume volume;
  StateVolume volume_inside{.exhaustive_atoms = 5, .torn_max = 4, .random_subsets = 4};
  // Of the distinct images, one in so many is recovered with a second crash, or goes on.
  uint64_t depth2_every = 60;
  uint64_t goes_on_every = 20;
  uint64_t copied_every = 60;
  // Of the prefixes, one in so many; 0: none (so with the two above).
  uint64_t process_every = 6;
  size_t first_prefix = 0;       // earlier ones are not tried
  std::optional<Origin> origin;  // all states count as this
  std::string name;              // what --only takes, up to the seed
  std::string only;              // "prefix:state[:prefix:state]": just this one, said aloud
  int violations_told = 5;
};

class Enumeration {
 public:
  Enumeration(Recording& recording, const EnumerationOptions& options, Tally& tally);
  void Run();

 private:
  struct Stored {
    int64_t applied = 0;
    int64_t valid_start = 0;
  };
  void TryAll(const CrashModel& model, const Expectation& expectation, size_t prefix);
  void TryInside(CrashModel model, const Ops& ops, Expectation expectation,
                 const Recovered& recovered, const Stored& stored, Origin origin,
                 const std::string& name);
  // True: an image not seen before.
  bool Try(const Tree& tree, uint64_t hash, const Expectation& expectation, const Stored& stored,
           Origin origin, const std::string& name);
  void TryDepth2(const Tree& tree, const Expectation& expectation, const Stored& stored,
                 const std::string& name);
  void TryCopied(const Tree& tree, const Expectation& expectation, const Stored& stored,
                 const std::string& name);
  void TryProcess(CrashModel model, const Expectation& expectation, size_t prefix);
  void TryGoesOn(const Tree& tree, const Expectation& expectation, const Stored& stored,
                 const std::string& name);
  void Tell(const std::string& name, const std::string& what, const Tree& tree);
  bool IsWanted(const std::string& name) const;

  Recording& recording_;
  const EnumerationOptions& options_;
  Tally& tally_;
  std::unordered_map<uint64_t, std::shared_ptr<const Recovered>> recovered_;
  int told_ = 0;
};

}  // namespace arion::crash
