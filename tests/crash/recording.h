// Recording: one private log's lives over a recorded disk, played by a script; the operations and
// marks that came of it, and the mutations that were appended.
//
// Shapes    Steps run the simulated world until they are done or for a while; what the log does
//           meanwhile is decided by the seed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/sim_environment.h"
#include "sim/sim_world.h"
#include "tests/crash/crash_environment.h"
#include "tests/crash/crash_judge.h"
#include "tests/crash/recorded_disk.h"

namespace arion::crash {

// The replica's directory, empty and durable.
Tree EmptyDisk();

class Recording {
 public:
  Recording(uint64_t seed, LogSettings settings, Tree initial = EmptyDisk());
  ~Recording();

  // Steps. Those that need an open log do nothing after one failed to open.
  void Open();
  void Append(size_t bytes);
  // In one task of the strand, so that what fits becomes one block.
  void AppendTogether(int count, size_t bytes_min, size_t bytes_max);
  void RunFor(absl::Duration duration) { world_.RunFor(duration); }
  void WaitForReports();
  // The engine holds everything up to `behind` decrees before the last one durably.
  void Checkpoint(int64_t behind);
  void StartAnew(int64_t max_decree);
  void PrepareNextFile();
  void Close();
  void EndProcess();
  void CutPower();
  // After a clean stop: the files that are there become ones of other origin, as after an upgrade.
  void ForgetIdentity();
  // How far behind its decree a mutation's last committed one is.
  void SetUncommitted(int64_t count) { uncommitted_ = count; }

  RecordedDisk& disk() { return disk_; }
  sim::SimRandom& random() { return random_; }
  const LogSettings& settings() const { return settings_; }
  const Tree& initial() const { return initial_; }
  const Ops& ops() const { return ops_; }
  Mutations& mutations() { return mutations_; }
  const std::vector<absl::Status>& answers() const { return answers_; }
  // In the life that runs.
  int64_t unanswered() const { return static_cast<int64_t>(asked_ - answers_.size()); }
  const absl::Status& opened() const { return opened_; }
  int64_t last_decree() const { return last_decree_; }

 private:
  void AppendHere(size_t bytes);
  void DropLife();

  const LogSettings settings_;
  const Tree initial_;
  Ops ops_;
  RecordedDisk disk_;
  Mutations mutations_;
  sim::SimRandom random_;
  sim::SimWorld world_;
  sim::SimNode& node_;
  std::unique_ptr<CrashEnvironment> env_;
  StrandPtr strand_;
  std::unique_ptr<PrivateLog> log_;
  absl::Status opened_;
  std::vector<absl::Status> answers_;  // in order
  size_t asked_ = 0;
  bool is_clean_ = false;  // the last stop
  int64_t ballot_ = 0;
  int64_t last_decree_ = 0;
  int64_t applied_ = 0;
  int64_t valid_start_ = 0;
  int64_t uncommitted_ = 0;
};

}  // namespace arion::crash
