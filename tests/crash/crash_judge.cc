// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/crash_judge.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <set>

#include "tests/crash/crash_environment.h"
#include "wal/private_log.h"

namespace arion::crash {

int Mutations::Add(MutationPtr mutation) {
  const std::pair name(mutation->ballot.value(), mutation->decree.value());
  CHECK(!by_name_.contains(name)) << "ballot and decree name a mutation";
  by_name_[name] = count();
  all_.push_back(std::move(mutation));
  return count() - 1;
}

int Mutations::Find(const Mutation& mutation) const {
  const auto found = by_name_.find({mutation.ballot.value(), mutation.decree.value()});
  if (found == by_name_.end()) return -1;
  const Mutation& ours = *at(found->second);
  const bool is_same = ours.pid == mutation.pid && ours.last_committed == mutation.last_committed &&
                       ours.timestamp_us == mutation.timestamp_us &&
                       ours.updates == mutation.updates;
  return is_same ? found->second : -1;
}

std::string Expectation::Name(int mutation) const {
  const Mutation& m = *mutations_->at(mutation);
  return absl::StrCat("decree ", m.decree.value(), " of ballot ", m.ballot.value(), " (mutation ",
                      mutation, ")");
}

void Expectation::Apply(const Op& mark) {
  switch (mark.kind) {
    case OpKind::kAppended:
      history_.push_back(static_cast<int>(mark.number));
      break;
    case OpKind::kReported: {
      const auto at = std::find(history_.begin(), history_.end(), static_cast<int>(mark.number));
      if (at == history_.end()) break;  // void since a new beginning
      reported_ = std::max(reported_, static_cast<size_t>(at - history_.begin()) + 1);
      if (durability_ == Durability::kFsync) durable_ = reported_;
      break;
    }
    case OpKind::kOpened:
      OnOpened(mark.mutations);
      break;
    case OpKind::kCheckpoint:
      applied_ = std::max(applied_, mark.number);
      break;
    case OpKind::kValidStart:
      history_.clear();
      reported_ = durable_ = 0;
      applied_ = mark.number;
      valid_start_ = mark.valid_start;
      break;
    case OpKind::kPowerCut:
      reported_ = durable_;
      break;
    case OpKind::kClosed:
      reported_ = durable_ = history_.size();
      break;
    default:
      break;
  }
}

void Expectation::OnOpened(const std::vector<int>& mutations) {
  // What the engine holds need not be read: it may turn up again. All else is what was read.
  std::vector<int> history;
  const std::set<int> given(mutations.begin(), mutations.end());
  for (const int mutation : history_)
    if (given.contains(mutation) || DecreeOf(mutation) <= applied_) history.push_back(mutation);
  history_ = std::move(history);
  reported_ = durable_ = history_.size();
}

std::string Expectation::Judge(const Recovered& recovered, Ending ending) const {
  const size_t kept = ending == Ending::kProcess ? reported_ : durable_;
  if (!recovered.status.ok())
    return absl::StrCat("does not open: ", std::string(recovered.status.message()));
  const std::set<int> allowed(history_.begin(), history_.end());
  std::set<int> seen;
  auto last = history_.begin();
  std::vector<int> given;  // first occurrences above what may be gone
  for (const int mutation : recovered.mutations) {
    if (mutation < 0) return "gives a mutation that was never appended, or with other bytes";
    if (!allowed.contains(mutation))
      return absl::StrCat(Name(mutation), " is there again, which was void or lost before");
    if (!seen.insert(mutation).second) continue;  // appended anew by a recovery
    const auto at = std::find(history_.begin(), history_.end(), mutation);
    // What the engine holds: of one that was appended anew the first may have been dropped.
    if (DecreeOf(mutation) <= applied_) continue;
    if (at < last) return absl::StrCat(Name(mutation), " comes after ", Name(*last));
    last = at;
    given.push_back(mutation);
  }
  size_t next = 0;
  for (size_t i = 0; i < history_.size(); ++i) {
    if (DecreeOf(history_[i]) <= applied_) continue;
    if (next < given.size() && given[next] == history_[i]) {
      ++next;
    } else if (next < given.size()) {
      return absl::StrCat(Name(history_[i]), " is missing before ", Name(given[next]));
    } else if (i < kept) {
      return absl::StrCat(Name(history_[i]), " was reported durable and is missing");
    }
  }
  return "";
}

PrivateLogOptions OptionsFor(const LogSettings& settings, int64_t applied, int64_t valid_start) {
  PrivateLogOptions options;
  options.directory = kCrashLogDirectory;
  options.identity_path = kCrashIdentityPath;
  options.pid = kCrashPid;
  options.durability = settings.durability;
  options.segment_bytes_max = settings.segment_bytes_max;
  options.preallocate = settings.preallocate;
  options.applied = Decree(applied);
  options.valid_start_offset = valid_start;
  return options;
}

Recovered Recover(RecordedDisk& disk, const LogSettings& settings, int64_t applied,
                  int64_t valid_start, const Mutations& mutations) {
  sim::SimWorld world(1);
  CrashEnvironment env(world.AddNode("r1").Start(), disk);
  Recovered recovered;
  const auto log = PrivateLog::Open(
      env, env.NewStrand("log"), OptionsFor(settings, applied, valid_start),
      [&](const MutationPtr& mutation) {
        recovered.mutations.push_back(mutations.Find(*mutation));
        return absl::OkStatus();
      },
      nullptr);
  recovered.status = log.status();
  return recovered;
}

absl::Status RecoverAndAppend(RecordedDisk& disk, const LogSettings& settings, int64_t applied,
                              int64_t valid_start, const MutationPtr& more) {
  sim::SimWorld world(1);
  CrashEnvironment env(world.AddNode("r1").Start(), disk);
  const StrandPtr strand = env.NewStrand("log");
  const auto log = PrivateLog::Open(
      env, strand, OptionsFor(settings, applied, valid_start),
      [](const MutationPtr&) { return absl::OkStatus(); }, nullptr);
  if (!log.ok()) return log.status();
  absl::Status report = absl::DeadlineExceededError("no report");
  strand->Post([&] { (*log)->Append(more, [&](const absl::Status& status) { report = status; }); });
  world.RunUntil([&] { return !absl::IsDeadlineExceeded(report); }, absl::Seconds(30));
  return report;
}

}  // namespace arion::crash
