// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_transport.h"

#include <algorithm>
#include <utility>

#include "base/crc.h"
#include "base/log.h"
#include "sim/odd_messages.h"
#include "sim/sim_environment.h"

namespace arion::sim {

namespace {

// As TCP: what was lost is sent again after 200 ms or more.
constexpr absl::Duration kSentAgainMax = absl::Milliseconds(600);

}  // namespace

// A request on its way, shared by its copies. `is_lost`: its connection broke before it arrived.
struct SimNetwork::Delivery {
  OutboundRequest request;
  Endpoint from;
  bool is_lost = false;
};

// A node's end: it outlives its transport while messages refer to it, and then takes none.
struct SimNetwork::Port : std::enable_shared_from_this<Port> {
  struct PendingCall {
    Endpoint to;
    std::weak_ptr<Delivery> request;
    StrandPtr reply_on;
    absl::AnyInvocable<void(RpcResult)> done;
    TimerId timeout = kNoTimer;
  };

  Port(SimNetwork& n, SimNode& o, Endpoint l)
      : network(n), node(o), life(o.life_state()), local(l) {}

  bool open() const { return life->alive && !closed; }

  // An event of this node: waits while it is paused, and never comes once its life is over.
  TimerId At(Instant when, Task&& task, EventKind kind = EventKind::kMessage) {
    return network.world_.Schedule(when, kind, &node, life->number, nullptr, std::move(task));
  }

  void Finish(uint64_t id, RpcResult result) {
    auto it = calls.find(id);
    if (it == calls.end()) return;
    // Taken out before the callback: it may make further calls, which change the map.
    PendingCall call = std::move(it->second);
    calls.erase(it);
    network.world_.Cancel(call.timeout);
    call.reply_on->Post([done = std::move(call.done), result = std::move(result)]() mutable {
      done(std::move(result));
    });
  }

  void Answer(const PortPtr& caller, uint64_t id, ErrorCode error, std::string body) {
    // An answer may come twice as well; Finish takes the first and knows no second.
    const Copies copies = network.CopiesNow();
    network.Send(
        local, caller, copies,
        [weak = std::weak_ptr(caller), id, error, copies, body = std::move(body)]() mutable {
          PortPtr caller = weak.lock();
          if (caller == nullptr) return;
          // Contents are part of the trace: two runs that differ in a byte only are told apart.
          caller->network.world_.FoldIntoTrace(Crc32c(body) + static_cast<uint64_t>(error));
          caller->Finish(id, {error, copies == Copies::kOne ? std::exchange(body, {}) : body});
        });
  }

  SimNetwork& network;
  SimNode& node;
  std::shared_ptr<const SimLife> life;
  Endpoint local;
  RequestHandler handler;
  std::map<uint64_t, PendingCall> calls;
  uint64_t next_call = 1;
  int64_t unanswered = 0, unanswered_bytes = 0;
  bool closed = false;
};

// A request that a node took: it lives until that is answered or forgotten.
class SimNetwork::Debt {
 public:
  Debt(PortPtr port, size_t bytes) : port_(std::move(port)), bytes_(static_cast<int64_t>(bytes)) {
    ++port_->unanswered;
    port_->unanswered_bytes += bytes_;
  }
  ~Debt() { End(); }
  Debt(Debt&&) = default;
  Debt& operator=(Debt&&) = delete;
  void End() {
    if (port_ == nullptr) return;
    --port_->unanswered;
    port_->unanswered_bytes -= bytes_;
    port_ = nullptr;
  }

