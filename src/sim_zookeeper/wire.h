// Wire: one connection between a session on a node and the ensemble, as TCP makes it: what is sent
// arrives once and in order, and after a cut that heals it comes late. Wires: all of them.
//
// Shapes    A connection that breaks loses all that is on its way to the client, and of what is on
//           its way to the ensemble all from a drawn message on: the rest still arrives, though
//           nobody waits for it. That is how a request is carried out after its answer was given
//           up.
// Threads   One: the world's.
// Lifetime  The world and Wires outlive the wires. The ensemble and the client hold their wire.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/sim_world.h"
#include "sim_zookeeper/zookeeper_request.h"

namespace arion::sim {

class SimNode;
struct SimLife;
class Wire;
using WirePtr = std::shared_ptr<Wire>;

// How messages travel everywhere; bursts of trouble change it for a while.
struct ZooKeeperWeather {
  absl::Duration delay_min = absl::Microseconds(300);
  absl::Duration delay_max = absl::Milliseconds(3);
  // Share of messages that take up to late_max.
  double late_percent = 1;
  absl::Duration late_max = absl::Milliseconds(30);
  // Share of answers in whose place the connection breaks: what was asked has been carried out.
  double lost_answers_percent = 0;
};

// The client's end, as events of its node.
class WireClient {
 public:
  virtual ~WireClient() = default;
  virtual void OnWelcome(int64_t session, absl::Duration timeout) = 0;
  // The session is over, or never was.
  virtual void OnExpired() = 0;
  virtual void OnAnswer(ZooKeeperAnswer answer) = 0;
  virtual void OnPong(int64_t transaction) = 0;
  virtual void OnChanged(const std::string& path) = 0;
  // The wire has ended, and this was not the one who ended it.
  virtual void OnClosed() = 0;
};

class Wires {
 public:
  explicit Wires(SimWorld& world) : world_(world) {}

  ZooKeeperWeather weather;

  WirePtr New(SimNode& node, std::weak_ptr<WireClient> client);
  // Both ways: nothing of this node arrives any more, until Restore.
  void Cut(const SimNode& node);
  void Restore(const SimNode& node);
  bool IsCut(const SimNode& node) const;
  // Those of this node break in their middle. How many did.
  int Break(const SimNode& node);

 private:
  friend class Wire;
  absl::Duration Delay();

  SimWorld& world_;
  // By node: which of them are cut.
  std::set<uint32_t> cut_;
  std::vector<std::weak_ptr<Wire>> wires_;
};

// Made by Wires::New.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  using AtEnsemble = absl::AnyInvocable<void(const WirePtr&)>;
  using AtClient = absl::AnyInvocable<void(WireClient&)>;

  Wire(Wires& wires, SimNode& node, std::weak_ptr<WireClient> client);

  SimNode& node() const { return node_; }
  // The session that the ensemble serves on it; 0: none yet.
  int64_t session() const { return session_; }
  void set_session(int64_t session) { session_ = session; }

  // What is sent by a life that has ended, or over a wire that has, goes nowhere.
  void ToEnsemble(AtEnsemble arrive);
  void ToClient(AtClient arrive);

  // The ensemble ends it: what it has sent arrives, then the client hears of the end. What is on
  // its way to the ensemble is not looked at.
  void Close();
  // It breaks in its middle, and the client hears of that.
  void Break();
  // The client gives it up as broken. It hears nothing any more.
  void GiveUp();
  // The client ends an attempt: nothing of it arrives any more.
  void Discard();
  // The client hears nothing any more; what it has sent arrives.
  void Leave() { client_.reset(); }

 private:
  friend class Wires;
  template <class Message>
  struct Way {
    // When the last message arrives, so that the next comes later.
    Instant last{0};
    uint64_t sent = 0;
    // The number of the one that arrives next.
    uint64_t next = 1;
    // None from this one on arrives.
    uint64_t lost_from = UINT64_MAX;
    // What waits for a cut's end, or for what was sent before it.
    std::map<uint64_t, Message> held;
  };

  template <class Message>
  void Send(Way<Message>& way, bool is_to_client, Message message);
  template <class Message>
  void Arrive(Way<Message>& way, uint64_t number, Message message);
  template <class Message>
  void DeliverHeld(Way<Message>& way);
  void Deliver(AtEnsemble& message) { message(shared_from_this()); }
  void Deliver(AtClient& message);
  void Schedule(Instant at, bool is_to_client, Task task);
  void Restored();
  void LoseSomeToEnsemble();
  void LoseAllToClient();

  Wires& wires_;
  SimNode& node_;
  const std::shared_ptr<const SimLife> life_;
  std::weak_ptr<WireClient> client_;
  int64_t session_ = 0;
  // Both may send.
  bool is_open_ = true;
  Way<AtEnsemble> to_ensemble_;
  Way<AtClient> to_client_;
};

}  // namespace arion::sim
