// A partition whose clients are served on a simulated machine, without its replica: an engine in
// memory, an office that says what a test wants. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/raw_key.h"
#include "client_requests/admission.h"
#include "client_requests/office.h"
#include "client_requests/served_partition.h"
#include "copies/foreground_pace.h"
#include "engine/memory_engine.h"
#include "env/file_system.h"
#include "messages/table_environments.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_environment.h"
#include "stats/slow_requests.h"

namespace arion {

class FakeOffice : public Office {
 public:
  bool is_closed = false;
  bool holds_lease = true;
  bool is_between = false;
  bool may_be_primary_again = true;
  ErrorCode read_gate = ErrorCode::kOk, write_gate = ErrorCode::kOk, space_gate = ErrorCode::kOk;
  Ballot at{3};
  AppInfo table{.app_name = "t", .app_id = 2, .partition_count = 4};
  uint64_t serial = 1;

  bool IsClosed() const override { return is_closed; }
  bool HoldsLease() const override { return holds_lease; }
  bool MayServe() const override { return !is_closed && holds_lease; }
  ErrorCode ReadGate(ReadKind) const override {
    return MayServe() ? read_gate : ErrorCode::kInvalidState;
  }
  ErrorCode WriteGate() const override { return write_gate; }
  ErrorCode SpaceGate() const override { return space_gate; }
  bool MayBePrimaryAgain() const override { return holds_lease && may_be_primary_again; }
  bool IsBetweenConfigurations() const override { return !is_closed && is_between; }
  Ballot ballot() const override { return at; }
  const AppInfo& app() const override { return table; }
  uint64_t app_serial() const override { return serial; }
};

class ServedWorld : public testing::Test {
 protected:
  static constexpr PartitionId kServed{2, 1};

  ServedWorld() {
    EXPECT_TRUE(env_.files().CreateDirectories("/d1").ok());
    auto opened = engines_.Open("/d1/data");
    EXPECT_TRUE(opened.ok()) << opened.status();
    engine_ = *std::move(opened);
  }

  void SetEnvironment(const std::string& name, const std::string& value) {
    office_.table.envs[name] = value;
    ++office_.serial;
  }
  // The table is split into so many partitions, by a meta server that tells.
  void Split(int32_t count) {
    office_.table.init_partition_count = office_.table.partition_count;
    office_.table.partition_count = count;
    office_.table.version = office_.table.version.value_or(0) + 1;
    SetEnvironment(kEnvValidatePartitionHash, "true");
  }
  // Of partition 1, whether there are 4 or 8; moved: of 1 of 4, and of 5 of 8; elsewhere: of 0.
  static constexpr char kStays[] = "g", kMoves[] = "n", kElsewhere[] = "h";
  void Apply(const std::string& raw_key, std::string_view value) {
    const WriteOp op{.key = raw_key, .value = value};
    ASSERT_TRUE(engine_->Apply(engine_->last_applied() + 1, 1, {&op, 1}).ok());
  }
  // On the partition's strand.
  template <class Task>
  void Do(Task task) {
    env_.RunOn(strand_, task);
  }
  void Run(absl::Duration time) { world_.RunFor(time); }

  // A request whose answer is noted by its number.
  InboundRequest Inbound(int number, std::string body, uint64_t partition_hash = 0) {
    RequestHeader header;
    header.partition_hash = partition_hash;
    return {.header = std::move(header),
            .body = std::move(body),
            .responder = Responder([this, number](ErrorCode error, const ReplyBody& answer) {
              answers_.emplace_back(number, error);
              last_body_ = answer.bytes;
            })};
  }
  ClientRequest Request(int number, RequestKind kind = RequestKind::kPut, std::string body = {}) {
    return admission_.Watched(kind, Inbound(number, std::move(body)), env_.clock().Now());
  }
  using Answers = std::vector<std::pair<int, ErrorCode>>;
  Answers Taken() { return std::exchange(answers_, {}); }
  static std::string Key(int i) { return JoinRawKey("g", "sort" + std::to_string(i)); }

  sim::SimWorld world_{7};
  sim::SimNode& node_ = world_.AddNode("r");
  sim::SimEnvironment& env_ = node_.Start();
  MemoryEngineFactory engines_{env_};
  StrandPtr strand_ = env_.NewStrand("replica");
  FakeOffice office_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<int> owner_ = std::make_shared<int>();
  std::shared_ptr<RequestBook> book_ = std::make_shared<RequestBook>();
  std::vector<std::string> fenced_;
  Answers answers_;
  // Of the last answer.
  std::string last_body_;
  // How often the engine was asked to take what waits for it.
  int catch_ups_ = 0;
  const ServedPartition partition_{
      .clock = env_.clock(),
      .strand = strand_,
      .pid = kServed,
      .server = "10.0.0.1:34801",
      .stats = book_->Open(kServed, "t"),
      .office = office_,
      .engine = engine_,
      .owner = [this] { return std::weak_ptr<void>(owner_); },
      .in_pool =
          [this](absl::AnyInvocable<absl::Status()> work,
                 absl::AnyInvocable<void(absl::Status)> then) {
            env_.disk_pool("/d1").Submit([this, work = std::move(work),
                                          then = std::move(then)]() mutable {
              strand_->Post([status = work(), then = std::move(then)]() mutable { then(status); });
            });
          },
      .fence = [this](const std::string& why) { fenced_.push_back(why); },
      .catch_up = [this] { ++catch_ups_; },
      .tag = [] { return std::string("[2.1]"); }};
  Admission admission_{partition_,
                       {.requests = book_,
                        .slow = std::make_shared<SlowRequests>(),
                        .foreground = std::make_shared<ForegroundPace>()}};
};

}  // namespace arion
