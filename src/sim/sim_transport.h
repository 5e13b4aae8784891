// SimNetwork: what lies between the nodes: for each direction of each pair whether messages pass,
// how long they take, and which are lost, doubled or late. SimTransport: one life's end of it.
//
// Shapes   A message in a blocked direction is lost, or (as TCP would) held back and delivered
//          after the direction opens again. What passes between an older server (ForOlderServer)
//          and anybody goes over one connection each way, as theirs does: in order, once, and what
//          is lost comes late, since it is sent again. Only messages between servers are doubled: a
//          client's write goes over one connection, once. Where a connection breaks, its calls
//          fail, and the peer carries out some of them. Calls to a node that is down fail at once
//          (kNetworkFailure) or by their timeout, as its end was: a process that died resets its
//          connections, a machine without power says nothing.
// Threads  One: the world's. Lifetime: the network outlives its transports; a transport may go
//          before its calls end.
// Promises As Transport.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rpc/transport.h"
#include "sim/sim_world.h"

namespace arion::sim {

class SimNode;

// What happens to messages everywhere; bursts of trouble change it for a while.
struct LinkWeather {
  double loss_percent = 0;
  double duplicate_percent = 0;
  // Share of messages that take up to late_max.
  double late_percent = 1;
  absl::Duration late_max = absl::Milliseconds(20);
};

class SimTransport;

// All links of a world. Whoever builds the cluster owns it. Faults change what passes; checkers
// listen.
//
//   SimNetwork network(world);
//   network.Block(a, b);                 // a's messages to b
//   network.weather.loss_percent = 10;   // of all messages
class SimNetwork {
 public:
  explicit SimNetwork(SimWorld& world) : world_(world) {}

  LinkWeather weather;
  // Of servers' requests, followed by an odd copy, and of their answers, replaced by one
  // (odd_messages.h).
  double odd_percent = 0;
  // Requests of this name come again and again after they were sent, late and in any order, also
  // when their senders are gone.
  struct Echoes {
    std::string request;
    int copies = 0;
    absl::Duration late_max;
  } echoes;
  // What passes, for checkers: requests as they are sent; answers as the responder gives them.
  std::function<void(Endpoint from, Endpoint to, const OutboundRequest& request)> on_request;
  std::function<void(Endpoint server, const OutboundRequest& request, ErrorCode error,
                     const std::string& body)>
      on_answer;

  // What a caller gets for calls of this name, just before it gets it.
  struct Told {
    std::string request;
    std::function<void(Endpoint caller, Instant sent, const RpcResult& result)> hear;
  } told;
  // Whether an answer is lost before anybody sees it, checkers included.
  std::function<bool(Endpoint server, const OutboundRequest& request)> is_withheld;

  // One direction.
  void Block(Endpoint from, Endpoint to) { blocked_.try_emplace({from, to}); }
  void Unblock(Endpoint from, Endpoint to);
  void UnblockAll();
  // The node behind `endpoint` is gone. Its peers' calls fail now (kReset) or by their timeouts
  // (kSilence).
  enum class Farewell : uint8_t { kReset, kSilence };
  void NodeDied(Endpoint endpoint, Farewell farewell);
  // Each connection of the node breaks, with this chance. How many calls that ends.
  int64_t Reset(Endpoint endpoint, double percent);

  // From now on what passes between this one and anybody is in order.
  void ForOlderServer(Endpoint endpoint) { older_.insert(endpoint); }

  uint64_t messages() const { return messages_; }
  // Of the node behind an endpoint: requests it took and has not answered, and calls it waits for.
  struct UnderWay {
    int64_t unanswered = 0;
    int64_t unanswered_bytes = 0;
    int64_t calls = 0;
  };
  UnderWay UnderWayAt(Endpoint endpoint) const;

 private:
  friend class SimTransport;
  struct Delivery;
  struct Port;
  class Debt;
  using PortPtr = std::shared_ptr<Port>;
  using Direction = std::pair<Endpoint, Endpoint>;
  struct Held {
    std::weak_ptr<Port> to;
    Task deliver;
  };

  // Runs `deliver` at the port's node, if the message gets there: at most once, or perhaps twice.
  enum class Copies : uint8_t { kOne, kMayDouble };
  // Of a message that may be doubled: what the weather does.
  Copies CopiesNow() const {
    return weather.duplicate_percent > 0 ? Copies::kMayDouble : Copies::kOne;
  }
  void Send(Endpoint from, const PortPtr& to, Copies copies, Task&& deliver);
  void Arrive(const PortPtr& to, absl::Duration delay, Task&& deliver);
  bool IsStream(Endpoint a, Endpoint b) const { return older_.contains(a) || older_.contains(b); }
  // Behind what was sent before it.
  void ArriveInOrder(Endpoint from, const PortPtr& to, absl::Duration delay, Task&& deliver);
  void Echo(Endpoint from, Endpoint to, const OutboundRequest& request);
  // A request that waits for its answer.
  struct Asked {
    std::weak_ptr<Port> caller;
    // The caller's number for this call.
    uint64_t id = 0;
    std::weak_ptr<Port> server;
    std::shared_ptr<Delivery> delivery;
  };
  // It is there: its server handles it.
  static void Handle(const Asked& asked, Copies copies);
  static void Answer(const Asked& asked, ErrorCode error, std::string body);
  // Those of `from`. A request that is on its way gets there or not. How many there are.
  int64_t FailCalls(const PortPtr& from, Endpoint to);
  absl::Duration Delay();
  PortPtr Find(Endpoint endpoint) const;

  SimWorld& world_;
  std::map<Endpoint, PortPtr> ports_;
  std::map<Endpoint, Farewell> gone_;
  std::map<Direction, std::vector<Held>> blocked_;
  std::set<Endpoint> older_;
  // When the last message of each stream arrives, so that the next comes later.
  std::map<Direction, Instant> arrives_last_;
  uint64_t messages_ = 0;
};

// One node's end of the network during one life. The owner of the life's objects makes it before
// them and destroys it after them.
class SimTransport : public Transport {
 public:
  SimTransport(SimNetwork& network, SimNode& node, Endpoint local);
  ~SimTransport() override;

  Endpoint local() const override;
  void SetHandler(RequestHandler handler) override;
  void Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
            absl::AnyInvocable<void(RpcResult)> done) override;
  void SendOneWay(Endpoint to, OutboundRequest request) override;

 private:
  // The id of a call that begins now and ends by its timeout at the latest.
  uint64_t Begin(Endpoint to, const OutboundRequest& request, StrandPtr reply_on,
                 absl::AnyInvocable<void(RpcResult)> done);
  // Ends a call to where nobody is.
  void FailSoon(Endpoint to, uint64_t id);

  SimNetwork& network_;
  SimNetwork::PortPtr port_;
};

}  // namespace arion::sim
