// Calls that wait for their answer: each ends once, by whatever comes first. SPDX-License-Identifier: Apache-2.0
#include "rpc/pending_calls.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace arion {
namespace {

// Runs what was posted when it is told to.
class LaterStrand : public Strand {
 public:
  void Post(Task task) override { tasks_.push_back(std::move(task)); }
  TimerId PostAfter(absl::Duration, Task) override { return kNoTimer; }
  void Cancel(TimerId) override {}
  bool IsCurrent() const override { return is_running_; }
  void RunAll() {
    is_running_ = true;
    for (Task& task : std::exchange(tasks_, {})) task();
    is_running_ = false;
  }

 private:
  std::vector<Task> tasks_;
  bool is_running_ = false;
};

class PendingCallsTest : public testing::Test {
 protected:
  void Add(uint64_t id, std::string name = "RPC_X") {
    calls_.Add(id, std::move(name), strand_, [this](RpcResult result) {
      EXPECT_TRUE(strand_->IsCurrent());
      ended_.push_back(std::move(result));
    });
  }
  std::shared_ptr<LaterStrand> strand_ = std::make_shared<LaterStrand>();
  PendingCalls calls_;
  std::vector<RpcResult> ended_;
};

TEST_F(PendingCallsTest, ACallEndsOnceOnItsStrand) {
  EXPECT_TRUE(calls_.IsOver(7));
  Add(7);
  EXPECT_FALSE(calls_.IsOver(7));
  EXPECT_TRUE(calls_.Finish(7, {.error = ErrorCode::kOk, .body = "answer"}));
  EXPECT_TRUE(calls_.IsOver(7));
  EXPECT_FALSE(calls_.Finish(7, {.error = ErrorCode::kTimeout}));
  EXPECT_TRUE(ended_.empty()) << "not before its strand's turn";
  strand_->RunAll();
  ASSERT_EQ(ended_.size(), 1u);
  EXPECT_EQ(ended_[0].error, ErrorCode::kOk);
  EXPECT_EQ(ended_[0].body, "answer");
}

TEST_F(PendingCallsTest, EachIdIsACallOfItsOwn) {
  Add(1);
  Add(17);  // of the same shard
  EXPECT_TRUE(calls_.Finish(17, {.body = "17"}));
  EXPECT_FALSE(calls_.IsOver(1));
  EXPECT_FALSE(calls_.Finish(33, {}));
  strand_->RunAll();
  ASSERT_EQ(ended_.size(), 1u);
  EXPECT_EQ(ended_[0].body, "17");
}

TEST_F(PendingCallsTest, AnAnswerOfAnotherNameIsNotTakenAndTheCallGoesOn) {
  Add(7);
  for (const char* name : {"RPC_X", "RPC_Y_ACK", "RPC_X_AC", "RPC_X_ACK_", "RPC_XX_ACK", ""})
    EXPECT_FALSE(calls_.FinishNamed(7, name, {})) << name;
  EXPECT_FALSE(calls_.IsOver(7));
  EXPECT_TRUE(calls_.FinishNamed(7, "RPC_X_ACK", {}));
}

TEST_F(PendingCallsTest, ALongNamesAckIsCutToTheHeadersField) {
  Add(1, std::string(45, 'n'));
  EXPECT_FALSE(calls_.FinishNamed(1, std::string(45, 'n') + "_ACK", {}));
  EXPECT_TRUE(calls_.FinishNamed(1, std::string(45, 'n') + "_A", {}));
  Add(2, std::string(60, 'n'));
  EXPECT_FALSE(calls_.FinishNamed(2, std::string(46, 'n'), {}));
  EXPECT_TRUE(calls_.FinishNamed(2, std::string(47, 'n'), {}));
}

}  // namespace
}  // namespace arion
