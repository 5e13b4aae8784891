// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/workloads.h"

namespace arion::crash {
namespace {

using RecordingPtr = std::unique_ptr<Recording>;

constexpr LogSettings kSmallFiles{.segment_bytes_max = 64 << 10};
constexpr LogSettings kGrowingFiles{.segment_bytes_max = 24 << 10, .preallocate = false};
constexpr LogSettings kPageCache{.durability = Durability::kOs, .segment_bytes_max = 24 << 10};

RecordingPtr Start(uint64_t seed, const FaultPlan& plan, LogSettings settings) {
  auto log = std::make_unique<Recording>(seed, settings);
  log->disk().Plan(plan);
  log->SetUncommitted(static_cast<int64_t>(seed % 5));
  log->Open();
  return log;
}

void Burst(Recording& log, int tasks, size_t bytes_max) {
  for (int i = 0; i < tasks; ++i) {
    log.AppendTogether(1 + static_cast<int>(log.random().Below(4)), 1, bytes_max);
    if (log.random().Coin()) log.WaitForReports();
    if (log.random().Percent(20)) log.RunFor(absl::Milliseconds(log.random().Below(20)));
  }
}

// Small appends, alone and together, several in flight.
RecordingPtr Appends(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, kSmallFiles);
  Burst(*log, 12, 1500);
  log->WaitForReports();
  return log;
}

// Through several pre-written files, with spares made in time and too late.
RecordingPtr Switches(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, kSmallFiles);
  for (int i = 0; i < 4; ++i) {
    Burst(*log, 4, 9000);
    log->Append(30000);
  }
  log->WaitForReports();
  log->RunFor(absl::Seconds(1));
  return log;
}

// Files that nobody wrote before: append, and each file's own sync.
RecordingPtr Growing(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, kGrowingFiles);
  Burst(*log, 14, 6000);
  log->WaitForReports();
  log->Close();
  return log;
}

// Blocks as large as a file and larger.
RecordingPtr Large(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(
      seed, plan, {.segment_bytes_max = seed % 2 == 0 ? uint64_t{64} << 10 : uint64_t{512} << 10});
  log->AppendTogether(3, 1, 2000);
  log->Append(100'000 + log->random().Below(100'000));
  log->Append(700);
  log->Append(1'000'000 + log->random().Below(572'864));
  log->Append(1);
  log->WaitForReports();
  return log;
}

// A file grows in steps.
RecordingPtr Steps(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, {.segment_bytes_max = 3 << 20});
  for (int i = 0; i < 4; ++i) {
    log->Append(300'000 + log->random().Below(300'000));
    log->AppendTogether(2, 1, 700);
    if (log->random().Coin()) log->WaitForReports();
  }
  log->WaitForReports();
  return log;
}

// Checkpoints, and files that go while others are written.
RecordingPtr Retention(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, kSmallFiles);
  for (int i = 0; i < 5; ++i) {
    Burst(*log, 3, 12000);
    log->Append(25000);
    if (i == 1) log->WaitForReports();
    if (i > 0 && i != 3) {
      log->WaitForReports();
      log->Checkpoint(static_cast<int64_t>(log->random().Below(6)));
    }
  }
  log->WaitForReports();
  log->RunFor(absl::Seconds(1));
  return log;
}

// Records of one size, each a block: blocks of all files lie at the same positions.
RecordingPtr Equal(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, kSmallFiles);
  for (int i = 0; i < 60; ++i) {
    log->Append(4000);
    log->WaitForReports();
    if (i % 10 == 9) log->Checkpoint(1);
  }
  return log;
}

// Dropped files are written again: with blocks at the positions of the old ones and elsewhere, after
// a clean stop, and after a power cut.
RecordingPtr Recycled(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, kSmallFiles);
  const auto fill = [&](int files) {
    for (int i = 0; i < 8 * files; ++i) {
      log->Append(log->random().Percent(70) ? 8000 : 1 + log->random().Below(9000));
      log->WaitForReports();
    }
  };
  fill(3);
  log->Checkpoint(1);
  fill(2);
  log->Close();
  log->Open();
  log->Checkpoint(0);
  fill(2);
  log->Checkpoint(static_cast<int64_t>(seed % 3));
  log->CutPower();
  log->Open();
  log->AppendTogether(2, 1, 900);
  log->WaitForReports();
  return log;
}

