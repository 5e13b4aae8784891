// What a replica gives its parts, so that none knows it.
// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "base/log.h"
#include "replica/replica.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

// Of what a split asks of members: a flush; a look whether the child is open.
constexpr absl::Duration kSplitStepTimeout = absl::Seconds(1);

}  // namespace

ReplicaStore::Hooks Replica::StoreHooks() {
  return {.hold = [this] { ++holds_; },
          .release = [this] { Release(); },
          .drop_held =
              [this] {
                effects_.clear();
                --holds_;
              },
          .is_holding = [this] { return holds_ > 0; },
          .end_views =
              [this] {
                reads_.EndScans();
                indexes_.EndBuild();
                verifying_.EndCounting();
              },
          .on_content = [this] { shipping_.Forget(); },
          .on_exchanged =
              [this](uint64_t serial) {
                learning_.Finish(serial);
                owned_.Consider();
                indexes_.Consider();
              },
          .on_exchange_failed =
              [this](uint64_t serial, const absl::Status& why) { learning_.FailHere(serial, why); },
          .fence = [this](const std::string& why) { Fence(why); },
          .tag = [this] { return Tag(); }};
}

DiskWork::Hooks Replica::WorkHooks() {
  return {.owner = [this] { return std::weak_ptr<void>(weak_from_this()); },
          .is_quiet = [this] { return appends_under_way_ == 0 && applies_->IsIdle(); },
          .on_quiet_wish = [this] { compaction_.Hurry(); },
          .catch_up = [this] { applies_->CatchUp(); },
          .tag = [this] { return Tag(); }};
}

ApplyQueue::Hooks Replica::ApplyHooks() {
  return {
      .in_disk_pool = [this](PoolWork work,
                             Then then) { work_.InPool(std::move(work), std::move(then)); },
      .in_bulk_pool = [this](PoolWork work,
                             Then then) { work_.InBulkPool(std::move(work), std::move(then)); },
      .on_applied = [this](Decree decree) { Step(Applied{decree}); },
      .on_failed = [this](Decree decree,
                          const absl::Status& status) { OnApplyFailed(decree, status); },
      .on_no_space = [this](const absl::Status& status) { work_.OnNoSpace("an apply", status); }};
}

ServedPartition Replica::Served() {
  return {.clock = host_->env.clock(),
          .strand = strand_,
          .pid = pid_,
          .server = host_->self.ToString(),
          .stats = stats_,
          .office = office_,
          .engine = store_.engine(),
          .owner = [this] { return std::weak_ptr<void>(weak_from_this()); },
          .in_pool = [this](PoolWork work,
                            Then then) { work_.InPool(std::move(work), std::move(then)); },
          .fence = [this](const std::string& why) { Fence(why); },
          .catch_up = [this] { applies_->CatchUp(); },
          .tag = [this] { return Tag(); }};
}

IndexUpkeep::Hooks Replica::IndexHooks() {
  return {.in_bulk_pool = [this](PoolWork work,
                                 Then then) { work_.InBulkPool(std::move(work), std::move(then)); },
          .after = [this](absl::Duration delay,
                          absl::AnyInvocable<void()> task) { work_.After(delay, std::move(task)); },
          .pace =
              [this](uint64_t bytes) {
                return host_->building->Take(disk_, bytes, host_->env.clock().Now());
              },
          .wanted = [this]() -> const std::vector<NamedIndex>& {
            return admission_.Settings().indexes;
          },
          .is_told = [this] { return core_->app_serial() != kAppRemembered; },
          .note =
              [this](const std::shared_ptr<IndexSet>& indexes) {
                host_->indexes->Note(pid_, core_->app().app_name, indexes,
                                     admission_.Settings().indexes);
              },
          .is_quiet_awaited = [this] { return work_.IsQuietAwaited(); },
          .is_member = [this] { return office_.IsMember(); },
          .tag = [this] { return Tag(); }};
}

ReplicaVerifying::Hooks Replica::VerifyingHooks() {
  return {.call =
              [this](Endpoint to, const char* name, std::string body, absl::Duration timeout,
                     ReplicaMessages::OnResult on_result) {
                messages_.Call(to, name, std::move(body), timeout, std::move(on_result));
              },
          .write_nothing = [this] { WriteNothing(); },
          .fence = [this](const std::string& why) { Fence(why); },
          .tag = [this] { return Tag(); }};
}

