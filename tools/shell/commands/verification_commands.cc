// Whether a table's copies are equal.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/time/clock.h>

#include <algorithm>

#include "base/raw_key.h"
#include "base/status.h"
#include "messages/verification_messages.h"
#include "rpc/thrift_codec.h"
#include "tools/shell/arguments.h"
#include "tools/shell/progress.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(500);
constexpr absl::Duration kPatience = absl::Seconds(60);  // with one that nobody verifies

// One partition's verification, as far as it is known here.
struct Asked {
  PartitionId pid;
  std::optional<int64_t> run_before;  // once it was begun: the last one before
  absl::Time heard_at;                // that it goes on
  std::string problem;
  VerifyReplicasResponse answer;
  bool is_done = false;
};

absl::StatusOr<VerifyReplicasResponse> Ask(AdminClient& admin, Endpoint primary, PartitionId pid,
                                           VerifyAction action) {
  const VerifyReplicasRequest request{.pid = pid, .action = action};
  ASSIGN_OR_RETURN(const std::string body,
                   admin.AskServer(primary, kRpcVerifyReplicas, EncodeWrapped(request)));
  return DecodeWrapped<VerifyReplicasResponse>(body);
}

bool IsNew(const VerifyReplicasResponse& answer, const Asked& asked) {
  return answer.state == VerificationState::kDone && answer.run != *asked.run_before;
}

// OK: it goes on, or is done. An error: it has to be begun, or begun anew.
absl::Status GoOn(AdminClient& admin, Endpoint primary, Asked* asked) {
  if (!primary.IsValid()) return absl::UnavailableError("it has no primary");
  ASSIGN_OR_RETURN(VerifyReplicasResponse answer,
                   Ask(admin, primary, asked->pid, VerifyAction::kQuery));
  const bool is_under_way = answer.state == VerificationState::kRunning;
  if (asked->run_before && IsNew(answer, *asked)) {
    asked->answer = std::move(answer);
    asked->is_done = true;
    return absl::OkStatus();
  }
  // Begun by somebody else, or lost with its primary: a run that began before this command proves
  // nothing about now.
  if (!asked->run_before || !is_under_way) {
    asked->run_before = answer.run;
    ASSIGN_OR_RETURN(answer, Ask(admin, primary, asked->pid, VerifyAction::kStart));
  }
  if (answer.err != ErrorCode::kOk)
    return absl::UnavailableError(absl::StrCat(primary.ToString(), ": ", answer.hint));
  asked->is_done = IsNew(answer, *asked);
  asked->answer = std::move(answer);
  return absl::OkStatus();
}

absl::Status Look(Session& session, const std::string& name, std::vector<Asked>* all) {
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  // Each time anew: primaries move meanwhile.
  ASSIGN_OR_RETURN(const TableState table, session.cluster().FindTable(name));
  for (Asked& asked : *all) {
    if (asked.is_done) continue;
    const auto index = static_cast<size_t>(asked.pid.index);
    const Endpoint primary =
        index < table.partitions.size() ? table.partitions[index].primary : Endpoint{};
    const absl::Status went = GoOn(*admin, primary, &asked);
    if (went.ok()) {
      asked.heard_at = absl::Now();
      asked.problem.clear();
      continue;
    }
    asked.problem = std::string(went.message());
    // A failover takes a while, and the next primary begins it again.
    if (absl::Now() - asked.heard_at < kPatience) continue;
    asked.answer = {
        .state = VerificationState::kDone, .why = asked.problem, .members = {}, .ranges = {}};
    asked.is_done = true;
  }
  return absl::OkStatus();
}

std::string_view VerdictName(ContentVerdictKind verdict) {
  switch (verdict) {
    case ContentVerdictKind::kEqual:
      return "equal";
    case ContentVerdictKind::kMajority:
      return "differs";
    case ContentVerdictKind::kUndecided:
      return "undecided";
    case ContentVerdictKind::kUnverified:
      break;
  }
  return "not verified";
}

std::string KeyText(const Session& session, std::string_view raw_key, const char* none) {
  if (raw_key.empty()) return none;
  const std::optional<KeyParts> parts = SplitRawKey(raw_key);
  if (!parts) return session.Shown(raw_key);
  return absl::StrCat(session.Shown(parts->hash_key), " : ", session.Shown(parts->sort_key));
}

