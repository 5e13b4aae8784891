// What is odd can't be mistaken for truth. SPDX-License-Identifier: Apache-2.0
#include "sim/odd_messages.h"
#include "messages/meta_messages.h"
#include "messages/replication_messages.h"
#include "sim/sim_random.h"

#include <gtest/gtest.h>

#include <memory>

#include "rpc/thrift_codec.h"

namespace arion::sim {
namespace {

constexpr int kDraws = 500;
constexpr PartitionId kPid{1, 0};

PartitionConfiguration Configuration() {
  PartitionConfiguration config;
  config.pid = kPid;
  config.ballot = Ballot(7);
  config.primary = Endpoint{1, 1};
  config.secondaries = {Endpoint{2, 1}, Endpoint{3, 1}};
  return config;
}

bool IsPossible(int64_t number) { return number >= 0 && number < INT64_MAX; }

TEST(OddMessagesTest, APrepareHasANumberThatNobodySends) {
  auto mutation = std::make_shared<Mutation>();
  mutation->pid = kPid;
  mutation->ballot = Ballot(7);
  mutation->decree = Decree(12);
  mutation->last_committed = Decree(11);
  mutation->updates.push_back(Update{.code = WriteCode::kEmpty});
  PrepareRequest request{.pid = kPid, .mutation = mutation};
  request.config.pid = kPid;
  request.config.ballot = Ballot(7);
  const std::string body = EncodePrepare(request);
  SimRandom random(1);
  int made = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::optional<std::string> odd = OddRequest(kRpcPrepare, body, random);
    if (!odd) continue;
    ++made;
    const auto decoded = DecodePrepare(*odd);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    const Mutation& m = *decoded->mutation;
    EXPECT_TRUE(!IsPossible(m.ballot.value()) || !IsPossible(m.decree.value()) ||
                m.decree == Decree(0) || m.last_committed < Decree(0) ||
                m.last_committed >= m.decree);
  }
  EXPECT_GT(made, kDraws / 10);
}

TEST(OddMessagesTest, AConfigurationIsImpossibleOrNamesAMemberTwice) {
  ConfigurationUpdateResponse answer;
  answer.config = Configuration();
  const std::string body = EncodeWrapped(answer);
  SimRandom random(1);
  for (int i = 0; i < kDraws; ++i) {
    const std::optional<std::string> odd = OddAnswer(kRpcUpdateConfiguration, body, random);
    ASSERT_TRUE(odd);
    const auto decoded = DecodeWrapped<ConfigurationUpdateResponse>(*odd);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    const PartitionConfiguration& config = decoded->config;
    EXPECT_TRUE(!IsPossible(config.ballot.value()) || config.secondaries.size() > 2);
  }
}

TEST(OddMessagesTest, OfWhatClientsAskNothingIsMade) {
  SimRandom random(1);
  EXPECT_FALSE(OddRequest("RPC_RRDB_RRDB_PUT", "body", random));
  EXPECT_FALSE(OddAnswer("RPC_RRDB_RRDB_GET", "body", random));
}

}  // namespace
}  // namespace arion::sim
