// Indexes beside an engine: what they hold, across crashes, older versions and changes of their
// definitions. SPDX-License-Identifier: Apache-2.0
#include "indexes/index_set.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/memory_engine.h"
#include "engine/rocksdb_engine.h"
#include "env/file_system.h"
#include "tests/indexes/indexed_replica.h"

namespace arion {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;
using Names = std::vector<std::string>;
using MakeFactory = std::unique_ptr<EngineFactory> (*)(TestEnvironment&);

class IndexSetTest : public testing::TestWithParam<MakeFactory> {
 protected:
  static FindRequest Equal(const std::string& index, int64_t number) {
    const FieldValue field = FieldValue::Of(number);
    return {.index = index, .lower = field, .upper = field};
  }
  Names Find(const FindRequest& request) {
    const auto found = replica_.Find(request);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(Names{"failed"});
  }
  bool IsWhole(const std::string& name) {
    const auto reading = replica_.indexes().Read(name);
    return reading && reading->progress.is_whole;
  }

  TestEnvironment environment_;
  std::unique_ptr<EngineFactory> plain_ = GetParam()(environment_);
  IndexedReplica replica_{environment_, *plain_};
};

TEST_P(IndexSetTest, RecordsFromBeforeAndAfterTheDefinitionAreFound) {
  replica_.Put({{"old", R"({"n":1})"}, {"other", R"({"n":2})"}, {"none", "no JSON"}});
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  EXPECT_FALSE(IsWhole("by_n"));
  replica_.Put({{"new", R"({"n":1})"}});
  replica_.BuildAll();
  EXPECT_TRUE(IsWhole("by_n"));
  replica_.Put({{"newer", R"({"n":1})"}});
  EXPECT_EQ(Find(Equal("by_n", 1)), (Names{"new", "old", "newer"}));
  for (int i = 0; i < 2; ++i) {
    const IndexProgress progress = replica_.indexes().Read("by_n")->progress;
    EXPECT_EQ(progress.entries, 5) << "new came by both ways";
    EXPECT_EQ(progress.left_out, 1);
    replica_.CloseAndOpen();
  }
}

TEST_P(IndexSetTest, WhatChangedOrWentIsNotFound) {
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  replica_.Put({{"a", R"({"n":1})"}, {"b", R"({"n":1})"}, {"c", R"({"n":1})"}});
  replica_.Put({{"a", R"({"n":2})"}});
  replica_.Remove("b");
  EXPECT_EQ(Find(Equal("by_n", 1)), (Names{"c"}));
  replica_.Put({{"a", R"({"n":1})"}});
  EXPECT_EQ(Find(Equal("by_n", 1)), (Names{"a", "c"}));
}

TEST_P(IndexSetTest, SeveralAreBuiltInOneWalk) {
  for (int i = 0; i < 100; ++i)
    replica_.Put({{"k" + std::to_string(i), R"({"n":)" + std::to_string(i % 7) + R"(,"t":"x"})"}});
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}, {"by_t", "$.t"}, {"first", "bytes(0,1)"}}).ok());
  auto build = replica_.indexes().BeginBuild(replica_.engine());
  ASSERT_TRUE(build.ok());
  while (!(*build)->is_done()) ASSERT_TRUE((*build)->Step(30).ok());
  EXPECT_EQ((*build)->records(), 100);
  EXPECT_TRUE(IsWhole("by_n") && IsWhole("by_t") && IsWhole("first"));
  EXPECT_EQ(Find({.index = "by_t", .prefix = Blob("x"), .limit = 9}).size(), 100u);
  EXPECT_EQ(Find(Equal("by_n", 3)).size(), 14u);
}

TEST_P(IndexSetTest, ADefinitionThatStaysIsNotBuiltAgain) {
  replica_.Put({{"a", R"({"n":1,"m":5})"}});
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  ASSERT_TRUE(replica_.Define({{"by_m", "$.m;paused"}, {"by_n", "$.n;paused"}}).ok());
  EXPECT_TRUE(IsWhole("by_n"));
  EXPECT_FALSE(IsWhole("by_m"));
  EXPECT_FALSE(replica_.indexes().IsToBeBuilt()) << "paused";
  ASSERT_TRUE(replica_.Define({{"by_m", "$.m"}, {"by_n", "$.n;generation=1"}}).ok());
  EXPECT_FALSE(IsWhole("by_n")) << "another generation";
  EXPECT_TRUE(replica_.indexes().IsToBeBuilt());
  replica_.BuildAll();
  EXPECT_EQ(Find(Equal("by_n", 1)), (Names{"a"}));
  EXPECT_EQ(Find(Equal("by_m", 5)), (Names{"a"}));
}

