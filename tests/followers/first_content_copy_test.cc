// One copy from a master that answers what a test tells it to; with servers:
// tests/replica/replica_followers_test.cc.
// SPDX-License-Identifier: Apache-2.0
#include "followers/first_content_copy.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "copies/served_files.h"
#include "env/file_system.h"
#include "messages/meta_messages.h"
#include "messages/table_environments.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"

namespace arion {
namespace {

constexpr PartitionId kMaster{9, 0};
constexpr char kScratch[] = "/d/3.0.pegasus.first.tmp";

// The master's meta server and its primary are one.
class FirstContentCopyTest : public testing::Test {
 protected:
  FirstContentCopyTest() {
    Do(source_node_, [&] {
      FileSystem& files = source_.files();
      EXPECT_TRUE(files.CreateDirectories("/m/checkpoint.5").ok());
      EXPECT_TRUE(WriteFileDurably(files, "/m/checkpoint.5/1.sst", "a table").ok());
      EXPECT_TRUE(WriteFileDurably(files, "/m/secret", "not handed out").ok());
    });
    share_ = served_->Share("/m/checkpoint.5", {{"1.sst", 7}}, nullptr);
    listed_ = {
        .err = ErrorCode::kOk, .base_local_dir = "/m/checkpoint.5", .replica_disk_tag = "ssd"};
    listed_.state.to_decree_included = Decree(5);
    listed_.state.files = {"1.sst"};
    transport_.SetHandler([this](InboundRequest request) { Handle(request); });
  }
  void Handle(InboundRequest& request) {
    const std::string& name = request.header.name;
    asked_.push_back(name);
    const auto answer = [&](const auto& response) {
      request.responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
    };
    if (name == kRpcQueryConfig)
      return answer(
          QueryConfigResponse{.app_id = kMaster.app_id,
                              .partition_count = 1,
                              .is_stateful = true,
                              .partitions = {{.pid = kMaster, .primary = transport_.local()}}});
    if (name == kRpcQueryLastCheckpoint) {
      EXPECT_EQ(DecodeWrapped<LearnRequest>(request.body)->pid, kMaster);
      // A primary of 2.5.0 ends where that is another one's.
      EXPECT_EQ(request.header.thread_hash, kMaster.thread_hash());
      LearnResponse response = listed_;
      if (busy_ > 0) response = {.err = ErrorCode::kBusy}, --busy_;
      return answer(response);
    }
    if (name == kRpcGetFileSize)
      return answer(served_->Sizes(*DecodeWrapped<GetFileSizeRequest>(request.body)));
    Do(source_node_, [&] { answer(served_->Read(*DecodeWrapped<CopyRequest>(request.body))); });
  }
  template <class Work>
  void Do(sim::SimNode& node, Work work) {
    node.environment().RunInPool(std::move(work));
  }
  absl::StatusOr<CopiedContent> Copy() {
    const StrandPtr strand = env_.NewStrand("copy");
    std::optional<absl::StatusOr<CopiedContent>> result;
    const auto copy = std::make_shared<FirstContentCopy>(
        env_, client_, strand,
        FirstContentPlan{.pid = {3, 0},
                         .app = {.app_name = "t",
                                 .app_id = 3,
                                 .partition_count = 1,
                                 .envs = {{kEnvMasterCluster, "source"},
                                          {kEnvMasterMetas, transport_.local().ToString()}}},
                         .scratch_directory = kScratch,
                         .disk_tag = "ssd",
                         .take_slot = [this]() -> std::shared_ptr<void> {
                           return --no_slots_ < 0 ? std::make_shared<int>(1) : nullptr;
                         },
                         .pace = [](uint64_t) { return absl::ZeroDuration(); }});
    strand->Post([&] {
      copy->Start([&](absl::StatusOr<CopiedContent> done) { result = std::move(done); });
    });
    EXPECT_TRUE(world_.RunUntil([&] { return result.has_value(); }, absl::Minutes(5)));
    return result.value_or(absl::DeadlineExceededError("no result"));
  }
  bool IsHere(const std::string& path) {
    bool is_here = false;
    Do(node_, [&] { is_here = Exists(env_.files(), path); });
    return is_here;
  }

  sim::SimWorld world_{5};
  sim::SimNetwork network_{world_};
  sim::SimNode& source_node_ = world_.AddNode("source");
  sim::SimEnvironment& source_ = source_node_.Start();
  sim::SimTransport transport_{network_, source_node_, *Endpoint::Parse("10.0.0.1:34801")};
  sim::SimNode& node_ = world_.AddNode("follower");
  sim::SimEnvironment& env_ = node_.Start();
  sim::SimTransport client_{network_, node_, *Endpoint::Parse("10.0.0.2:34801")};
  std::shared_ptr<ServedFiles> served_ = std::make_shared<ServedFiles>(source_.files());
  std::shared_ptr<void> share_;
  LearnResponse listed_;
  int busy_ = 0;
  int no_slots_ = 0;
  std::vector<std::string> asked_;
};

TEST_F(FirstContentCopyTest, ItsFilesLieInTheScratchDirectory) {
  const auto copied = Copy();
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(copied->checkpoint, kScratch);
  EXPECT_EQ(copied->decree, Decree(5));
  EXPECT_TRUE(IsHere(absl::StrCat(kScratch, "/1.sst")));
}

TEST_F(FirstContentCopyTest, ABusyPrimaryAndAWantOfSlotsAreWaitedFor) {
  busy_ = 3;
  no_slots_ = 2;
  EXPECT_TRUE(Copy().ok());
}

TEST_F(FirstContentCopyTest, AnEmptyMasterNeedsNoFiles) {
  listed_.state = {};
  const auto copied = Copy();
  ASSERT_TRUE(copied.ok());
  EXPECT_EQ(copied->checkpoint, "");
  EXPECT_EQ(copied->decree, Decree(0));
}

TEST_F(FirstContentCopyTest, NamesThatLeadOutOfTheDirectoryAreRefused) {
  for (const std::string& name :
       {std::string("../secret"), std::string("/m/secret"), std::string("a/../../secret"),
        std::string("1.sst\0x", 7), std::string(".."), std::string("."), std::string(),
        std::string("a/b")}) {
    listed_.state.files = {"1.sst", name};
    asked_.clear();
    const auto copied = Copy();
    EXPECT_TRUE(absl::IsUnavailable(copied.status())) << copied.status();
    EXPECT_EQ(std::count(asked_.begin(), asked_.end(), kRpcCopyFile), 0) << name;
  }
  EXPECT_FALSE(IsHere(kScratch));
  EXPECT_FALSE(IsHere("/d/secret"));
}

TEST_F(FirstContentCopyTest, WhatNoServerSaysIsRefused) {
  const LearnResponse right = listed_;
  listed_.state.files = {"1.sst", "1.sst"};
  EXPECT_TRUE(absl::IsUnavailable(Copy().status()));
  listed_ = right;
  listed_.state.files.clear();
  EXPECT_TRUE(absl::IsUnavailable(Copy().status()));
  listed_ = right;
  listed_.state.to_decree_included = Decree(-3);
  EXPECT_TRUE(absl::IsUnavailable(Copy().status()));
  listed_ = right;
  listed_.state.file_sizes = {-1};
  EXPECT_TRUE(absl::IsUnavailable(Copy().status()));
  listed_ = {.err = ErrorCode::kPathNotFound};
  EXPECT_NE(Copy().status().message().find("no checkpoint there yet"), std::string::npos);
}

}  // namespace
}  // namespace arion
