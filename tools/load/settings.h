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

// The command line as given. No value: not given.
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

// What the load is to be, with defaults filled in.
struct Settings {
  std::vector<std::string> meta_servers;
  std::string table;
  Workload workload;
  bool loads = true;
  bool runs = true;
  bool verifies = false;
  int64_t threads = 50;
  int64_t clients = 1;
  uint64_t seed = 1;
  std::optional<Pacing> pacing;
  std::string rate_text;
  int64_t operations = INT64_MAX;
  // With the warm-up.
  absl::Duration run_time = absl::InfiniteDuration();
  absl::Duration warm_up;
  absl::Duration timeout = absl::Seconds(5);
  absl::Duration give_up = absl::Seconds(30);
  std::vector<Slo> slos;
  // Empty: none is written.
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
