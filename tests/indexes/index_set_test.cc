// Indexes beside an engine: what they hold, across crashes, older versions and changes of their
// definitions. SPDX-License-Identifier: Apache-2.0
#include "indexes/index_set.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "data_api/mutation_operations.h"
#include "engine/memory_engine.h"
#include "engine/rocksdb_engine.h"
#include "env/file_system.h"
#include "messages/duplicate_messages.h"
#include "rpc/thrift_codec.h"
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
  static constexpr uint64_t kSaveEvery = 300;
  IndexedReplica replica_{environment_, *plain_, {.save_every_bytes = kSaveEvery}};
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

TEST_P(IndexSetTest, WritesOfAnotherClusterAreFoundAsOurs) {
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  const auto apply = [&](const std::vector<std::pair<WriteCode, std::string>>& writes) {
    DuplicateRequest request;
    for (const auto& [code, body] : writes)
      request.entries.push_back({.timestamp_us = 7,
                                 .task_code = Blob(WriteCodeName(code)),
                                 .raw_message = Blob(body),
                                 .cluster_id = int8_t{2}});
    Mutation mutation{.decree = replica_.engine().last_applied() + 1};
    mutation.updates = {{WriteCode::kDuplicate, 1, EncodeWrapped(request)}};
    const auto decoded =
        MutationOperations::Decode(mutation, replica_.engine(), ReadTier::kCacheOnly);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    ASSERT_TRUE(replica_.engine().Apply(mutation.decree, 1, decoded->ops()).ok());
  };
  const auto put = [](const char* name, const char* value) {
    return std::pair(WriteCode::kPut,
                     EncodeWrapped(UpdateRequest{JoinRawKey(name, "s"), value, 0}));
  };
  apply({put("a", R"({"n":1})"), put("b", R"({"n":1})"), put("c", R"({"n":1})")});
  EXPECT_EQ(Find(Equal("by_n", 1)), (Names{"a", "b", "c"}));
  apply({put("a", R"({"n":2})"),
         {WriteCode::kMultiRemove,
          EncodeWrapped(MultiRemoveRequest{.hash_key = "b", .sort_keys = {"s"}})},
         {WriteCode::kMultiPut,
          EncodeWrapped(MultiPutRequest{.hash_key = "d", .kvs = {{"s", R"({"n":1})", {}}}})}});
  EXPECT_EQ(Find(Equal("by_n", 1)), (Names{"c", "d"}));
  EXPECT_EQ(Find(Equal("by_n", 2)), (Names{"a"}));
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
  ASSERT_TRUE(replica_.Define({{"by_m", "$.m"}, {"by_n", "$.n"}}).ok());
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
                                 "arion indexes 1\t1\n")
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

TEST_P(IndexSetTest, OneThatIsBuiltAnewAnswersMeanwhileAndLosesItsFormerEntries) {
  for (int i = 0; i < 30; ++i) replica_.Put({{"k" + std::to_string(i), R"({"n":1})"}});
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  for (int i = 0; i < 25; ++i) replica_.Put({{"k" + std::to_string(i), R"({"n":2})"}});
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n;generation=1"}}).ok());
  ASSERT_TRUE(replica_.BuildStep(10));
  // Between definition and end writers put entries for both.
  replica_.Put({{"k0", R"({"n":1})"}, {"k29", R"({"n":3})"}, {"new", R"({"n":3})"}});
  EXPECT_TRUE(IsWhole("by_n"));
  EXPECT_TRUE(replica_.indexes().Read("by_n")->progress.is_renewed);
  EXPECT_EQ(Find(Equal("by_n", 1)).size(), 5u);
  EXPECT_EQ(Find(Equal("by_n", 3)).size(), 2u);
  EXPECT_EQ(replica_.indexes().Read("by_n")->progress.entries, 58);
  replica_.BuildAll();
  EXPECT_FALSE(replica_.indexes().Read("by_n")->progress.is_renewed);
  EXPECT_EQ(replica_.indexes().Read("by_n")->progress.entries, 33) << "30 records, and 3 since";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Find(Equal("by_n", 1)).size(), 5u);
    EXPECT_EQ(Find(Equal("by_n", 3)).size(), 2u);
    EXPECT_FALSE(replica_.indexes().IsToBeBuilt());
    replica_.CloseAndOpen();
  }
  // What it was found by before is not there any more.
  const auto reading = replica_.indexes().Read("by_n");
  int entries = 0;
  for (const auto at =
           reading->entries->Walk({.first = EntryPrefix(0), .end = {}}, Direction::kForward);
       at->Valid(); at->Next())
    ++entries;
  EXPECT_EQ(entries, 33);
}

