// An engine that tells the checker what is applied where. SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/checked_engine.h"
#include "sim/sim_environment.h"
#include "sim_checkers/checkers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/memory_engine.h"
#include "sim/sim_world.h"

namespace arion::sim {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr PartitionId kChecked{2, 0};
constexpr char kDataDirectory[] = "/d/2.0.pegasus/data";

class CheckedEngineTest : public ::testing::Test {
 protected:
  ~CheckedEngineTest() override { engines_.clear(); }
  static SimNode& Started(SimNode& node) {
    node.Start();
    return node;
  }
  CheckedEngineFactory Factory(const std::string& server, CheckedEngineFactory::Times times) {
    return {inner_, node_,
            server, checker_,
            open_,  {.opened = [this](PartitionId, Decree) { ++opened_; }, .installed = [] {}},
            times};
  }
  Engine& Open(const std::string& server,
               CheckedEngineFactory::Times times = CheckedEngineFactory::Times::kCount) {
    CheckedEngineFactory factory = Factory(server, times);
    auto engine = factory.Open("/" + server + kDataDirectory);
    EXPECT_TRUE(engine.ok()) << engine.status();
    engines_.push_back(*std::move(engine));
    return *engines_.back();
  }
  static absl::Status Put(Engine& engine, int64_t decree, std::string_view value,
                          int64_t timestamp_us = 1) {
    const WriteOp put{.key = std::string_view("\0\1kk", 4), .value = value};
    return engine.Apply(Decree(decree), timestamp_us, {&put, 1});
  }

  SimWorld world_{3};
  SimNode& node_ = Started(world_.AddNode("n"));
  CommitChecker checker_;
  OpenEngines open_;
  int opened_ = 0;
  MemoryEngineFactory inner_{node_.environment()};
  std::vector<std::unique_ptr<Engine>> engines_;
};

TEST_F(CheckedEngineTest, MembersThatApplyTheSameAreTakenAndOtherContentIsNot) {
  Engine& a = Open("a");
  Engine& b = Open("b");
  EXPECT_EQ(opened_, 2);
  ASSERT_TRUE(Put(a, 1, "v").ok());
  ASSERT_TRUE(Put(b, 1, "v").ok());
  EXPECT_THAT(checker_.violations(), IsEmpty());
  ASSERT_TRUE(Put(a, 2, "v").ok());
  ASSERT_TRUE(Put(b, 2, "w").ok());
  EXPECT_THAT(checker_.violations(), SizeIs(1));
}

TEST_F(CheckedEngineTest, AnotherTimeIsOtherContentUnlessTimesDoNotCount) {
  Engine& a = Open("a");
  ASSERT_TRUE(Put(a, 1, "v", 5).ok());
  ASSERT_TRUE(Put(Open("b"), 1, "v", 6).ok());
  EXPECT_THAT(checker_.violations(), SizeIs(1));
}

TEST_F(CheckedEngineTest, WhereAnOlderServerPreparesTimesDoNotCount) {
  constexpr auto kNoTimes = CheckedEngineFactory::Times::kDoNotCount;
  ASSERT_TRUE(Put(Open("a", kNoTimes), 1, "v", 5).ok());
  ASSERT_TRUE(Put(Open("b", kNoTimes), 1, "v", 6).ok());
  EXPECT_THAT(checker_.violations(), IsEmpty());
}

TEST_F(CheckedEngineTest, ADecreeOutOfOrderIsToldAndNotApplied) {
  Engine& a = Open("a");
  ASSERT_TRUE(Put(a, 1, "v").ok());
  EXPECT_FALSE(Put(a, 3, "v").ok());
  EXPECT_EQ(a.last_applied(), Decree(1));
  EXPECT_THAT(checker_.violations(), SizeIs(1));
}

TEST_F(CheckedEngineTest, OnlyOpenEnginesAreInTheList) {
  Engine& a = Open("a");
  ASSERT_THAT(open_, SizeIs(1));
  EXPECT_EQ(open_.at({"a", kChecked}), &a);
  ASSERT_TRUE(a.Close().ok());
  EXPECT_THAT(open_, IsEmpty());
}

TEST_F(CheckedEngineTest, ADirectoryThatIsNoReplicasIsRefused) {
  auto engine = Factory("a", CheckedEngineFactory::Times::kCount).Open("/a/somewhere/data");
  EXPECT_TRUE(absl::IsInvalidArgument(engine.status()));
  EXPECT_EQ(opened_, 0);
}

}  // namespace
}  // namespace arion::sim
