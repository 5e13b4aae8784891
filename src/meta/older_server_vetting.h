// OlderServerVetting: servers of an older version, which can't say of which cluster they are, are
// asked what they hold before they count (meta_state/foreign_tables.h says whose that is).
//
// Shapes    One question at a time for each process. Its last beacon waits for the answer, and is
//           read again when it fits. One that holds another cluster's tables is asked again by its
//           beacons, after a while. One that does not say it three times over is let in.
// Threads   Strand-bound; callbacks come on the strand, while the owner lives.
// Lifetime  The transport, the clock and the state outlive it.
// Promises  older_server_vetting/V1  A beacon of a process of an older version counts only after a
//               verdict about this process.
//           older_server_vetting/V2  At most kServersMax servers are remembered; more are not let
//               in.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "env/strand.h"
#include "messages/meta_messages.h"
#include "meta_state/cluster_state.h"
#include "rpc/transport.h"

namespace arion {

class Clock;
struct ClusterWarning;
class OwnerLife;
class RequestCodec;

// A member of MetaServer::State. ServerRequests asks it for each beacon, if the cluster vets at all
// (MetaServerOptions::vets_older_servers).
class OlderServerVetting {
 public:
  // A stranger's beacons must not fill the memory.
  static constexpr size_t kServersMax = 2000;

  // `on_fits` gets the beacon that waited.
  OlderServerVetting(Transport& transport, const Clock& clock, StrandPtr strand,
                     const OwnerLife& life, const ClusterState& state, const RequestCodec& codec,
                     std::function<void(InboundRequest)> on_fits);

  // False: `request`, which has `beacon`, waits, or is not answered.
  bool MayCount(const BeaconMessage& beacon, InboundRequest& request);
  // Those that are not let in and still send beacons; nullopt: there are none.
  std::optional<ClusterWarning> Foreign() const;

 private:
  // What a process holds.
  struct Vetting {
    enum class Verdict { kUnknown, kFits, kForeign };
    // Names the process.
    std::optional<int64_t> start_time;
    Verdict verdict = Verdict::kUnknown;
    std::string why_foreign;
    Instant judged_at;
    bool is_asked = false;
    int vain_questions = 0;
    // Its last beacon, while nothing is known of it.
    std::optional<InboundRequest> beacon;
  };
  void Ask(Endpoint server);
  void OnAnswer(Endpoint server, const RpcResult& result);

  Transport& transport_;
  const Clock& clock_;
  const StrandPtr strand_;
  const OwnerLife& life_;
  const ClusterState& state_;
  const RequestCodec& codec_;
  const std::function<void(InboundRequest)> on_fits_;
  std::map<Endpoint, Vetting> vettings_;
};

}  // namespace arion
