// SPDX-License-Identifier: Apache-2.0
#include "tools/load/session.h"

#include <absl/strings/str_join.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/status.h"
#include "tools/load/report/report_text.h"
#include "tools/load/run/hdr_log.h"
#include "tools/load/run/server_facts.h"

namespace arion::load {
namespace {

std::string MachineText() {
  utsname name{};
  uname(&name);
  std::string model = "unknown processor";
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (!line.starts_with("model name")) continue;
    model = line.substr(std::min(line.size(), line.find(':') + 2));
    break;
  }
  return absl::StrCat(name.sysname, " ", name.release, ", ", std::thread::hardware_concurrency(),
                      " x ", model);
}

std::vector<Kind> KindsOf(const Workload& workload) {
  std::vector<Kind> kinds;
  for (size_t i = 0; i < kKinds; ++i) {
    if (workload.proportions[i] > 0) kinds.push_back(static_cast<Kind>(i));
  }
  return kinds;
}

}  // namespace

Session::Session(const Settings& settings, Print print, std::atomic<bool>& stop)
    : settings_(settings),
      print_(std::move(print)),
      stop_(stop),
      keys_(settings.workload),
      run_(static_cast<uint64_t>(clock_.WallMicros())),
      began_(clock_.Now()),
      ledger_(settings.verifies ? std::make_unique<Ledger>(run_) : nullptr),
      chaos_left_(settings.chaos.size()),
      stages_(settings.meta_servers, settings.table) {}

absl::Status Session::Open() {
  for (int64_t i = 0; i < settings_.clients; ++i) {
    // A write that is sent again may happen after a later one was acknowledged: no read could be
    // judged.
    absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(
        {.meta_servers = settings_.meta_servers,
         .timeout = settings_.timeout,
         .write_retries = ledger_ ? WriteRetries::kAfterRefusals : WriteRetries::kAlways});
    if (!client.ok()) return client.status();
    absl::StatusOr<std::shared_ptr<Table>> table = (*client)->OpenTable(settings_.table);
    if (!table.ok()) {
      return Annotate(table.status(), absl::StrCat("open table ", settings_.table, " at ",
                                                   absl::StrJoin(settings_.meta_servers, ",")));
    }
    // A client of its own for each lane: a thread and connections, so lanes do not wait for each
    // other.
    clients_.push_back(*std::move(client));
    tables_.push_back(*std::move(table));
  }
  return absl::OkStatus();
}

Report Session::Run() {
  Report report{.configuration = settings_.Describe(), .began = began_, .ended = "done"};
  report.configuration.emplace_back("machine", MachineText());
  for (auto& line : ServerLines(settings_.meta_servers)) report.configuration.push_back(line);
  print_(ConfigurationText(report.configuration));
  OpenHdrLog();
  if (!settings_.history_file.empty()) history_ = std::make_unique<History>(settings_.history_file);
  const auto ended_well = [&](const PhaseResult& phase) {
    if (phase.end == PhaseResult::End::kStopped) report.ended = "told to stop";
    if (phase.end == PhaseResult::End::kGivenUp) report.ended = "nothing succeeded any more";
    return phase.end == PhaseResult::End::kDone;
  };
  bool goes_on = true;
  if (settings_.loads) {
    report.phases.push_back(RunPhaseOf(Phase::kLoad));
    goes_on = ended_well(report.phases.back());
    if (goes_on && settings_.runs && report.phases.back().total.Errors() > 0) {
      report.ended = "the load phase had errors, so the run phase was not begun";
      goes_on = false;
    }
  }
  if (goes_on && settings_.runs) {
    report.phases.push_back(RunPhaseOf(Phase::kRun));
    const PhaseResult& run = report.phases.back();
    goes_on = ended_well(run) || run.end == PhaseResult::End::kStopped;
    for (const Slo& slo : settings_.slos) report.slos.push_back(Judge(slo, run));
    // Ctrl-C ended the run; what was acknowledged until then is still to be read back.
    if (goes_on && ledger_) stop_ = false;
  }
  if (goes_on && ledger_) {
    report.phases.push_back(RunCheck());
    ended_well(report.phases.back());
  }
  CloseHistory();
  report.events = events_;
  report.chaos_left = chaos_left_;
  if (ledger_) {
    report.verdict = ledger_->verdict();
    for (Violation& violation : report.verdict->first) {
      const RecordKey key = keys_.Of(violation.record);
      violation.key = key.sort_key.empty() ? key.hash_key : key.hash_key + "/" + key.sort_key;
    }
  }
  return report;
}

PhaseResult Session::RunPhaseOf(Phase phase) {
  const bool loads = phase == Phase::kLoad;
  auto source = std::make_shared<OperationSource>(
      settings_.workload,
      OperationSource::Options{
          .phase = phase, .seed = settings_.seed, .settling = settings_.threads});
  DriverOptions options{.threads = settings_.threads, .run = run_};
  PhaseRules rules{.name = loads ? "load" : "run", .give_up = settings_.give_up};
  if (settings_.IsPaced(phase)) {
    options.pacing = settings_.pacing;
    rules.loop = LoopKind::kOpen;
  }
  if (loads) {
    options.operations_max = settings_.workload.insert_count;
  } else {
    options.operations_max = settings_.operations;
    options.start_within = settings_.run_time;
    // Sequences of the load come first: a value names one write in all phases.
    options.first_sequence = settings_.workload.insert_count;
    rules.warm_up = settings_.warm_up;
  }
  Chaos chaos(loads ? std::vector<ChaosCommand>() : settings_.chaos);
  PhaseResult result =
      Drive([source] { return source->Next(); }, options, rules,
            loads ? std::vector<Kind>{Kind::kInsert} : KindsOf(settings_.workload), chaos);
  if (!loads) chaos_left_ = chaos.NeverRan().size();
  return result;
}