SplitMember::Hooks Replica::MemberHooks() {
  return {.owner = [this] { return std::weak_ptr<void>(weak_from_this()); },
          .maintain = [this](DiskWork::EngineWork work,
                             Then then) { work_.Maintain(std::move(work), std::move(then)); },
          .read_history =
              [this](Decree first, Decree through, SplitMember::OnMutations then) {
                ReadHistoryInPool(first, through, std::move(then));
              },
          .now = [this] { return host_->env.clock().Now(); },
          .tag = [this] { return Tag(); }};
}

void Replica::ReadHistoryInPool(Decree first, Decree through, SplitMember::OnMutations then) {
  auto read = std::make_shared<absl::StatusOr<std::vector<MutationPtr>>>(absl::UnknownError(""));
  work_.InPool(
      [read, first, through, log = store_.log()] {
        *read = ReadHistory(*log, first, through, LearnSource::kPieceBytes);
        return read->status();
      },
      [this, read, then = std::move(then)](const absl::Status& status) mutable {
        if (absl::IsDataLoss(status)) checkpoints_.OnLogDamaged(status);
        then(std::move(*read));
      });
}

PartitionSplit::Hooks Replica::SplitHooks() {
  return {.ask =
              [this](Endpoint member, const SplitMemberRequest& request,
                     const PartitionSplit::Hooks::Answered& answered) {
                if (member == host_->self)
                  // Whoever is asked answers, also when this replica has gone meanwhile.
                  return split_member_.Answer(request, [answered, weak = weak_from_this()](
                                                           const SplitMemberResponse& response) {
                    if (weak.lock() != nullptr) answered(ErrorCode::kOk, response);
                  });
                messages_.Call(member, kRpcSplitMember, EncodeWrapped(request), kSplitStepTimeout,
                               [answered](const RpcResult& result) {
                                 if (result.error != ErrorCode::kOk)
                                   return answered(result.error, {});
                                 const auto response =
                                     DecodeWrapped<SplitMemberResponse>(result.body);
                                 if (!response.ok()) return answered(ErrorCode::kInvalidData, {});
                                 answered(ErrorCode::kOk, *response);
                               });
              },
          .step = [this](const SplitTurn& turn) { Step(turn); },
          .writes_are_idle = [this] { return !writes_.HasUndecided(); },
          .after = [this](absl::Duration delay,
                          absl::AnyInvocable<void()> task) { work_.After(delay, std::move(task)); },
          .take_place = [host = host_] { return host->TakeSplitPlace(); },
          .activate =
              [this](const ConfigurationUpdateRequest& entry) {
                split_member_.children().ActivateChild(entry);
              },
          .sync_soon = [this] { split_member_.children().SyncSoon(); },
          .tag = [this] { return Tag(); }};
}

PartitionDuplications::Hooks Replica::DuplicationHooks() {
  return {.read_history =
              [this](Decree first, Decree through, DuplicationSender::OnMutations then) {
                ReadHistoryInPool(first, through, std::move(then));
              },
          .after = [this](absl::Duration delay,
                          absl::AnyInvocable<void()> task) { work_.After(delay, std::move(task)); },
          .lease = [this] { return office_.Lease(); },
          .make_checkpoint = [this] { CheckpointNow(); },
          .wall_micros = [this] { return AgreedWallMicros(host_->env.clock()); },
          .log_end = [this] { return store_.log()->end_offset(); },
          .tag = [this] { return Tag(); }};
}

ReplicaCheckpoints::Hooks Replica::CheckpointsHooks() {
  return {.owner = [this] { return std::weak_ptr<void>(weak_from_this()); },
          .needed_by_child = [this] { return split_member_.LogNeeded(); },
          .duplicated = [this] { return duplications_.Confirmed(); },
          .is_holding = [this] { return holds_ > 0; },
          .hot_keys = [this] { return reads_.HotKeys(); },
          .on_interval = [this] { verifying_.Consider(); },
          .write_nothing = [this] { WriteNothing(); },
          .step = [this](const Event& event) { Step(event); },
          .fence = [this](const std::string& why) { Fence(why); },
          .tag = [this] { return Tag(); }};
}

}  // namespace arion
