// Session: a cluster's table, the phases upon it one after the other, and the report of all.
//
// Errors    Open: NotFound: no such table; Unavailable, DeadlineExceeded: no meta server answers.
// Threads   Call from one thread; `stop` may be set by a signal's handler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <arion/client.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "posix/posix_clock.h"
#include "tools/load/report/report.h"
#include "tools/load/run/server_stages.h"
#include "tools/load/settings.h"
#include "tools/load/workload/ledger.h"

namespace arion::load {

// One run of the tool. Open, then Run once.
//
//   Session session(settings, print, stop);
//   if (absl::Status status = session.Open(); !status.ok()) return Fail(status);
//   Report report = session.Run();
class Session {
 public:
  using Print = std::function<void(std::string_view)>;
  // `settings` and `stop` outlive it. `print` gets what people read while it goes on. `stop` ends a
  // phase. With --verify, the check after a run that was stopped takes `stop` back, and can be
  // stopped in turn.
  Session(const Settings& settings, Print print, std::atomic<bool>& stop);

  // Connects the clients and opens the table with each. With --verify a write that may have
  // happened is not sent again: it could happen after a later one was acknowledged, and no read
  // could be judged.
  absl::Status Open();
  // Runs the phases in order: load, run, check. Each that began is in the report, however it ended.
  // The run phase is left out after a load with errors. SLOs are judged on the run phase.
  Report Run();
  // What went wrong with a file that is written on the way: the HDR log, the history. It is
  // reported once, and the load goes on.
  const absl::Status& file_status() const { return file_status_; }

 private:
  // The load or the run.
  PhaseResult RunPhaseOf(Phase phase);
  // Reads every record that the ledger knows once more, after all writes ended.
  PhaseResult RunCheck();
  // What all phases share: makes a driver of `next`, runs it to its end, and prints a line a
  // second.
  PhaseResult Drive(Driver::Next next, DriverOptions options, const PhaseRules& rules,
                    std::vector<Kind> kinds, Chaos& chaos);
  // Keeps what chaos commands did for the report, and prints it. `at`: since the phase began.
  void NoteEvents(absl::Duration at, const std::vector<std::string>& texts);
  void OpenHdrLog();
  void WriteHdr(const Interval& interval, LoopKind loop, Instant phase_began);
  void CloseHistory();
  void WriteHdrText(const std::string& text);

  const Settings& settings_;
  const Print print_;
  std::atomic<bool>& stop_;
  const PosixClock clock_;
  const KeyNames keys_;
  const uint64_t run_;
  const Instant began_;
  std::unique_ptr<Ledger> ledger_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::shared_ptr<Table>> tables_;
  std::ofstream hdr_;
  absl::Status file_status_;
  std::unique_ptr<History> history_;
  std::vector<std::string> events_;
  // Commands that did not run.
  size_t chaos_left_;
  ServerStages stages_;
};

}  // namespace arion::load
