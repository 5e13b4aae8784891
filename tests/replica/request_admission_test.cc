// What becomes of clients' requests before anything is done for them: the protocol's errors
// (rpc/PROTOCOL.md 4.4) in their order, throttles and denials, reads of secondaries,
// and requests whose clients have given up. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/counter.h"
#include "messages/table_environments.h"
#include "rpc/thrift_codec.h"
#include "stats/request_stats.h"
#include "tests/replica/log_lines.h"
#include "tests/replica/server_world.h"

namespace arion {
namespace {

constexpr const char* kWrites[] = {kRpcPut,  kRpcMultiPut,    kRpcRemove,        kRpcMultiRemove,
                                   kRpcIncr, kRpcCheckAndSet, kRpcCheckAndMutate};
constexpr const char* kReads[] = {kRpcGet,          kRpcTtl,        kRpcMultiGet, kRpcBatchGet,
                                  kRpcSortKeyCount, kRpcGetScanner, kRpcScan};

// Lets a test hand requests to a server as its network would.
class TappedTransport : public Transport {
 public:
  explicit TappedTransport(Transport& inner) : inner_(inner) {}
  Endpoint local() const override { return inner_.local(); }
  void SetHandler(RequestHandler h) override {
    handler = h;
    inner_.SetHandler(std::move(h));
  }
  void Call(Endpoint to, OutboundRequest request, StrandPtr reply_on,
            absl::AnyInvocable<void(RpcResult)> done) override {
    inner_.Call(to, std::move(request), std::move(reply_on), std::move(done));
  }
  void SendOneWay(Endpoint to, OutboundRequest request) override {
    inner_.SendOneWay(to, std::move(request));
  }
  RequestHandler handler;

 private:
  Transport& inner_;
};

class RequestAdmissionTest : public ReplicaServerWorld {
 protected:
  ~RequestAdmissionTest() override {
    for (auto& server : servers_)
      if (server->server != nullptr) server->Crash(sim::CrashMode::kProcess);
  }
  // The first server; its network is `tap_`.
  Server& AddTapped() {
    servers_.push_back(std::make_unique<Server>(world_, static_cast<int>(servers_.size()) + 1));
    Server& server = *servers_.back();
    sim::SimEnvironment& env = server.node.Start();
    server.transport = std::make_unique<sim::SimTransport>(network_, server.node, server.address);
    server.engines = std::make_unique<MemoryEngineFactory>(env);
    tap_ = std::make_unique<TappedTransport>(*server.transport);
    server.server = std::make_unique<ReplicaServer>(env, *tap_, *server.engines, options_);
    EXPECT_TRUE(server.server->Start().ok());
    return server;
  }
  Server& Alone() {
    meta_.SetReplicaCount(1);
    Server& server = AddTapped();
    EXPECT_TRUE(MakePrimary(server));
    return server;
  }
  // A primary, and its secondary, which is tapped.
  std::pair<Server&, Server&> Pair() {
    meta_.SetReplicaCount(2);
    Server& secondary = AddTapped();
    Server& primary = AddServer();
    EXPECT_TRUE(MakePrimary(primary));
    EXPECT_TRUE(AddSecondary(primary, secondary));
    return {primary, secondary};
  }
  // What the meta server would tell within the second.
  void SetEnvs(Server& server, std::map<std::string, std::string> envs) {
    meta_.app().envs = std::move(envs);
    meta_.app().version = ++version_;
    const RpcResult told =
        Call(server, kRpcTableChanged, EncodeWrapped(TableChangedRequest{meta_.app()}), {0, 0});
    EXPECT_EQ(told.error, ErrorCode::kOk);
  }

