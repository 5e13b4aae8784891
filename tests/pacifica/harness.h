// Harness: several ReplicaCores on hand-moved time, with disks that keep what was synced, a network
// that does what it is told, and a meta server of one page. It carries out effects, tells what it
// did in text (for the scenarios) and watches what must hold between replicas: one content per
// committed decree, no acknowledged write lost, one primary per ballot.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "decrees/learned_log.h"
#include "decrees/log_replay.h"
#include "decrees/log_shipment.h"
#include "pacifica/invariants.h"
#include "pacifica/replica_core.h"

namespace arion {

inline constexpr PartitionId kTestPid{2, 3};

inline Endpoint NodeAt(char name) {
  return Endpoint{0x0a000001u, static_cast<uint16_t>(1000 + name)};
}
inline std::string NameOf(Endpoint node) {
  return node.IsValid() ? std::string(1, static_cast<char>(node.port - 1000)) : "-";
}
inline std::string NamesOf(const std::vector<Endpoint>& nodes) {
  std::string names;
  for (Endpoint node : nodes) names += NameOf(node);
  return names.empty() ? "-" : names;
}
inline std::string ContentOf(const Mutation& m) {
  std::string content;
  for (const Update& u : m.updates) content += (content.empty() ? "" : "+") + u.data;
  return content.empty() ? "(empty)" : content;
}
inline MutationPtr MakeMutation(int64_t ballot, int64_t decree, int64_t committed,
                                std::string data) {
  Mutation m;
  m.pid = kTestPid;
  m.ballot = Ballot(ballot);
  m.decree = Decree(decree);
  m.last_committed = Decree(committed);
  m.timestamp_us = decree;
  m.updates.push_back({WriteCode::kPut, 1, std::move(data)});
  return std::make_shared<const Mutation>(std::move(m));
}

// One replica's disk: survives a crash.
struct TestDisk {
  bool exists = false;  // the replica's directory
  Ballot ballot;
  std::vector<MutationPtr> log;
  std::vector<std::string> engine;  // engine[d - 1]: what decree d wrote
  size_t durable = 0;               // the engine keeps this many
  bool learner = false;             // .init-info's standing
  size_t gap_end = 0;               // .init-info's marker: a shorter engine can't be opened
};

class Harness {
 public:
  struct Message {
    int64_t id = 0;
    std::string kind;
    Endpoint from, to;
    std::function<void()> deliver;
  };
  struct Node {
    char name = '?';
    std::unique_ptr<ReplicaCore> core;  // null: the process is down, or holds no such replica
    bool running = false;
    int incarnation = 0;
    bool connected = false;
    TestDisk disk;
    std::deque<LogAppend> unsynced;
    uint64_t void_through = 0;  // appends up to here went to a log that was begun anew since
    std::map<ReplyToken, std::function<void(const PeerReply&)>> waiting;
    std::optional<LearnerWork> work;
    std::vector<MutationPtr> copied_log;  // as a learner
    std::unique_ptr<LearnedLog> learned;
    std::vector<std::string> told;  // since the last Take
  };
  struct Call {
    Endpoint caller;
    int incarnation = 0;
    Instant deadline;
    std::function<Event()> timed_out;
  };

