// Two clusters write one table: what each keeps of the other's writes.
// SPDX-License-Identifier: Apache-2.0
#include "data_api/duplicate_judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>

#include "base/raw_key.h"
#include "base/value_schema.h"
#include "data_api/duplicated_writes.h"
#include "data_api/mutation_operations.h"
#include "engine/memory_engine.h"
#include "env/clock.h"
#include "messages/client_messages.h"
#include "rpc/thrift_codec.h"
#include "tests/engine/test_environment.h"

namespace arion {
namespace {

using Compares = DuplicateJudge::Compares;

// Times in these tests are microseconds since then; 0 of an entry: not known.
constexpr int64_t kBegin = kExpiryEpochUnixSeconds * 1000000;

template <class Request>
DuplicateEntry Entry(WriteCode code, const Request& request, int64_t time_us,
                     int8_t cluster_id = 2) {
  return {.timestamp_us = time_us == 0 ? 0 : kBegin + time_us,
          .task_code = Blob(WriteCodeName(code)),
          .raw_message = Blob(EncodeWrapped(request)),
          .cluster_id = cluster_id};
}
DuplicateEntry PutOf(const std::string& raw_key, const std::string& value, int64_t time_us,
                     int8_t cluster_id = 2) {
  return Entry(WriteCode::kPut, UpdateRequest{raw_key, value, 0}, time_us, cluster_id);
}
DuplicateEntry RemoveOf(const std::string& raw_key, int64_t time_us, int8_t cluster_id = 2) {
  return Entry(WriteCode::kRemove, Blob(raw_key), time_us, cluster_id);
}

// One replica of a cluster, which leads: it orders clients' writes and takes the other's.
class Site {
 public:
  Site(TestEnvironment& environment, uint8_t cluster_id)
      : cluster_id_(cluster_id),
        factory_(environment, {.cluster_id = cluster_id}),
        directory_(environment.root() + "/data" + std::to_string(cluster_id)) {
    Open();
  }
  void Open() {
    engine_ = nullptr;
    auto engine = factory_.Open(directory_);
    EXPECT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  void StopAndStart() {
    EXPECT_TRUE(engine_->Close().ok());
    Open();
  }

  // A client's write at that time of its clock. Returns what the other cluster gets.
  DuplicateRequest Write(WriteCode code, std::string body, int64_t wall_us) {
    const int64_t time_us = std::max(kBegin + wall_us, engine_->latest_timestamp_us() + 1);
    std::string logged = body;
    logged = WithTombstoneMark(code, std::move(logged));
    Apply(code, std::move(logged), time_us);
    DuplicateRequest sent{{{.timestamp_us = time_us,
                            .task_code = Blob(WriteCodeName(code)),
                            .raw_message = Blob(std::move(body)),
                            .cluster_id = static_cast<int8_t>(cluster_id_),
                            .source_decree = engine_->last_applied().value(),
                            .source_update = 1}}};
    sent.duplication_id = 7;
    return sent;
  }
  DuplicateRequest Put(const std::string& raw_key, const std::string& value, int64_t wall_us) {
    return Write(WriteCode::kPut, EncodeWrapped(UpdateRequest{raw_key, value, 0}), wall_us);
  }
  DuplicateRequest Remove(const std::string& raw_key, int64_t wall_us) {
    return Write(WriteCode::kRemove, EncodeWrapped(Blob(raw_key)), wall_us);
  }
  // Whether something of it was logged.
  bool Take(DuplicateRequest request, Compares compares = Compares::kAll) {
    int64_t time_us = engine_->latest_timestamp_us() + 1;
    for (const DuplicateEntry& entry : request.entries)
      time_us = std::max(time_us, *entry.timestamp_us + 1);
    DuplicateJudge judge(std::move(request), compares);
    EXPECT_TRUE(judge.Look(*engine_, ReadTier::kAll).ok());
    std::optional<std::string> kept = std::move(judge).Keep();
    if (!kept) return false;
    Apply(WriteCode::kDuplicate, *std::move(kept), time_us);
    return true;
  }
  std::string Read(const std::string& raw_key) const {
    const auto record = engine_->Get(raw_key, 0, ReadTier::kAll);
    return record.ok() ? record->value : "none";
  }
  Engine& engine() { return *engine_; }

 private:
  void Apply(WriteCode code, std::string body, int64_t time_us) {
    Mutation mutation{.decree = engine_->last_applied() + 1, .timestamp_us = time_us};
    mutation.updates = {{.code = code, .serialization = 1, .data = std::move(body)}};
    const auto operations = MutationOperations::Decode(mutation, *engine_, ReadTier::kAll);
    ASSERT_TRUE(operations.ok()) << operations.status();
    const Engine::AppliedMutation applied = operations->applied();
    ASSERT_TRUE(engine_->ApplyAll({&applied, 1}).ok());
  }

  const uint8_t cluster_id_;
  MemoryEngineFactory factory_;
  const std::string directory_;
  std::unique_ptr<Engine> engine_;
};

class DuplicateJudgeTest : public testing::Test {
 protected:
  TestEnvironment environment_;
  Site one_{environment_, 1}, two_{environment_, 2};
  const std::string k_ = JoinRawKey("h", "k"), l_ = JoinRawKey("h", "l");
};

// Two writes of each cluster to one record, each a put or a remove, in every order in which they
// can be made and can arrive, by clocks that agree, so that times are equal, and that don't.
TEST_F(DuplicateJudgeTest, BothClustersEndAlikeInEveryOrderOfConflictingWrites) {
  // What happens next: a write here or there, an arrival there or here.
  using Order = std::vector<int>;
  std::vector<Order> orders;
  std::function<void(Order, int, int, int, int)> grow = [&](Order order, int a, int b, int at_two,
                                                            int at_one) {
    if (order.size() == 8) return orders.push_back(order);
    const auto with = [&order](int step) {
      Order longer = order;
      longer.push_back(step);
      return longer;
    };
    if (a < 2) grow(with(0), a + 1, b, at_two, at_one);
    if (b < 2) grow(with(1), a, b + 1, at_two, at_one);
    if (at_two < a) grow(with(2), a, b, at_two + 1, at_one);
    if (at_one < b) grow(with(3), a, b, at_two, at_one + 1);
  };
  grow({}, 0, 0, 0, 0);
  ASSERT_EQ(orders.size(), 280u);
  int runs = 0, present = 0, refused = 0;
  for (const Order& order : orders) {
    for (int kinds = 0; kinds < 16; ++kinds) {
      for (const int64_t ahead : {0, 3, -3}) {
        const std::string key = JoinRawKey("h", std::to_string(++runs));
        const int64_t now = runs * int64_t{1000};
        std::deque<DuplicateRequest> to_one, to_two;
        std::vector<DuplicateRequest> sent_to_one, sent_to_two;
        int writes = 0;
        for (const int step : order) {
          if (step < 2) {
            Site& site = step == 0 ? one_ : two_;
            const int64_t wall = now + (step == 1 ? ahead : 0);
            const bool is_put = (kinds >> writes++ & 1) == 0;
            const DuplicateRequest sent =
                is_put ? site.Put(key, std::to_string(writes), wall) : site.Remove(key, wall);
            (step == 0 ? to_two : to_one).push_back(sent);
            (step == 0 ? sent_to_two : sent_to_one).push_back(sent);
          } else {
            auto& queue = step == 2 ? to_two : to_one;
            if (!(step == 2 ? two_ : one_).Take(queue.front())) ++refused;
            queue.pop_front();
          }
        }
        ASSERT_EQ(one_.Read(key), two_.Read(key)) << "order " << testing::PrintToString(order)
                                                  << ", kinds " << kinds << ", clock " << ahead;
        if (one_.Read(key) != "none") ++present;
        // All of it comes again, late.
        for (const DuplicateRequest& again : sent_to_one) ASSERT_FALSE(one_.Take(again));
        for (const DuplicateRequest& again : sent_to_two) ASSERT_FALSE(two_.Take(again));
      }
    }
  }
  EXPECT_EQ(runs, 280 * 16 * 3);
  EXPECT_GT(present, 3000);
  EXPECT_GT(refused, 3000) << "conflicts that the one that arrives loses";
}

TEST_F(DuplicateJudgeTest, ARemoveIsNotUndoneByAnOlderPutThatComesLater) {
  const DuplicateRequest put = two_.Put(k_, "old", 10);
  one_.Put(k_, "new", 20);
  one_.Remove(k_, 30);
  one_.StopAndStart();
  EXPECT_FALSE(one_.Take(put));
  EXPECT_EQ(one_.Read(k_), "none");
  EXPECT_TRUE(one_.Take(two_.Put(k_, "newer", 40)));
  EXPECT_EQ(one_.Read(k_), "newer") << "a tombstone stops only what is older";
  EXPECT_FALSE(one_.Take({{PutOf(k_, "old", 35)}}));
}

TEST_F(DuplicateJudgeTest, AnotherClustersRemoveLeavesATombstoneToo) {
  EXPECT_TRUE(one_.Take({{RemoveOf(k_, 30)}}));
  one_.StopAndStart();
  EXPECT_FALSE(one_.Take({{PutOf(k_, "old", 20)}}));
  EXPECT_EQ(one_.Read(k_), "none");
  EXPECT_TRUE(one_.Take({{PutOf(k_, "same time", 30, 3)}})) << "the larger id";
}

TEST_F(DuplicateJudgeTest, OfSeveralRecordsThoseThatLoseAreLeftOut) {
  one_.Put(k_, "mine", 20);
  const DuplicateEntry put = Entry(
      WriteCode::kMultiPut,
      MultiPutRequest{.hash_key = "h", .kvs = {{"k", "theirs", {}}, {"l", "theirs", {}}}}, 10);
  EXPECT_TRUE(one_.Take({{put}}));
  EXPECT_EQ(one_.Read(k_), "mine");
  EXPECT_EQ(one_.Read(l_), "theirs");
  one_.Put(l_, "mine", 40);
  const DuplicateEntry remove = Entry(
      WriteCode::kMultiRemove, MultiRemoveRequest{.hash_key = "h", .sort_keys = {"k", "l"}}, 30);
  EXPECT_TRUE(one_.Take({{remove}}));
  EXPECT_EQ(one_.Read(k_), "none");
  EXPECT_EQ(one_.Read(l_), "mine");
  EXPECT_FALSE(one_.Take({{Entry(WriteCode::kMultiRemove,
                                 MultiRemoveRequest{.hash_key = "h", .sort_keys = {"l"}}, 30)}}));
}

// Updates that share a mutation share its time, and the last of them counts at their source; a
// request may end between them.
TEST_F(DuplicateJudgeTest, UpdatesOfOneMutationKeepTheirOrder) {
  EXPECT_TRUE(one_.Take({{PutOf(k_, "1", 10), RemoveOf(k_, 10), PutOf(k_, "2", 10)}}));
  EXPECT_EQ(one_.Read(k_), "2");
  EXPECT_TRUE(one_.Take({{PutOf(k_, "3", 10)}}));
  EXPECT_EQ(one_.Read(k_), "3");
  EXPECT_TRUE(one_.Take({{RemoveOf(k_, 10)}}));
  EXPECT_EQ(one_.Read(k_), "none");
}

TEST_F(DuplicateJudgeTest, WhatHasNoTimeIsTakenAsItComes) {
  one_.Put(k_, "mine", 20);
  EXPECT_TRUE(one_.Take({{PutOf(k_, "prepared again by Pegasus", 0)}}));
  EXPECT_EQ(one_.Read(k_), "prepared again by Pegasus");
}

TEST_F(DuplicateJudgeTest, WhereOneClusterWritesTheLastArrivalWins) {
  one_.Put(k_, "mine", 20);
  EXPECT_TRUE(one_.Take({{PutOf(k_, "theirs", 10)}}, Compares::kAsked));
  EXPECT_EQ(one_.Read(k_), "theirs");
  one_.Put(k_, "mine", 20);
  DuplicateEntry yields = PutOf(k_, "theirs", 10);
  yields.verify_timetag = true;
  EXPECT_FALSE(one_.Take({{yields}}, Compares::kAsked));
  EXPECT_TRUE(one_.Take({{yields, PutOf(l_, "theirs", 10)}}, Compares::kAsked));
  EXPECT_EQ(one_.Read(k_), "mine");
  EXPECT_EQ(one_.Read(l_), "theirs");
}

class DuplicatePlacesTest : public DuplicateJudgeTest {
 protected:
  // Update `update` of a source's decree, at that time; its value is the number.
  DuplicateEntry At(int64_t decree, int32_t update, int64_t time_us = 0) {
    DuplicateEntry entry = PutOf(k_, std::to_string(++value_), time_us == 0 ? decree : time_us);
    entry.source_decree = decree;
    entry.source_update = update;
    return entry;
  }
  bool Take(std::vector<DuplicateEntry> entries, int64_t duplication_id = 7) {
    DuplicateRequest request{std::move(entries)};
    request.duplication_id = duplication_id;
    return one_.Take(std::move(request), Compares::kAsked);
  }
  int value_ = 0;
};

TEST_F(DuplicatePlacesTest, WhatComesTwiceIsTakenOnceAfterAStartToo) {
  const std::vector<DuplicateEntry> first = {At(5, 1), At(5, 2)}, second = {At(5, 3), At(6, 1)};
  EXPECT_TRUE(Take(first));
  EXPECT_EQ(one_.Read(k_), "2");
  EXPECT_FALSE(Take(first));
  EXPECT_TRUE(Take(second));
  EXPECT_EQ(one_.Read(k_), "4");
  one_.StopAndStart();
  EXPECT_FALSE(Take(first));
  EXPECT_FALSE(Take(second));
  EXPECT_EQ(one_.Read(k_), "4");
  EXPECT_TRUE(Take({first[1], second[0], second[1], At(6, 2)})) << "a new primary cuts otherwise";
  EXPECT_EQ(one_.Read(k_), "5");
  EXPECT_EQ(one_.engine().PositionOf(2, 7), (SourcePosition{2, 7, Decree(6), 2, kBegin + 6}));
}

TEST_F(DuplicatePlacesTest, ASourceWhoseHistoryBeganAnewIsHeard) {
  EXPECT_TRUE(Take({At(5, 1, 100)}));
  EXPECT_FALSE(Take({At(1, 1, 50)}));
  EXPECT_TRUE(Take({At(1, 1, 200)})) << "no earlier decree has a later time";
  EXPECT_FALSE(Take({At(1, 1, 200)}));
  EXPECT_TRUE(Take({At(2, 1, 201)}));
  EXPECT_EQ(one_.Read(k_), "5");
}

TEST_F(DuplicatePlacesTest, AnotherDuplicationHasItsOwnPlace) {
  EXPECT_TRUE(Take({At(5, 1)}));
  EXPECT_TRUE(Take({At(4, 1)}, 8));
  EXPECT_FALSE(Take({At(4, 1)}, 8));
  EXPECT_FALSE(Take({At(4, 1)}, 7));
}

TEST_F(DuplicatePlacesTest, WhatIsLeftOutIsPassedAsWell) {
  one_.Put(k_, "mine", 100);
  DuplicateRequest request{{PutOf(l_, "1", 10), PutOf(k_, "2", 11)}};
  request.duplication_id = 7;
  for (int i = 0; i < 2; ++i) {
    request.entries[i].source_decree = 5 + i;
    request.entries[i].source_update = 1;
  }
  EXPECT_TRUE(one_.Take(request));
  EXPECT_EQ(one_.engine().PositionOf(2, 7), (SourcePosition{2, 7, Decree(6), 1, kBegin + 11}));
}

TEST(DuplicateJudgeNeedTest, AnOlderSendersWritesAreLoggedAsTheyCome) {
  const std::string key = JoinRawKey("h", "k");
  DuplicateRequest request{{PutOf(key, "v", 1)}};
  EXPECT_FALSE(DuplicateJudge::IsNeeded(request, Compares::kAsked));
  EXPECT_TRUE(DuplicateJudge::IsNeeded(request, Compares::kAll));
  request.is_judged = true;
  EXPECT_TRUE(DuplicateJudge::IsNeeded(request, Compares::kAsked)) << "only a primary says so";
  DuplicateJudge judge(request, Compares::kAsked);
  const auto logged = DecodeWrapped<DuplicateRequest>(*std::move(judge).Keep());
  EXPECT_FALSE(logged->is_judged.has_value());
}

}  // namespace
}  // namespace arion
