// What a log must hold after a crash, and whether an image does.
//
// Shapes    Expectation follows the marks of a recording: what was appended since the log's
//           beginning, how far it was reported durable, what may be gone. Mutations are numbers
//           into one list; (ballot, decree) names one.
// Promises  What a recovered log must hold, of the mutations above the dropped decree: a prefix of
//           what was appended, in that order, with its bytes, and at least all that was reported.
//           Nothing that was never appended, and nothing that an earlier recovery had not found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutation.h"
#include "tests/crash/recorded_disk.h"
#include "wal/private_log.h"

namespace arion::crash {

constexpr PartitionId kCrashPid{2, 1};
inline const std::string kCrashLogDirectory = "/data/2.1.pegasus/plog";
inline const std::string kCrashIdentityPath = "/data/2.1.pegasus/.arion-log";

// All mutations of a recording, by number.
class Mutations {
 public:
  int Add(MutationPtr mutation);
  // The number of one that equals it but for its offset; -1: there is none.
  int Find(const Mutation& mutation) const;
  const MutationPtr& at(int number) const { return all_[static_cast<size_t>(number)]; }
  int count() const { return static_cast<int>(all_.size()); }

 private:
  std::vector<MutationPtr> all_;
  std::map<std::pair<int64_t, int64_t>, int> by_name_;
};

// What recovery gave.
struct Recovered {
  absl::Status status;
  std::vector<int> mutations;  // in the order given; -1: never appended like this
};

class Expectation {
 public:
  // `durability`: with kOs a power cut may take what was reported, but only from the end.
  Expectation(const Mutations& mutations, Durability durability)
      : mutations_(&mutations), durability_(durability) {}

  void Apply(const Op& mark);
  void OnOpened(const std::vector<int>& mutations);
  // Empty: all is well. A process that ended without a power cut loses nothing that was reported,
  // however durable.
  enum class Ending : uint8_t { kPowerCut, kProcess };
  std::string Judge(const Recovered& recovered, Ending ending = Ending::kPowerCut) const;
  // The log's options as they are stored beside it now.
  int64_t applied() const { return applied_; }
  int64_t valid_start() const { return valid_start_; }

 private:
  int64_t DecreeOf(int mutation) const { return mutations_->at(mutation)->decree.value(); }
  std::string Name(int mutation) const;

  const Mutations* mutations_;
  Durability durability_;
  std::vector<int> history_;  // as appended
  size_t reported_ = 0;       // history_[0, reported_) were reported
  size_t durable_ = 0;        // and must survive a power cut
  int64_t applied_ = 0;       // decrees up to here may be gone from the log
  int64_t valid_start_ = 0;
};

struct LogSettings {
  Durability durability = Durability::kFsync;
  uint64_t segment_bytes_max = 64 << 10;
  bool preallocate = true;
};
PrivateLogOptions OptionsFor(const LogSettings& settings, int64_t applied, int64_t valid_start);

// Recovers the log on `disk` and ends the process right after.
Recovered Recover(RecordedDisk& disk, const LogSettings& settings, int64_t applied,
                  int64_t valid_start, const Mutations& mutations);
// Recovers, appends `more` and waits for the report; the answer is the report's.
absl::Status RecoverAndAppend(RecordedDisk& disk, const LogSettings& settings, int64_t applied,
                              int64_t valid_start, const MutationPtr& more);

}  // namespace arion::crash
