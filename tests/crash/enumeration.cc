// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/enumeration.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace arion::crash {
namespace {

constexpr int64_t kGoesOnBallot = 1'000'000;

bool IsMark(OpKind kind) { return kind >= OpKind::kAppended; }

// What changes the disk, or the options that recovery gets: before it, the states so far are tried.
bool EndsStates(OpKind kind) {
  switch (kind) {
    case OpKind::kWritten:
    case OpKind::kWriteFailed:
    case OpKind::kFlushBegin:
    case OpKind::kSyncFailed:
    case OpKind::kFlushFailed:
      return false;
    case OpKind::kCheckpoint:
    case OpKind::kValidStart:
      return true;
    default:
      return !IsMark(kind);
  }
}

bool IsChosen(uint64_t number, uint64_t every, uint64_t rest) {
  return every > 0 && number % every == rest;
}

}  // namespace

std::string_view OriginName(Origin origin) {
  switch (origin) {
    case Origin::kPrefix:
      return "prefix";
    case Origin::kTorn:
      return "torn";
    case Origin::kReordered:
      return "reordered";
    case Origin::kSubset:
      return "subset";
    case Origin::kDepth2:
      return "depth 2";
    case Origin::kProcess:
      return "process, then power";
    case Origin::kGoesOn:
      return "append after recovery";
    case Origin::kCopied:
      return "copied";
    case Origin::kFailed:
      return "after a failure";
    case Origin::kFull:
      return "disk full";
  }
  return "?";
}

uint64_t Tally::total() const { return std::accumulate(states.begin(), states.end(), uint64_t{0}); }

Enumeration::Enumeration(Recording& recording, const EnumerationOptions& options, Tally& tally)
    : recording_(recording), options_(options), tally_(tally) {}

bool Enumeration::IsWanted(const std::string& name) const {
  return options_.only.empty() || name == options_.only;
}

void Enumeration::Run() {
  CrashModel model(recording_.initial());
  Expectation expectation(recording_.mutations(), recording_.settings().durability);
  const Ops& ops = recording_.ops();
  for (size_t i = 0; i < ops.size(); ++i) {
    if (EndsStates(ops[i].kind) && i >= options_.first_prefix) {
      TryAll(model, expectation, i);
      if (IsChosen(i, options_.process_every, 0)) TryProcess(model, expectation, i);
    }
    model.Apply(ops[i]);
    expectation.Apply(ops[i]);
    if (!options_.only.empty()) absl::PrintF("%5d %s\n", i, ops[i].ToString());
  }
  TryAll(model, expectation, ops.size());
  if (options_.process_every > 0) TryProcess(model, expectation, ops.size());
}

void Enumeration::TryAll(const CrashModel& model, const Expectation& expectation, size_t prefix) {
  size_t state = 0;
  ForEachState(model, options_.volume, prefix + 1, [&](StateKind kind, const Choice& choice) {
    const std::string name = absl::StrCat(prefix, ":", state++);
    if (!options_.only.empty() && options_.only.rfind(name, 0) != 0) return;
    const Tree tree = model.Build(choice);
    const uint64_t hash = tree.Hash();
    // Mostly the engine's durable decree is known; the log must open without it, too.
    const Stored stored{hash % 4 == 0 ? 0 : expectation.applied(), expectation.valid_start()};
    const bool is_new = Try(tree, hash, expectation, stored, static_cast<Origin>(kind), name);
    if (!is_new && options_.only.empty()) return;
    if (IsChosen(hash / 4, options_.depth2_every, 0) || !options_.only.empty())
      TryDepth2(tree, expectation, stored, name);
    if (IsChosen(hash / 4, options_.goes_on_every, 1)) TryGoesOn(tree, expectation, stored, name);
    if (IsChosen(hash / 4, options_.copied_every, 2) || !options_.only.empty())
      TryCopied(tree.Copied(), expectation, stored, absl::StrCat(name, ":copied"));
  });
}

bool Enumeration::Try(const Tree& tree, uint64_t hash, const Expectation& expectation,
                      const Stored& stored, Origin origin, const std::string& name) {
  const bool is_new = tally_.seen.insert(hash).second;
  if (is_new) ++tally_.states[static_cast<size_t>(options_.origin.value_or(origin))];
  const uint64_t key = hash ^ (static_cast<uint64_t>(stored.applied) * 0x9e3779b97f4a7c15u) ^
                       (static_cast<uint64_t>(stored.valid_start) * 0xbf58476d1ce4e5b9u);
  std::shared_ptr<const Recovered>& recovered = recovered_[key];
  if (recovered == nullptr) {
    RecordedDisk disk(tree);
    recovered = std::make_shared<const Recovered>(Recover(
        disk, recording_.settings(), stored.applied, stored.valid_start, recording_.mutations()));
    ++tally_.recoveries;
  }
  const std::string what = expectation.Judge(*recovered);
  if (!what.empty()) Tell(name, what, tree);
  if (!options_.only.empty() && IsWanted(name))
    absl::PrintF("state %s: %s, %d mutations\n%s", name, recovered->status.ToString(),
                 recovered->mutations.size(), tree.ToString());
  return is_new;
}