TEST_P(IndexSetTest, NothingIsLeftOfTheLastOneThatIsDropped) {
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.Put({{"a", R"({"n":1})"}});
  replica_.BuildAll();
  ASSERT_TRUE(replica_.Define({}).ok());
  EXPECT_TRUE(replica_.indexes().IsDefined({}));
  EXPECT_FALSE(*IsThere(environment_.files(), replica_.index_directory()));
  replica_.Put({{"b", R"({"n":1})"}});
}

TEST_P(IndexSetTest, ARestartFindsThemWhole) {
  replica_.Put({{"a", R"({"n":1})"}});
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  replica_.CloseAndOpen();
  EXPECT_TRUE(IsWhole("by_n"));
  ASSERT_TRUE(replica_.engine().Flush().ok());
  replica_.Put({{"b", R"({"n":1})"}});
  replica_.CrashAndOpen();
  EXPECT_TRUE(IsWhole("by_n"));
  EXPECT_EQ(Find(Equal("by_n", 1)), (Names{"a"})) << "b was in memory only";
}

TEST_P(IndexSetTest, WhatAnOlderVersionWroteMakesThemBuiltAnew) {
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.Put({{"a", R"({"n":1})"}});
  replica_.BuildAll();
  replica_.WithOlderVersion([] {});
  EXPECT_TRUE(IsWhole("by_n")) << "it wrote nothing";
  replica_.WithOlderVersion([&] { replica_.Put({{"b", R"({"n":1})"}}); });
  EXPECT_FALSE(replica_.indexes().Read("by_n").has_value());
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  EXPECT_EQ(Find(Equal("by_n", 1)), (Names{"a", "b"}));
}

TEST_P(IndexSetTest, WhatIsDamagedIsBuiltAnew) {
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.Put({{"a", R"({"n":1})"}});
  replica_.BuildAll();
  replica_.WithOlderVersion([&] {
    ASSERT_TRUE(WriteFileDurably(environment_.files(), replica_.index_directory() + "/list",
                                 "arion indexes 2\t1\n")
                    .ok());
  });
  EXPECT_FALSE(replica_.indexes().Read("by_n").has_value());
  EXPECT_FALSE(replica_.indexes().IsDefined(IndexedReplica::Named({{"by_n", "$.n"}})));
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  EXPECT_EQ(Find(Equal("by_n", 1)), (Names{"a"}));
}

TEST_P(IndexSetTest, AnOlderListBesideALaterStoreIsNotUsed) {
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.Put({{"a", R"({"n":1})"}});
  replica_.BuildAll();
  const std::string path = replica_.index_directory() + "/list";
  const auto older = ReadFile(environment_.files(), path);
  ASSERT_TRUE(older.ok());
  ASSERT_TRUE(replica_.Define({{"other", "value"}}).ok());
  replica_.BuildAll();
  replica_.WithOlderVersion(
      [&] { ASSERT_TRUE(WriteFileDurably(environment_.files(), path, *older).ok()); });
  EXPECT_FALSE(replica_.indexes().Read("by_n").has_value()) << "its entries are gone";
}

TEST_P(IndexSetTest, ABuildThatACrashEndsBeginsAnew) {
  for (int i = 0; i < 20; ++i) replica_.Put({{"k" + std::to_string(i), R"({"n":1})"}});
  ASSERT_TRUE(replica_.engine().Flush().ok());
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  ASSERT_TRUE(replica_.BuildStep(5));
  ASSERT_TRUE(replica_.engine().Flush().ok());
  replica_.CrashAndOpen();
  EXPECT_FALSE(IsWhole("by_n"));
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  EXPECT_EQ(Find(Equal("by_n", 1)).size(), 20u);
}

