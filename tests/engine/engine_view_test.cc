// Views and walks of every engine.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/raw_key.h"
#include "engine/engine.h"
#include "engine/memory_engine.h"
#include "engine/rocksdb_engine.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

constexpr uint32_t kNow = 1000;
using MakeFactory = std::unique_ptr<EngineFactory> (*)(TestEnvironment&);

class EngineViewTest : public testing::TestWithParam<MakeFactory> {
 protected:
  EngineViewTest() {
    auto engine = factory_->Open(environment_.root() + "/2.0.pegasus/data");
    EXPECT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  void Apply(const std::vector<WriteOp>& ops) {
    ASSERT_TRUE(engine_->Apply(engine_->last_applied() + 1, 1, ops).ok());
  }
  void Put(const std::string& key, const std::string& value, uint32_t expire_ts = 0) {
    Apply({{.key = key, .value = value, .expire_ts = expire_ts}});
  }
  void Remove(const std::string& key) { Apply({{.kind = WriteOp::Kind::kRemove, .key = key}}); }

  using Rows = std::vector<std::pair<std::string, std::string>>;
  static Rows All(const EngineView& view, const KeyRange& range, Direction direction) {
    Rows rows;
    const auto walk = view.Walk(range, direction);
    for (; walk->Valid(); walk->Next())
      rows.emplace_back(std::string(walk->key()), std::string(walk->value()));
    EXPECT_TRUE(walk->status().ok()) << walk->status();
    return rows;
  }
  static Rows Reversed(Rows rows) {
    std::reverse(rows.begin(), rows.end());
    return rows;
  }

  TestEnvironment environment_;
  std::unique_ptr<EngineFactory> factory_ = GetParam()(environment_);
  std::unique_ptr<Engine> engine_;
};

TEST_P(EngineViewTest, AViewStaysWhatItWas) {
  const std::string a = JoinRawKey("h", "a"), b = JoinRawKey("h", "b"), c = JoinRawKey("h", "c");
  Put(a, "1");
  Put(b, "1");
  const auto view = engine_->View();
  Put(a, "2");
  Remove(b);
  Put(c, "2");
  ASSERT_TRUE(engine_->Flush().ok());
  EXPECT_EQ(view->Get(a, kNow, ReadTier::kAll)->value, "1");
  EXPECT_EQ(view->Get(b, kNow, ReadTier::kAll)->value, "1");
  EXPECT_TRUE(absl::IsNotFound(view->Get(c, kNow, ReadTier::kAll).status()));
  EXPECT_EQ(All(*view, {}, Direction::kForward), (Rows{{a, "1"}, {b, "1"}}));
  EXPECT_EQ(All(*engine_->View(), {}, Direction::kForward), (Rows{{a, "2"}, {c, "2"}}));
}

TEST_P(EngineViewTest, AWalkAsideMeetsWhatAForwardWalkMeets) {
  Apply({});
  for (int i = 0; i < 50; ++i) Put(JoinRawKey("h" + std::to_string(i % 7), std::to_string(i)), "1");
  const auto view = engine_->View();
  Put(JoinRawKey("h0", "0"), "2");
  ASSERT_TRUE(engine_->Flush().ok());
  for (const std::string& first : {std::string(), JoinRawKey("h3", "")}) {
    Rows rows;
    const auto walk = view->WalkAside({.first = first});
    for (; walk->Valid(); walk->Next())
      rows.emplace_back(std::string(walk->key()), std::string(walk->value()));
    EXPECT_TRUE(walk->status().ok()) << walk->status();
    EXPECT_EQ(rows, All(*view, {.first = first}, Direction::kForward));
  }
}

TEST_P(EngineViewTest, AWalkBegunStaysOnItsView) {
  const std::string a = JoinRawKey("h", "a"), b = JoinRawKey("h", "b");
  Put(a, "1");
  Put(b, "1");
  const auto view = engine_->View();
  const auto walk = view->Walk({}, Direction::kForward);
  Remove(b);
  ASSERT_TRUE(walk->Valid());
  EXPECT_EQ(walk->key(), a);
  walk->Next();
  ASSERT_TRUE(walk->Valid());
  EXPECT_EQ(walk->key(), b);
  walk->Next();
  EXPECT_FALSE(walk->Valid());
}

TEST_P(EngineViewTest, WalksTellExpiredRecordsAndGetHidesThem) {
  const std::string a = JoinRawKey("h", "a");
  Put(a, "1", kNow);
  const auto view = engine_->View();
  EXPECT_TRUE(absl::IsNotFound(view->Get(a, kNow, ReadTier::kAll).status()));
  EXPECT_EQ(view->Get(a, kNow - 1, ReadTier::kAll)->expire_ts, kNow);
  const auto walk = view->Walk({}, Direction::kForward);
  ASSERT_TRUE(walk->Valid());
  EXPECT_EQ(walk->expire_ts(), kNow);
  EXPECT_EQ(walk->value(), "1");
}

TEST_P(EngineViewTest, MutationsWithoutRecordsLeaveNothingToMeet) {
  Apply({});
  EXPECT_TRUE(All(*engine_->View(), {}, Direction::kForward).empty());
  EXPECT_TRUE(All(*engine_->View(), {}, Direction::kBackward).empty());
}

TEST_P(EngineViewTest, RangesThatHoldNothingAreEmptyWalks) {
  Put(JoinRawKey("h", "b"), "1");
  const auto view = engine_->View();
  for (const KeyRange& range : {KeyRange{JoinRawKey("h", "c"), JoinRawKey("h", "a")},
                                KeyRange{JoinRawKey("h", "b"), JoinRawKey("h", "b")},
                                KeyRange{JoinRawKey("h", ""), JoinRawKey("h", "b")},
                                KeyRange{JustBehind(JoinRawKey("h", "b")), ""}}) {
    EXPECT_TRUE(All(*view, range, Direction::kForward).empty());
    EXPECT_TRUE(All(*view, range, Direction::kBackward).empty());
  }
}

TEST_P(EngineViewTest, EveryRangeInBothDirectionsAgreesWithAMap) {
  std::mt19937 random(5);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  // Hash keys of several lengths, some with bytes that sort high, and the empty one.
  const std::vector<std::string> hashes = {"", "a", "b", "\xff", "aa", "a\xff", "\xff\xff", "abc"};
  const auto key = [&] {
    std::string sort;
    for (uint32_t n = below(3); n > 0; --n) sort += "\0a\x7f\xff"[below(4)];
    return JoinRawKey(hashes[below(static_cast<uint32_t>(hashes.size()))], sort);
  };
  std::map<std::string, std::string> model;
  for (int round = 0; round < 400; ++round) {
    for (int i = 0; i < 5; ++i) {
      const std::string k = key();
      if (below(4) == 0) {
        Remove(k);
        model.erase(k);
      } else {
        Put(k, std::to_string(round));
        model[k] = std::to_string(round);
      }
    }
    if (below(20) == 0) {
      ASSERT_TRUE(engine_->Flush().ok());
    }
    const auto view = engine_->View();
    for (int i = 0; i < 10; ++i) {
      KeyRange range{.first = below(8) == 0 ? "" : key(), .end = below(8) == 0 ? "" : key()};
      if (below(2) == 0) range.first = JustBehind(range.first);
      if (below(2) == 0 && !range.end.empty()) range.end = JustBehind(range.end);
      if (below(3) == 0) {  // of one hash key
        const std::string hash = hashes[below(static_cast<uint32_t>(hashes.size()))];
        range = {JoinRawKey(hash, ""), EndOfPrefix(JoinRawKey(hash, ""))};
      }
      Rows expected;
      for (auto it = model.lower_bound(range.first);
           it != model.end() && (range.end.empty() || it->first < range.end); ++it)
        expected.emplace_back(it->first, it->second);
      ASSERT_EQ(All(*view, range, Direction::kForward), expected) << round;
      ASSERT_EQ(All(*view, range, Direction::kBackward), Reversed(expected)) << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, EngineViewTest, testing::Values([](TestEnvironment& environment) {
                           return std::unique_ptr<EngineFactory>(
                               std::make_unique<MemoryEngineFactory>(environment));
                         }));
INSTANTIATE_TEST_SUITE_P(Rocksdb, EngineViewTest, testing::Values([](TestEnvironment& environment) {
                           return std::unique_ptr<EngineFactory>(
                               std::make_unique<RocksdbEngineFactory>(environment));
                         }));

}  // namespace
}  // namespace arion
