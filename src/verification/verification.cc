// SPDX-License-Identifier: Apache-2.0
#include "verification/verification.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status.h"
#include "verification/content_verdict.h"

namespace arion {

Verification::Verification(PartitionId pid, int64_t run, Hooks hooks)
    : pid_(pid), run_(run), hooks_(std::move(hooks)) {}

// The same request asks, asks again, and with a verdict filled in tells it.
CountContentRequest Verification::Request() const {
  return {.pid = pid_,
          .ballot = ballot_,
          .primary = members_.front().node,
          .run = run_,
          .decree = decree_,
          .now = began_at_wall_,
          .margin = hooks_.margin_seconds()};
}

void Verification::Begin() {
  // A group that changes settles soon: the next beginning comes a little later.
  const std::optional<Group> group = hooks_.group();
  if (!group) return BeginAgain("this server is not its primary, or its group is changing");
  // The run tells members which of their counts belong to this beginning.
  ++run_;
  ballot_ = group->ballot;
  prepared_at_first_ = group->last_prepared;
  // Ahead of what is prepared, so that each member still has the decree before it. 0 at first:
  // without writes all members come to it by themselves.
  decree_ = group->last_prepared + ahead_;
  began_at_wall_ = hooks_.wall_seconds();
  began_at_ = pushed_at_ = hooks_.now();
  members_.clear();
  for (const Endpoint node : group->members)
    members_.push_back({.node = node, .heard_at = began_at_, .answer = {}, .problem = {}});
  AskAll();
  TickLater();
}

void Verification::BeginAgain(const std::string& why) {
  // Each pause is longer than the one before: whatever hinders it may take a moment to pass.
  if (++attempts_ >= kAttempts) return GiveUp(why);
  hooks_.after(attempts_ * kPoll, [self = weak_from_this()] {
    if (const auto run = self.lock()) run->Begin();
  });
}

void Verification::TickLater() {
  // Small partitions are done within two seconds; large ones need not be asked four times a second.
  const bool is_long = hooks_.now() - began_at_ > 8 * kPoll;
  hooks_.after(is_long ? kPollLater : kPoll, [self = weak_from_this()] {
    if (const auto run = self.lock()) run->Tick();
  });
}

void Verification::AskAll() {
  for (size_t i = 0; i < members_.size(); ++i)
    // One question to each member at a time.
    if (!members_[i].HasEnded() && !members_[i].is_asked) Ask(i);
}

void Verification::Ask(size_t member) {
  members_[member].is_asked = true;
  hooks_.ask(
      members_[member].node, Request(),
      [self = weak_from_this(), member, run = run_](ErrorCode error, CountContentResponse answer) {
        const auto now = self.lock();
        // An answer to an earlier beginning does not describe this one. Once the verdict stands,
        // counts do not matter.
        if (now == nullptr || now->run_ != run || now->verdict_) return;
        now->members_[member].is_asked = false;
        now->OnAnswer(member, error, std::move(answer));
      });
}

void Verification::OnAnswer(size_t at, ErrorCode error, CountContentResponse answer) {
  Member& member = members_[at];
  // An error of the call, or the member's own: treated alike.
  if (error == ErrorCode::kOk) error = answer.err;
  // A server of an older version has no handler for it, and will not get one while this runs.
  if (error == ErrorCode::kHandlerNotFound) {
    member.problem = "its server is of a version that does not count";
  } else if (error != ErrorCode::kOk) {
    // An error may be a moment's: only a longer silence counts.
    if (hooks_.now() - member.heard_at > kSilence)
      member.problem = absl::StrCat("no answer: ", Text(ErrorCodeName(error)));
  } else {
    member.heard_at = hooks_.now();
    member.answer = std::move(answer);
    if (member.answer.state == CountState::kRefused || member.answer.state == CountState::kInvalid)
      member.problem = member.answer.why.empty() ? "it refused" : member.answer.why;
  }
}

void Verification::Tick() {
  if (verdict_) return TellVerdict();
  const std::optional<Group> group = hooks_.group();
  // A change of the group ends the comparison: under another ballot members may differ for a while
  // without a fault.
  if (!group || group->ballot != ballot_) return BeginAgain("its group changed meanwhile");
  const auto is = [](CountState state) {
    return [state](const Member& m) { return m.problem.empty() && m.answer.state == state; };
  };
  const Instant now = hooks_.now();
  const double seconds = std::max(absl::ToDoubleSeconds(now - began_at_), 0.001);
  // How many decrees are prepared in half a second now: the next named decree is to lie that far
  // ahead.
  const auto in_half_a_second = static_cast<int64_t>(
      static_cast<double>(group->last_prepared - prepared_at_first_) / seconds / 2);
  if (std::any_of(members_.begin(), members_.end(), is(CountState::kMissed))) {
    // Some member had passed the decree. Twice as far ahead, or half a second of writes, whichever
    // is more.
    ahead_ = std::max({2 * ahead_, in_half_a_second, int64_t{1}});
    return BeginAgain("writes are too fast: members had passed each decree that was named");
  }
  if (std::any_of(members_.begin(), members_.end(), is(CountState::kWaiting))) {
    if (group->last_prepared < decree_ && now - began_at_ > kDecreePatience) {
      // Not so far ahead: fewer writes come than before.
      ahead_ = in_half_a_second;
      return BeginAgain("writes stop and go: they did not reach the decrees that were named");
    }
    // A secondary learns of a commit by the next prepare. Where nobody writes, none would come.
    PushOn(*group);
    // A member whose applying stands still must not hold up the others' verdict.
    if (now - began_at_ > kSilence)
      // is(...) also skips members with a problem.
      for (Member& member : members_)
        if (is(CountState::kWaiting)(member))
          member.problem = absl::StrCat("it does not come to decree ", decree_.value());
  }
  if (std::all_of(members_.begin(), members_.end(), [](const Member& m) { return m.HasEnded(); }))
    return Judge();
  AskAll();
  TickLater();
}

// An empty write, where everything that is named is prepared and no write has come for kIdleAfter.
void Verification::PushOn(const Group& group) {
  if (group.last_prepared != decree_ || hooks_.now() - pushed_at_ < kIdleAfter) return;
  pushed_at_ = hooks_.now();
  hooks_.write_nothing();
}

void Verification::Judge() {
  std::vector<CountedContent> counted;
  for (const Member& member : members_) {
    // Members with a problem are absent from the comparison, not from the number of members.
    if (!member.IsCounted()) continue;
    CountedContent content{.member = member.node,
                           .records = member.answer.records,
                           .sum = static_cast<uint64_t>(member.answer.sum),
                           .ranges = {}};
    for (const KeyRangeSum& range : member.answer.ranges.value_or(std::vector<KeyRangeSum>()))
      content.ranges.push_back({range.first, range.records, static_cast<uint64_t>(range.sum)});
    counted.push_back(std::move(content));
  }
  const ContentVerdict verdict = JudgeContents(counted, members_.size());
  result_ = {.state = VerificationState::kDone,
             .run = run_,
             .decree = decree_,
             .verdict = verdict.kind,
             .members = {},
             .ranges = {}};
  for (const Member& member : members_)
    result_.members.push_back(
        {.node = member.node,
         .problem = member.problem,
         .records = member.answer.records,
         .sum = member.answer.sum,
         .left_out = member.answer.left_out,
         .differs = std::find(verdict.differing.begin(), verdict.differing.end(), member.node) !=
                    verdict.differing.end()});
  if (verdict.kind == ContentVerdictKind::kMajority ||
      verdict.kind == ContentVerdictKind::kUndecided) {
    // Only where copies differ: otherwise there is nothing to show.
    result_.ranges = RangesThatDiffer(counted);
    result_.ranges_differing = static_cast<int64_t>(result_.ranges.size());
    if (result_.ranges.size() > kRangesTold) result_.ranges.resize(kRangesTold);
  }
  // Unverified: the reason is what hindered each member.
  if (verdict.kind == ContentVerdictKind::kUnverified) {
    if (members_.size() < 2) result_.why = "it has one copy, which nothing can be compared with";
    for (const Member& member : members_)
      if (!member.problem.empty())
        absl::StrAppend(&result_.why, result_.why.empty() ? "" : "; ", member.node.ToString(), ": ",
                        member.problem);
  }
  // The verdict carries the sum that counts. Each member compares it with its own count, and acts
  // on that alone.
  verdict_ = Request();
  verdict_->verdict = verdict.kind;
  if (verdict.kind == ContentVerdictKind::kEqual || verdict.kind == ContentVerdictKind::kMajority) {
    verdict_->records = verdict.records;
    verdict_->sum = static_cast<int64_t>(verdict.sum);
  }
  judged_at_ = hooks_.now();
  TellVerdict();
}

// First the other members, until each has acknowledged or kVerdictPatience is over; then this one.
void Verification::TellVerdict() {
  const bool is_over = hooks_.now() - judged_at_ > kVerdictPatience;
  bool waits = false;
  for (size_t i = 1; i < members_.size() && !is_over; ++i) {
    if (members_[i].has_verdict || !members_[i].IsCounted()) continue;
    waits = true;
    Tell(i);
  }
  if (waits) return TickLater();
  // The result first: the verdict may make this copy set itself aside, and the replica close.
  hooks_.done(std::move(result_));
  if (members_.front().IsCounted()) Tell(0);
}

void Verification::Tell(size_t member) {
  hooks_.ask(members_[member].node, *verdict_,
             [self = weak_from_this(), member](ErrorCode error, const CountContentResponse&) {
               const auto run = self.lock();
               if (run != nullptr && error == ErrorCode::kOk)
                 run->members_[member].has_verdict = true;
             });
}

void Verification::GiveUp(const std::string& why) {
  result_ = {.state = VerificationState::kDone,
             .run = run_,
             .decree = decree_,
             .verdict = ContentVerdictKind::kUnverified,
             .why = why,
             .members = {},
             .ranges = {}};
  hooks_.done(std::move(result_));
}

// 99 at most: the rest is the verdict.
int32_t Verification::percent() const {
  if (members_.empty()) return 0;
  int64_t least = 100;
  for (const Member& member : members_) {
    if (member.HasEnded()) continue;
    const CountContentResponse& a = member.answer;
    const double part = a.of_bytes > 0 && a.bytes >= 0
                            ? static_cast<double>(a.bytes) / static_cast<double>(a.of_bytes)
                            : 0;
    // The slowest member decides. Its figures come from a peer, hence the clamp.
    least = std::min(least, static_cast<int64_t>(99 * std::clamp(part, 0.0, 1.0)));
  }
  return static_cast<int32_t>(least);
}

}  // namespace arion