Outcome Shown(const Session& session, const std::string& name, const std::vector<Asked>& all) {
  Outcome outcome;
  Answer::List partitions{"partitions", {"partition", "decree", "verdict", "why"}, {}};
  Answer::List copies{
      "copies", {"partition", "node", "records", "checksum", "left_out", "verdict"}, {}};
  Answer::List ranges{"ranges", {"partition", "from", "to", "records"}, {}};
  int64_t equal = 0, differing = 0, undecided = 0, unverified = 0;
  for (const Asked& asked : all) {
    const VerifyReplicasResponse& answer = asked.answer;
    const bool is_known = asked.is_done;
    const ContentVerdictKind verdict = is_known ? answer.verdict : ContentVerdictKind::kUnverified;
    ++(verdict == ContentVerdictKind::kEqual       ? equal
       : verdict == ContentVerdictKind::kMajority  ? differing
       : verdict == ContentVerdictKind::kUndecided ? undecided
                                                   : unverified);
    const std::string why =
        !is_known                                   ? "it goes on"
        : verdict == ContentVerdictKind::kMajority  ? "those that differ set themselves aside"
        : verdict == ContentVerdictKind::kUndecided ? "no majority agrees: nobody is set aside"
                                                    : answer.why;
    partitions.rows.push_back({asked.pid.ToString(), is_known ? answer.decree.value() : 0,
                               std::string(VerdictName(verdict)), Escape(why)});
    if (!is_known) continue;
    for (const VerifiedMember& member : answer.members) {
      const bool is_counted = member.problem.empty();
      copies.rows.push_back(
          {asked.pid.ToString(), member.node.ToString(), member.records,
           is_counted ? absl::StrCat(absl::Hex(static_cast<uint64_t>(member.sum), absl::kZeroPad16))
                      : std::string("-"),
           member.left_out,
           !is_counted      ? Escape(absl::StrCat("not counted: ", member.problem))
           : member.differs ? std::string("differs, set aside")
           : verdict == ContentVerdictKind::kUndecided ? std::string("undecided")
                                                       : std::string("ok")});
    }
    for (const DifferingRange& range : answer.ranges) {
      std::vector<std::string> records;
      for (const int64_t n : range.records) records.push_back(absl::StrCat(n));
      ranges.rows.push_back({asked.pid.ToString(), KeyText(session, range.first, "(first)"),
                             KeyText(session, range.end, "(last)"), std::move(records)});
    }
  }
  outcome.answer.Add("table", Escape(name))
      .Add("equal", equal)
      .Add("differing", differing)
      .Add("undecided", undecided)
      .Add("not_verified", unverified);
  if (undecided > 0)
    outcome.answer.Add(
        "what_to_do",
        std::string("decide which server's copy is right; on each other one, one after "
                    "the other: stop it, move the partition's directory away, start "
                    "it, and wait until the partition is healthy"));
  outcome.answer.AddList(std::move(partitions)).AddList(std::move(copies));
  if (!ranges.rows.empty()) outcome.answer.AddList(std::move(ranges));
  if (differing + undecided > 0) outcome.health = Health::kBad;
  if (unverified > 0) outcome.health = Health::kNotDone;
  return outcome;
}

absl::StatusOr<Outcome> VerifyReplicas(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {"-p"}, {}));
  const Words& rest = arguments.words();
  const std::string name = rest.size() == 1 ? rest[0] : session.table_name();
  if (rest.size() > 1 || name.empty()) return UsageError("which table?");
  int32_t only = -1;
  if (const std::string index = arguments.Value("-p");
      !index.empty() && (!absl::SimpleAtoi(index, &only) || only < 0))
    return UsageError("-p takes a partition's index");
  ASSIGN_OR_RETURN(const TableState table, session.cluster().FindTable(name));
  if (only >= table.info.partition_count)
    return absl::NotFoundError(
        absl::StrCat("table ", Escape(name), " has ", table.info.partition_count, " partitions"));
  std::vector<Asked> all;
  // One that a split has not made yet has no copies.
  const auto is_there = [&table](int32_t index) {
    const auto i = static_cast<size_t>(index);
    return i >= table.partitions.size() || !TableState::IsAwaited(table.partitions[i]);
  };
  for (int32_t index = 0; index < table.info.partition_count; ++index)
    if ((only < 0 || index == only) && is_there(index))
      all.push_back({.pid = {table.info.app_id, index},
                     .heard_at = absl::Now(),
                     .problem = {},
                     .answer = {}});
  const auto done = [&all] {
    return std::count_if(all.begin(), all.end(), [](const Asked& one) { return one.is_done; });
  };
  const auto count = static_cast<int64_t>(all.size());
  Progress progress(count, "partitions");
  while (done() < count && !progress.IsDetached()) {
    RETURN_IF_ERROR(Look(session, name, &all));
    progress.Show(done());
    if (done() < count) Interrupts::Sleep(kPoll);
  }
  return Shown(session, name, all);
}

}  // namespace

std::vector<Command> VerificationCommands() {
  return {{"verify_replicas", "TABLE [-p PARTITION_INDEX]",
           "compares all copies of a table, each partition at one decree; a copy that differs from "
           "the majority sets itself aside and is made anew",
           Command::Completes::kTables, VerifyReplicas}};
}

}  // namespace arion::shell
