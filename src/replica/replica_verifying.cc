// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_verifying.h"

#include <absl/strings/escaping.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "data_api/apply_queue.h"
#include "pacifica/invariants.h"
#include "replica/replica_office.h"
#include "rpc/thrift_codec.h"
#include "verification/content_count.h"

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

ReplicaVerifying::ReplicaVerifying(std::shared_ptr<const ReplicaHost> host, PartitionId pid,
                                   size_t disk, const ReplicaCore& core,
                                   const ReplicaOffice& office, DiskWork& work, ApplyQueue& applies,
                                   const std::shared_ptr<Engine>& engine, Hooks hooks)
    : host_(std::move(host)),
      pid_(pid),
      disk_(disk),
      core_(core),
      office_(office),
      work_(work),
      applies_(applies),
      engine_(engine),
      hooks_(std::move(hooks)) {}

// ---- a member ----

CountContentResponse ReplicaVerifying::Count(const CountContentRequest& request) {
  const auto refused = [](std::string why) {
    return CountContentResponse{.state = CountState::kRefused, .why = std::move(why), .ranges = {}};
  };
  // Only a member under this ballot, asked by the primary it knows, counts the same content as the
  // others.
  if (office_.IsClosed() || engine_ == nullptr || !office_.IsMember() ||
      request.ballot != core_.ballot() || request.primary != core_.primary())
    return {.err = ErrorCode::kInvalidState, .ranges = {}};
  const bool is_known = counting_ != nullptr && counting_->request().run == request.run;
  // A verdict without an own count proves nothing here.
  if (request.verdict) return is_known ? HearVerdict(request) : refused("it was not counted");
  if (!is_known) {
    const int64_t now = ExpiryNow(host_->env.clock());
    // Records expire by the primary's clock; a clock far from it would leave out others.
    if (request.now < now - ContentCount::kClocksApartSeconds ||
        request.now > now + ContentCount::kClocksApartSeconds)
      return refused(absl::StrCat("by its clock it is ", now,
                                  " s after 2016 began, by the primary's ", request.now));
    const int32_t count = core_.app().partition_count;
    if (request.partition_count.value_or(count) != count)
      return refused(absl::StrCat("it knows of ", count,
                                  " partitions of the table, its primary of ",
                                  *request.partition_count));
    BeginCounting(request);
  }
  return counting_->Answer();
}

void ReplicaVerifying::BeginCounting(const CountContentRequest& request) {
  const AppInfo& app = core_.app();
  const ContentChecksum::Terms terms{
      // The primary names the margin; the bounds keep a mistake of its from hiding or stalling
      // anything.
      .expires_after = static_cast<uint32_t>(
          request.now + std::clamp(request.margin, ContentCount::kMarginSecondsMin,
                                   ContentCount::kMarginSecondsMax)),
      .owned = {.index = pid_.index, .count = app.partition_count}};
  counting_ = std::make_shared<ContentCount>(
      request, terms, static_cast<int64_t>(engine_->size_bytes()),
      ContentCount::Hooks{
          .view_at = [this](Decree decree, auto take) { applies_.ViewAt(decree, engine_, take); },
          .in_pool =
              [this](DiskWork::PoolWork work, DiskWork::Then then) {
                work_.InBulkPool(std::move(work), std::move(then));
              },
          .pace =
              [this](uint64_t bytes) {
                return host_->verifying->Take(disk_, bytes, host_->env.clock().Now());
              },
          .after = [this](absl::Duration delay,
                          absl::AnyInvocable<void()> then) { work_.After(delay, std::move(then)); },
          .now = [this] { return host_->env.clock().Now(); },
          .wall_seconds = [this] { return int64_t{ExpiryNow(host_->env.clock())}; },
          // Not while the engine is exchanged, or about to be.
          .may_read = [this] { return engine_ != nullptr && !work_.IsQuietAwaited(); }});
  counting_->Start();
}

// Its own count tells it, nobody else.
CountContentResponse ReplicaVerifying::HearVerdict(const CountContentRequest& request) {
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
    work_.After(absl::ZeroDuration(), [this, why] { hooks_.fence(why); });
  }
  counting_ = nullptr;
  return answer;
}

void ReplicaVerifying::EndCounting() {
  counting_ = nullptr;
  applies_.ForgetView();
}

// ---- the primary ----

std::optional<Verification::Group> ReplicaVerifying::Group() const {
  // While the group changes its members may differ without a fault.
  if (office_.IsClosed() || core_.role() != PartitionStatus::kPrimary || core_.IsReconfiguring() ||
      !office_.HoldsLease())
    return std::nullopt;
  Verification::Group group{.ballot = core_.ballot(),
                            .members = {host_->self},
                            .last_prepared = core_.marks().last_prepared};
  for (const Endpoint member : core_.configuration().secondaries) group.members.push_back(member);
  return group;
}