  CoreOptions options;
  Instant now{1'000'000'000};
  std::map<char, Node> nodes;
  std::vector<Message> network;
  PartitionConfiguration meta;  // the truth
  std::set<Endpoint> meta_dead;
  bool meta_freezed = false;  // the members stay
  bool hold_applies = false;
  std::map<Decree, std::string> committed;     // content of every decree anybody applied
  std::map<std::string, Decree> acknowledged;  // writes answered kOk
  std::map<ClientToken, std::string> writes;
  std::map<Ballot, char> primaries;  // who acted under a ballot
  std::map<std::string, std::vector<std::string>> checkpoints;

  Harness() {
    options.pid = kTestPid;
    options.app.app_id = kTestPid.app_id;
    options.app.app_name = "temp";
    options.app.max_replica_count = 3;
    meta.pid = kTestPid;
    meta.max_replica_count = 3;
  }

  Node& node(char name) {
    Node& n = nodes[name];
    n.name = name;
    return n;
  }
  bool HasCore(char name) { return nodes.contains(name) && nodes[name].core != nullptr; }

  // A process starts; what its disk holds is replayed.
  void Start(char name, LastStop last_stop) {
    Node& n = node(name);
    n.running = true;
    ++n.incarnation;
    n.connected = false;
    n.waiting.clear();
    n.work.reset();
    if (n.disk.engine.size() < n.disk.gap_end) n.disk = TestDisk{};  // set aside
    if (n.disk.exists) Open(name, last_stop);
  }
  void Open(char name, LastStop last_stop) {
    Node& n = node(name);
    n.disk.exists = true;
    RecoveredState recovered;
    recovered.ballot = n.disk.ballot;
    recovered.last_applied = recovered.last_durable =
        Decree(static_cast<int64_t>(n.disk.engine.size()));
    for (const MutationPtr& m : n.disk.log) {
      if (m->decree == recovered.last_applied)
        recovered.last_applied_ballot = std::max(recovered.last_applied_ballot, m->ballot);
    }
    recovered.logged = n.disk.log;
    recovered.last_stop = last_stop;
    if (n.disk.learner) recovered.inactivity = Inactivity::kRemoved;
    CoreOptions o = options;
    o.self = NodeAt(name);
    n.core = std::make_unique<ReplicaCore>(o, recovered, now);
    if (n.connected) Step(name, Connected{});
  }
  void Connect(char name) {
    node(name).connected = true;
    if (HasCore(name)) Step(name, Connected{});
  }
  void TellThaw() {
    for (const auto& [name, n] : nodes)
      if (n.connected && HasCore(name)) Step(name, MetaThawed{});
  }
  void LoseLease(char name) {
    node(name).connected = false;
    if (HasCore(name)) Step(name, LeaseLost{});
  }
  // `kept`: how many of the appends under way happen to be on disk.
  void Crash(char name, size_t kept) {
    Node& n = node(name);
    for (size_t i = 0; i < kept && i < n.unsynced.size(); ++i) {
      if (n.unsynced[i].sequence > n.void_through) n.disk.log.push_back(n.unsynced[i].mutation);
    }
    n.unsynced.clear();
    n.void_through = 0;
    n.disk.engine.resize(std::min(n.disk.engine.size(), n.disk.durable));
    n.core.reset();
    n.running = n.connected = false;
    n.work.reset();
    n.waiting.clear();
    Tell(name, "crash");
  }

  // ---- events ----

  void Step(char name, const Event& event) {
    Node& n = node(name);
    ASSERT_NE(n.core, nullptr);
    Effects effects = n.core->Step(event, now);
    CarryOut(name, std::move(effects));
  }
  void Write(char name, const std::string& data, WriteCode code = WriteCode::kPut) {
    ClientWrite write;
    write.token = next_token_++;
    write.updates = {{code, 1, data}};
    writes[write.token] = data;
    Step(name, write);
  }
  // The log's next append is durable.
  void LogOne(char name, ErrorCode err = ErrorCode::kOk) {
    Node& n = node(name);
    const LogAppend append = n.unsynced.front();
    n.unsynced.pop_front();
    if (err == ErrorCode::kOk && append.sequence > n.void_through)
      n.disk.log.push_back(append.mutation);
    Step(name, Logged{append.sequence, err});
  }
  void ApplyAll(char name) {
    Node& n = node(name);
    const Decree decree(static_cast<int64_t>(n.disk.engine.size()));
    if (HasCore(name) && n.core->marks().last_applied < decree) Step(name, Applied{decree});
  }
  void Flush(char name) {
    Node& n = node(name);
    if (!HasCore(name)) return;
    n.disk.durable = static_cast<size_t>(n.core->marks().last_applied.value());
    Step(name, DurableAdvanced{n.core->marks().last_applied});
  }
  void EndWork(char name, LearnerWorkDone::Result result = LearnerWorkDone::Result::kDone) {
    Node& n = node(name);
    if (!n.work.has_value()) return;
    const LearnerWork work = *std::exchange(n.work, std::nullopt);
    if (work.what == LearnerWork::What::kCopyLog || work.what == LearnerWork::What::kReadLog)
      return EndLogWork(n, work, result);
    if (result == LearnerWorkDone::Result::kDone) {
      if (work.what != LearnerWork::What::kFlush) n.disk.learner = true;
      if (work.what == LearnerWork::What::kInstallCheckpoint) {
        n.disk.engine = checkpoints[work.response.base_local_dir];
        n.disk.log.clear();
        n.disk.gap_end = 0;
      } else if (work.what == LearnerWork::What::kDiscard) {
        n.disk.engine.clear();
        n.disk.log.clear();
        n.disk.gap_end = 0;
      }
      n.disk.durable = n.disk.engine.size();
    }
    const Decree stands(static_cast<int64_t>(n.disk.engine.size()));
    Step(name, LearnerWorkDone{.serial = work.serial,
                               .result = result,
                               .applied = stands,
                               .durable = Decree(static_cast<int64_t>(n.disk.durable)),
                               .why = "in vain"});
  }
  // As copies/learned_files.h: the log as it is by now, `ship_limit` mutations a piece.
  void EndLogWork(Node& n, const LearnerWork& work, LearnerWorkDone::Result result) {
    LearnerWorkDone done{.serial = work.serial, .result = result, .why = "in vain"};
    if (work.what == LearnerWork::What::kCopyLog) {
      const Node& source = node(NameOf(work.response.learnee)[0]);
      if (!source.running || source.core == nullptr)
        done.result = LearnerWorkDone::Result::kRemoteFailed;
      n.copied_log = source.disk.log;
      n.learned = std::make_unique<LearnedLog>(kTestPid, work.log);
    } else if (result == LearnerWorkDone::Result::kDone) {
      absl::Status status;
      size_t count = 0;
      while (status.ok() && !n.copied_log.empty() && count++ < ship_limit) {
        status = n.learned->Add(n.copied_log.front(), &done.learned);
        n.copied_log.erase(n.copied_log.begin());
      }
      if (status.ok() && n.copied_log.empty()) status = n.learned->Finish(&done.learned);
      done.has_more = !status.ok() || !n.learned->IsWhole();
      if (!status.ok() && done.learned.empty()) {
        done.result = LearnerWorkDone::Result::kRemoteFailed;
        done.why = std::string(status.message());
      }
    }
    Step(n.name, done);
  }

  // ---- time and network ----

  Instant NextTime() {
    Instant next = Instant::InfiniteFuture();
    for (auto& [name, n] : nodes) {
      if (n.core != nullptr) next = std::min(next, n.core->NextWakeup());
    }
    for (auto& [id, call] : calls_) next = std::min(next, call.deadline);
    return next;
  }
  void Advance(absl::Duration duration) {
    const Instant end = now + duration;
    while (NextTime() <= end) {
      now = std::max(now, NextTime());
      RunDue();
    }
    now = end;
  }
  void RunDue() {
    std::vector<int64_t> late;
    for (auto& [id, call] : calls_) {
      if (call.deadline <= now) late.push_back(id);
    }
    for (int64_t id : late) {
      const Call call = calls_[id];
      calls_.erase(id);
      const char name = NameOf(call.caller)[0];
      if (HasCore(name) && node(name).incarnation == call.incarnation) Step(name, call.timed_out());
    }
    for (auto& [name, n] : nodes) {
      if (n.core != nullptr && n.core->NextWakeup() <= now) Step(name, Tick{});
    }
  }
  void Deliver(size_t index) {
    Message message = network[index];
    network.erase(network.begin() + static_cast<int64_t>(index));
    message.deliver();
  }
  // Everything that moves, moves, until nothing is left but timers.
  void Settle() {
    for (int round = 0; round < 100'000; ++round) {
      bool moved = false;
      if (!network.empty()) {
        Deliver(0);
        moved = true;
      }
      for (auto& [name, n] : nodes) {
        if (n.core == nullptr) continue;
        if (!n.unsynced.empty()) LogOne(name), moved = true;
        if (n.work.has_value()) EndWork(name), moved = true;
        if (n.core != nullptr &&
            static_cast<size_t>(n.core->marks().last_applied.value()) < n.disk.engine.size()) {
          ApplyAll(name);
          moved = true;
        }
      }
      if (!moved) return;
    }
    FAIL() << "never quiet";
  }

  // ---- the meta server ----

  ConfigurationUpdateRequest Proposal(ConfigType type, Endpoint about) {
    ConfigurationUpdateRequest request;
    request.info = options.app;
    request.config = meta;
    request.type = type;
    request.node = about;
    return request;
  }
  void Propose(ConfigType type, Endpoint about, Endpoint to) {
    const ConfigurationUpdateRequest request = Proposal(type, about);
    Post("proposal", Endpoint{}, to, [this, to, request] {
      const char name = NameOf(to)[0];
      if (!node(name).running || !node(name).connected) return;
      if (!HasCore(name) && request.type == ConfigType::kAssignPrimary)
        Open(name, LastStop::kClean);
      if (HasCore(name)) Step(name, ProposalReceived{request});
    });
  }
  ConfigurationUpdateResponse Decide(const ConfigurationUpdateRequest& request) {
    PartitionConfiguration wanted = request.config;
    wanted.last_drops = meta.last_drops;
    if (meta_freezed && request.type != ConfigType::kPrimaryForceUpdateBallot)
      return {ErrorCode::kStateFreezed, meta};
    if (wanted == meta) return {ErrorCode::kOk, meta};
    if (wanted.ballot != meta.ballot + 1) return {ErrorCode::kInvalidVersion, meta};
    const bool adds_dead =
        request.type == ConfigType::kUpgradeToSecondary && !MetaSeesAlive(request.node);
    if (adds_dead) return {ErrorCode::kInvalidVersion, meta};
    for (Endpoint member : Members(meta)) {
      if (!wanted.IsMember(member)) Drop(wanted, member);
    }
    for (Endpoint member : Members(wanted)) std::erase(wanted.last_drops, member);
    meta = wanted;
    return {ErrorCode::kOk, meta};
  }
  static std::vector<Endpoint> Members(const PartitionConfiguration& configuration) {
    std::vector<Endpoint> members = configuration.secondaries;
    if (configuration.primary.IsValid()) members.push_back(configuration.primary);
    return members;
  }
  static void Drop(PartitionConfiguration& configuration, Endpoint member) {
    std::erase(configuration.last_drops, member);
    configuration.last_drops.push_back(member);
  }
  // The node's lease has run out by meta's clock; the caller saw to it that it ended on the node
  // before.
  void DeclareDead(char name) {
    Tell(name, "declared dead");
    const Endpoint dead = NodeAt(name);
    meta_dead.insert(dead);
    if (meta.primary == dead) {
      meta.primary = Endpoint{};
      meta.ballot = meta.ballot + 1;
      Drop(meta, dead);
    }
  }
  void DeclareAlive(char name) { meta_dead.erase(NodeAt(name)); }
  bool MetaSeesAlive(Endpoint node) { return !meta_dead.contains(node); }
  // What a config sync brings.
  void Sync(char name) {
    if (!node(name).connected) return;
    if (!HasCore(name)) {
      // Meta counts on what is not here: ask to be removed, as the driver does.
      const bool counted_on =
          meta.primary == NodeAt(name) || (!meta.primary.IsValid() && meta.IsMember(NodeAt(name)));
      if (!counted_on) return;
      ConfigurationUpdateRequest request = Proposal(ConfigType::kDowngradeToInactive, NodeAt(name));
      if (meta.primary == NodeAt(name)) request.config.primary = Endpoint{};
      std::erase(request.config.secondaries, NodeAt(name));
      request.config.ballot = meta.ballot + 1;
      Decide(request);
      return;
    }
    if (meta.IsMember(NodeAt(name))) {
      Step(name, ConfigurationSynced{Proposal(ConfigType::kInvalid, Endpoint{})});
    } else {
      Step(name, MissingInSync{});
    }
  }
  // One step of the guardian: proposes what the configuration lacks.
  void Guard() {
    const auto reported = [this](Endpoint e) {
      const char name = NameOf(e)[0];
      return MetaSeesAlive(e) && nodes.contains(name) && node(name).running && node(name).connected;
    };
    const auto rank = [this](Endpoint e) {
      const char name = NameOf(e)[0];
      if (!HasCore(name)) return std::tuple{Ballot(-2), Decree(-1)};
      const ReplicaCore& core = *node(name).core;
      const Watermarks marks = core.marks();
      const bool is_sure = core.last_mutation_ballot() >= Ballot(0);
      return std::tuple{core.last_mutation_ballot(), is_sure ? marks.last_prepared : Decree(-1)};
    };
    const auto best = [&](const std::vector<Endpoint>& candidates) {
      Endpoint chosen = candidates.front();
      for (Endpoint e : candidates) {
        if (rank(e) >= rank(chosen)) chosen = e;  // the one dropped later wins ties
      }
      return chosen;
    };
    if (!meta.primary.IsValid() && !meta.secondaries.empty()) {
      std::vector<Endpoint> alive;
      for (Endpoint e : meta.secondaries) {
        if (reported(e) && HasCore(NameOf(e)[0])) alive.push_back(e);
      }
      if (!alive.empty()) Propose(ConfigType::kUpgradeToPrimary, best(alive), best(alive));
    } else if (!meta.primary.IsValid() && !meta.last_drops.empty()) {
      std::vector<Endpoint> last(
          meta.last_drops.end() - std::min<int64_t>(2, std::ssize(meta.last_drops)),
          meta.last_drops.end());
      if (std::all_of(last.begin(), last.end(), reported) &&
          std::get<0>(rank(best(last))) >= Ballot(best(last) == last.back() ? -1 : 0)) {
        // The last member had everything, whatever it now says of itself; the one before only if it
        // is sure.
        for (Endpoint e : last) {
          Tell(NameOf(e)[0], absl::StrCat("candidate: ", std::get<0>(rank(e)).value(), " ",
                                          std::get<1>(rank(e)).value()));
        }
        Propose(ConfigType::kAssignPrimary, best(last), best(last));
      }
    } else if (!meta.primary.IsValid() && meta.ballot == Ballot(0)) {
      for (auto& [name, n] : nodes) {
        if (reported(NodeAt(name)))
          return Propose(ConfigType::kAssignPrimary, NodeAt(name), NodeAt(name));
      }
    } else if (meta.primary.IsValid()) {
      for (Endpoint e : meta.secondaries) {
        if (!MetaSeesAlive(e)) return Propose(ConfigType::kDowngradeToInactive, e, meta.primary);
      }
      for (auto& [name, n] : nodes) {
        if (std::ssize(meta.secondaries) >= meta.max_replica_count - 1) break;
        if (reported(NodeAt(name)) && !meta.IsMember(NodeAt(name))) {
          return Propose(ConfigType::kAddSecondary, NodeAt(name), meta.primary);
        }
      }
    }
  }

  // ---- what happened ----

  std::string Take() {
    std::string text;
    for (auto& [name, n] : nodes) {
      if (n.told.empty()) continue;
      text += std::string(1, name) + ":";
      for (size_t i = 0; i < n.told.size(); ++i) text += (i == 0 ? " " : ", ") + n.told[i];
      text += "\n";
      n.told.clear();
    }
    return text;
  }
  std::string Describe(char name) {
    if (!HasCore(name))
      return std::string(1, name) + ": " + (node(name).running ? "no replica\n" : "down\n");
    const ReplicaCore& core = *node(name).core;
    const Watermarks m = core.marks();
    std::ostringstream out;
    out << name << ": " << PartitionStatusName(m.role);
    if (m.role == PartitionStatus::kInactive) {
      out << (core.inactivity() == Inactivity::kTransient ? " (transient)" : " (removed)");
    }
    out << " ballot=" << m.ballot << " applied=" << m.last_applied
        << " committed=" << m.last_committed << " prepared=" << m.last_prepared << "\n";
    return out.str();
  }

 private:
  void Tell(char name, std::string text) {
    static const bool trace = std::getenv("ARION_TRACE") != nullptr;
    if (trace) std::cerr << name << ": " << text << "\n";
    node(name).told.push_back(std::move(text));
  }

  void Post(std::string kind, Endpoint from, Endpoint to, std::function<void()> deliver) {
    network.push_back({next_message_++, std::move(kind), from, to, std::move(deliver)});
  }

  // A call from `caller`: the request travels as `kind`, the answer as "<kind>-answer".
  void Send(char caller, const std::string& kind, Endpoint to, absl::Duration timeout,
            std::function<Event()> timed_out, std::function<Event(ReplyToken)> request,
            std::function<Event(const PeerReply&)> answered) {
    const int64_t call = next_call_++;
    const Endpoint from = NodeAt(caller);
    const int incarnation = node(caller).incarnation;
    calls_[call] = {from, incarnation, now + timeout, timed_out};
    Post(kind, from, to, [=, this] {
      Node& receiver = node(NameOf(to)[0]);
      if (!receiver.running)
        return Finish(call, [=, this](Node& n) { Step(n.name, Refused(timed_out())); });
      if (receiver.core == nullptr) return NoReplica(call, kind, answered);
      const ReplyToken token = next_token_++;
      receiver.waiting[token] = [=, this](const PeerReply& reply) {
        Post(kind + "-answer", to, from,
             [=, this] { Finish(call, [=, this](Node& n) { Step(n.name, answered(reply)); }); });
      };
      Step(receiver.name, request(token));
    });
  }
  void NoReplica(int64_t call, const std::string& kind,
                 const std::function<Event(const PeerReply&)>& answered) {
    PeerReply reply;
    if (kind == "prepare") reply.body = PrepareAck{kTestPid, ErrorCode::kObjectNotFound};
    if (kind == "group-check")
      reply.body = GroupCheckResponse{kTestPid, ErrorCode::kObjectNotFound};
    if (kind == "learn") reply.body = LearnResponse{ErrorCode::kObjectNotFound};
    if (kind == "completion")
      reply.body = LearnNotifyResponse{kTestPid, ErrorCode::kObjectNotFound};
    Finish(call, [=, this](Node& n) { Step(n.name, answered(reply)); });
  }
  // An unreachable process: its address answers at once that nobody listens.
  static Event Refused(Event event) {
    std::visit(
        [](auto& e) {
          if constexpr (requires { e.rpc; }) e.rpc = ErrorCode::kNetworkFailure;
        },
        event);
    return event;
  }
  void Finish(int64_t call, const std::function<void(Node&)>& action) {
    auto it = calls_.find(call);
    if (it == calls_.end()) return;
    const Call c = it->second;
    calls_.erase(it);
    Node& caller = node(NameOf(c.caller)[0]);
    if (caller.core != nullptr && caller.incarnation == c.incarnation) action(caller);
  }

  void CarryOut(char name, Effects effects) {
    Node& n = node(name);
    for (const RoleChange& change : effects.role_changes) {
      std::ostringstream out;
      out << PartitionStatusName(change.from) << " -> " << PartitionStatusName(change.to) << " ("
          << change.why << ")";
      Tell(name, out.str());
      if (change.to == PartitionStatus::kPrimary) {
        auto [it, is_new] = primaries.emplace(change.ballot, name);
        EXPECT_EQ(it->second, name) << "two primaries under ballot " << change.ballot;
      }
    }
    if (effects.persist_ballot) {
      EXPECT_GE(*effects.persist_ballot, n.disk.ballot) << "tests/sim/invariants.md I-03";
      n.disk.ballot = *effects.persist_ballot;
      Tell(name, "persist " + std::to_string(effects.persist_ballot->value()));
    }
    if (effects.persist_standing) n.disk.learner = *effects.persist_standing == Standing::kLearner;
    if (effects.restart_log) {
      n.disk.gap_end = static_cast<size_t>(effects.restart_log->applied.value());
      n.disk.learner = true;
      n.disk.log.clear();
      if (!n.unsynced.empty()) n.void_through = n.unsynced.back().sequence;
      Tell(name, "restart log at " + std::to_string(effects.restart_log->applied.value()));
    }
    for (LogAppend& append : effects.append) {
      std::ostringstream out;
      out << "append " << append.mutation->decree << "@" << append.mutation->ballot;
      if (append.mutation->updates.size() > 1) out << " of " << append.mutation->updates.size();
      Tell(name, out.str());
      n.unsynced.push_back(std::move(append));
    }
    for (const MutationPtr& m : effects.apply) {
      const Decree decree(static_cast<int64_t>(n.disk.engine.size()) + 1);
      EXPECT_EQ(m->decree, decree) << name << " applies out of order";
      const auto [it, is_new] = committed.emplace(m->decree, ContentOf(*m));
      EXPECT_EQ(it->second, ContentOf(*m))
          << "tests/sim/invariants.md I-09: " << name << " commits another decree " << m->decree;
      n.disk.engine.push_back(ContentOf(*m));
      Tell(name, "apply " + std::to_string(m->decree.value()));
    }
    SendAll(name, std::move(effects.send));
    for (const PeerReply& reply : effects.replies) ReplyTo(n, reply);
    for (const ShipState& ship : effects.ship) Ship(n, ship);
    for (ReplyToken token : effects.dropped) {
      n.waiting.erase(token);
      Tell(name, "never answer");
    }
    for (const ClientReply& reply : effects.client_replies) {
      const std::string& data = writes[reply.token];
      std::ostringstream out;
      out << data << " " << reply.err;
      if (reply.err == ErrorCode::kOk) {
        out << " " << reply.decree;
        acknowledged[data] = reply.decree;
        EXPECT_NE(("+" + committed[reply.decree] + "+").find("+" + data + "+"), std::string::npos);
      }
      Tell(name, out.str());
    }
    if (effects.learner_work) {
      EXPECT_FALSE(n.work.has_value());
      n.work = std::move(effects.learner_work);
      static const char* const kNames[] = {"install checkpoint", "discard", "flush", "copy log",
                                           "read log"};
      Tell(name, kNames[static_cast<int>(n.work->what)]);
    }
    if (effects.close != Effects::Close::kNo) {
      Tell(name, effects.close == Effects::Close::kSetAside ? "set aside" : "forget");
      closed_.push_back(name);
    }
    if (!hold_applies && HasCore(name)) ApplyAll(name);
    if (!closed_.empty() && closed_.back() == name) {
      closed_.pop_back();
      if (n.core->role() == PartitionStatus::kError) n.disk = TestDisk{};
      n.core.reset();
      n.unsynced.clear();
      n.work.reset();
    }
  }

  void SendAll(char name, std::vector<Envelope> envelopes) {
    std::map<std::string, std::string> receivers;  // one line per message that goes to several
    std::vector<std::string> order;
    for (const Envelope& envelope : envelopes) {
      std::string line;
      Endpoint to;
      std::visit([&](const auto& e) { line = SendOne(name, e, &to); }, envelope);
      if (!receivers.contains(line)) order.push_back(line);
      receivers[line] += NameOf(to);
    }
    for (const std::string& line : order) {
      Tell(name, receivers[line] == "-" ? line : line + " to " + receivers[line]);
    }
  }
  std::string SendOne(char name, const SendPrepare& e, Endpoint* to) {
    *to = e.to;
    const auto failed = [e]() -> Event {
      return PrepareAcked{e.to, e.serial, ErrorCode::kTimeout, {}};
    };
    const auto request = [e](ReplyToken token) -> Event {
      return PrepareReceived{token, e.request};
    };
    Send(name, "prepare", e.to, e.timeout, failed, request, [e](const PeerReply& r) -> Event {
      return PrepareAcked{e.to, e.serial, ErrorCode::kOk, std::get<PrepareAck>(r.body)};
    });
    std::ostringstream out;
    out << "prepare " << e.request.mutation->decree << "@" << e.request.mutation->ballot;
    if (e.request.config.status == PartitionStatus::kPotentialSecondary) out << " (learner)";
    return out.str();
  }
  std::string SendOne(char name, const SendGroupCheck& e, Endpoint* to) {
    *to = e.to;
    const Ballot ballot = e.request.config.ballot;
    const auto failed = [e, ballot]() -> Event {
      return GroupCheckAnswered{e.to, ballot, ErrorCode::kTimeout, {}};
    };
    const auto request = [e](ReplyToken token) -> Event {
      return GroupCheckReceived{token, e.request};
    };
    Send(name, "group-check", e.to, e.timeout, failed, request,
         [e, ballot](const PeerReply& r) -> Event {
           return GroupCheckAnswered{e.to, ballot, ErrorCode::kOk,
                                     std::get<GroupCheckResponse>(r.body)};
         });
    return "group check committed=" + std::to_string(e.request.committed().value());
  }
  std::string SendOne(char name, const SendAddLearner& e, Endpoint* to) {
    *to = e.to;
    Post("add-learner", NodeAt(name), e.to, [this, e] {
      Node& n = node(NameOf(e.to)[0]);
      if (!n.running || !n.connected) return;
      if (n.core == nullptr) Open(n.name, LastStop::kClean);
      Step(n.name, AddLearnerReceived{e.request});
    });
    return "add learner";
  }
  std::string SendOne(char name, const SendRemove& e, Endpoint* to) {
    *to = e.to;
    Post("remove", NodeAt(name), e.to, [this, e] {
      if (HasCore(NameOf(e.to)[0])) Step(NameOf(e.to)[0], RemoveReceived{e.config});
    });
    return "remove";
  }
  std::string SendOne(char name, const SendLearn& e, Endpoint* to) {
    *to = e.to;
    const auto failed = [e]() -> Event { return LearnAnswered{e.serial, ErrorCode::kTimeout, {}}; };
    const auto request = [this, e](ReplyToken token) -> Event {
      Node& n = node(NameOf(e.to)[0]);
      const Decree start = n.core->LearnStart(e.request);
      const bool covered = !n.disk.log.empty() && n.disk.log.front()->decree <= start;
      return LearnReceived{token, e.request,
                           covered ? LogCoverage::kCovered : LogCoverage::kDropped};
    };
    Send(name, "learn", e.to, e.timeout, failed, request, [e](const PeerReply& r) -> Event {
      return LearnAnswered{e.serial, ErrorCode::kOk, std::get<LearnResponse>(r.body)};
    });
    return "learn from " + std::to_string(e.request.last_committed_decree_in_app.value() + 1);
  }
  std::string SendOne(char name, const SendLearnCompletion& e, Endpoint* to) {
    *to = e.to;
    const int64_t signature = e.report.learner_signature;
    const auto failed = [=]() -> Event {
      return LearnCompletionAnswered{signature, ErrorCode::kTimeout, {}};
    };
    const auto request = [e](ReplyToken token) -> Event {
      return LearnCompletionReceived{token, e.report};
    };
    Send(name, "completion", e.to, e.timeout, failed, request, [=](const PeerReply& r) -> Event {
      return LearnCompletionAnswered{signature, ErrorCode::kOk,
                                     std::get<LearnNotifyResponse>(r.body)};
    });
    return "learning completed";
  }
  std::string SendOne(char name, const SendConfigurationUpdate& e, Endpoint* to) {
    *to = Endpoint{};
    const Endpoint from = NodeAt(name);
    const int64_t call = next_call_++;
    const uint64_t serial = e.serial;
    const auto failed = [serial]() -> Event {
      return ConfigurationUpdateAnswered{serial, ErrorCode::kTimeout, {}};
    };
    calls_[call] = {from, node(name).incarnation, now + e.timeout, failed};
    if (serial == 0) calls_.erase(call);
    Post("update", from, Endpoint{}, [=, this] {
      const ConfigurationUpdateResponse response = Decide(e.request);
      if (serial == 0) return;
      Post("update-answer", Endpoint{}, from, [=, this] {
        Finish(call, [=, this](Node& n) {
          Step(n.name, ConfigurationUpdateAnswered{serial, ErrorCode::kOk, response});
        });
      });
    });
    const PartitionConfiguration& c = e.request.config;
    std::ostringstream out;
    out << "ask meta: ballot " << c.ballot << " primary " << NameOf(c.primary) << " secondaries "
        << NamesOf(c.secondaries);
    return out.str();
  }

  void ReplyTo(Node& n, const PeerReply& reply) {
    std::ostringstream out;
    if (const auto* ack = std::get_if<PrepareAck>(&reply.body)) {
      out << "ack " << ack->decree << " " << ack->err;
    } else if (const auto* check = std::get_if<GroupCheckResponse>(&reply.body)) {
      out << "group " << check->err;
      static const char* const kPhases[] = {
          "", " learning", " transient", " with prepare", " succeeded", " failed"};
      out << kPhases[static_cast<int>(check->learner_status)];
    } else if (const auto* learn = std::get_if<LearnResponse>(&reply.body)) {
      out << "learn " << learn->err;
      static const char* const kTypes[] = {"", " cache", " checkpoint", " log"};
      out << kTypes[static_cast<int>(learn->type)];
      if (learn->prepare_start_decree != kInvalidDecree)
        out << " prepares from " << learn->prepare_start_decree;
      else if (learn->err == ErrorCode::kOk)
        out << " through " << learn->state.to_decree_included;
    } else if (const auto* notify = std::get_if<LearnNotifyResponse>(&reply.body)) {
      out << "completion " << notify->err;
    }
    Tell(n.name, out.str());
    auto it = n.waiting.find(reply.token);
    if (it == n.waiting.end()) return;
    it->second(reply);
    n.waiting.erase(it);
  }
  void Ship(Node& n, const ShipState& ship) {
    PeerReply reply{ship.token, ship.response};
    LearnResponse& response = std::get<LearnResponse>(reply.body);
    if (ship.what == ShipState::What::kLog && ships_log_files) {
      response.state.files = {"log.1.0"};
      response.state.to_decree_included = ship.committed;
      response.learnee = NodeAt(n.name);
    } else if (ship.what == ShipState::What::kLog) {
      // A piece too short to prove anything is no answer: more of the log is read.
      for (size_t limit = ship_limit;; limit *= 2) {
        std::vector<MutationPtr> piece;
        for (const MutationPtr& m : n.disk.log) {
          if (m->decree >= ship.first && piece.size() <= limit) piece.push_back(m);
        }
        const LogPiece kind = piece.size() > limit ? LogPiece::kCutByLimit : LogPiece::kReachesEnd;
        response.state =
            MakeLogShipment(ship.first, ProvenHistory(ship.first, ship.committed, kind, piece));
        if (kind == LogPiece::kReachesEnd || response.state.to_decree_included >= ship.first) break;
      }
    } else {
      if (n.disk.durable == 0 || Decree(static_cast<int64_t>(n.disk.durable)) < ship.first)
        Flush(n.name);
      response.base_local_dir = "checkpoint " + std::to_string(next_token_++);
      response.state.files = {"checkpoint/file"};
      response.state.to_decree_included = Decree(static_cast<int64_t>(n.disk.durable));
      checkpoints[response.base_local_dir] = {
          n.disk.engine.begin(), n.disk.engine.begin() + static_cast<int64_t>(n.disk.durable)};
    }
    Step(n.name, Shipped{ship.token, response.type, response.state.to_decree_included});
    ReplyTo(n, reply);
  }

 public:
  size_t ship_limit = 1 << 20;   // mutations in one piece of log
  bool ships_log_files = false;  // as older versions do

 private:
  std::map<int64_t, Call> calls_;
  std::vector<char> closed_;
  int64_t next_message_ = 1;
  int64_t next_call_ = 1;
  uint64_t next_token_ = 1;
};

}  // namespace arion
