// SPDX-License-Identifier: Apache-2.0
#include "replica_server/duplication_sync.h"

#include <utility>

#include "base/log.h"
#include "replica/replica.h"
#include "replica_server/replica_table.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

constexpr absl::Duration kSyncTimeout = absl::Seconds(5);
constexpr absl::Duration kFirstSync = absl::Milliseconds(500);
// A server that comes to lead a duplicated partition begins within it. Where something is
// duplicated logs are kept by what comes back.
constexpr absl::Duration kSyncInterval = absl::Seconds(3);
constexpr absl::Duration kSyncIntervalWhileDuplicating = absl::Seconds(2);

}  // namespace

void DuplicationSync::OnConnected(uint64_t term) {
  CHECK_ON_STRAND(strand_);
  is_connected_ = true;
  term_ = term;
  Schedule(kFirstSync);
}

void DuplicationSync::OnLeaseLost() {
  CHECK_ON_STRAND(strand_);
  is_connected_ = false;
  if (timer_ != kNoTimer) strand_->Cancel(timer_);
  timer_ = kNoTimer;
}

void DuplicationSync::Schedule(absl::Duration delay) {
  if (timer_ != kNoTimer) strand_->Cancel(timer_);
  timer_ = strand_->PostAfter(delay, [self = weak_from_this()] {
    const auto sync = self.lock();
    if (sync == nullptr) return;
    sync->timer_ = kNoTimer;
    if (sync->is_connected_) sync->Run();
  });
}

void DuplicationSync::Run() {
  // Most servers have many replicas and duplicate nothing: none of these is asked then.
  if (!is_anything_duplicated_) return Send({});
  table_->DuplicationConfirms([self = weak_from_this(), term = term_](Confirms confirms) {
    const auto sync = self.lock();
    if (sync != nullptr && sync->is_connected_ && sync->term_ == term)
      sync->Send(std::move(confirms));
  });
}

void DuplicationSync::Send(Confirms confirms) {
  for (auto it = confirms.begin(); it != confirms.end();)
    it = it->second.empty() ? confirms.erase(it) : std::next(it);
  DuplicationSyncRequest request{.node = host_->self, .confirm_list = std::move(confirms)};
  const PeerGeneration generation = host_->options.peer_generation;
  if (generation == PeerGeneration::k26) request.hp_node = HostPort::From(host_->self);
  host_->transport.Call(host_->lease->leader(),
                        {.name = kRpcDuplicationSync,
                         .body = EncodeWrapped(request, generation),
                         .timeout = kSyncTimeout},
                        strand_, [self = weak_from_this(), term = term_](const RpcResult& result) {
                          const auto sync = self.lock();
                          // duplication_sync/D1
                          if (sync != nullptr && sync->is_connected_ && sync->term_ == term)
                            sync->OnAnswer(result);
                        });
}

void DuplicationSync::OnAnswer(const RpcResult& result) {
  DuplicationSyncResponse response;
  if (result.error == ErrorCode::kOk) {
    auto decoded = DecodeWrapped<DuplicationSyncResponse>(result.body);
    if (decoded.ok() && decoded->err == ErrorCode::kOk) {
      response = *std::move(decoded);
      const bool was_anything = std::exchange(is_anything_duplicated_, !response.dup_map.empty());
      if (was_anything || is_anything_duplicated_) table_->OnDuplications(response.dup_map);
    }
  }
  Schedule(is_anything_duplicated_ ? kSyncIntervalWhileDuplicating : kSyncInterval);
}

}  // namespace arion