  struct Reply {
    std::optional<ErrorCode> error;  // nullopt: none yet
    std::string body;
    Instant at;
  };
  // A request that arrives at the tapped server now. `timeout_ms` is real with RDSN and THFT v1.
  std::shared_ptr<Reply> Arrive(const char* name, std::string body, RequestHeader header = {}) {
    auto reply = std::make_shared<Reply>();
    InboundRequest request;
    request.header = header;
    request.header.name = name;
    if (header.pid == PartitionId{0, 0}) request.header.pid = kPid;
    request.body = std::move(body);
    request.responder = Responder([this, reply](ErrorCode error, std::string bytes) {
      *reply = {error, std::move(bytes), world_.now()};
    });
    tap_->handler(std::move(request));
    return reply;
  }
  // The error, or nullopt when nothing is answered within 20 s.
  std::optional<ErrorCode> Ask(const char* name, std::string body, RequestHeader header = {}) {
    const auto reply = Arrive(name, std::move(body), header);
    world_.RunUntil([&] { return reply->error.has_value(); }, absl::Seconds(20));
    return reply->error;
  }
  static RequestHeader Within(int32_t ms, Framing framing = Framing::kRdsn) {
    return {.timeout_ms = ms, .timeout_is_real = framing != Framing::kThriftV0, .framing = framing};
  }
  static RequestHeader Backup() { return {.is_backup_request = true}; }
  std::string PutBody(int i) const { return EncodeWrapped(UpdateRequest{Key(i), "v", 0}); }
  std::string GetBody(int i) const { return EncodeWrapped(Blob(Key(i))); }
  static std::string IncrBody() {
    return EncodeWrapped(IncrRequest{.key = JoinRawKey("h", "n"), .increment = 1});
  }
  int64_t Counter(Server& server) {
    const auto read = DecodeWrapped<ReadResponse>(
        Call(server, kRpcGet, EncodeWrapped(Blob(JoinRawKey("h", "n")))).body);
    return read.ok() && read->error == 0 ? std::stoll(read->value.bytes) : 0;
  }

