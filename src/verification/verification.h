// Verification: whether the copies of one partition are equal, as its primary finds out.
//
// Shapes    It names a decree that no member has passed yet, a bit ahead of what is prepared (where
//           nobody writes: what is), asks each member, itself included, for the count of its content
//           there (content_count.h), and asks again until all have ended or can't. Where nobody
//           writes an empty write tells the others that the decree is committed. A member that had
//           passed it, or writes that stopped before it: another decree, further ahead. Then it
//           judges (content_verdict.h) and tells those that were counted, itself last. A member
//           compares the verdict with its own count: nobody is told to go.
//           All under one ballot: where that changes it begins anew.
// Errors    None: what hinders it is its result.
// Threads   Strand-bound; hooks are called on the strand. `done` once.
// Lifetime  Held by shared_ptr. Let go of, no hook is called any more.
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

class Verification : public std::enable_shared_from_this<Verification> {
 public:
  static constexpr absl::Duration kPoll = absl::Milliseconds(250);
  static constexpr absl::Duration kPollLater = absl::Seconds(1);  // what takes longer than that
  static constexpr absl::Duration kIdleAfter = absl::Milliseconds(200);
  static constexpr absl::Duration kDecreePatience = absl::Seconds(3);  // writes stopped before it
  static constexpr absl::Duration kSilence = absl::Seconds(20);        // that ends with a member
  static constexpr absl::Duration kVerdictPatience = absl::Seconds(10);
  static constexpr int kAttempts = 10;
  static constexpr size_t kRangesTold = 16;

  struct Group {
    Ballot ballot;
    std::vector<Endpoint> members;  // the primary, which is here, first
    Decree last_prepared;
  };
  struct Hooks {
    std::function<std::optional<Group>()> group;  // nullopt: not primary now
    using Answered = std::function<void(ErrorCode, CountContentResponse)>;
    std::function<void(Endpoint, CountContentRequest, Answered)> ask;
    std::function<void()> write_nothing;  // an empty write
    std::function<Instant()> now;
    std::function<int64_t()> wall_seconds;    // since 2016
    std::function<int64_t()> margin_seconds;  // longer than a count will take
    std::function<void(absl::Duration, absl::AnyInvocable<void()>)> after;
    // Before this server hears the verdict itself.
    std::function<void(VerifyReplicasResponse)> done;
  };
  // `run`: a number that no other has.
  Verification(PartitionId pid, int64_t run, Hooks hooks);

  void Start() { Begin(); }
  int32_t percent() const;

 private:
  struct Member {
    Endpoint node;
    bool is_asked = false;  // and has not answered yet
    Instant heard_at;
    CountContentResponse answer;
    std::string problem;
    bool IsCounted() const { return problem.empty() && answer.state == CountState::kDone; }
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
  int64_t ahead_ = 0;  // decrees
  Ballot ballot_;
  Decree prepared_at_first_, decree_;
  int64_t began_at_wall_ = 0;
  Instant began_at_, pushed_at_;
  std::vector<Member> members_;
  std::optional<CountContentRequest> verdict_;  // what is told
  Instant judged_at_;
  VerifyReplicasResponse result_;
};

}  // namespace arion
