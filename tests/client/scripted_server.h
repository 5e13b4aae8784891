// A table of four partitions, all on one server, whose answers are a script; the secondary's too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "client/routed_table.h"
#include "client/table_admin.h"
#include "client/table_scan.h"
#include "rpc/thrift_codec.h"
#include "tests/client/fake_cluster.h"

namespace arion {

inline const Endpoint kMeta = *Endpoint::Parse("127.0.0.1:34601");
inline const Endpoint kServer = *Endpoint::Parse("127.0.0.1:34801");
inline const Endpoint kSecondary = *Endpoint::Parse("127.0.0.1:34802");

template <class T>
RpcResult Ok(const T& answer) {
  return {.body = EncodeWrapped(answer)};
}

class ScriptedServerTest : public testing::Test {
 protected:
  ScriptedServerTest() {
    cluster_.SetServer(kMeta, [this](const OutboundRequest&) -> std::optional<RpcResult> {
      QueryConfigResponse answer{.app_id = 2, .partition_count = count_, .is_stateful = true};
      for (int i = 0; i < count_; ++i) {
        PartitionConfiguration& partition = answer.partitions.emplace_back();
        partition.pid = {2, i};
        partition.ballot = i < made_ ? Ballot(3) : kInvalidBallot;
        if (i >= made_) continue;
        partition.primary = kServer;
        partition.secondaries = {kSecondary};
      }
      return Ok(answer);
    });
    cluster_.SetServer(kServer, [this](const OutboundRequest& request) {
      asked_.push_back(request);
      std::optional<RpcResult> answer = RpcResult{.error = ErrorCode::kTimeout};
      if (!answers_.empty()) {
        answer = std::move(answers_.front());
        answers_.pop_front();
      }
      // Who says so has heard of the split.
      if (answer && answer->error == ErrorCode::kParentPartitionMisused)
        count_ = made_ = 2 * count_;
      return answer;
    });
    runtime_ =
        cluster_.NewRuntime({.meta_servers = {kMeta}, .write_retries = WriteRetries::kAlways});
    table_ = std::make_unique<RoutedTable>(runtime_, "temp");
    cluster_.Run([this] {
      runtime_->cores()[0]->Run(
          [this](ClusterClient& client, TableAdmin&) { client_ = client.shared_from_this(); });
    });
  }
  // Runs `start(done)` and returns what done got.
  template <class T>
  absl::StatusOr<T> Outcome(std::function<void(Answered<T>)> start) {
    std::optional<absl::StatusOr<T>> outcome;
    cluster_.Run([&] {
      start([&](absl::StatusOr<T> answer) {
        EXPECT_FALSE(outcome.has_value()) << "called twice";
        outcome = std::move(answer);
      });
      EXPECT_FALSE(outcome.has_value()) << "called inline";
    });
    return outcome.value_or(absl::UnknownError("never called"));
  }
  // Of partitions; and how many of them are there, where the table is being split.
  int32_t count_ = 4, made_ = 4;
  FakeCluster cluster_;
  std::deque<std::optional<RpcResult>> answers_;  // nullopt: none
  std::deque<OutboundRequest> asked_;
  std::shared_ptr<ClientRuntime> runtime_;
  std::unique_ptr<AsyncTable> table_;
  std::shared_ptr<ClusterClient> client_;  // the one below the table
};

}  // namespace arion
