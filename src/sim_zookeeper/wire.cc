// SPDX-License-Identifier: Apache-2.0
#include "sim_zookeeper/wire.h"

#include <algorithm>

#include "sim/sim_environment.h"

namespace arion::sim {
namespace {

// As TCP: what was lost is sent again when a timer says so, which began during the cut.
constexpr absl::Duration kSentAgainMin = absl::Milliseconds(1);
constexpr absl::Duration kSentAgainMax = absl::Milliseconds(800);

}  // namespace

WirePtr Wires::New(SimNode& node, std::weak_ptr<WireClient> client) {
  std::erase_if(wires_, [](const std::weak_ptr<Wire>& wire) { return wire.expired(); });
  WirePtr wire = std::make_shared<Wire>(*this, node, std::move(client));
  wires_.push_back(wire);
  return wire;
}

void Wires::Cut(const SimNode& node) { cut_.insert(node.index()); }

void Wires::Restore(const SimNode& node) {
  if (cut_.erase(node.index()) == 0) return;
  for (const std::weak_ptr<Wire>& weak : wires_)
    if (const WirePtr wire = weak.lock(); wire != nullptr && &wire->node_ == &node)
      wire->Restored();
}

bool Wires::IsCut(const SimNode& node) const { return cut_.contains(node.index()); }

int Wires::Break(const SimNode& node) {
  int broken = 0;
  for (const std::weak_ptr<Wire>& weak : wires_) {
    const WirePtr wire = weak.lock();
    if (wire == nullptr || &wire->node_ != &node || !wire->is_open_) continue;
    wire->Break();
    ++broken;
  }
  return broken;
}

absl::Duration Wires::Delay() {
  SimRandom& random = world_.random();
  if (weather.late_percent > 0 && random.Percent(weather.late_percent))
    return random.Between(weather.delay_min, std::max(weather.delay_min, weather.late_max));
  return random.Between(weather.delay_min, std::max(weather.delay_min, weather.delay_max));
}

Wire::Wire(Wires& wires, SimNode& node, std::weak_ptr<WireClient> client)
    : wires_(wires), node_(node), life_(node.life_state()), client_(std::move(client)) {}

void Wire::ToEnsemble(AtEnsemble arrive) {
  if (is_open_ && life_->alive) Send(to_ensemble_, false, std::move(arrive));
}

void Wire::ToClient(AtClient arrive) {
  if (is_open_) Send(to_client_, true, std::move(arrive));
}

void Wire::Deliver(AtClient& message) {
  if (const auto client = client_.lock()) message(*client);
}

void Wire::Schedule(Instant at, bool is_to_client, Task task) {
  // The ensemble is no node. What is on its way to it arrives also where the sender has died.
  wires_.world_.Schedule(at, EventKind::kMessage, is_to_client ? &node_ : nullptr,
                         is_to_client ? life_->number : 0, nullptr, std::move(task));
}

template <class Message>
void Wire::Send(Way<Message>& way, bool is_to_client, Message message) {
  way.last = std::max(wires_.world_.now() + wires_.Delay(), way.last + absl::Microseconds(1));
  Schedule(
      way.last, is_to_client,
      [self = shared_from_this(), &way, number = ++way.sent,
       message = std::move(message)]() mutable { self->Arrive(way, number, std::move(message)); });
}

template <class Message>
void Wire::Arrive(Way<Message>& way, uint64_t number, Message message) {
  if (number < way.next || number >= way.lost_from) return;
  way.held.emplace(number, std::move(message));
  DeliverHeld(way);
}

template <class Message>
void Wire::DeliverHeld(Way<Message>& way) {
  // One by one: what is delivered may end this wire, or cut it.
  while (!wires_.IsCut(node_) && !way.held.empty() && way.held.begin()->first == way.next) {
    Message message = std::move(way.held.begin()->second);
    way.held.erase(way.held.begin());
    ++way.next;
    Deliver(message);
  }
}

void Wire::Restored() {
  SimRandom& random = wires_.world_.random();
  // Nobody sends again what a dead process sent.
  if (!life_->alive) to_ensemble_.held.clear();
  if (!to_ensemble_.held.empty()) {
    Schedule(wires_.world_.now() + random.Between(kSentAgainMin, kSentAgainMax), false,
             [self = shared_from_this()] { self->DeliverHeld(self->to_ensemble_); });
  }
  if (!to_client_.held.empty()) {
    Schedule(wires_.world_.now() + random.Between(kSentAgainMin, kSentAgainMax), true,
             [self = shared_from_this()] { self->DeliverHeld(self->to_client_); });
  }
}

void Wire::LoseSomeToEnsemble() {
  const uint64_t under_way = to_ensemble_.sent + 1 - to_ensemble_.next;
  to_ensemble_.lost_from = std::min(
      to_ensemble_.lost_from, to_ensemble_.next + wires_.world_.random().Below(under_way + 1));
  to_ensemble_.held.erase(to_ensemble_.held.lower_bound(to_ensemble_.lost_from),
                          to_ensemble_.held.end());
}

void Wire::LoseAllToClient() {
  to_client_.next = to_client_.sent + 1;
  to_client_.held.clear();
}

void Wire::Close() {
  if (!is_open_) return;
  ToClient([](WireClient& client) { client.OnClosed(); });
  is_open_ = false;
  to_ensemble_.lost_from = to_ensemble_.next;
  to_ensemble_.held.clear();
}

void Wire::Break() {
  if (!is_open_) return;
  LoseSomeToEnsemble();
  LoseAllToClient();
  ToClient([](WireClient& client) { client.OnClosed(); });
  is_open_ = false;
}

void Wire::GiveUp() {
  client_.reset();
  LoseAllToClient();
  if (!std::exchange(is_open_, false)) return;
  LoseSomeToEnsemble();
}

void Wire::Discard() {
  client_.reset();
  is_open_ = false;
  LoseAllToClient();
  to_ensemble_.lost_from = to_ensemble_.next;
  to_ensemble_.held.clear();
}

}  // namespace arion::sim