  std::unique_ptr<TappedTransport> tap_;
  int64_t version_ = 0;
};

// ---- errors ----

TEST_F(RequestAdmissionTest, EachCodeGetsTheErrorThatItsStateDemands) {
  Server& primary = AddTapped();
  ASSERT_TRUE(MakePrimary(primary));
  using Name = const char*;
  const auto expect = [&](Name name, ErrorCode error, std::string body, RequestHeader header = {}) {
    EXPECT_EQ(Ask(name, std::move(body), header), error) << name;
  };
  const std::string junk = "\x0c";
  const std::string huge(2 << 20, 'x');
  for (Name name : kReads) {
    expect(name, ErrorCode::kObjectNotFound, junk, {.pid = {2, 3}});
    expect(name, ErrorCode::kHandlerNotFound, junk, {.pid = {-1, 3}});
    expect(name, ErrorCode::kInvalidData, junk);
  }
  for (Name name : kWrites) {
    expect(name, ErrorCode::kObjectNotFound, huge, {.pid = {2, 3}});
    expect(name, ErrorCode::kHandlerNotFound, huge, {.pid = {-1, 3}});
    expect(name, ErrorCode::kInvalidData, huge);
    // One member of three is alive, and that comes before the body is looked into.
    expect(name, ErrorCode::kNotEnoughMember, junk);
  }
  meta_.SetReplicaCount(1);
  world_.RunFor(options_.config_sync_interval * 2);
  for (Name name : kWrites) expect(name, ErrorCode::kInvalidData, junk);
  for (Name name : {"RPC_RRDB_RRDB_BULK_LOAD", "RPC_NONSENSE"})
    expect(name, ErrorCode::kHandlerNotFound, junk);
  // No cluster may duplicate its tables to this one.
  expect("RPC_RRDB_RRDB_DUPLICATE", ErrorCode::kOperationDisabled, junk);

  // After a split: the key's hash says partition 2, this is partition 1 of 4.
  SetEnvs(primary, {{kEnvValidatePartitionHash, "true"}});
  for (Name name : kWrites)
    expect(name, ErrorCode::kParentPartitionMisused, junk, {.partition_hash = 6});
  for (Name name : kReads)
    if (name != kRpcScan)
      expect(name, ErrorCode::kParentPartitionMisused, junk, {.partition_hash = 6});
  // Without a hash the keys count, and here are none.
  for (Name name : kWrites) expect(name, ErrorCode::kInvalidData, junk);
  for (Name name : kReads) expect(name, ErrorCode::kInvalidData, junk);
  // "g" is of this partition, "hash" of 0.
  const std::string ours = EncodeWrapped(UpdateRequest{JoinRawKey("g", "s"), "v", 0});
  for (const uint64_t hash : {5, 0}) {
    expect(kRpcPut, ErrorCode::kOk, ours, {.partition_hash = hash});
    expect(kRpcPut, ErrorCode::kParentPartitionMisused, PutBody(1), {.partition_hash = hash});
  }
  expect(kRpcPut, ErrorCode::kInvalidData, huge);  // size comes before the hash

  meta_.SetSilent(true);  // the lease ends
  world_.RunFor(options_.lease + absl::Seconds(1));
  for (Name name : kWrites) expect(name, ErrorCode::kInvalidState, junk, {.partition_hash = 5});
  for (Name name : kReads) expect(name, ErrorCode::kInvalidState, junk, {.partition_hash = 5});
}

TEST_F(RequestAdmissionTest, ASecondaryServesBackupReadsAndNothingElse) {
  const auto [primary, secondary] = Pair();
  ASSERT_EQ(Put(primary, 1, "one"), ErrorCode::kOk);
  world_.RunFor(options_.group_check_interval * 2);  // the secondary hears that it is committed

  for (const char* name : kReads) EXPECT_EQ(Ask(name, "\x0c"), ErrorCode::kInvalidState) << name;
  for (const char* name : kWrites) {
    EXPECT_EQ(Ask(name, "\x0c"), ErrorCode::kInvalidState) << name;
    EXPECT_EQ(Ask(name, "\x0c", Backup()), ErrorCode::kInvalidState) << name;
  }
  const auto read = [&](const char* name, std::string body) {
    const auto reply = Arrive(name, std::move(body), Backup());
    world_.RunUntil([&] { return reply->error.has_value(); }, absl::Seconds(20));
    EXPECT_EQ(reply->error, ErrorCode::kOk) << name;
    return reply->body;
  };
  EXPECT_EQ(DecodeWrapped<ReadResponse>(read(kRpcGet, GetBody(1)))->value.bytes, "one");
  EXPECT_EQ(DecodeWrapped<TtlResponse>(read(kRpcTtl, GetBody(1)))->ttl_seconds, -1);
  const auto many = DecodeWrapped<MultiGetResponse>(read(
      kRpcMultiGet, EncodeWrapped(MultiGetRequest{.hash_key = "hash", .start_inclusive = true})));
  ASSERT_EQ(many->kvs.size(), 1u);
  EXPECT_EQ(many->kvs[0].value.bytes, "one");
  const auto scan = DecodeWrapped<ScanResponse>(
      read(kRpcGetScanner, EncodeWrapped(GetScannerRequest{.start_key = std::string(2, '\0'),
                                                           .stop_key = "\xff\xff",
                                                           .start_inclusive = true,
                                                           .batch_size = 10})));
  EXPECT_EQ(scan->kvs.size(), 1u);
}

TEST_F(RequestAdmissionTest, ABackupReadSeesAllThatTheSecondaryKnowsToBeCommitted) {
  const auto [primary, secondary] = Pair();
  ASSERT_EQ(Put(primary, 1, "one"), ErrorCode::kOk);
  ASSERT_EQ(Put(primary, 1, "two"), ErrorCode::kOk);  // tells it that the first is committed
  ASSERT_LT(Snapshot(secondary).last_applied, Snapshot(secondary).last_committed) << "gathered";
  const auto reply = Arrive(kRpcGet, GetBody(1), Backup());
  world_.RunUntil([&] { return reply->error.has_value(); }, absl::Milliseconds(100));
  ASSERT_EQ(reply->error, ErrorCode::kOk);
  EXPECT_EQ(DecodeWrapped<ReadResponse>(reply->body)->value.bytes, "one");
}

// ---- denied and throttled ----

TEST_F(RequestAdmissionTest, DenialsAreSilentOrSendClientsToTheMetaServer) {
  Server& server = Alone();
  ASSERT_EQ(Ask(kRpcPut, PutBody(1)), ErrorCode::kOk);
  SetEnvs(server, {{kEnvDenyClient, "reconfig*write"}});
  EXPECT_EQ(Ask(kRpcPut, PutBody(1)), ErrorCode::kInvalidState);
  EXPECT_EQ(Ask(kRpcIncr, IncrBody()), ErrorCode::kInvalidState);
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), ErrorCode::kOk);
  SetEnvs(server, {{kEnvDenyClient, "timeout*all"}});
  EXPECT_EQ(Ask(kRpcPut, PutBody(1)), std::nullopt);
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), std::nullopt);
  SetEnvs(server, {{kEnvDenyClient, "timeout*read"}});
  EXPECT_EQ(Ask(kRpcPut, PutBody(1)), ErrorCode::kOk);
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), std::nullopt);
  SetEnvs(server, {});
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), ErrorCode::kOk);
}