 private:
  PortPtr port_;
  int64_t bytes_;
};

SimNetwork::UnderWay SimNetwork::UnderWayAt(Endpoint endpoint) const {
  const PortPtr port = Find(endpoint);
  if (port == nullptr) return {};
  return {port->unanswered, port->unanswered_bytes, static_cast<int64_t>(port->calls.size())};
}

void SimNetwork::Unblock(Endpoint from, Endpoint to) {
  auto it = blocked_.find({from, to});
  if (it == blocked_.end()) return;
  // Taken out first: what is delivered now may send over the same link.
  std::vector<Held> held = std::move(it->second);
  blocked_.erase(it);
  for (Held& message : held) {
    PortPtr port = message.to.lock();
    if (port && port->open() && IsStream(from, to))
      ArriveInOrder(from, port, Delay(), std::move(message.deliver));
    else if (port && port->open())
      Arrive(port, Delay() + absl::Milliseconds(world_.random().Below(200)),
             std::move(message.deliver));
  }
}

void SimNetwork::UnblockAll() {
  while (!blocked_.empty()) {
    Direction direction = blocked_.begin()->first;
    Unblock(direction.first, direction.second);
  }
}

SimNetwork::PortPtr SimNetwork::Find(Endpoint endpoint) const {
  auto it = ports_.find(endpoint);
  return it == ports_.end() || !it->second->open() ? nullptr : it->second;
}

void SimNetwork::NodeDied(Endpoint endpoint, Farewell farewell) {
  ports_.erase(endpoint);
  // Remembered: calls that begin later must end as these do.
  gone_[endpoint] = farewell;
  if (farewell == Farewell::kSilence) return;
  for (auto& [other, port] : ports_) FailCalls(port, endpoint);
}

int64_t SimNetwork::Reset(Endpoint endpoint, double percent) {
  const PortPtr node = Find(endpoint);
  if (node == nullptr) return 0;
  int64_t failed = 0;
  for (auto& [other, port] : ports_)
    if (port != node && world_.random().Percent(percent))
      failed += FailCalls(node, other) + FailCalls(port, endpoint);
  return failed;
}

int64_t SimNetwork::FailCalls(const PortPtr& from, Endpoint to) {
  int64_t failed = 0;
  for (auto& [id, call] : from->calls) {
    if (call.to != to) continue;
    ++failed;
    // The caller can't know whether its request arrived: half of those on their way still do.
    if (auto request = call.request.lock(); request && world_.random().Coin())
      request->is_lost = true;
    from->At(world_.now() + Delay(), [from, id = id] {
      from->Finish(id, {ErrorCode::kNetworkFailure, {}});
    });
  }
  return failed;
}

absl::Duration SimNetwork::Delay() {
  SimRandom& random = world_.random();
  // Most messages take as long as in one rack; some as long as the weather says.
  if (weather.late_percent > 0 && random.Percent(weather.late_percent)) {
    return random.Between(absl::Microseconds(500), weather.late_max);
  }
  return absl::Microseconds(random.Between(60, 500));
}

void SimNetwork::Arrive(const PortPtr& to, absl::Duration delay, Task&& deliver) {
  to->At(world_.now() + delay, std::move(deliver));
}

void SimNetwork::ArriveInOrder(Endpoint from, const PortPtr& to, absl::Duration delay,
                               Task&& deliver) {
  // A stream keeps its order: nothing arrives before what was sent earlier.
  Instant& last = arrives_last_[{from, to->local}];
  last = std::max(world_.now() + delay, last + absl::Microseconds(1));
  to->At(last, std::move(deliver));
}

void SimNetwork::Send(Endpoint from, const PortPtr& to, Copies copies, Task&& deliver) {
  ++messages_;
  SimRandom& random = world_.random();
  auto it = blocked_.find({from, to->local});
  if (IsStream(from, to->local)) {
    if (it != blocked_.end()) return it->second.push_back({to, std::move(deliver)});
    const bool is_lost = weather.loss_percent > 0 && random.Percent(weather.loss_percent);
    const absl::Duration again =
        is_lost ? random.Between(absl::Milliseconds(200), kSentAgainMax) : absl::ZeroDuration();
    return ArriveInOrder(from, to, again + Delay(), std::move(deliver));
  }
  if (it != blocked_.end()) {
    // As TCP would hold some back until the link heals; of the rest the connection times out.
    if (random.Percent(30)) it->second.push_back({to, std::move(deliver)});
    return;
  }
  if (weather.loss_percent > 0 && random.Percent(weather.loss_percent)) return;
  if (copies == Copies::kMayDouble && random.Percent(weather.duplicate_percent)) {
    // Both copies run the same task, which therefore must not give its content away (Copies).
    auto shared = std::make_shared<Task>(std::move(deliver));
    deliver = [shared] { (*shared)(); };
    Arrive(to, Delay() + absl::Milliseconds(random.Below(100)), [shared] { (*shared)(); });
  }
  Arrive(to, Delay(), std::move(deliver));
}

SimTransport::SimTransport(SimNetwork& network, SimNode& node, Endpoint local)
    : network_(network), port_(std::make_shared<SimNetwork::Port>(network, node, local)) {
  // Two lives at one address would be a mistake of the cluster's, not a fault to play.
  CHECK(network.Find(local) == nullptr) << local << " is taken";
  network.ports_[local] = port_;
  // Somebody is here again, so calls do not end as those to the dead node.
  network.gone_.erase(local);
}

SimTransport::~SimTransport() {
  port_->closed = true;
  port_->handler = nullptr;
  // Destroyed at the end of this function, when the port is closed and out of the network.
  auto calls = std::move(port_->calls);  // callbacks may own the objects that hold us
  auto it = network_.ports_.find(port_->local);
  if (it != network_.ports_.end() && it->second == port_) network_.ports_.erase(it);
}

Endpoint SimTransport::local() const { return port_->local; }

void SimTransport::SetHandler(RequestHandler handler) { port_->handler = std::move(handler); }

namespace {

InboundRequest MakeInbound(const OutboundRequest& request, Endpoint from, std::string body) {
  InboundRequest inbound;
  inbound.header.name = request.name;
  inbound.header.pid = request.pid;
  inbound.header.timeout_ms = static_cast<int32_t>(absl::ToInt64Milliseconds(request.timeout));
  inbound.header.timeout_is_real = true;
  inbound.header.thread_hash = request.thread_hash;
  inbound.header.partition_hash = request.partition_hash;
  inbound.header.is_backup_request = request.is_backup_request;
  inbound.header.from = from;
  inbound.header.framing = Framing::kRdsn;
  inbound.body = std::move(body);
  return inbound;
}

}  // namespace

void SimNetwork::Echo(Endpoint from, Endpoint to, const OutboundRequest& request) {
  const auto sent = std::make_shared<const OutboundRequest>(request);
  for (int copy = 0; copy < echoes.copies; ++copy) {
    const absl::Duration late = world_.random().Between(absl::ZeroDuration(), echoes.late_max);
    // An event of the world, not of the sender, which may be gone by then.
    world_.After(late, EventKind::kMessage, [this, from, to, sent] {
      const PortPtr target = Find(to);
      // No copies any more: the trouble is over.
      if (target == nullptr || echoes.copies == 0) return;
      Arrive(target, Delay(), [sent, from, at = std::weak_ptr(target)] {
        const PortPtr target = at.lock();
        if (target == nullptr || !target->open() || !target->handler) return;
        target->handler(MakeInbound(*sent, from, sent->body));
      });
    });
  }
}

void SimNetwork::Handle(const Asked& asked, Copies copies) {
  const PortPtr server = asked.server.lock();
  Delivery& delivery = *asked.delivery;
  if (server == nullptr || !server->open() || !server->handler || delivery.is_lost) return;
  server->network.world_.FoldIntoTrace(Crc32c(delivery.request.name) ^
                                       Crc32c(delivery.request.body));
  std::string& sent = delivery.request.body;
  // Counted until it is answered, or nobody is left who could.
  Debt debt(server, sent.size());
  InboundRequest inbound = MakeInbound(delivery.request, delivery.from,
                                       copies == Copies::kOne ? std::exchange(sent, {}) : sent);
  inbound.responder =
      Responder([asked, debt = std::move(debt)](ErrorCode error, std::string body) mutable {
        debt.End();
        Answer(asked, error, std::move(body));
      });
  server->handler(std::move(inbound));
}

void SimNetwork::Answer(const Asked& asked, ErrorCode error, std::string body) {
  const PortPtr server = asked.server.lock();
  const OutboundRequest& request = asked.delivery->request;
  // As if the answer were lost: the caller's call ends by its timeout.
  if (server != nullptr && server->network.is_withheld &&
      server->network.is_withheld(server->local, request))
    return;
  VLOG(1) << request.name << " from " << asked.delivery->from << " answered " << error << ", "
          << body.size() << " bytes";
  if (server != nullptr && server->open() && server->network.on_answer) {
    server->network.on_answer(server->local, request, error, body);
  }
  const PortPtr caller = asked.caller.lock();
  // Who died meanwhile neither says nor hears anything.
  if (server == nullptr || !server->open() || caller == nullptr || !caller->open()) return;
  SimNetwork& network = server->network;
  if (error == ErrorCode::kOk && network.odd_percent > 0 &&
      network.world_.random().Percent(network.odd_percent)) {
    auto odd = OddAnswer(request.name, body, network.world_.random());
    // Instead of the true one: a call has one answer.
    if (odd) body = *std::move(odd);
  }
  server->Answer(caller, asked.id, error, std::move(body));
}

uint64_t SimTransport::Begin(Endpoint to, const OutboundRequest& request, StrandPtr reply_on,
                             absl::AnyInvocable<void(RpcResult)> done) {
  const Instant now = network_.world_.now();
  const uint64_t id = port_->next_call++;
  auto& call = port_->calls[id];
  call.to = to;
  call.reply_on = std::move(reply_on);
  call.done = std::move(done);
  // The listener hears what the caller is told, at the same moment and before it.
  if (request.name == network_.told.request)
    call.done = [&told = network_.told, caller = port_->local, sent = now,
                 done = std::move(call.done)](RpcResult result) mutable {
      told.hear(caller, sent, result);
      done(std::move(result));
    };
  // By the caller's own clock, as a real timer.
  const auto end = [weak = std::weak_ptr(port_), id] {
    if (auto port = weak.lock()) port->Finish(id, {ErrorCode::kTimeout, {}});
  };
  call.timeout = port_->At(now + port_->node.ToWorld(request.timeout), end, EventKind::kTimer);
  return id;
}

void SimTransport::FailSoon(Endpoint to, uint64_t id) {
  const auto gone = network_.gone_.find(to);
  if (gone != network_.gone_.end() && gone->second == SimNetwork::Farewell::kSilence)
    return;  // by the timeout
  port_->At(network_.world_.now() + network_.Delay(), [weak = std::weak_ptr(port_), id] {
    if (auto port = weak.lock())
      port->Finish(id, {.error = ErrorCode::kNetworkFailure, .was_never_sent = true});
  });
}

void SimTransport::Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
                        absl::AnyInvocable<void(RpcResult)> done) {
  if (!port_->open()) return;
  // Told before anything can go wrong with it: checkers see what a server meant to say.
  if (network_.on_request) network_.on_request(port_->local, to, request);
  if (request.name == network_.echoes.request) network_.Echo(port_->local, to, request);
  VLOG(1) << request.name << " to " << to << ", " << request.body.size() << " bytes";
  const uint64_t id = Begin(to, request, std::move(reply_on), std::move(done));
  const SimNetwork::PortPtr target = network_.Find(to);
  if (target == nullptr) return FailSoon(to, id);
  // A request that names a partition is a client's, and comes once. Messages between servers may
  // double.
  const auto copies =
      request.pid == PartitionId{} ? network_.CopiesNow() : SimNetwork::Copies::kOne;
  SimRandom& random = network_.world_.random();
  if (network_.odd_percent > 0 && random.Percent(network_.odd_percent)) {
    if (auto odd = OddRequest(request.name, request.body, random))
      // Beside the true one, so that the call still comes to its end.
      SendOneWay(to, {.name = request.name, .body = *std::move(odd), .pid = request.pid});
  }
  auto delivery = std::make_shared<SimNetwork::Delivery>(
      SimNetwork::Delivery{std::move(request), port_->local});
  port_->calls[id].request = delivery;
  const SimNetwork::Asked asked{port_, id, target, std::move(delivery)};
  network_.Send(port_->local, target, copies,
                [asked, copies] { SimNetwork::Handle(asked, copies); });
}

void SimTransport::SendOneWay(Endpoint to, OutboundRequest request) {
  if (!port_->open()) return;
  SimNetwork::PortPtr target = network_.Find(to);
  if (target == nullptr) return;
  auto sent = std::make_shared<const OutboundRequest>(std::move(request));
  network_.Send(port_->local, target, network_.CopiesNow(),
                [sent, from = port_->local, at = std::weak_ptr(target)] {
                  SimNetwork::PortPtr target = at.lock();
                  if (target == nullptr || !target->open() || !target->handler) return;
                  target->network.world_.FoldIntoTrace(Crc32c(sent->name) ^ Crc32c(sent->body));
                  target->handler(MakeInbound(*sent, from, sent->body));
                });
}

}  // namespace arion::sim
