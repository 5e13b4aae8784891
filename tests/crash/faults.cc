// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/faults.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <memory>

#include "wal/log_recovery.h"

namespace arion::crash {
namespace {

constexpr int64_t kFullFor = 3;  // attempts that find no space

enum class Kind : uint8_t { kWriteFails, kSyncFails, kFull };

FaultPlan PlanFor(Kind kind, int64_t nth) {
  switch (kind) {
    case Kind::kWriteFails:
      return {FaultPlan::Site::kWrite, nth, 1, absl::DataLossError("write: Input/output error")};
    case Kind::kSyncFails:
      return {FaultPlan::Site::kSync, nth, 1, absl::DataLossError("sync: Input/output error")};
    case Kind::kFull:
      break;
  }
  return {FaultPlan::Site::kWrite, nth, kFullFor,
          absl::ResourceExhaustedError("No space left on device")};
}

bool EndsLife(OpKind kind) { return kind == OpKind::kPowerCut || kind == OpKind::kProcessEnd; }

// A sync of the log's folder on which no log file's new name depends. The writer hears of it a
// little later, and ends.
bool IsInRemoval(const Ops& ops, size_t fault) {
  const uint64_t directory = ops[fault].inode;
  if (directory == 0) return false;
  for (size_t i = fault; i-- > 0;) {
    const Op& op = ops[i];
    if (EndsLife(op.kind) || (op.kind == OpKind::kSyncDirectory && op.inode == directory)) break;
    if (op.kind != OpKind::kName || op.directory != directory || op.inode == 0) continue;
    if (op.from.empty() || !IsSpareName(op.name)) return false;
  }
  return true;
}

std::string JudgeReports(const Recording& recording, Kind kind, size_t fault) {
  const Ops& ops = recording.ops();
  if (kind == Kind::kFull) {
    const auto& answers = recording.answers();
    const auto refused = std::find_if(answers.begin(), answers.end(),
                                      [](const absl::Status& answer) { return !answer.ok(); });
    if (refused != answers.end())
      return absl::StrFormat("append %d was refused: %s", refused - answers.begin(),
                             refused->ToString());
    if (recording.opened().ok() && recording.unanswered() > 0)
      return absl::StrFormat("%d appends are still held", recording.unanswered());
    return "";
  }
  const bool in_removal = IsInRemoval(ops, fault);
  for (size_t i = fault; i < ops.size() && !EndsLife(ops[i].kind); ++i)
    if ((ops[i].kind == OpKind::kReported && !in_removal) || ops[i].kind == OpKind::kClosed)
      return absl::StrFormat("after the failure:%s", ops[i].ToString());
  return "";
}

}  // namespace

void TryFaults(const Workload& workload, uint64_t seed, const std::string& only, Tally* tally,
               FaultTally* places) {
  for (const Kind kind : {Kind::kWriteFails, Kind::kSyncFails, Kind::kFull}) {
    for (int64_t nth = 1;; ++nth) {
      const FaultPlan plan = PlanFor(kind, nth);
      EnumerationOptions options;
      options.name = absl::StrFormat("%s:%d@%s%d", workload.name, seed,
                                     kind == Kind::kWriteFails  ? "write"
                                     : kind == Kind::kSyncFails ? "sync"
                                                                : "full",
                                     nth);
      if (!only.empty() && only.rfind(options.name, 0) != 0) {
        if (nth > 5000) break;
        continue;
      }
      const std::unique_ptr<Recording> recording = workload.record(seed, plan);
      const Ops& ops = recording->ops();
      const auto fault = std::find_if(ops.begin(), ops.end(),
                                      [](const Op& op) { return op.kind == OpKind::kFault; });
      if (fault == ops.end()) break;
      ++(kind == Kind::kWriteFails  ? places->writes
         : kind == Kind::kSyncFails ? places->syncs
                                    : places->full);
      const auto at = static_cast<size_t>(fault - ops.begin());
      if (only.size() > options.name.size()) options.only = only.substr(options.name.size() + 1);
      options.volume = options.volume_inside;
      options.volume.random_subsets = 2;
      options.first_prefix = at;
      options.origin = kind == Kind::kFull ? Origin::kFull : Origin::kFailed;
      options.depth2_every = options.process_every = 0;
      options.goes_on_every = 100;
      options.copied_every = 400;
      options.violations_told = 1;
      if (const std::string what = JudgeReports(*recording, kind, at); !what.empty()) {
        ++tally->violations;
        absl::PrintF("VIOLATION %s\n  %s\n  again: crash_test --only '%s'\n", options.name, what,
                     options.name);
      }
      Enumeration(*recording, options, *tally).Run();
    }
  }
}

}  // namespace arion::crash