TEST_F(RequestAdmissionTest, ThrottledRequestsAreDelayedThenRefused) {
  Server& server = Alone();
  // 4 of 4 partitions: each may take 2 at once, 3 with a delay.
  SetEnvs(server, {{kEnvWriteThrottling, "4*delay*300,8*reject*500"},
                   {kEnvReadThrottling, "4*delay*300,8*reject*500"}});
  for (const auto& [name, body] :
       {std::pair(kRpcPut, PutBody(1)), std::pair(kRpcGet, GetBody(1))}) {
    world_.RunFor(absl::Milliseconds(1000) - (world_.now() - Instant(0)) % absl::Seconds(1));
    const Instant begin = world_.now();
    std::vector<std::shared_ptr<Reply>> replies;
    for (int i = 0; i < 4; ++i) replies.push_back(Arrive(name, body));
    replies.push_back(Arrive(name, body, Within(400)));
    world_.RunFor(absl::Milliseconds(800));
    const auto after = [&](int i) { return replies[static_cast<size_t>(i)]->at - begin; };
    for (int i : {0, 1, 2}) EXPECT_EQ(replies[static_cast<size_t>(i)]->error, ErrorCode::kOk);
    EXPECT_LT(after(1), absl::Milliseconds(200)) << name;
    EXPECT_GE(after(2), absl::Milliseconds(300)) << name;
    EXPECT_EQ(replies[3]->error, ErrorCode::kBusy) << name;
    EXPECT_GE(after(3), absl::Milliseconds(500)) << name;
    EXPECT_EQ(replies[4]->error, ErrorCode::kBusy) << name;
    EXPECT_LT(after(4), absl::Milliseconds(300)) << "half of its timeout";
  }
}

TEST_F(RequestAdmissionTest, BytesAreThrottledBothWaysAndBackupReadsSilently) {
  Server& server = Alone();
  const std::string body = EncodeWrapped(UpdateRequest{Key(1), std::string(1000, 'x'), 0});
  SetEnvs(server, {{kEnvWriteThrottlingBySize, "8000*reject*0"}});  // 2001 for this partition
  EXPECT_EQ(Ask(kRpcPut, body), ErrorCode::kOk);
  world_.RunFor(absl::Milliseconds(1000) - (world_.now() - Instant(0)) % absl::Seconds(1));
  std::vector<std::shared_ptr<Reply>> replies;
  for (int i = 0; i < 2; ++i) replies.push_back(Arrive(kRpcPut, body));
  world_.RunFor(absl::Milliseconds(500));
  EXPECT_EQ(replies[0]->error, ErrorCode::kOk);
  EXPECT_EQ(replies[1]->error, ErrorCode::kBusy);

  SetEnvs(server, {{kEnvReadThrottlingBySize, "2000"}});  // 501: the first answer is twice that
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), ErrorCode::kOk);
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), ErrorCode::kBusy);
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), ErrorCode::kOk);

  SetEnvs(server, {{kEnvBackupThrottling, "1*reject*0"}});
  world_.RunFor(absl::Milliseconds(1000) - (world_.now() - Instant(0)) % absl::Seconds(1));
  EXPECT_EQ(Ask(kRpcGet, GetBody(1), Backup()), ErrorCode::kOk);
  EXPECT_EQ(Ask(kRpcGet, GetBody(1), Backup()), std::nullopt);
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), ErrorCode::kOk);
}