TEST_P(IndexSetTest, AnAnswerIsOfTheIndexThatWasWholeWhenItEnded) {
  for (int i = 0; i < 5; ++i) replica_.Put({{"k" + std::to_string(i), R"({"n":1})"}});
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  IndexFinder finder(replica_.shared_engine(), Equal("by_n", 1));
  const ReadTerms terms = replica_.Terms();
  auto turned = finder.Turn(terms);
  ASSERT_TRUE(turned.ok() && !turned->has_value()) << "its view is taken";
  // The entries that it is about to read go.
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n;generation=1"}}).ok());
  replica_.BuildAll();
  for (int turns = 0; turned.ok() && !turned->has_value(); ++turns) {
    ASSERT_LT(turns, 10);
    turned = finder.Turn(terms);
  }
  ASSERT_TRUE(turned.ok());
  EXPECT_EQ((*turned)->error, 0);
  EXPECT_EQ((*turned)->rows.size(), 5u);
}

TEST_P(IndexSetTest, WhatWasBuiltFromLaterDataIsNotUsed) {
  replica_.Put({{"a", R"({"n":1})"}});
  ASSERT_TRUE(replica_.engine().Flush().ok());
  const std::string copy = environment_.root() + "/copy";
  std::filesystem::copy(replica_.data(), copy, std::filesystem::copy_options::recursive);
  replica_.Put({{"a", R"({"n":2})"}});
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  replica_.PutBackData(copy);
  EXPECT_FALSE(IsWhole("by_n"));
  replica_.BuildAll();
  EXPECT_EQ(Find(Equal("by_n", 1)), (Names{"a"}));
}

TEST_P(IndexSetTest, ABuildThatACrashEndsGoesOnWhereItWasSaved) {
  for (int i = 0; i < 40; ++i)
    replica_.Put({{"k" + std::to_string(10 + i), R"({"n":)" + std::to_string(i % 2) + "}"}});
  ASSERT_TRUE(replica_.engine().Flush().ok());
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  // Each step of so many is saved (kSaveEvery), the last is not.
  ASSERT_TRUE(replica_.BuildStep(25));
  replica_.Put({{"k10", R"({"n":7})"}, {"k49", R"({"n":7})"}, {"before", R"({"n":7})"}});
  ASSERT_TRUE(replica_.engine().Flush().ok());
  ASSERT_TRUE(replica_.BuildStep(1));
  replica_.CrashAndOpen();
  EXPECT_FALSE(IsWhole("by_n"));
  auto build = replica_.indexes().BeginBuild(replica_.engine());
  ASSERT_TRUE(build.ok());
  EXPECT_EQ((*build)->records(), 25) << "what was read before is not read again";
  const IndexProgress progress = replica_.indexes().Read("by_n")->progress;
  EXPECT_GT(progress.percent, 0);
  while (!(*build)->is_done()) ASSERT_TRUE((*build)->Step(100).ok());
  *build = nullptr;
  EXPECT_EQ(Find(Equal("by_n", 7)), (Names{"k10", "k49", "before"})) << "by key";
  EXPECT_EQ(Find(Equal("by_n", 0)).size() + Find(Equal("by_n", 1)).size(), 38u);
  replica_.CloseAndOpen();
  EXPECT_TRUE(IsWhole("by_n"));
  EXPECT_EQ(Find({.index = "by_n", .limit = 9}).size(), 41u);
}

