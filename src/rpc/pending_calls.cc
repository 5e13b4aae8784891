// SPDX-License-Identifier: Apache-2.0
#include "rpc/pending_calls.h"

namespace arion {
namespace {

constexpr std::string_view kAck = "_ACK";

// A name with _ACK, cut to what fits the header's field.
bool IsAckOf(std::string_view ack, std::string_view name) {
  // A name of 44 to 47 bytes leaves no room for all of _ACK: whoever answers cuts it off.
  constexpr size_t kNameBytesMax = 47;
  name = name.substr(0, kNameBytesMax);
  return ack.starts_with(name) &&
         ack.substr(name.size()) == kAck.substr(0, kNameBytesMax - name.size());
}

}  // namespace

void PendingCalls::Add(uint64_t id, std::string name, StrandPtr reply_on, Done done) {
  Shard& shard = ShardOf(id);
  const MutexLock lock(shard.mutex);
  shard.calls.emplace(id, Call{std::move(name), std::move(reply_on), std::move(done)});
}

template <class Accepts>
bool PendingCalls::FinishIf(uint64_t id, RpcResult result, Accepts accepts) {
  // Taken out under the lock and posted outside it, so a call can end once only and no strand is
  // entered with a lock held.
  Call call;
  {
    Shard& shard = ShardOf(id);
    const MutexLock lock(shard.mutex);
    auto at = shard.calls.find(id);
    if (at == shard.calls.end() || !accepts(at->second)) return false;
    call = std::move(at->second);
    shard.calls.erase(at);
  }
  call.reply_on->Post([done = std::move(call.done), result = std::move(result)]() mutable {
    done(std::move(result));
  });
  return true;
}

bool PendingCalls::Finish(uint64_t id, RpcResult result) {
  return FinishIf(id, std::move(result), [](const Call&) { return true; });
}

bool PendingCalls::FinishNamed(uint64_t id, std::string_view ack_name, RpcResult result) {
  return FinishIf(id, std::move(result),
                  [&](const Call& call) { return IsAckOf(ack_name, call.name); });
}

bool PendingCalls::IsOver(uint64_t id) const {
  const Shard& shard = ShardOf(id);
  const MutexLock lock(shard.mutex);
  return !shard.calls.contains(id);
}

}  // namespace arion