TEST_F(RequestAdmissionTest, BeyondItsDiskQuotaAReplicaTakesRemovesAndReadsOnly) {
  Server& server = Alone();
  const auto put = [this](int i) {
    return EncodeWrapped(UpdateRequest{Key(i), std::string(1000, 'x'), 0});
  };
  SetEnvs(server, {{kEnvDiskQuota, "5K"}});
  std::vector<std::optional<ErrorCode>> errors;
  // As many as bring the last room that a look at the engine may still find.
  constexpr int kPuts = 15;
  for (int i = 0; i < kPuts; ++i) {
    errors.push_back(Ask(kRpcPut, put(i)));
    world_.RunFor(absl::Milliseconds(300));
  }
  EXPECT_EQ(errors.front(), ErrorCode::kOk);
  EXPECT_EQ(errors.back(), ErrorCode::kDiskInsufficient);
  const auto kept = std::count(errors.begin(), errors.end(), ErrorCode::kOk);
  EXPECT_GE(kept, 4);
  EXPECT_LE(kept, 6);
  EXPECT_EQ(Ask(kRpcGet, GetBody(0)), ErrorCode::kOk);
  EXPECT_EQ(Ask(kRpcIncr, IncrBody()), ErrorCode::kDiskInsufficient);
  for (int i = 0; i < kPuts; ++i)
    EXPECT_EQ(Ask(kRpcRemove, EncodeWrapped(Blob(Key(i)))), ErrorCode::kOk);
  world_.RunFor(absl::Seconds(2));
  Ask(kRpcPut, put(0));  // has it look
  world_.RunFor(absl::Milliseconds(300));
  EXPECT_EQ(Ask(kRpcPut, put(0)), ErrorCode::kOk) << "space has fallen";
}

TEST_F(RequestAdmissionTest, AnOlderDescriptionOfTheTableThatArrivesLateIsNotTakenOver) {
  Server& server = Alone();
  AppInfo older = meta_.app();
  older.version = 1;
  version_ = 1;
  SetEnvs(server, {{kEnvDenyClient, "reconfig*all"}});
  Call(server, kRpcTableChanged, EncodeWrapped(TableChangedRequest{older}), {0, 0});
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), ErrorCode::kInvalidState);
  older.version = 3;
  Call(server, kRpcTableChanged, EncodeWrapped(TableChangedRequest{older}), {0, 0});
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), ErrorCode::kOk);
}

TEST_F(RequestAdmissionTest, WhoLearnsHearsOfTheTableBeforeItServes) {
  meta_.SetReplicaCount(2);
  Server& a = AddServer();
  Server& b = AddServer();
  ASSERT_TRUE(MakePrimary(a) && AddSecondary(a, b));
  b.Crash(sim::CrashMode::kProcess);
  meta_.Propose(a.address, ConfigType::kDowngradeToInactive, b.address);
  ASSERT_TRUE(WaitFor(a, PartitionStatus::kPrimary));
  SetEnvs(a, {{kEnvDenyClient, "reconfig*write"}});
  Restart(b);  // its directory tells nothing of the environments
  world_.RunFor(absl::Seconds(2));
  EXPECT_EQ(Call(b, kRpcGet, GetBody(1)).error, ErrorCode::kInvalidState);
  ASSERT_TRUE(AddSecondary(a, b));
  world_.RunFor(options_.config_sync_interval * 2);
  meta_.Propose(a.address, ConfigType::kDowngradeToSecondary, a.address);
  ASSERT_TRUE(WaitFor(a, PartitionStatus::kSecondary));
  meta_.Propose(b.address, ConfigType::kUpgradeToPrimary, b.address);
  ASSERT_TRUE(WaitFor(b, PartitionStatus::kPrimary));
  EXPECT_EQ(Call(b, kRpcPut, PutBody(1)).error, ErrorCode::kInvalidState);
  EXPECT_EQ(Call(b, kRpcGet, GetBody(1)).error, ErrorCode::kOk);
}

