// The protocol core alone: a primary and two secondaries in one thread, no log, engine, network or clock between them, so
// what is timed is ReplicaCore::Step, its invariants checked after each as in a server.
// Whole writes, and each kind of step on its way; time a step is the counter, not the wave's.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "pacifica/effects.h"
#include "pacifica/replica_core.h"

namespace arion {
namespace {

constexpr PartitionId kPid{2, 3};
constexpr Ballot kBallot{7};
constexpr Decree kBegin{11};
constexpr int kMembers = 3;
constexpr int kWave =
    20;  // writes under way, as many mutations as may be (mutations_in_flight_max)

Endpoint MemberAt(int index) { return {0x0a000001u, static_cast<uint16_t>(34801 + index)}; }

enum Phase {
  kWrite,
  kPrepare,
  kSecondaryLogged,
  kPrimaryLogged,
  kAck,
  kApplied,
  kPhases,
  kAll = kPhases
};

// A group whose member 0 is primary. What the steps ask for waits here until its phase.
class Group {
 public:
  Group(WriteCode code, size_t value_bytes) : code_(code), value_(value_bytes, 'v') {
    PartitionConfiguration configuration;
    configuration.pid = kPid;
    configuration.ballot = kBallot;
    configuration.max_replica_count = kMembers;
    configuration.primary = MemberAt(0);
    for (int i = 1; i < kMembers; ++i) configuration.secondaries.push_back(MemberAt(i));
    for (int i = 0; i < kMembers; ++i) {
      CoreOptions options;
      options.pid = kPid;
      options.self = MemberAt(i);
      options.app.app_id = kPid.app_id;
      options.app.app_name = "temp";
      options.app.max_replica_count = kMembers;
      RecoveredState recovered;
      recovered.ballot = kBallot;
      recovered.last_applied = recovered.last_durable = kBegin;
      cores_[i] = std::make_unique<ReplicaCore>(options, recovered, now_);
      Step(i, Connected{});
      ConfigurationSynced synced;
      synced.entry.config = configuration;
      Step(i, synced);
    }
    while (Settle()) {
    }
    CHECK(cores_[0]->role() == PartitionStatus::kPrimary);
    CHECK(cores_[0]->WriteGate() == ErrorCode::kOk);
  }

  // kWave writes, phase by phase. The steps of `timed` alone are in seconds() and steps().
  void RunWave(Phase timed) {
    const uint64_t wanted = answered_ + kWave;
    std::vector<ClientWrite> writes(kWave);
    for (ClientWrite& write : writes) {
      write.token = ++token_;
      write.updates = {{code_, 1, value_}};
    }
    Timed(timed, kWrite, [&] {
      for (ClientWrite& write : writes) Step(0, std::move(write));
    });
    while (answered_ < wanted) {
      const int64_t before = all_steps_;
      Timed(timed, kPrepare, [&] { DeliverPrepares(); });
      Timed(timed, kSecondaryLogged, [&] { EndAppends(1, kMembers); });
      Timed(timed, kPrimaryLogged, [&] { EndAppends(0, 1); });
      Timed(timed, kAck, [&] { DeliverAcks(); });
      Timed(timed, kApplied, [&] { EndApplies(); });
      CHECK_GT(all_steps_, before) << "nothing moves";
    }
  }

  double seconds() const { return seconds_; }
  int64_t steps() const { return steps_; }

 private:
  struct Prepare {
    int to;
    uint64_t serial;
    PrepareReceived event;
  };

  template <class Work>
  void Timed(Phase wanted, Phase phase, Work work) {
    const int64_t before = all_steps_;
    const auto begun = std::chrono::steady_clock::now();
    work();
    if (wanted != phase && wanted != kAll) return;
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    steps_ += all_steps_ - before;
  }

  void Step(int index, const Event& event) {
    ++all_steps_;
    Effects effects = cores_[index]->Step(event, now_);
    for (LogAppend& append : effects.append) appends_[index].push_back(append.sequence);
    if (!effects.apply.empty()) applies_[index] = effects.apply.back()->decree;
    for (PeerReply& reply : effects.replies) {
      if (auto* ack = std::get_if<PrepareAck>(&reply.body))
        acks_.push_back({MemberAt(index), reply.token, ErrorCode::kOk, std::move(*ack)});
    }
    for (Envelope& envelope : effects.send) {
      if (auto* prepare = std::get_if<SendPrepare>(&envelope)) {
        const int to = prepare->to.port - MemberAt(0).port;
        prepares_.push_back({to, prepare->serial, {prepare->serial, std::move(prepare->request)}});
      } else if (auto* update = std::get_if<SendConfigurationUpdate>(&envelope)) {
        update_ = std::move(*update);
      }
    }
    for (const ClientReply& reply : effects.client_replies) {
      CHECK(reply.err == ErrorCode::kOk);
      ++answered_;
    }
  }

