// Verification: whether the copies of one partition are equal, as its primary finds out.
//
// Shapes    The primary names a decree that no member has passed yet, a bit ahead of what is
//           prepared (where nobody writes: what is prepared). It asks each member, itself included,
//           for the count of its content there (content_count.h), and asks again until all have
//           ended or can't. Where nobody writes an empty write tells the others that the decree is
//           committed. Where a member had passed the decree, or writes stopped before it, another
//           decree is named, further ahead. Then the primary judges (content_verdict.h) and tells
//           those that were counted, itself last. A member compares the verdict with its own count:
//           nobody is told to go. All of it happens under one ballot; where that changes it begins
//           anew.
// Errors    None: what hinders it is its result.
// Threads   Strand-bound; hooks are called on the strand. `done` once.
// Lifetime  Held by shared_ptr. When it is destroyed, no hook is called any more.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "messages/verification_messages.h"

namespace arion {

// One verification: construct, Start, and `done` comes after at most kAttempts beginnings.
class Verification : public std::enable_shared_from_this<Verification> {
 public:
  // How often members are asked, at first and after two seconds.
  static constexpr absl::Duration kPoll = absl::Milliseconds(250);
  static constexpr absl::Duration kPollLater = absl::Seconds(1);
  // How long no write may come before an empty one is made.
  static constexpr absl::Duration kIdleAfter = absl::Milliseconds(200);
  // How long writes may take to reach the decree before another one is named.
  static constexpr absl::Duration kDecreePatience = absl::Seconds(3);
  // After this long without an answer a member counts as not counted.
  static constexpr absl::Duration kSilence = absl::Seconds(20);
  // How long the primary repeats the verdict to members that do not acknowledge it.
  static constexpr absl::Duration kVerdictPatience = absl::Seconds(10);
  static constexpr int kAttempts = 10;
  // The most differing ranges in the result.
  static constexpr size_t kRangesTold = 16;

  // The partition's members, as its primary knows them now.
  struct Group {
    Ballot ballot;
    // The primary, which is here, comes first.
    std::vector<Endpoint> members;
    Decree last_prepared;
  };
  // The replica, as a verification needs it.
  struct Hooks {
    // nullopt: this server is not its primary now, or the group is changing.
    std::function<std::optional<Group>()> group;
    using Answered = std::function<void(ErrorCode, CountContentResponse)>;
    // Sends the request to a member, this server included; `Answered` is called once.
    std::function<void(Endpoint, CountContentRequest, Answered)> ask;
    // Makes an empty write.
    std::function<void()> write_nothing;
    // What it returns must not fall below the time that a count really takes: else counts end as
    // refused.
    std::function<Instant()> now;
    // Since 2016.
    std::function<int64_t()> wall_seconds;
    // Longer than a count will take.
    std::function<int64_t()> margin_seconds;
    std::function<void(absl::Duration, absl::AnyInvocable<void()>)> after;
    // The result. It comes before this server hears the verdict itself, since that may set its copy
    // aside.
    std::function<void(VerifyReplicasResponse)> done;
  };
  // `run`: a number that no other verification has; it rises with each beginning.
  Verification(PartitionId pid, int64_t run, Hooks hooks);

  void Start() { Begin(); }
  // How far the slowest member is, 0 to 100.
  int32_t percent() const;

 private:
  // One member in the present beginning.
  struct Member {
    // A question is under way to it.
    Endpoint node;
    // And has not answered yet.
    bool is_asked = false;
    Instant heard_at;
    CountContentResponse answer;
    // Why it could not be counted; empty: nothing is wrong so far.
    std::string problem;
    bool IsCounted() const { return problem.empty() && answer.state == CountState::kDone; }
    // No more is expected of it: its count is there, or can't come.
    bool HasEnded() const { return IsCounted() || !problem.empty(); }
    bool has_verdict = false;
  };

  void Begin();
  void BeginAgain(const std::string& why);
  void Tick();
  void TickLater();
  void AskAll();
  void Ask(size_t member);
  void OnAnswer(size_t member, ErrorCode error, CountContentResponse answer);
  // Makes an empty write where the members wait for one.
  void PushOn(const Group& group);
  void Judge();
  void TellVerdict();
  void Tell(size_t member);
  void GiveUp(const std::string& why);
  CountContentRequest Request() const;

  const PartitionId pid_;
  int64_t run_;
  const Hooks hooks_;
  int attempts_ = 0;
  // By how many decrees the next beginning names its decree ahead of what is prepared.
  int64_t ahead_ = 0;  // decrees
  Ballot ballot_;
  // What was prepared when this beginning began, and the decree it named.
  Decree prepared_at_first_, decree_;
  int64_t began_at_wall_ = 0;
  Instant began_at_, pushed_at_;
  std::vector<Member> members_;
  // The message that carries the verdict. No value: it is not judged yet.
  std::optional<CountContentRequest> verdict_;
  Instant judged_at_;
  VerifyReplicasResponse result_;
};

}  // namespace arion