// ---- nobody waits any more ----

TEST_F(RequestAdmissionTest, WhatWaitedForTheStrandTooLongIsDroppedWhereTheTimeoutIsReal) {
  Server& server = Alone();
  const auto late = [&](const char* name, std::string body, RequestHeader header) {
    server.node.PauseFor(absl::Seconds(1));
    return Ask(name, std::move(body), header);
  };
  for (const auto& [name, body] :
       {std::pair(kRpcPut, PutBody(1)), std::pair(kRpcGet, GetBody(1))}) {
    EXPECT_EQ(late(name, body, Within(100)), std::nullopt) << name;
    EXPECT_EQ(late(name, body, Within(100, Framing::kThriftV1)), std::nullopt) << name;
    EXPECT_EQ(late(name, body, Within(100, Framing::kThriftV0)), ErrorCode::kOk) << name;
    EXPECT_EQ(late(name, body, Within(0)), ErrorCode::kOk) << name;
    EXPECT_EQ(late(name, body, Within(5000)), ErrorCode::kOk) << name;
  }
  EXPECT_EQ(Snapshot(server).last_committed, Decree(3)) << "what was dropped was not logged";
}

TEST_F(RequestAdmissionTest, WhatWaitedForThePoolTooLongIsDropped) {
  Server& server = Alone();
  ASSERT_EQ(Ask(kRpcPut, PutBody(1)), ErrorCode::kOk);
  const std::string body =
      EncodeWrapped(MultiGetRequest{.hash_key = "hash", .start_inclusive = true});
  for (const bool real : {true, false}) {
    RequestHeader header = Within(100);
    header.timeout_is_real = real;
    const auto reply = Arrive(kRpcMultiGet, body, header);
    world_.RunOne();  // the strand: it is in the pool now
    EXPECT_FALSE(reply->error);
    server.node.PauseFor(absl::Seconds(1));
    world_.RunFor(absl::Seconds(5));
    EXPECT_EQ(reply->error.has_value(), !real);
  }
}

TEST_F(RequestAdmissionTest, WhereRequestsWaitTooLongForTheStrandNewOnesAreToldAtOnce) {
  Server& server = Alone();
  const auto waits = Arrive(kRpcGet, GetBody(1));
  server.node.PauseFor(absl::Seconds(3));
  world_.RunFor(absl::Milliseconds(300));
  const auto patient = Arrive(kRpcGet, GetBody(1));
  EXPECT_EQ(Arrive(kRpcGet, GetBody(1), Within(500))->error, ErrorCode::kBusy)
      << "more than half of what its client waits";
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(Arrive(kRpcGet, GetBody(1))->error, ErrorCode::kBusy);
  EXPECT_EQ(Arrive(kRpcPut, PutBody(1))->error, ErrorCode::kBusy);
  EXPECT_FALSE(waits->error);
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(waits->error, ErrorCode::kOk);
  EXPECT_EQ(patient->error, ErrorCode::kOk);
  EXPECT_EQ(Ask(kRpcPut, PutBody(1)), ErrorCode::kOk);
  EXPECT_EQ(Snapshot(server).last_committed, Decree(1)) << "what was refused was not logged";
}

