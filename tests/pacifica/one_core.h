// OneCoreTest: one ReplicaCore, stepped by hand with the events of its peers and of the meta
// server. For what a role does inside a whole core; what a role does alone is tested on a RolesTest
// (roles.h). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pacifica/replica_core.h"
#include "tests/pacifica/harness.h"

namespace arion {

inline const Endpoint kA = NodeAt('A'), kB = NodeAt('B'), kC = NodeAt('C'), kD = NodeAt('D');

// Replica B, opened with decrees 1 to 11 applied under ballot 7, and connected.
class OneCoreTest : public testing::Test {
 protected:
  OneCoreTest() {
    options_.pid = kTestPid;
    options_.self = kB;
    options_.app.app_id = kTestPid.app_id;
    options_.app.app_name = "temp";
    options_.app.max_replica_count = 3;
    recovered_.ballot = Ballot(7);
    recovered_.last_applied = recovered_.last_durable = Decree(11);
    Open();
  }
  void Open() {
    core_ = std::make_unique<ReplicaCore>(options_, recovered_, now_);
    Step(Connected{});
  }
  Effects Step(const Event& event) { return core_->Step(event, now_); }
  template <class T>
  static const T* Sent(const Effects& effects) {
    for (const Envelope& envelope : effects.send) {
      if (const T* message = std::get_if<T>(&envelope)) return message;
    }
    return nullptr;
  }
  static PartitionConfiguration Group(int64_t ballot, Endpoint primary,
                                      std::vector<Endpoint> others) {
    PartitionConfiguration config;
    config.pid = kTestPid;
    config.ballot = Ballot(ballot);
    config.max_replica_count = 3;
    config.primary = primary;
    config.secondaries = std::move(others);
    return config;
  }
  static ReplicaConfiguration From(Endpoint primary, int64_t ballot, PartitionStatus status,
                                   int64_t signature = 0) {
    return {kTestPid, Ballot(ballot), primary, status, signature};
  }
  Effects Sync(PartitionConfiguration config) {
    ConfigurationSynced synced;
    synced.entry.config = std::move(config);
    return Step(synced);
  }
  Effects Propose(ConfigType type, Endpoint node, PartitionConfiguration config) {
    ProposalReceived proposal;
    proposal.request.type = type;
    proposal.request.node = node;
    proposal.request.config = std::move(config);
    return Step(proposal);
  }
  void ExpectOdd(const Effects& effects, int64_t before) {
    EXPECT_EQ(core_->counters().odd_messages, before + 1);
    EXPECT_TRUE(effects.send.empty());
  }
  void ProposedInVain(ConfigType type, Endpoint node, PartitionConfiguration config) {
    const int64_t odd = core_->counters().odd_messages;
    ExpectOdd(Propose(type, node, std::move(config)), odd);
  }
  Effects AnswerUpdate(uint64_t serial, ErrorCode err, PartitionConfiguration config) {
    return Step(ConfigurationUpdateAnswered{serial, ErrorCode::kOk, {err, std::move(config)}});
  }
  // Primary of ballot 8 with A and C, and nobody was heard yet.
  Effects TakeOffice() {
    const Effects asked = Sync(Group(7, kB, {kA, kC}));
    const auto* update = Sent<SendConfigurationUpdate>(asked);
    Effects effects = AnswerUpdate(update->serial, ErrorCode::kOk, update->request.config);
    EXPECT_EQ(core_->role(), PartitionStatus::kPrimary);
    return effects;
  }
  Effects Hear(Endpoint member, GroupCheckResponse says) {
    says.pid = kTestPid;
    says.node = member;
    return Step(GroupCheckAnswered{member, core_->ballot(), ErrorCode::kOk, says});
  }
  Effects BecomePrimary() {
    TakeOffice();
    Hear(kA, Knows(11));
    return Hear(kC, Knows(11));
  }
  static GroupCheckResponse Knows(int64_t committed) {
    GroupCheckResponse says;
    says.last_committed_decree_in_prepare_list = Decree(committed);
    return says;
  }
  Effects Invite(int64_t signature) {
    AddLearnerReceived invitation;
    invitation.request.config = From(kA, 7, PartitionStatus::kPotentialSecondary, signature);
    return Step(invitation);
  }
  uint64_t BecomeLearner() {
    const Effects effects = Invite(42);
    EXPECT_EQ(core_->role(), PartitionStatus::kPotentialSecondary);
    return Sent<SendLearn>(effects)->serial;
  }
  static LearnResponse Cache(int64_t last) {
    LearnResponse response;
    response.config = From(kA, 7, PartitionStatus::kPotentialSecondary);
    response.last_committed_decree = Decree(last);
    response.prepare_start_decree = Decree(last + 1);
    response.type = LearnType::kCache;
    for (int64_t d = 12; d <= last; ++d)
      AppendMutation(*MakeMutation(7, d, d - 1, "k"), -1, &response.state.meta.bytes);
    return response;
  }
  Effects AnswerRound(uint64_t serial, const LearnResponse& response) {
    return Step(LearnAnswered{serial, ErrorCode::kOk, response});
  }
  Effects Write(size_t bytes) {
    ClientWrite write;
    write.token = next_token_++;
    write.updates = {{WriteCode::kPut, 1, std::string(bytes, 'x')}};
    return Step(write);
  }

  Instant now_{1'000'000'000};
  CoreOptions options_;
  RecoveredState recovered_;
  ClientToken next_token_ = 1;
  std::unique_ptr<ReplicaCore> core_;
};

}  // namespace arion
