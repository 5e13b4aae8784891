// SPDX-License-Identifier: Apache-2.0
#include "data_api/mutation_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/raw_key.h"
#include "engine/memory_engine.h"
#include "messages/client_messages.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_environment.h"

namespace arion {
namespace {

class MutationBatchTest : public testing::Test {
 protected:
  static Mutation Put(int64_t decree, std::string value) {
    Mutation m;
    m.decree = Decree(decree);
    m.updates.push_back(
        {.code = WriteCode::kPut, .data = EncodeWrapped(UpdateRequest{Key(), std::move(value)})});
    return m;
  }
  // As an older version logged it: undecided.
  static Mutation Increment(int64_t decree) {
    Mutation m;
    m.decree = Decree(decree);
    m.updates.push_back({.code = WriteCode::kIncr,
                         .data = EncodeWrapped(IncrRequest{.key = {Key()}, .increment = 1})});
    return m;
  }
  static std::string Key() { return JoinRawKey("hash", "sort"); }
  absl::Status Add(const Mutation& m) { return batch_.Add(m, *engine_, ReadTier::kAll); }
  void ApplyIt() {
    ASSERT_TRUE(engine_->ApplyAll(batch_.mutations()).ok());
    batch_.Clear();
  }
  std::string Value() { return engine_->Get(Key(), 0, ReadTier::kAll)->value; }

  sim::SimWorld world_{3};
  sim::SimEnvironment& env_ = world_.AddNode("n").Start();
  MemoryEngineFactory factory_{env_};
  std::unique_ptr<Engine> engine_ = *factory_.Open("/data");
  MutationBatch batch_;
};

TEST_F(MutationBatchTest, TheEngineTakesAllOfItInOrder) {
  EXPECT_THAT(batch_.mutations(), testing::IsEmpty());
  // The mutations are gone before the engine sees them.
  ASSERT_TRUE(Add(Put(1, "first")).ok());
  ASSERT_TRUE(Add(Put(2, "second")).ok());
  ASSERT_EQ(batch_.mutations().size(), 2u);
  ApplyIt();
  EXPECT_EQ(engine_->last_applied(), Decree(2));
  EXPECT_EQ(Value(), "second");
  EXPECT_THAT(batch_.mutations(), testing::IsEmpty());
}

TEST_F(MutationBatchTest, WhatTheEngineMustDecideSeesAllBeforeIt) {
  ASSERT_TRUE(Add(Put(1, "41")).ok());
  EXPECT_FALSE(batch_.MayTake(Increment(2)));
  EXPECT_TRUE(batch_.MayTake(Put(2, "")));
  ApplyIt();
  ASSERT_TRUE(batch_.MayTake(Increment(2)));
  ASSERT_TRUE(Add(Increment(2)).ok());
  EXPECT_FALSE(batch_.MayTake(Increment(3)));
  ApplyIt();
  EXPECT_EQ(Value(), "42");
}

TEST_F(MutationBatchTest, ItIsBoundedByNumberAndBytes) {
  for (size_t i = 1; i <= MutationBatch::kMutationsMax; ++i) {
    ASSERT_TRUE(batch_.MayTake(Put(static_cast<int64_t>(i), "v")));
    ASSERT_TRUE(Add(Put(static_cast<int64_t>(i), "v")).ok());
  }
  EXPECT_FALSE(batch_.MayTake(Put(65, "v")));
  batch_.Clear();
  ASSERT_TRUE(Add(Put(1, std::string(MutationBatch::kBytesMax, 'v'))).ok());
  EXPECT_FALSE(batch_.MayTake(Put(2, "v")));
  batch_.Clear();
  EXPECT_TRUE(batch_.MayTake(Put(1, "v"))) << "what it held counts no more";
}

TEST_F(MutationBatchTest, WhatDoesNotDecodeIsNotInIt) {
  ASSERT_TRUE(Add(Put(1, "v")).ok());
  Mutation odd;
  odd.decree = Decree(2);
  odd.updates.push_back({.code = WriteCode::kPut, .data = "no put"});
  EXPECT_TRUE(absl::IsInvalidArgument(Add(odd)));
  EXPECT_EQ(batch_.mutations().size(), 1u);
  ApplyIt();
  EXPECT_EQ(engine_->last_applied(), Decree(1));
}

}  // namespace
}  // namespace arion
