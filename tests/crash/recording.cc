// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/recording.h"

#include <algorithm>
#include <utility>

#include "tests/crash/crash_model.h"
#include "tests/crash/crash_states.h"
#include "wal/private_log.h"

namespace arion::crash {

Tree EmptyDisk() {
  RecordedDisk disk(Tree{});
  CHECK(disk.CreateDirectories("/data/2.1.pegasus").ok());
  return disk.tree();
}

Recording::Recording(uint64_t seed, LogSettings settings, Tree initial)
    : settings_(settings),
      initial_(std::move(initial)),
      disk_(initial_, &ops_),
      random_(seed),
      world_(seed),
      node_(world_.AddNode("r1")) {}

Recording::~Recording() { DropLife(); }

void Recording::DropLife() {
  if (env_ == nullptr) return;
  asked_ = answers_.size();  // the others get none any more
  env_->End();
  node_.Crash(sim::CrashMode::kProcess);
  log_.reset();
  strand_.reset();
  env_.reset();
}

void Recording::Open() {
  env_ = std::make_unique<CrashEnvironment>(node_.Start(), disk_);
  strand_ = env_->NewStrand("log");
  Op mark{.kind = OpKind::kOpened};
  auto log = PrivateLog::Open(
      *env_, strand_, OptionsFor(settings_, applied_, valid_start_),
      [&](const MutationPtr& mutation) {
        mark.mutations.push_back(mutations_.Find(*mutation));
        return absl::OkStatus();
      },
      nullptr);
  opened_ = log.status();
  if (!log.ok()) return;
  log_ = *std::move(log);
  ++ballot_;
  last_decree_ = applied_;
  for (const int mutation : mark.mutations)
    if (mutation >= 0)
      last_decree_ = std::max(last_decree_, mutations_.at(mutation)->decree.value());
  disk_.Mark(std::move(mark));
}

void Recording::AppendHere(size_t bytes) {
  Mutation m;
  m.pid = kCrashPid;
  m.ballot = Ballot(ballot_);
  m.decree = Decree(++last_decree_);
  m.last_committed = Decree(std::max<int64_t>(0, last_decree_ - 1 - uncommitted_));
  m.timestamp_us = 1640995200000000 + last_decree_;
  std::string data(bytes, '\0');
  sim::SimRandom content(static_cast<uint64_t>(ballot_ * 1000003 + last_decree_));
  for (char& c : data) c = static_cast<char>(content.Next() >> 11);
  m.updates.push_back({.code = WriteCode::kPut, .serialization = 1, .data = std::move(data)});
  const auto mutation = std::make_shared<const Mutation>(std::move(m));
  const int number = mutations_.Add(mutation);
  disk_.Mark({.kind = OpKind::kAppended, .number = number});
  ++asked_;
  log_->Append(mutation, [this, number](const absl::Status& status) {
    answers_.push_back(status);
    if (status.ok()) disk_.Mark({.kind = OpKind::kReported, .number = number});
  });
}

void Recording::Append(size_t bytes) { AppendTogether(1, bytes, bytes); }

void Recording::AppendTogether(int count, size_t bytes_min, size_t bytes_max) {
  if (log_ == nullptr) return;
  node_.environment().RunOn(strand_, [&] {
    for (int i = 0; i < count; ++i)
      AppendHere(bytes_min + random_.Below(bytes_max - bytes_min + 1));
  });
}

void Recording::WaitForReports() {
  world_.RunUntil([&] { return answers_.size() == asked_; }, absl::Seconds(30));
}

void Recording::Checkpoint(int64_t behind) {
  if (log_ == nullptr) return;
  applied_ = std::max(applied_, last_decree_ - behind);
  disk_.Mark({.kind = OpKind::kCheckpoint, .number = applied_});
  node_.environment().RunOn(strand_, [&] { log_->DropThrough(Decree(applied_)); });
}

void Recording::StartAnew(int64_t max_decree) {
  if (log_ == nullptr) return;
  node_.environment().RunOn(strand_, [&] {
    log_->StartAnew(Decree(max_decree));
    valid_start_ = log_->end_offset();
  });
  applied_ = last_decree_ = max_decree;
  ++ballot_;
  disk_.Mark({.kind = OpKind::kValidStart, .number = max_decree, .valid_start = valid_start_});
}

void Recording::PrepareNextFile() {
  if (log_ != nullptr) node_.environment().RunOn(strand_, [&] { log_->PrepareNextFile(); });
}

void Recording::Close() {
  bool drained = false;
  if (log_ != nullptr) {
    node_.environment().RunOn(strand_, [&] { log_->Drain([&] { drained = true; }); });
    drained = world_.RunUntil([&] { return drained; }, absl::Seconds(30));
  }
  is_clean_ = drained && log_->Close().ok();
  if (is_clean_) disk_.Mark({.kind = OpKind::kClosed});
  EndProcess();
}

void Recording::EndProcess() {
  // A page-cache log's sync that failed may have been to cover any of its bytes; the next process
  // reads them from the cache, and no power cut is promised to spare them.
  if (disk_.has_lost() && settings_.durability == Durability::kOs) return CutPower();
  DropLife();
  disk_.EndProcess();
}

void Recording::CutPower() {
  DropLife();
  CrashModel model(initial_);
  for (const Op& op : ops_) model.Apply(op);
  std::vector<Choice> choices;
  ForEachState(model, {}, random_.Next(),
               [&](StateKind, const Choice& choice) { choices.push_back(choice); });
  Tree tree = model.Build(choices[random_.Below(choices.size())]);
  disk_.CutPower(tree);
}

void Recording::ForgetIdentity() {
  if (!is_clean_ || !disk_.Remove(kCrashIdentityPath).ok()) return;
  (void)disk_.SyncDirectory(*disk_.tree().Find(ParentDirectory(kCrashIdentityPath)));
}

}  // namespace arion::crash
