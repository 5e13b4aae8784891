// PendingCalls: the calls of one transport that wait for their answer, by id. Answers are matched
// over the whole process, whatever connection they come on (rpc/PROTOCOL.md 2.5).
//
// Threads   Thread-safe.
// Promises  `done` runs at most once, on its strand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/functional/any_invocable.h>

#include <array>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "env/strand.h"
#include "rpc/transport.h"

namespace arion {

// One for a transport. A call is added before it is sent, and finished by its answer, its deadline
// or its connection's end, whichever comes first; the others then find nothing.
class PendingCalls {
 public:
  using Done = absl::AnyInvocable<void(RpcResult)>;

  // `id` is new. `name`: the request's.
  void Add(uint64_t id, std::string name, StrandPtr reply_on, Done done);
  // Ends the call. False: it waits no longer.
  bool Finish(uint64_t id, RpcResult result);
  // The same for an answer from outside, which must also carry the call's name with _ACK.
  bool FinishNamed(uint64_t id, std::string_view ack_name, RpcResult result);
  // Whether it waits no longer.
  bool IsOver(uint64_t id) const;

 private:
  struct Call {
    std::string name;
    StrandPtr reply_on;
    Done done;
  };
  // Many locks instead of one: calls and answers come on all loops. By the id's last bits, which
  // rise by one from call to call, so neighbours in time meet seldom.
  struct Shard {
    mutable Mutex mutex;
    absl::flat_hash_map<uint64_t, Call> calls ABSL_GUARDED_BY(mutex);
  };
  static constexpr size_t kShards = 16;
  Shard& ShardOf(uint64_t id) { return shards_[id % kShards]; }
  const Shard& ShardOf(uint64_t id) const { return shards_[id % kShards]; }
  template <class Accepts>
  bool FinishIf(uint64_t id, RpcResult result, Accepts accepts);

  std::array<Shard, kShards> shards_;
};

}  // namespace arion