TEST_P(IndexSetTest, WhatWasSavedAndCannotBeReadIsReadAgain) {
  for (int i = 0; i < 40; ++i) replica_.Put({{"k" + std::to_string(i), R"({"n":1})"}});
  ASSERT_TRUE(replica_.engine().Flush().ok());
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  ASSERT_TRUE(replica_.BuildStep(25));
  const std::string bulk = replica_.index_directory() + "/store/bulk";
  const auto saved = environment_.files().List(bulk);
  ASSERT_TRUE(saved.ok() && !saved->empty());
  replica_.WithOlderVersion([&] {
    for (const std::string& name : *saved)
      ASSERT_TRUE(WriteFileDurably(environment_.files(), bulk + "/" + name, "damaged").ok());
  });
  replica_.BuildAll();
  EXPECT_EQ(Find(Equal("by_n", 1)).size(), 40u);
  EXPECT_FALSE(*IsThere(environment_.files(), bulk)) << "nothing is left of it";
}

TEST_P(IndexSetTest, APauseKeepsWhatWasSaved) {
  for (int i = 0; i < 40; ++i) replica_.Put({{"k" + std::to_string(i), R"({"n":1})"}});
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  ASSERT_TRUE(replica_.BuildStep(25));
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n;paused"}}).ok());
  EXPECT_FALSE(replica_.indexes().IsToBeBuilt());
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  auto build = replica_.indexes().BeginBuild(replica_.engine());
  ASSERT_TRUE(build.ok());
  EXPECT_EQ((*build)->records(), 25);
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

TEST_P(IndexSetTest, ALearnerHasWhatWasShippedWithItsCheckpoint) {
  for (int i = 0; i < 9; ++i) replica_.Put({{"k" + std::to_string(i), R"({"n":1})"}});
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  std::shared_ptr<void> held;
  const auto ship = [&](std::string* directory) {
    const auto decree = replica_.engine().Checkpoint();
    EXPECT_TRUE(decree.ok());
    std::shared_ptr<void> hold;
    const auto checkpoint = replica_.engine().NewestCheckpoint(&hold);
    EXPECT_TRUE(checkpoint.ok());
    *directory = checkpoint->directory;
    const auto files = replica_.engine().ShipIndexes(*checkpoint, &held);
    EXPECT_TRUE(files.ok()) << files.status();
    return files.ok() ? files->names : Names{};
  };
  std::string from;
  EXPECT_TRUE(ship(&from).empty()) << "nothing is whole";
  replica_.BuildAll();
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}, {"all", "value"}}).ok());
  const Names names = ship(&from);
  const Decree decree = replica_.engine().last_applied();
  const std::string shipped = "index." + std::to_string(decree.value());
  EXPECT_NE(std::find(names.begin(), names.end(), shipped + "/list"), names.end());
  EXPECT_EQ(ship(&from), names) << "it is there";
  // Of these the learner's data know nothing; a copy that is made later has their entries.
  replica_.Put({{"later", R"({"n":1})"}});

  const std::string learn = environment_.root() + "/2.0.pegasus/learn";
  std::filesystem::create_directories(learn);
  const auto copy = [](const std::string& what, const std::string& to) {
    std::filesystem::copy(what, to, std::filesystem::copy_options::recursive);
  };
  copy(from, learn + "/checkpoint");
  const std::string here = replica_.data() + "/" + shipped;
  copy(here, learn + "/" + shipped);
  EXPECT_TRUE(replica_.indexes().HasShipped());
  ASSERT_TRUE(replica_.indexes().RemoveShipped().ok());
  EXPECT_TRUE(*IsThere(environment_.files(), here)) << "it is held";
  held.reset();
  ASSERT_TRUE(replica_.indexes().RemoveShipped().ok());
  EXPECT_FALSE(replica_.indexes().HasShipped());
  EXPECT_FALSE(*IsThere(environment_.files(), here));
  const std::string data = environment_.root() + "/2.0.pegasus/data";
  ASSERT_TRUE(replica_.indexed().InstallCheckpoint(learn + "/checkpoint", decree, data).ok());
  auto opened = replica_.indexed().Open(data);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const std::shared_ptr<Engine> learner = *std::move(opened);
  EXPECT_TRUE(
      learner->indexes()->IsDefined(IndexedReplica::Named({{"by_n", "$.n"}, {"all", "value"}})));
  EXPECT_TRUE(learner->indexes()->Read("by_n")->progress.is_whole);
  EXPECT_FALSE(learner->indexes()->Read("all")->progress.is_whole) << "it builds that itself";
  const auto found = IndexedReplica::FindPageOf(learner, Equal("by_n", 1), replica_.Terms());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->rows.size(), 9u);
}

