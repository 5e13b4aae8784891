// Admission: what happens to clients' requests before anything is done for them: denied, throttled,
// refused for their table's quota, held back while the configuration changes; and watched for
// slowness.
//
// Shapes    What throttles delay waits in 64 MiB at most; what is held for a configuration: see
//           held_requests.h. Settings are those of the table's environments, made anew when its
//           description changes.
// Threads   Strand-bound.
// Lifetime  A part of a replica, beside its ServedPartition.
// Promises  admission/A1  Each request that is taken here is answered, dropped as the table wants
//               it, or given to its `again`, once; also when the replica goes.
//           admission/A2  What frees space is let through whatever the quota says. Another
//               cluster's writes come several at a time, and count as puts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "base/mutation.h"
#include "client_requests/client_request.h"
#include "client_requests/held_requests.h"
#include "client_requests/served_partition.h"
#include "data_api/space_quota.h"
#include "data_api/table_settings.h"
#include "data_api/throttle.h"

namespace arion {

class ForegroundPace;
class SlowRequests;

// One for each replica. For each request, in this order: Watched, IsDenied, AdmitRead or
// AdmitWrite, and Delay or Hold where it has to wait. Close ends what is held; what is delayed ends
// with the replica.
class Admission {
 public:
  // A request that waited goes on.
  using Again = HeldRequests::Again;
  // Where the server counts and keeps requests.
  struct Books {
    std::shared_ptr<RequestBook> requests;
    std::shared_ptr<SlowRequests> slow;
    std::shared_ptr<ForegroundPace> foreground;
  };
  Admission(const ServedPartition& partition, Books books)
      : partition_(partition), books_(std::move(books)) {}

  // What the table's environments say now. Valid until the next call.
  const TableSettings& Settings();
  // The request with an answer that is counted and timed. The watch is made anew when the table's
  // name or its bounds of slowness change.
  ClientRequest Watched(RequestKind kind, InboundRequest request, Instant arrived);

  // Whether the table's deny rule refused the request. Then it is answered, or dropped, as the rule
  // says.
  bool IsDenied(ClientRequest& request, bool DenyRule::*what);
  // The pause after which it goes on; nullopt: it was refused, at once or after a pause.
  std::optional<absl::Duration> AdmitWrite(ClientRequest& request);
  std::optional<absl::Duration> AdmitRead(ClientRequest& request);
  // Whether the write would pass the replica's quota; else its bytes are counted.
  bool IsOverQuota(WriteCode code, uint64_t bytes);
  // Takes the bytes of a read's answer from the table's budget.
  void CountRead(uint64_t bytes) { read_bytes_.Take(bytes, partition_.clock.Now()); }
  // Calls `again` after the pause. A request that finds no room to wait is answered kBusy.
  void Delay(absl::Duration pause, ClientRequest request, Again again);

  // Keeps the request until the configuration is known. Where it can't wait, `error` is its answer.
  void Hold(ClientRequest request, ErrorCode error, Again again);
  // Lets held requests go on if they may, and answers those that have waited long enough.
  void ReleaseHeld();
  void Close() { held_.Refuse(); }

 private:
  // Which counters rise when a throttle stops a request.
  struct Throttled {
    ReplicaCount delayed;
    ReplicaCount rejected;
  };
  std::optional<absl::Duration> Admit(RequestThrottle& throttle, uint64_t units,
                                      ClientRequest& request, ErrorCode refusal, Throttled counts);

  const ServedPartition& partition_;
  const Books books_;
  // Null until the first request.
  std::shared_ptr<const RequestWatch> watch_;
  TableSettings settings_;
  // Of the description they were made from.
  uint64_t settings_serial_ = 0;
  RequestThrottle write_requests_, write_bytes_, read_requests_, backup_requests_;
  ByteBudget read_bytes_;
  SpaceQuota quota_;
  // Of requests that throttles hold back.
  uint64_t delayed_bytes_ = 0;
  HeldRequests held_;
  TimerId held_timer_ = kNoTimer;
};

}  // namespace arion
