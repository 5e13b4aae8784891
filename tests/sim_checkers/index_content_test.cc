// A member's index beside its data: whole, not yet whole, and of other data.
// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/index_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/raw_key.h"
#include "engine/engine_wrapper.h"
#include "engine/memory_engine.h"
#include "indexes/index_build.h"
#include "indexes/index_set.h"
#include "indexes/indexed_engine.h"
#include "sim/sim_environment.h"
#include "sim/sim_world.h"

namespace arion::sim {
namespace {

using ::testing::HasSubstr;

// Data of one engine, indexes of another.
class Mixed : public EngineWrapper<Engine> {
 public:
  Mixed(std::unique_ptr<Engine> data, std::shared_ptr<IndexSet> indexes)
      : EngineWrapper(std::move(data)), indexes_(std::move(indexes)) {}
  std::shared_ptr<IndexSet> indexes() const override { return indexes_; }

 private:
  const std::shared_ptr<IndexSet> indexes_;
};

class IndexContentTest : public ::testing::Test {
 protected:
  static SimNode& Started(SimNode& node) {
    node.Start();
    return node;
  }
  // With a record for each number.
  std::unique_ptr<Engine> Holding(EngineFactory& factory, const std::string& name,
                                  const std::vector<int>& numbers) {
    auto engine = factory.Open("/" + name + "/2.0.pegasus/data");
    EXPECT_TRUE(engine.ok()) << engine.status();
    for (const int number : numbers) {
      const std::string key = JoinRawKey("h", std::to_string(number));
      const std::string value = R"({"n":)" + std::to_string(number) + "}";
      const WriteOp put{.key = key, .value = value};
      EXPECT_TRUE((*engine)->Apply((*engine)->last_applied() + 1, 1, {&put, 1}).ok());
    }
    return *std::move(engine);
  }
  void Build(Engine& engine) {
    auto build = engine.indexes()->BeginBuild(engine);
    ASSERT_TRUE(build.ok() && *build != nullptr) << build.status();
    while (!(*build)->is_done()) ASSERT_TRUE((*build)->Step(100).ok());
  }
  std::string WhatIsWrong(const std::shared_ptr<const Engine>& engine) {
    return WhatIsWrongWith(index_, engine, node_);
  }

  SimWorld world_{3};
  SimNode& node_ = Started(world_.AddNode("n"));
  const NamedIndex index_{"number", *IndexDefinition::Parse("$.n")};
  MemoryEngineFactory plain_{node_.environment()};
  IndexedEngineFactory indexed_{node_.environment(), plain_};
};

TEST_F(IndexContentTest, AnIndexIsWholeOnceItIsBuilt) {
  const std::shared_ptr<Engine> engine = Holding(indexed_, "a", {1, 2});
  EXPECT_THAT(WhatIsWrong(engine), HasSubstr("is not whole"));
  ASSERT_TRUE(engine->indexes()->Define({index_}, *engine).ok());
  EXPECT_THAT(WhatIsWrong(engine), HasSubstr("is not whole"));
  Build(*engine);
  EXPECT_EQ(WhatIsWrong(engine), "");
}

TEST_F(IndexContentTest, ARecordWithoutItsEntryIsMissed) {
  const std::shared_ptr<Engine> engine = Holding(indexed_, "a", {1, 2});
  ASSERT_TRUE(engine->indexes()->Define({index_}, *engine).ok());
  Build(*engine);
  const auto mixed = [&](const std::string& name, const std::vector<int>& numbers) {
    return std::make_shared<Mixed>(Holding(plain_, name, numbers), engine->indexes());
  };
  EXPECT_EQ(WhatIsWrong(mixed("b", {1, 2})), "");
  EXPECT_EQ(WhatIsWrong(mixed("c", {1})), "") << "entries may be left of what was";
  EXPECT_EQ(WhatIsWrong(mixed("d", {1, 2, 3})), "lacks a record");
}

}  // namespace
}  // namespace arion::sim