TEST_F(RequestAdmissionTest, WhereTheDiskHangsReadsThatNeedItAreToldAtOnceAndOthersAreServed) {
  Server& server = Alone();
  ASSERT_EQ(Ask(kRpcPut, PutBody(1)), ErrorCode::kOk);
  const std::string body =
      EncodeWrapped(MultiGetRequest{.hash_key = "hash", .start_inclusive = true});
  server.node.disk().SetSlowness(100000);  // a work of the pool takes two seconds at least
  const auto waits = Arrive(kRpcMultiGet, body);
  world_.RunFor(absl::Milliseconds(1200));
  EXPECT_FALSE(waits->error);
  for (const char* name : {kRpcMultiGet, kRpcGetScanner}) {
    const auto refused = Arrive(
        name, name == std::string_view(kRpcMultiGet) ? body : EncodeWrapped(GetScannerRequest{}));
    world_.RunFor(absl::Milliseconds(10));
    EXPECT_EQ(refused->error, ErrorCode::kBusy) << name;
  }
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), ErrorCode::kOk) << "from memory";
  server.node.disk().SetSlowness(1);
  EXPECT_TRUE(world_.RunUntil([&] { return waits->error.has_value(); }, absl::Seconds(200)));
  EXPECT_EQ(Ask(kRpcMultiGet, body), ErrorCode::kOk);
}

TEST_F(RequestAdmissionTest, WhatWaitedForAnotherWriteTooLongIsDroppedUnlogged) {
  meta_.SetReplicaCount(2);
  Server& primary = AddTapped();
  Server& secondary = AddServer();
  ASSERT_TRUE(MakePrimary(primary));
  ASSERT_TRUE(AddSecondary(primary, secondary));
  secondary.node.PauseFor(absl::Seconds(1));
  const auto first = Arrive(kRpcIncr, IncrBody(), Within(5000));
  const auto given_up = Arrive(kRpcIncr, IncrBody(), Within(100));
  const auto patient = Arrive(kRpcIncr, IncrBody(), Within(100, Framing::kThriftV0));
  world_.RunFor(absl::Seconds(3));
  EXPECT_EQ(first->error, ErrorCode::kOk);
  EXPECT_EQ(given_up->error, std::nullopt);
  EXPECT_EQ(patient->error, ErrorCode::kOk);
  EXPECT_EQ(Counter(primary), 2);
}

// ---- slow ones ----

TEST_F(RequestAdmissionTest, ASlowRequestIsLoggedWithWhatItTookAndAQuickOneIsNot) {
  meta_.SetReplicaCount(2);
  Server& primary = AddTapped();
  Server& secondary = AddServer();
  ASSERT_TRUE(MakePrimary(primary));
  ASSERT_TRUE(AddSecondary(primary, secondary));
  LogLines slow("slow: ");
  const auto put_slowly = [&] {
    secondary.node.PauseFor(absl::Seconds(1));
    return Ask(kRpcPut, PutBody(1));
  };
  EXPECT_EQ(put_slowly(), ErrorCode::kOk);
  EXPECT_THAT(slow.Take(), testing::IsEmpty()) << "nobody asked for it";
  SetEnvs(primary, {{kEnvSlowQuery, "500"}});
  EXPECT_EQ(Ask(kRpcPut, PutBody(1)), ErrorCode::kOk);
  EXPECT_EQ(Ask(kRpcGet, GetBody(1)), ErrorCode::kOk);
  EXPECT_THAT(slow.Take(), testing::IsEmpty());
  EXPECT_EQ(put_slowly(), ErrorCode::kOk);
  EXPECT_THAT(slow.Take(),
              testing::ElementsAre(testing::ContainsRegex(absl::StrCat(
                  "slow: .2\\.1. put from .* took [0-9]{3,4} ms .queue [0-9]+ us, log_append "
                  "[0-9]+ us, log_sync [0-9]+ us, replicate [0-9]{6,7} us, apply [0-9]+ us, "
                  "reply [0-9]+ us., ",
                  PutBody(1).size(), " bytes asked, [0-9]+ answered, ERR_OK"))));
  const auto counted = [&](ReplicaCount what) {
    return primary.server->requests()
        .Read(RequestBook::Level::kTable)[0]
        .counts[static_cast<size_t>(what)];
  };
  EXPECT_EQ(counted(ReplicaCount::kSlowWrites), 2u) << "the first took more than 100 ms, too";
  EXPECT_EQ(counted(ReplicaCount::kSlowReads), 0u);
}

}  // namespace
}  // namespace arion
