// Settings: what the command line and the property files ask for together, checked.
//
// Shapes    Flags go before properties: --threads before threadcount, --rate before target,
//           --seconds before maxexecutiontime, --operations before operationcount, --warmup before
//           warmuptime, --meta before meta_servers, --table before table, --verify before
//           dataintegrity.
// Errors    InvalidArgument: what is wrong, and what may stand there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/load/chaos.h"
#include "tools/load/report/slo.h"
#include "tools/load/run/pacing.h"
#include "tools/load/workload/operations.h"
#include "tools/load/workload/properties.h"
#include "tools/load/workload/workload.h"

namespace arion::load {

// The command line as given; nothing is checked yet. No value: not given.
struct Flags {
  // "load", "run"; none: both.
  std::vector<std::string> commands;
  std::optional<std::string> meta, table, workload, rate, slo;
  std::optional<int64_t> threads, operations, clients, seed;
  std::optional<absl::Duration> seconds, warm_up, timeout, give_up;
  std::optional<std::string> json_file, hdr_file, html_file, history_file;
  // "10s:COMMAND"
  std::vector<std::string> chaos;
  enum class Verify { kNo, kYes } verify = Verify::kNo;
};

// What the load is to be, with defaults filled in. All fields are checked and fit each other.
struct Settings {
  // "IPv4:port" each.
  std::vector<std::string> meta_servers;
  std::string table;
  Workload workload;
  // The phases there are: at least one of load and run.
  bool loads = true;
  bool runs = true;
  // Each read is judged by what was written, and all records are read once more at the end.
  bool verifies = false;
  // Operations under way at once, at most. Where `pacing` is set, 1000 unless given.
  int64_t threads = 50;
  // The Clients that the threads' operations are spread over. Not more than threads.
  int64_t clients = 1;
  uint64_t seed = 1;
  // nullopt: a closed loop, in which each thread begins an operation when its last one ends.
  std::optional<Pacing> pacing;
  // `pacing` as it was given, for the report.
  std::string rate_text;
  // Of the run phase. INT64_MAX: only run_time ends it.
  int64_t operations = INT64_MAX;
  // Of the run phase, with the warm-up. Infinite: only the operations end it.
  absl::Duration run_time = absl::InfiniteDuration();
  absl::Duration warm_up;
  // Of one operation, with all its attempts.
  absl::Duration timeout = absl::Seconds(5);
  // A phase ends when nothing has succeeded for this long.
  absl::Duration give_up = absl::Seconds(30);
  std::vector<Slo> slos;
  // Files to write. Empty: none is written. A history file makes the load verify.
  std::string json_file, hdr_file, html_file, history_file;
  std::vector<ChaosCommand> chaos;

  // `properties`: what was read for -P and -p; those of --workload come after them.
  static absl::StatusOr<Settings> From(const Flags& flags, const Properties& properties);
  // Names and values for the report.
  std::vector<std::pair<std::string, std::string>> Describe() const;
  // Whether `pacing` is for that phase: for the run; for the load only where there is no run.
  bool IsPaced(Phase phase) const { return pacing && (phase == Phase::kRun || !runs); }
};

}  // namespace arion::load