void Enumeration::TryDepth2(const Tree& tree, const Expectation& expectation, const Stored& stored,
                            const std::string& name) {
  Ops ops;
  RecordedDisk disk(tree, &ops);
  const Recovered recovered = Recover(disk, recording_.settings(), stored.applied,
                                      stored.valid_start, recording_.mutations());
  TryInside(CrashModel(tree), ops, expectation, recovered, stored, Origin::kDepth2, name);
}

void Enumeration::TryCopied(const Tree& tree, const Expectation& expectation, const Stored& stored,
                            const std::string& name) {
  Try(tree, tree.Hash(), expectation, stored, Origin::kCopied, name);
  Ops ops;
  RecordedDisk disk(tree, &ops);
  const Recovered recovered = Recover(disk, recording_.settings(), stored.applied,
                                      stored.valid_start, recording_.mutations());
  TryInside(CrashModel(tree), ops, expectation, recovered, stored, Origin::kCopied, name);
}

void Enumeration::TryProcess(CrashModel model, const Expectation& expectation, size_t prefix) {
  const Tree visible = model.EndProcess();
  Ops ops;
  RecordedDisk disk(visible, &ops);
  const Stored stored{expectation.applied(), expectation.valid_start()};
  const Recovered recovered = Recover(disk, recording_.settings(), stored.applied,
                                      stored.valid_start, recording_.mutations());
  const std::string what = expectation.Judge(recovered, Expectation::Ending::kProcess);
  if (!what.empty()) Tell(absl::StrCat(prefix, ":process"), what, visible);
  TryInside(std::move(model), ops, expectation, recovered, stored, Origin::kProcess,
            absl::StrCat(prefix, ":process"));
}

void Enumeration::TryInside(CrashModel model, const Ops& ops, Expectation expectation,
                            const Recovered& recovered, const Stored& stored, Origin origin,
                            const std::string& name) {
  for (size_t i = 0; i <= ops.size(); ++i) {
    if (i == ops.size() && recovered.status.ok()) expectation.OnOpened(recovered.mutations);
    if (i == ops.size() || EndsStates(ops[i].kind)) {
      size_t state = 0;
      ForEachState(model, options_.volume_inside, i + 1, [&](StateKind, const Choice& choice) {
        const std::string inner = absl::StrCat(name, ":", i, ":", state++);
        if (!options_.only.empty() && inner != options_.only) return;
        const Tree tree = model.Build(choice);
        Try(tree, tree.Hash(), expectation, stored, origin, inner);
      });
    }
    if (i == ops.size()) break;
    model.Apply(ops[i]);
    if (options_.only.rfind(name + ":", 0) == 0)
      absl::PrintF("   recovery %5d %s\n", i, ops[i].ToString());
  }
}

void Enumeration::TryGoesOn(const Tree& tree, const Expectation& expectation, const Stored& stored,
                            const std::string& name) {
  RecordedDisk first(tree);
  const Recovered recovered = Recover(first, recording_.settings(), stored.applied,
                                      stored.valid_start, recording_.mutations());
  if (!recovered.status.ok()) return;  // told already
  Expectation after = expectation;
  after.OnOpened(recovered.mutations);
  int64_t decree = stored.applied;
  for (const int mutation : recovered.mutations)
    if (mutation >= 0)
      decree = std::max(decree, recording_.mutations().at(mutation)->decree.value());
  auto more = std::make_shared<Mutation>();
  more->pid = kCrashPid;
  more->ballot = Ballot(kGoesOnBallot);
  more->decree = Decree(decree + 1);
  more->last_committed = Decree(decree);
  more->updates.push_back({.code = WriteCode::kPut, .data = std::string(300, 'm')});
  int number = recording_.mutations().Find(*more);
  if (number < 0) number = recording_.mutations().Add(more);

  Ops ops;
  RecordedDisk disk(tree, &ops);
  const absl::Status report =
      RecoverAndAppend(disk, recording_.settings(), stored.applied, stored.valid_start, more);
  if (!report.ok()) return Tell(name, absl::StrCat("does not go on: ", report.ToString()), tree);
  after.Apply({.kind = OpKind::kAppended, .number = number});
  after.Apply({.kind = OpKind::kReported, .number = number});
  CrashModel model(tree);
  for (const Op& op : ops) model.Apply(op);
  for (const bool is_kept : {false, true}) {
    const Tree image = model.Build(Choice(model.atoms(), is_kept));
    Try(image, image.Hash(), after, stored, Origin::kGoesOn,
        absl::StrCat(name, ":goes on:", is_kept ? "all" : "none"));
  }
}

void Enumeration::Tell(const std::string& name, const std::string& what, const Tree& tree) {
  ++tally_.violations;
  if (++told_ > options_.violations_told) return;
  absl::PrintF("VIOLATION %s:%s\n  %s\n  again: crash_test --only '%s:%s'\n%s", options_.name, name,
               what, options_.name, name, tree.ToString());
}

}  // namespace arion::crash