// A learner's new beginning, with the old log's writes still under way or done.
RecordingPtr Anew(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, kSmallFiles);
  if (seed % 3 == 0) log->PrepareNextFile();
  Burst(*log, 5, 6000);
  if (seed % 2 == 0) log->WaitForReports();
  if (seed % 3 == 1) log->PrepareNextFile();
  log->StartAnew(log->last_decree() + 5 - static_cast<int64_t>(log->random().Below(10)));
  Burst(*log, 4, 6000);
  log->WaitForReports();
  log->Checkpoint(2);
  log->CutPower();
  log->Open();
  if (seed % 3 != 0) log->PrepareNextFile();
  log->Append(500);
  log->StartAnew(log->last_decree() + 100);
  log->AppendTogether(3, 1, 900);
  log->WaitForReports();
  return log;
}

// Clean stops and starts.
RecordingPtr CleanStops(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, seed % 3 == 0 ? kGrowingFiles : kSmallFiles);
  for (int i = 0; i < 3; ++i) {
    Burst(*log, 3, 8000);
    log->WaitForReports();
    if (i == 1) log->Checkpoint(1);
    log->Close();
    log->Open();
  }
  log->Append(100);
  log->WaitForReports();
  log->Close();
  return log;
}

// Clean stops after which the end of a file is read alone: files of several steps of the index, an
// engine that lacks something behind or before the last of them, or nothing, and lives in which
// nothing is written.
RecordingPtr Closed(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan,
                           {.durability = seed % 5 == 4 ? Durability::kOs : Durability::kFsync,
                            .segment_bytes_max = 512 << 10,
                            .preallocate = seed % 3 != 0});
  for (int i = 0; i < 2; ++i) {
    for (int n = 0; n < 6; ++n) {
      log->Append(50'000 + log->random().Below(10'000));
      log->WaitForReports();  // each a block: the index knows places between them
    }
    log->AppendTogether(3, 1, 900);
    log->WaitForReports();
    log->Checkpoint(static_cast<int64_t>(log->random().Below(8)));
    log->Close();
    log->Open();
    if (log->random().Coin()) continue;
    log->Close();
    log->Open();
  }
  log->Append(700);
  log->WaitForReports();
  return log;
}

// Power cuts at any moment, and on it goes with what they left.
RecordingPtr PowerCuts(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, seed % 3 == 0 ? kGrowingFiles : kSmallFiles);
  for (int i = 0; i < 4; ++i) {
    Burst(*log, 3, 9000);
    log->RunFor(absl::Microseconds(log->random().Below(3000)));
    if (i == 2) log->Checkpoint(3);
    log->CutPower();
    log->Open();
  }
  log->AppendTogether(2, 1, 900);
  log->WaitForReports();
  return log;
}

// The process dies; what it left in the page cache is read and may not be on the disk.
RecordingPtr Restarts(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, seed % 3 == 0 ? kGrowingFiles : kSmallFiles);
  for (int i = 0; i < 3; ++i) {
    Burst(*log, 3, 9000);
    log->RunFor(absl::Microseconds(log->random().Below(3000)));
    log->EndProcess();
    log->Open();
  }
  log->AppendTogether(2, 1, 900);
  log->WaitForReports();
  return log;
}

// Page-cache durability: a power cut takes from the end, and leaves no hole.
RecordingPtr PageCache(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, kPageCache);
  Burst(*log, 8, 6000);
  log->WaitForReports();
  log->Checkpoint(4);
  Burst(*log, 3, 3000);
  log->CutPower();
  log->Open();
  Burst(*log, 4, 6000);
  log->WaitForReports();
  log->Close();
  log->Open();
  log->Append(200);
  log->WaitForReports();
  return log;
}

// Files that an older version wrote, cleanly stopped, with ours behind them.
RecordingPtr Upgraded(uint64_t seed, const FaultPlan& plan) {
  RecordingPtr log = Start(seed, plan, kGrowingFiles);
  Burst(*log, 6, 8000);
  log->WaitForReports();
  log->Close();
  log->ForgetIdentity();
  log->Open();
  Burst(*log, 4, 6000);
  log->WaitForReports();
  log->Checkpoint(8);
  log->CutPower();
  log->Open();
  log->AppendTogether(3, 1, 900);
  log->WaitForReports();
  return log;
}

}  // namespace

const std::vector<Workload>& Workloads() {
  static const std::vector<Workload> workloads = {
      {"appends", Appends},   {"switches", Switches},
      {"growing", Growing},   {"large", Large},
      {"steps", Steps},       {"retention", Retention},
      {"equal", Equal},       {"recycled", Recycled},
      {"anew", Anew},         {"clean-stops", CleanStops},
      {"closed", Closed},     {"power-cuts", PowerCuts},
      {"restarts", Restarts}, {"page-cache", PageCache},
      {"upgraded", Upgraded},
  };
  return workloads;
}

}  // namespace arion::crash