VerifyReplicasResponse ReplicaVerifying::Answer(const VerifyReplicasRequest& request) {
  // The last result, while a new one is not there yet.
  VerifyReplicasResponse response = host_->verifications->Last(pid_);
  if (request.action == VerifyAction::kStart) {
    if (Group()) {
      VerifyNow();
    } else {
      response.err = ErrorCode::kInvalidState;
      response.hint = "this server is not its primary now";
    }
  }
  if (is_wanted_) {
    response.state = VerificationState::kRunning;
    response.percent = verification_ == nullptr ? 0 : verification_->percent();
  }
  return response;
}

void ReplicaVerifying::Consider() {
  const int64_t interval = host_->verifications->interval_seconds();
  if (interval <= 0) return;
  const int64_t turn = VerificationInterval(pid_, UnixMillis() / 1000, interval);
  // A server that has just started does not verify everything at once: the first look only notes
  // the interval.
  const bool is_first_look = !looked_turn_;
  if (looked_turn_ == turn) return;
  looked_turn_ = turn;
  if (!is_first_look && Group()) VerifyNow();
}

void ReplicaVerifying::VerifyNow() {
  if (std::exchange(is_wanted_, true)) return;
  Begin();
}

void ReplicaVerifying::Begin() {
  // Held until the verification has ended, whatever its result.
  place_ = host_->verifications->TryTake();
  if (place_ == nullptr) return work_.After(kLookForRoom, [this] { Begin(); });
  // Positive, with room above for the beginnings that count it up.
  const auto run = static_cast<int64_t>(host_->env.random().Next() >> 2);
  // Older versions' compaction rules drop records on each server at its own time, so copies differ
  // without a fault.
  if (const auto& envs = core_.app().envs;
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
          .group = [this] { return Group(); },
          .ask = [this](Endpoint member, const CountContentRequest& request,
                        auto answered) { AskForCount(member, request, std::move(answered)); },
          .write_nothing =
              [this] {
                // An empty write is a write: it must be allowed and have room.
                if (core_.WriteGate() == ErrorCode::kOk && office_.SpaceGate() == ErrorCode::kOk)
                  hooks_.write_nothing();
              },
          .now = [this] { return host_->env.clock().Now(); },
          .wall_seconds = [this] { return int64_t{ExpiryNow(host_->env.clock())}; },
          .margin_seconds = [this] { return MarginSeconds(); },
          .after = [this](absl::Duration delay,
                          absl::AnyInvocable<void()> then) { work_.After(delay, std::move(then)); },
          .done = [this](VerifyReplicasResponse result) { OnVerified(std::move(result)); }});
  verification_->Start();
}

// Several times what the configured rate would take, for copies yield to clients.
int64_t ReplicaVerifying::MarginSeconds() const {
  constexpr uint64_t kUsualRate = 20 << 20;
  constexpr uint64_t kTimes = 10;
  const uint64_t limit = host_->options.verify_limits.disk;
  const uint64_t rate = limit == 0 ? kUsualRate : std::max<uint64_t>(limit, 1024);
  const uint64_t size = engine_ == nullptr ? 0 : engine_->size_bytes();
  return ContentCount::kMarginSecondsMin + static_cast<int64_t>(size / rate * kTimes);
}

void ReplicaVerifying::AskForCount(Endpoint member, CountContentRequest request,
                                   Verification::Hooks::Answered answered) {
  request.partition_count = core_.app().partition_count;
  if (member == host_->self)
    // By a task, as an answer from elsewhere would come: not within Start.
    return work_.After(absl::ZeroDuration(), [this, request, answered = std::move(answered)] {
      answered(ErrorCode::kOk, Count(request));
    });
  hooks_.call(member, kRpcCountContent, EncodeWrapped(request, host_->options.peer_generation),
              kAskTimeout, [answered = std::move(answered)](const RpcResult& result) {
                if (result.error != ErrorCode::kOk) return answered(result.error, {});
                auto response = DecodeWrapped<CountContentResponse>(result.body);
                if (!response.ok()) return answered(ErrorCode::kInvalidData, {});
                answered(ErrorCode::kOk, *std::move(response));
              });
}

void ReplicaVerifying::LogResult(const VerifyReplicasResponse& result) const {
  const std::string what =
      absl::StrCat(hooks_.tag(), " verified at decree ", result.decree.value(), ": ");
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
}

void ReplicaVerifying::OnVerified(VerifyReplicasResponse result) {
  result.ended_ms = UnixMillis();
  LogResult(result);
  host_->verifications->Ended(pid_, result);
  host_->compactions->Changed();  // what is reported did
  is_wanted_ = false;
  place_ = nullptr;
  // One copy can't be compared tomorrow either.
  const bool may_pass = result.members.size() > 1 || result.members.empty();
  if (result.verdict != ContentVerdictKind::kUnverified || !may_pass ||
      host_->verifications->interval_seconds() <= 0 || std::exchange(is_planned_, true))
    return;
  work_.After(kTryUnverifiedAgain, [this] {
    is_planned_ = false;
    if (Group()) VerifyNow();
  });
}

void ReplicaVerifying::Close() {
  EndCounting();
  verification_ = nullptr;
  place_ = nullptr;
}

}  // namespace arion