TEST_P(IndexSetTest, ACopySaysOfWhichStoreItIs) {
  const auto is_same = [](const std::weak_ptr<const void>& a, const std::weak_ptr<const void>& b) {
    return !a.owner_before(b) && !b.owner_before(a);
  };
  replica_.Put({{"a", R"({"n":1})"}});
  const auto ship = [&](std::shared_ptr<void>* held) {
    EXPECT_TRUE(replica_.engine().Checkpoint().ok());
    std::shared_ptr<void> hold;
    const auto files =
        replica_.engine().ShipIndexes(*replica_.engine().NewestCheckpoint(&hold), held);
    EXPECT_TRUE(files.ok() && !files->names.empty()) << files.status();
    return files.value_or(Engine::IndexFiles());
  };
  const auto make = [&] {
    ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
    replica_.BuildAll();
  };
  make();
  std::shared_ptr<void> held, again, later;
  const Engine::IndexFiles former = ship(&held);
  ASSERT_TRUE(replica_.Define({}).ok());
  make();
  EXPECT_TRUE(is_same(ship(&again).store, former.store)) << "the copy at that decree is there yet";
  held = again = nullptr;
  ASSERT_TRUE(replica_.indexes().RemoveShipped().ok());
  const Engine::IndexFiles next = ship(&held);
  EXPECT_EQ(next.names, former.names);
  EXPECT_FALSE(is_same(next.store, former.store));
  replica_.Put({{"b", R"({"n":2})"}});
  EXPECT_TRUE(is_same(ship(&later).store, next.store)) << "the next checkpoint's";
}

TEST_P(IndexSetTest, WhatWasMadeForALearnerGoesAtTheNextStart) {
  ASSERT_TRUE(replica_.Define({{"by_n", "$.n"}}).ok());
  replica_.BuildAll();
  replica_.Put({{"a", R"({"n":1})"}});
  ASSERT_TRUE(replica_.engine().Checkpoint().ok());
  std::shared_ptr<void> hold, held;
  const auto checkpoint = replica_.engine().NewestCheckpoint(&hold);
  ASSERT_TRUE(checkpoint.ok());
  ASSERT_TRUE(replica_.engine().ShipIndexes(*checkpoint, &held).ok());
  const std::string shipped = replica_.data() + "/index.1";
  EXPECT_TRUE(*IsThere(environment_.files(), shipped));
  replica_.CrashAndOpen();
  EXPECT_FALSE(*IsThere(environment_.files(), shipped));
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
        for (const auto& [index, definition] : all)
          if (random() % 3 != 0)
            defined.emplace_back(index,
                                 definition + ";generation=" + std::to_string(1 + random() % 2));
        ASSERT_TRUE(replica_.Define(defined).ok());
      } else {
        if (!replica_.indexes().IsDefined(IndexedReplica::Named(defined))) {
          ASSERT_TRUE(replica_.Define(defined).ok());
        }
        replica_.BuildStep(1 + random() % 30);
        if (random() % 4 == 0) replica_.BuildAll();
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