PhaseResult Session::RunCheck() {
  auto records = std::make_shared<std::vector<int64_t>>(ledger_->Records());
  const int64_t count = static_cast<int64_t>(records->size());
  auto next = [records, at = size_t{0}]() mutable -> std::optional<Operation> {
    if (at == records->size()) return std::nullopt;
    const int64_t index = static_cast<int64_t>(at);
    return Operation{.index = index, .kind = Kind::kRead, .record = (*records)[at++]};
  };
  Chaos none({});
  return Drive(std::move(next),
               {.threads = settings_.threads,
                .operations_max = count,
                .run = run_,
                .read_time = ReadTime::kAfterRun},
               {.name = "check", .give_up = settings_.give_up}, {Kind::kRead}, none);
}

PhaseResult Session::Drive(Driver::Next next, DriverOptions options, const PhaseRules& rules,
                           std::vector<Kind> kinds, Chaos& chaos) {
  Measurements measurements(tables_.size());
  std::vector<AsyncTable*> lanes;
  for (const std::shared_ptr<Table>& table : tables_) lanes.push_back(&table->async());
  const IntervalLines lines({.phase = rules.name,
                             .loop = rules.loop,
                             .kinds = std::move(kinds),
                             .operations_max = options.operations_max,
                             .seconds_max = options.start_within});
  Driver driver({.clock = clock_,
                 .lanes = std::move(lanes),
                 .keys = keys_,
                 .measurements = measurements,
                 .ledger = ledger_.get(),
                 .history = history_.get()},
                std::move(next), std::move(options));
  // Servers are asked before the first operation and after the last, so that only this phase's
  // writes count.
  stages_.Begin();
  const Instant phase_began = clock_.Now();
  int line = 0;
  NoteEvents(absl::ZeroDuration(), chaos.RunDue(absl::ZeroDuration()));
  PhaseResult result =
      RunPhase(driver, measurements, rules,
               {.clock = clock_,
                .sleep_until =
                    [this](Instant until) {
                      const absl::Duration left = until - clock_.Now();
                      if (left > absl::ZeroDuration()) {
                        std::this_thread::sleep_for(absl::ToChronoNanoseconds(left));
                      }
                    },
                .on_interval =
                    [&](const Interval& interval) {
                      if (line++ % 20 == 0) print_(lines.Head());
                      print_(lines.LineOf(interval));
                      WriteHdr(interval, rules.loop, phase_began);
                      NoteEvents(interval.start + interval.length,
                                 chaos.RunDue(interval.start + interval.length));
                    },
                .stop = stop_});
  NoteEvents(clock_.Now() - phase_began, chaos.Finish());
  NoteEvents(clock_.Now() - phase_began, chaos.NeverRan());
  result.server_stages = stages_.End();
  return result;
}

void Session::NoteEvents(absl::Duration at, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    events_.push_back(absl::StrFormat("%.0fs %s", absl::ToDoubleSeconds(at), text));
    print_(absl::StrCat("chaos: ", events_.back(), "\n"));
  }
}

void Session::CloseHistory() {
  if (history_ == nullptr) return;
  const absl::Status closed = history_->Close();
  if (closed.ok()) return;
  print_(absl::StrCat("error: ", closed.message(), "\n"));
  file_status_.Update(closed);
}

void Session::OpenHdrLog() {
  if (settings_.hdr_file.empty()) return;
  hdr_.open(settings_.hdr_file, std::ios::trunc);
  WriteHdrText(HdrLogHead(absl::Now()));
}

void Session::WriteHdr(const Interval& interval, LoopKind loop, Instant phase_began) {
  if (settings_.hdr_file.empty() || interval.use == Interval::Use::kWarmUp) return;
  const absl::Duration start = phase_began - began_ + interval.start;
  for (size_t i = 0; i < kKinds; ++i) {
    const KindTally& tally = interval.tally.kinds[i];
    if (tally.service.count() == 0) continue;
    const std::string name(NameOf(static_cast<Kind>(i)));
    WriteHdrText(
        HdrLogLine({.tag = name, .start = start, .length = interval.length}, tally.service));
    if (loop != LoopKind::kOpen) continue;
    WriteHdrText(HdrLogLine({.tag = "Intended-" + name, .start = start, .length = interval.length},
                            tally.intended));
  }
}

void Session::WriteHdrText(const std::string& text) {
  // Told once; a measurement is worth more than its log.
  if (!file_status_.ok()) return;
  errno = 0;
  if (hdr_ && (hdr_ << text << std::flush)) return;
  file_status_ = absl::UnavailableError(
      absl::StrCat("can't write ", settings_.hdr_file, ": ", strerror(errno)));
  print_(absl::StrCat("error: ", file_status_.message(), "; going on without it\n"));
}

}  // namespace arion::load
