// A replica's part in verifications: as the primary that coordinates one, and as a member that is
// counted (verification.h).
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/escaping.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "replica/replica.h"
#include "rpc/thrift_codec.h"
#include "verification/content_count.h"
#include "verification/verification.h"

namespace arion {
namespace {

constexpr absl::Duration kLookForRoom = absl::Seconds(1);
constexpr absl::Duration kAskTimeout = absl::Seconds(5);
constexpr absl::Duration kTryUnverifiedAgain = absl::Minutes(30);
constexpr char kCompactionRules[] = "user_specified_compaction";

std::string ContentText(int64_t records, int64_t sum) {
  return absl::StrCat(records, " records, checksum ",
                      absl::Hex(static_cast<uint64_t>(sum), absl::kZeroPad16));
}

}  // namespace

// ---- a member ----

void Replica::CountContent(const CountContentRequest& request, Responder responder) {
  CHECK_ON_STRAND(strand_);
  responder.Reply(ErrorCode::kOk, EncodeWrapped(CountContent(request)));
}

CountContentResponse Replica::CountContent(const CountContentRequest& request) {
  const auto refused = [](std::string why) {
    return CountContentResponse{.state = CountState::kRefused, .why = std::move(why), .ranges = {}};
  };
  const PartitionStatus role = core_->role();
  const bool is_member = role == PartitionStatus::kPrimary || role == PartitionStatus::kSecondary;
  if (is_closed_ || engine_ == nullptr || !is_member || request.ballot != core_->ballot() ||
      request.primary != core_->primary())
    return {.err = ErrorCode::kInvalidState, .ranges = {}};
  const bool is_known = counting_ != nullptr && counting_->request().run == request.run;
  if (request.verdict) return is_known ? HearVerdict(request) : refused("it was not counted");
  if (!is_known) {
    const int64_t now = ExpiryNow(host_->env.clock());
    if (request.now < now - ContentCount::kClocksApartSeconds ||
        request.now > now + ContentCount::kClocksApartSeconds)
      return refused(absl::StrCat("by its clock it is ", now,
                                  " s after 2016 began, by the primary's ", request.now));
    BeginCounting(request);
  }
  return counting_->Answer();
}

void Replica::BeginCounting(const CountContentRequest& request) {
  const AppInfo& app = core_->app();
  const ContentChecksum::Terms terms{
      .expires_after = static_cast<uint32_t>(
          request.now + std::clamp(request.margin, ContentCount::kMarginSecondsMin,
                                   ContentCount::kMarginSecondsMax)),
      .partition_index = pid_.index,
      .partition_count = app.partition_count};
  counting_ = std::make_shared<ContentCount>(
      request, terms, static_cast<int64_t>(engine_->size_bytes()),
      ContentCount::Hooks{
          .view_at = [this](Decree decree, auto take) { applies_->ViewAt(decree, engine_, take); },
          .in_pool =
              [this](PoolWork work, Then then) {
                RunIn(host_->env.bulk_pool(directory_), std::move(work), std::move(then));
              },
          .pace =
              [this](uint64_t bytes) {
                return host_->verifying->Take(disk_, bytes, host_->env.clock().Now());
              },
          .after =
              [this](absl::Duration delay, absl::AnyInvocable<void()> then) {
                After(delay, [then = std::move(then)](Replica&) mutable { then(); });
              },
          .now = [this] { return host_->env.clock().Now(); },
          .wall_seconds = [this] { return int64_t{ExpiryNow(host_->env.clock())}; },
          .may_read = [this] { return engine_ != nullptr && when_quiet_.empty(); }});
  counting_->Start();
}

// Its own count tells it, nobody else.
CountContentResponse Replica::HearVerdict(const CountContentRequest& request) {
  ContentCount& count = *counting_;
  const bool differs = count.state() == CountState::kDone &&
                       request.verdict == ContentVerdictKind::kMajority && request.records &&
                       request.sum && !count.IsEqualTo(*request.records, *request.sum);
  if (count.state() == CountState::kDone) count.Settle();
  CountContentResponse answer = count.Answer();
  if (differs) {
    const std::string why = absl::StrCat(
        "its content at decree ", request.decree.value(),
        " differs from the majority's: ", ContentText(answer.records, answer.sum),
        "; theirs: ", ContentText(*request.records, *request.sum), " (verify_replicas)");
    host_->verifications->set_aside().Add();
    After(absl::ZeroDuration(), [why](Replica& replica) { replica.Fence(why); });
  }
  counting_ = nullptr;
  return answer;
}

void Replica::EndCounting() {
  counting_ = nullptr;
  applies_->ForgetView();
}

// ---- the primary ----

std::optional<Verification::Group> Replica::GroupToVerify() const {
  if (is_closed_ || core_->role() != PartitionStatus::kPrimary || core_->IsReconfiguring() ||
      !HoldsLease())
    return std::nullopt;
  Verification::Group group{.ballot = core_->ballot(),
                            .members = {host_->self},
                            .last_prepared = core_->marks().last_prepared};
  for (const Endpoint member : core_->configuration().secondaries) group.members.push_back(member);
  return group;
}

void Replica::VerifyReplicas(const VerifyReplicasRequest& request, Responder responder) {
  CHECK_ON_STRAND(strand_);
  VerifyReplicasResponse response = host_->verifications->Last(pid_);
  if (request.action == VerifyAction::kStart) {
    if (GroupToVerify()) {
      VerifyNow();
    } else {
      response.err = ErrorCode::kInvalidState;
      response.hint = "this server is not its primary now";
    }
  }
  if (verification_is_wanted_) {
    response.state = VerificationState::kRunning;
    response.percent = verification_ == nullptr ? 0 : verification_->percent();
  }
  responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
}

// About once in an interval, and again soon where it could not be done.
void Replica::ConsiderVerification() {
  const int64_t interval = host_->verifications->interval_seconds();
  if (interval <= 0) return;
  const int64_t turn = VerificationInterval(pid_, UnixMillis() / 1000, interval);
  const bool is_first_look = !verified_turn_;
  if (verified_turn_ == turn) return;
  verified_turn_ = turn;
  if (!is_first_look && GroupToVerify()) VerifyNow();
}

void Replica::VerifyNow() {
  if (std::exchange(verification_is_wanted_, true)) return;
  BeginVerification();
}

void Replica::BeginVerification() {
  verification_place_ = host_->verifications->TryTake();
  if (verification_place_ == nullptr)
    return After(kLookForRoom, [](Replica& r) { r.BeginVerification(); });
  const auto run = static_cast<int64_t>(host_->env.random().Next() >> 2);
  if (const auto& envs = core_->app().envs;
      envs.contains(kCompactionRules) && !envs.at(kCompactionRules).empty()) {
    return OnVerified({.state = VerificationState::kDone,
                       .run = run,
                       .why = absl::StrCat("the table has ", kCompactionRules,
                                           ", by which an older version drops records on each "
                                           "server when it compacts"),
                       .members = {},
                       .ranges = {}});
  }
  verification_ = std::make_shared<Verification>(
      pid_, run,
      Verification::Hooks{
          .group = [this] { return GroupToVerify(); },
          .ask = [this](Endpoint member, const CountContentRequest& request,
                        auto answered) { AskForCount(member, request, std::move(answered)); },
          .write_nothing =
              [this] {
                if (core_->WriteGate() == ErrorCode::kOk && SpaceGate() == ErrorCode::kOk)
                  Step(ClientWrite{next_token_++, {Update{.code = WriteCode::kEmpty}}});
              },
          .now = [this] { return host_->env.clock().Now(); },
          .wall_seconds = [this] { return int64_t{ExpiryNow(host_->env.clock())}; },
          .margin_seconds = [this] { return VerificationMarginSeconds(); },
          .after =
              [this](absl::Duration delay, absl::AnyInvocable<void()> then) {
                After(delay, [then = std::move(then)](Replica&) mutable { then(); });
              },
          .done = [this](VerifyReplicasResponse result) { OnVerified(std::move(result)); }});
  verification_->Start();
}

// Several times what the configured rate would take, for copies yield to clients.
int64_t Replica::VerificationMarginSeconds() const {
  constexpr uint64_t kUsualRate = 20 << 20;
  constexpr uint64_t kTimes = 10;
  const uint64_t limit = host_->options.verify_limits.disk;
  const uint64_t rate = limit == 0 ? kUsualRate : std::max<uint64_t>(limit, 1024);
  const uint64_t size = engine_ == nullptr ? 0 : engine_->size_bytes();
  return ContentCount::kMarginSecondsMin + static_cast<int64_t>(size / rate * kTimes);
}

void Replica::AskForCount(Endpoint member, const CountContentRequest& request,
                          Verification::Hooks::Answered answered) {
  if (member == host_->self)
    return After(absl::ZeroDuration(), [request, answered = std::move(answered)](Replica& replica) {
      answered(ErrorCode::kOk, replica.CountContent(request));
    });
  Call(member, kRpcCountContent, EncodeWrapped(request, host_->options.peer_generation),
       kAskTimeout, [answered = std::move(answered)](Replica&, const RpcResult& result) {
         if (result.error != ErrorCode::kOk) return answered(result.error, {});
         auto response = DecodeWrapped<CountContentResponse>(result.body);
         if (!response.ok()) return answered(ErrorCode::kInvalidData, {});
         answered(ErrorCode::kOk, *std::move(response));
       });
}

void Replica::OnVerified(VerifyReplicasResponse result) {
  result.ended_ms = UnixMillis();
  const std::string what = absl::StrCat(Tag(), " verified at decree ", result.decree.value(), ": ");
  switch (result.verdict) {
    case ContentVerdictKind::kEqual:
      LOG(INFO) << what << "all " << result.members.size() << " copies are equal, "
                << ContentText(result.members.front().records, result.members.front().sum);
      break;
    case ContentVerdictKind::kUnverified:
      LOG(WARNING) << what << "not all copies could be counted: " << result.why;
      break;
    case ContentVerdictKind::kMajority:
    case ContentVerdictKind::kUndecided:
      for (const VerifiedMember& member : result.members)
        LOG(ERROR) << what << member.node << " has " << ContentText(member.records, member.sum)
                   << (member.differs ? ", differs from the majority and is to be set aside" : "")
                   << (member.problem.empty() ? "" : ", not counted: ") << member.problem;
      for (const DifferingRange& range : result.ranges)
        LOG(ERROR) << what << "they differ in raw keys from \"" << absl::CHexEscape(range.first)
                   << "\" to \"" << absl::CHexEscape(range.end) << "\"";
      LOG_IF(ERROR, result.verdict == ContentVerdictKind::kUndecided)
          << what << "no majority agrees: nobody is set aside, a person decides";
  }
  host_->verifications->Ended(pid_, result);
  host_->compactions->Changed();  // what is reported did
  verification_is_wanted_ = false;
  verification_place_ = nullptr;
  const bool may_pass = result.members.size() > 1 || result.members.empty();
  if (result.verdict != ContentVerdictKind::kUnverified || !may_pass ||
      host_->verifications->interval_seconds() <= 0 ||
      std::exchange(is_verification_planned_, true))
    return;
  After(kTryUnverifiedAgain, [](Replica& r) {
    r.is_verification_planned_ = false;
    if (r.GroupToVerify()) r.VerifyNow();
  });
}

}  // namespace arion