  void DeliverPrepares() {
    for (Prepare& prepare : std::exchange(prepares_, {}))
      Step(prepare.to, std::move(prepare.event));
  }
  void EndAppends(int from, int to) {
    for (int i = from; i < to; ++i) {
      for (uint64_t sequence : std::exchange(appends_[i], {})) Step(i, Logged{sequence});
    }
  }
  void DeliverAcks() {
    for (PrepareAcked& ack : std::exchange(acks_, {})) Step(0, std::move(ack));
  }
  void EndApplies() {
    for (int i = 0; i < kMembers; ++i) {
      if (Decree decree = std::exchange(applies_[i], Decree{}); decree > Decree{}) {
        Step(i, Applied{decree});
        Step(i, DurableAdvanced{decree});
      }
    }
  }
  // Taking office: the meta server agrees, the group becomes whole.
  bool Settle() {
    const int64_t before = all_steps_;
    if (update_.has_value()) {
      const SendConfigurationUpdate update = *std::exchange(update_, std::nullopt);
      Step(0, ConfigurationUpdateAnswered{
                  update.serial, ErrorCode::kOk, {ErrorCode::kOk, update.request.config}});
    }
    DeliverPrepares();
    EndAppends(0, kMembers);
    DeliverAcks();
    EndApplies();
    return all_steps_ != before;
  }

  const WriteCode code_;
  const std::string value_;
  Instant now_{1'000'000'000};
  std::array<std::unique_ptr<ReplicaCore>, kMembers> cores_;
  std::array<std::vector<uint64_t>, kMembers> appends_;
  std::array<Decree, kMembers> applies_;
  std::vector<Prepare> prepares_;
  std::vector<PrepareAcked> acks_;
  std::optional<SendConfigurationUpdate> update_;
  ClientToken token_ = 0;
  uint64_t answered_ = 0;
  int64_t all_steps_ = 0, steps_ = 0;
  double seconds_ = 0;
};

void RunWaves(benchmark::State& state, Phase timed, WriteCode code, size_t value_bytes) {
  Group group(code, value_bytes);
  for (auto _ : state) {
    const double before = group.seconds();
    group.RunWave(timed);
    state.SetIterationTime(group.seconds() - before);
  }
  const auto steps = static_cast<double>(group.steps());
  const auto writes = static_cast<double>(state.iterations() * kWave);
  state.counters["s_a_step"] = group.seconds() / steps;
  state.counters["s_a_write"] = group.seconds() / writes;
  state.counters["steps_a_write"] = steps / writes;
}

// On all three members, twenty clients' writes of so many bytes under way.
void MutationEach(benchmark::State& state) {  // an INCR shares its mutation with nobody
  RunWaves(state, kAll, WriteCode::kIncr, static_cast<size_t>(state.range(0)));
}
BENCHMARK(MutationEach)->Arg(100)->Arg(1000)->Arg(16384)->UseManualTime();
void Gathered(benchmark::State& state) {  // puts: one, and nineteen in the next mutation
  RunWaves(state, kAll, WriteCode::kPut, static_cast<size_t>(state.range(0)));
}
BENCHMARK(Gathered)->Arg(100)->Arg(1000)->Arg(16384)->UseManualTime();

void StepsOf(benchmark::State& state, Phase phase) {
  RunWaves(state, phase, WriteCode::kIncr, 1000);
}
BENCHMARK_CAPTURE(StepsOf, client_write, kWrite)->UseManualTime();
BENCHMARK_CAPTURE(StepsOf, prepare_received, kPrepare)->UseManualTime();
BENCHMARK_CAPTURE(StepsOf, secondary_logged, kSecondaryLogged)->UseManualTime();
BENCHMARK_CAPTURE(StepsOf, primary_logged, kPrimaryLogged)->UseManualTime();
BENCHMARK_CAPTURE(StepsOf, prepare_acked, kAck)->UseManualTime();
BENCHMARK_CAPTURE(StepsOf, applied_and_durable, kApplied)->UseManualTime();

}  // namespace
}  // namespace arion