TEST_P(IndexSetTest, AContentThatIsInstalledHasNone) {
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.Put({{"a", R"({"n":1})"}});
  replica_.BuildAll();
  const auto decree = replica_.engine().Checkpoint();
  ASSERT_TRUE(decree.ok());
  std::shared_ptr<void> hold;
  const auto files = replica_.engine().NewestCheckpoint(&hold);
  ASSERT_TRUE(files.ok());
  const std::string elsewhere = environment_.root() + "/2.0.pegasus/data";
  ASSERT_TRUE(
      environment_.files().CreateDirectories(environment_.root() + "/2.0.pegasus/index").ok());
  ASSERT_TRUE(WriteFileDurably(environment_.files(),
                               environment_.root() + "/2.0.pegasus/index/list", "of something else")
                  .ok());
  ASSERT_TRUE(replica_.indexed().InstallCheckpoint(files->directory, *decree, elsewhere).ok());
  EXPECT_FALSE(*IsThere(environment_.files(), environment_.root() + "/2.0.pegasus/index"));
}

// A replica's life, and a model of it. Indexes come and go, are built beside writes, and all of it
// is interrupted anywhere.
TEST_P(IndexSetTest, WhatIsFoundIsWhatTheModelHolds) {
  const Texts all = {{"by_n", "$.n"}, {"by_t", "$.t"}, {"first", "bytes(0,4)"}, {"whole", "value"}};
  // To open a database costs a thousand times what it costs in memory.
  const bool is_cheap = plain_->description() == "in memory";
  for (uint32_t seed = 1; seed <= (is_cheap ? 4 : 1); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Texts defined;
    int compared = 0;
    const auto name = [&] { return "k" + std::to_string(random() % 40); };
    const auto value = [&]() -> std::string {
      switch (random() % 6) {
        case 0:
          return "no JSON " + std::to_string(random() % 3);
        case 1:
          return R"({"t":")" + std::string(1 + random() % 3, 'x') + R"("})";
        case 2:
          return R"({"n":"text"})";
        default:
          return R"({"n":)" + std::to_string(random() % 9) + R"(,"t":")" +
                 std::to_string(random() % 4) + R"("})";
      }
    };
    const auto put = [&] {
      if (random() % 5 == 0) return replica_.Remove(name());
      replica_.Put({{name(), value()}, {name(), value()}});
    };
    const auto compare = [&] {
      for (const auto& [index, definition] : defined) {
        if (!IsWhole(index)) continue;
        FindRequest request{.index = index,
                            .descending = random() % 2 == 0,
                            .limit = 1 + static_cast<int32_t>(random() % 7),
                            .with_value = random() % 2 == 0};
        if (random() % 3 != 0) request.lower = FieldValue::Of(static_cast<int64_t>(random() % 9));
        if (request.lower && random() % 2 == 0) request.upper = FieldValue::Of(int64_t{5});
        EXPECT_EQ(Find(request), replica_.Wanted(request, definition)) << index;
        ++compared;
      }
    };
    for (int i = 0; i < (is_cheap ? 600 : 200) && !HasFatalFailure() && !HasFailure(); ++i) {
      const uint32_t what = random() % 100;
      if (what < 60) {
        put();
      } else if (what < 66) {
        ASSERT_TRUE(replica_.engine().Flush().ok());
      } else if (what < 68) {
        ASSERT_TRUE(replica_.engine().Checkpoint().ok());
      } else if (what < 71) {
        replica_.CrashAndOpen();
      } else if (what < 73) {
        replica_.CloseAndOpen();
      } else if (what < 75) {
        replica_.WithOlderVersion([&] { put(); });
      } else if (what < 79) {
        replica_.DropBuild();
        defined.clear();
        for (const auto& one : all)
          if (random() % 3 != 0) defined.push_back(one);
        ASSERT_TRUE(replica_.Define(defined).ok());
      } else {
        if (!replica_.indexes().IsDefined(IndexedReplica::Named(defined))) {
          ASSERT_TRUE(replica_.Define(defined).ok());
        }
        replica_.BuildStep(1 + random() % 30);
      }
      if (i % 5 == 0) compare();
    }
    EXPECT_GT(compared, 20);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, IndexSetTest,
                         testing::Values<MakeFactory>(
                             [](TestEnvironment& environment) -> std::unique_ptr<EngineFactory> {
                               return std::make_unique<MemoryEngineFactory>(environment);
                             },
                             [](TestEnvironment& environment) -> std::unique_ptr<EngineFactory> {
                               return std::make_unique<RocksdbEngineFactory>(
                                   environment,
                                   RocksdbEngineOptions{.write_buffer_bytes = 256 << 10});
                             }),
                         [](const auto& test) { return test.index == 0 ? "memory" : "rocksdb"; });

}  // namespace
}  // namespace arion
