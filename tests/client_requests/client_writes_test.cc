// Clients' writes by themselves, with a core that does what a test tells it to.
// SPDX-License-Identifier: Apache-2.0
#include "client_requests/client_writes.h"

#include <gmock/gmock.h>

#include <deque>

#include "data_api/duplicated_writes.h"
#include "messages/client_messages.h"
#include "messages/duplicate_messages.h"
#include "tests/client_requests/served_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class ClientWritesTest : public ServedWorld {
 protected:
  void Put(int number, int key, Instant deadline = Instant::InfiniteFuture()) {
    Do([&] {
      writes_.Write(WriteCode::kPut,
                    Inbound(number, EncodeWrapped(UpdateRequest{Key(key), "v", 0})),
                    {.arrived = env_.clock().Now(), .deadline = deadline});
    });
  }
  void Incr(int number, int key) {
    Do([&] {
      writes_.Write(WriteCode::kIncr,
                    Inbound(number, EncodeWrapped(IncrRequest{.key = Key(key), .increment = 1})),
                    {.arrived = env_.clock().Now()});
    });
  }
  // The core has committed the first that it was given, or refuses it.
  void Answer(ErrorCode error = ErrorCode::kOk) {
    ASSERT_FALSE(ordered_.empty());
    const ClientToken token = ordered_.front();
    ordered_.pop_front();
    Do([&] {
      writes_.Answer({.token = token, .err = error, .decree = Decree(1)}, env_.clock().Now());
      writes_.Begin();
    });
  }

  ClientToken next_ = 1;
  std::deque<ClientToken> ordered_;
  ClientWrites writes_{partition_,
                       admission_,
                       {.request_bytes_max = 1000,
                        .duplication_group = {.ids = {{"here", 1}, {"there", 2}}, .own_id = 1}},
                       {.new_token = [this] { return next_++; },
                        .order =
                            [this](const ClientWrite& write) {
                              ordered_.push_back(write.token);
                              last_updates_ = write.updates;
                              last_time_us_ = write.received_at_us;
                            },
                        .is_duplicated = [this] { return partition_.office.app().duplicating; }}};
  int64_t last_time_us_ = 0;
  std::vector<Update> last_updates_;

  // Another cluster's put.
  static DuplicateEntry Entry(std::string raw_key, int8_t cluster_id = 2, std::string value = "v") {
    return {.timestamp_us = 1,
            .task_code = Blob(WriteCodeName(WriteCode::kPut)),
            .raw_message = Blob(EncodeWrapped(UpdateRequest{std::move(raw_key), value, 0})),
            .cluster_id = cluster_id};
  }
  // A key of the partition that is served, of another hash key for each name.
  static std::string Of(const std::string& name) {
    std::string hash_key = name;
    for (int i = 0; PartitionHash(hash_key, "") % 4 != kServed.index; ++i)
      hash_key = absl::StrCat(name, i);
    return JoinRawKey(hash_key, "s");
  }
  void Duplicate(int number, std::string body) {
    Do([&] {
      writes_.Write(WriteCode::kDuplicate, Inbound(number, std::move(body)),
                    {.arrived = env_.clock().Now()});
    });
  }
  void Duplicate(int number, std::vector<DuplicateEntry> entries) {
    Duplicate(number, EncodeWrapped(DuplicateRequest{std::move(entries)}));
  }
};

TEST_F(ClientWritesTest, AWriteIsAnsweredWhenTheCoreHasAnswered) {
  Put(1, 1);
  EXPECT_THAT(ordered_, ElementsAre(1));
  EXPECT_THAT(Taken(), IsEmpty());
  Answer();
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
}

// Else what this server leads is in times that another cluster does not take for weeks.
TEST_F(ClientWritesTest, AWriteHasTheTimeThatTheClusterAgreesOn) {
  const Instant now = env_.clock().Now();
  const int64_t agreed_us = env_.clock().WallMicros() - absl::ToInt64Microseconds(absl::Hours(900));
  env_.clock().agreed().Agree(agreed_us, now);
  Put(1, 1);
  EXPECT_GE(last_time_us_, agreed_us);
  EXPECT_LT(last_time_us_, agreed_us + 1000000);
}

TEST_F(ClientWritesTest, KeysOfOtherPartitionsAreNotWrittenWhateverTheHeaderSays) {
  const auto put = [&](int number, const char* hash_key, uint64_t header_hash) {
    Do([&] {
      writes_.Write(WriteCode::kPut,
                    Inbound(number, EncodeWrapped(UpdateRequest{JoinRawKey(hash_key, "s"), "v", 0}),
                            header_hash),
                    {.arrived = env_.clock().Now()});
    });
    const Answers answers = Taken();
    return answers.empty() ? ErrorCode::kOk : answers[0].second;
  };
  EXPECT_EQ(put(1, kElsewhere, 8), ErrorCode::kOk) << "not checked";
  Split(8);
  EXPECT_EQ(put(2, kStays, 9), ErrorCode::kOk);
  EXPECT_EQ(put(3, kStays, 0), ErrorCode::kOk) << "an old Python client";
  EXPECT_EQ(put(4, kStays, 5), ErrorCode::kParentPartitionMisused);
  EXPECT_EQ(put(5, kMoves, 0), ErrorCode::kParentPartitionMisused);
  EXPECT_EQ(put(6, kMoves, 9), ErrorCode::kParentPartitionMisused);
  EXPECT_EQ(ordered_.size(), 3u);
}

TEST_F(ClientWritesTest, WhatWaitedOverASplitIsJudgedByTheNewCount) {
  const std::string key = JoinRawKey(kMoves, "s");
  const auto write = [&](int number, WriteCode code, std::string body) {
    Do([&] {
      writes_.Write(code, Inbound(number, std::move(body)), {.arrived = env_.clock().Now()});
    });
  };
  write(1, WriteCode::kPut, EncodeWrapped(UpdateRequest{key, "1", 0}));
  write(2, WriteCode::kIncr, EncodeWrapped(IncrRequest{.key = key, .increment = 1}));
  write(3, WriteCode::kPut, EncodeWrapped(UpdateRequest{key, "3", 0}));
  EXPECT_THAT(ordered_, ElementsAre(1));
  Split(8);
  Answer();
  EXPECT_THAT(Taken(), UnorderedElementsAre(Pair(1, ErrorCode::kOk),
                                            Pair(2, ErrorCode::kParentPartitionMisused),
                                            Pair(3, ErrorCode::kParentPartitionMisused)));
  EXPECT_THAT(ordered_, IsEmpty());
}

TEST_F(ClientWritesTest, WhatIsCommittedWithoutTheLeaseIsNotConfirmed) {
  Put(1, 1);
  office_.holds_lease = false;
  Answer();
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kTimeout)));
}

TEST_F(ClientWritesTest, AWriteThatNeedsARecordWaitsForEarlierOnesToItsHashKey) {
  Put(1, 1);
  Incr(2, 2);
  Put(3, 3);
  EXPECT_THAT(ordered_, ElementsAre(1)) << "what came later waits behind the one that waits";
  Answer();
  EXPECT_THAT(ordered_, ElementsAre(2, 3));
  Answer();
  Answer();
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk), Pair(2, ErrorCode::kOk),
                                   Pair(3, ErrorCode::kOk)));
}

TEST_F(ClientWritesTest, BehindTheBarrierNothingIsDecided) {
  office_.read_gate = ErrorCode::kInvalidState;
  Incr(1, 1);
  EXPECT_THAT(ordered_, IsEmpty());
  office_.read_gate = ErrorCode::kOk;
  Do([&] { writes_.Begin(); });
  EXPECT_THAT(ordered_, ElementsAre(1));
}

TEST_F(ClientWritesTest, WhatTheCoreDoesNotHaveIsRefusedWithTheOffice) {
  Put(1, 1);
  Incr(2, 2);
  Do([&] { writes_.RefuseUndecided(ErrorCode::kInvalidState); });
  EXPECT_THAT(Taken(), ElementsAre(Pair(2, ErrorCode::kInvalidState)));
  Answer();
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
  EXPECT_THAT(ordered_, IsEmpty());
}

TEST_F(ClientWritesTest, AtTheEndOnlyTheOutcomeOfWhatTheCoreHasIsUnknown) {
  Put(1, 1);
  Incr(2, 2);
  office_.is_closed = true;
  Do([&] { writes_.Close(); });
  EXPECT_THAT(Taken(),
              ElementsAre(Pair(1, ErrorCode::kTimeout), Pair(2, ErrorCode::kInvalidState)));
}

TEST_F(ClientWritesTest, GatesAndFormAreLookedAtFirst) {
  office_.space_gate = ErrorCode::kDiskInsufficient;
  Put(1, 1);
  office_.space_gate = ErrorCode::kOk;
  office_.write_gate = ErrorCode::kNotEnoughMember;
  Put(2, 1);
  office_.write_gate = ErrorCode::kOk;
  Do([&] { writes_.Write(WriteCode::kPut, Inbound(3, std::string(2000, 'x')), {}); });
  Do([&] { writes_.Write(WriteCode::kPut, Inbound(4, "no request"), {}); });
  Put(5, 1, env_.clock().Now());
  EXPECT_THAT(
      Taken(),
      ElementsAre(Pair(1, ErrorCode::kDiskInsufficient), Pair(2, ErrorCode::kNotEnoughMember),
                  Pair(3, ErrorCode::kInvalidData), Pair(4, ErrorCode::kInvalidData)))
      << "nobody waits for the fifth";
  EXPECT_THAT(ordered_, IsEmpty());
}

TEST_F(ClientWritesTest, ADuplicateIsLoggedAsItCameAndAnsweredWhenItIsDone) {
  const std::string body = EncodeWrapped(DuplicateRequest{{Entry(Of("a")), Entry(Of("b"))}});
  Duplicate(1, body);
  EXPECT_EQ(last_updates_, (std::vector<Update>{{WriteCode::kDuplicate, 1, body}}));
  EXPECT_THAT(Taken(), IsEmpty());
  Answer();
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
  EXPECT_EQ(*DecodeWrapped<DuplicateResponse>(last_body_), DuplicateResponse{.error = 0});
  const RequestBook::Row row = book_->Read(RequestBook::Level::kTable).at(0);
  EXPECT_EQ(row.by_kind.at(RequestKind::kDuplicate).latency.count, 1u);
  EXPECT_EQ(row.duplicate_lag.count, 2u);
  EXPECT_EQ(row.counts[static_cast<size_t>(ReplicaCount::kLateDuplicates)], 2u) << "since 1970";
}

// A sender of 2.5.0 ends its process where the answer says kInvalidArgument, and repeats the
// request after anything else.
TEST_F(ClientWritesTest, OfADuplicateOnlyWhatItsOperatorMustChangeIsAnInvalidArgument) {
  Duplicate(1, {Entry(Of("a")), Entry(Of("b"), 1)});
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
  EXPECT_EQ(*DecodeWrapped<DuplicateResponse>(last_body_),
            (DuplicateResponse{.error = 4, .error_hint = "self-duplicating"}));
  const auto refused = [&](std::vector<DuplicateEntry> entries) {
    Duplicate(2, std::move(entries));
    const Answers answers = Taken();
    return answers.empty() ? ErrorCode::kOk : answers[0].second;
  };
  Duplicate(2, "no request");
  EXPECT_THAT(Taken(), ElementsAre(Pair(2, ErrorCode::kInvalidData)));
  Duplicate(2, EncodeWrapped(Entry(Of("a"))));
  EXPECT_THAT(Taken(), ElementsAre(Pair(2, ErrorCode::kInvalidData))) << "of 2.3";
  EXPECT_EQ(refused({Entry(Of("a")), Entry("\x01")}), ErrorCode::kInvalidData);
  EXPECT_EQ(refused({Entry(Of("a")), Entry(Of("b"), 2, std::string(1000, 'x'))}),
            ErrorCode::kInvalidData);
  // The sender's table has another partition count, and nobody looked.
  EXPECT_EQ(refused({Entry(Of("a")), Entry(JoinRawKey(kElsewhere, "s"))}),
            ErrorCode::kParentPartitionMisused);
  Split(8);
  EXPECT_EQ(refused({Entry(Of(kStays)), Entry(Of(kMoves))}), ErrorCode::kParentPartitionMisused);
  EXPECT_THAT(ordered_, IsEmpty()) << "nothing of them";
  EXPECT_EQ(refused({Entry(Of(kStays))}), ErrorCode::kOk);
  EXPECT_THAT(ordered_, ElementsAre(testing::_));
}

TEST_F(ClientWritesTest, TogetherTheWritesOfADuplicateMayBeMoreThanOneMay) {
  std::vector<DuplicateEntry> entries;
  for (int i = 0; i < 20; ++i) entries.push_back(Entry(Of("a"), 2, std::string(900, 'x')));
  Duplicate(1, std::move(entries));
  EXPECT_THAT(ordered_, ElementsAre(1));
}

TEST_F(ClientWritesTest, ADuplicateWithoutAWriteIsDoneAtOnce) {
  Duplicate(1, std::vector<DuplicateEntry>{});
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
  EXPECT_EQ(*DecodeWrapped<DuplicateResponse>(last_body_), DuplicateResponse{.error = 0});
}

TEST_F(ClientWritesTest, WithoutAGroupNoDuplicateIsTakenAndNoSenderEnds) {
  ClientWrites none{partition_, admission_, {}, {}};
  Do([&] {
    none.Write(WriteCode::kDuplicate, Inbound(1, EncodeWrapped(DuplicateRequest{{Entry(Of("a"))}})),
               {});
  });
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOperationDisabled)));
}

// client_writes/W1 for a write of several hash keys.
TEST_F(ClientWritesTest, ADuplicateKeepsTheOrderOfEachOfItsHashKeys) {
  const auto incr = [&](int number, const char* hash_key) {
    Do([&] {
      writes_.Write(
          WriteCode::kIncr,
          Inbound(number, EncodeWrapped(IncrRequest{.key = Of(hash_key), .increment = 1})),
          {.arrived = env_.clock().Now()});
    });
  };
  office_.read_gate = ErrorCode::kInvalidState;
  incr(1, "a");
  Duplicate(2, {Entry(Of("b")), Entry(Of("a")), Entry(Of("b")), Entry(Of("c"))});
  Do([&] {
    writes_.Write(WriteCode::kPut, Inbound(3, EncodeWrapped(UpdateRequest{Of("c"), "v", 0})),
                  {.arrived = env_.clock().Now()});
  });
  incr(4, "b");
  EXPECT_THAT(ordered_, IsEmpty()) << "the first looks at its record";
  office_.read_gate = ErrorCode::kOk;
  Do([&] { writes_.Begin(); });
  EXPECT_THAT(ordered_, ElementsAre(1, 2, 3));
  Answer();
  EXPECT_THAT(ordered_, ElementsAre(2, 3));
  Answer();
  EXPECT_THAT(ordered_, ElementsAre(3, 4)) << "it looked at what the second left";
  Answer();
  Answer();
  EXPECT_EQ(Taken().size(), 4u);
}

// client_writes/W4
TEST_F(ClientWritesTest, WhatComesBehindADuplicateHasALaterTime) {
  const int64_t now = env_.clock().WallMicros();
  DuplicateEntry ahead = Entry(Of("a"));
  ahead.timestamp_us = now + 1000000;
  Duplicate(1, {ahead, Entry(Of("b"))});
  EXPECT_EQ(last_time_us_, now + 1000001);
  // As if the server had been started anew: the engine alone knows.
  const std::string key = Key(1);
  const WriteOp op{.key = key, .value = "v"};
  ASSERT_TRUE(engine_->Apply(Decree(1), now + 5000000, {&op, 1}).ok());
  Put(2, 2);
  EXPECT_EQ(last_time_us_, now + 5000001);
}

TEST_F(ClientWritesTest, WhereBothClustersWriteTheLaterWriteStaysWhicheverComesFirst) {
  office_.table.duplicating = true;
  const int64_t now = env_.clock().WallMicros();
  const std::string a = Of("a"), b = Of("b");
  const WriteOp ops[] = {{.key = a, .value = "local"}, {.key = b, .value = "local"}};
  ASSERT_TRUE(engine_->Apply(Decree(1), now, ops).ok());
  const auto at = [](DuplicateEntry entry, int64_t time_us) {
    entry.timestamp_us = time_us;
    return entry;
  };
  Duplicate(1, {at(Entry(a), now - 1), at(Entry(b), now + 1)});
  ASSERT_THAT(ordered_, ElementsAre(1));
  const auto logged = DecodeWrapped<DuplicateRequest>(last_updates_.at(0).data);
  ASSERT_TRUE(logged.ok());
  ASSERT_EQ(logged->entries.size(), 1u);
  EXPECT_EQ(logged->entries[0].timestamp_us, now + 1);
  EXPECT_EQ(logged->is_judged, true);
  Answer();
  Taken();
  Duplicate(2, {at(Entry(a), now - 1)});
  EXPECT_THAT(Taken(), ElementsAre(Pair(2, ErrorCode::kOk))) << "nothing of it is logged";
  EXPECT_EQ(*DecodeWrapped<DuplicateResponse>(last_body_), DuplicateResponse{.error = 0});
  Duplicate(3, {at(Entry(a), now)});
  EXPECT_THAT(ordered_, ElementsAre(3)) << "of two equal times the larger cluster's";
}

TEST_F(ClientWritesTest, WhatAsksToYieldDoesSoInAnyTable) {
  const std::string a = Of("a");
  const WriteOp op{.key = a, .value = "local"};
  ASSERT_TRUE(engine_->Apply(Decree(1), 100, {&op, 1}).ok());
  DuplicateEntry yields = Entry(a);
  yields.verify_timetag = true;
  Duplicate(1, {yields});
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
  EXPECT_THAT(ordered_, IsEmpty());
  Duplicate(2, {Entry(a)});
  EXPECT_THAT(ordered_, ElementsAre(2)) << "the last one to arrive wins";
}

// The engine does not have the first one when the second comes.
TEST_F(ClientWritesTest, WhatComesTwiceWaitsForItsFirstTimeAndIsNotLoggedAgain) {
  DuplicateRequest request{{Entry(Of("a")), Entry(Of("b"))}};
  request.duplication_id = 9;
  for (int i = 0; i < 2; ++i) {
    request.entries[i].source_decree = 5;
    request.entries[i].source_update = i + 1;
  }
  Duplicate(1, EncodeWrapped(request));
  Duplicate(2, EncodeWrapped(request));
  ASSERT_THAT(ordered_, ElementsAre(1));
  const auto logged = DecodeWrapped<DuplicateRequest>(last_updates_.at(0).data);
  EXPECT_EQ(logged->source_decree, 5);
  EXPECT_EQ(logged->source_update, 2);
  const Engine::AppliedMutation applied{.decree = Decree(1),
                                        .timestamp_us = 2,
                                        .ops = {},
                                        .position = SourcePosition{2, 9, Decree(5), 2, 1}};
  ASSERT_TRUE(engine_->ApplyAll({&applied, 1}).ok());
  Answer();
  EXPECT_THAT(Taken(), UnorderedElementsAre(Pair(1, ErrorCode::kOk), Pair(2, ErrorCode::kOk)));
  EXPECT_THAT(ordered_, IsEmpty());
  request.entries[1].source_update = 3;
  Duplicate(3, EncodeWrapped(request));
  ASSERT_THAT(ordered_, ElementsAre(3));
  EXPECT_EQ(DecodeWrapped<DuplicateRequest>(last_updates_.at(0).data)->entries.size(), 1u);
}

TEST_F(ClientWritesTest, ManyRecordsAreLookedAtInThePool) {
  office_.table.duplicating = true;
  std::vector<DuplicateEntry> entries;
  for (int i = 0; i < 100; ++i) entries.push_back(Entry(Key(i)));
  Duplicate(1, entries);
  EXPECT_THAT(ordered_, IsEmpty());
  Put(2, 3);
  Run(absl::Seconds(1));
  EXPECT_THAT(ordered_, ElementsAre(1, 2));
}

TEST_F(ClientWritesTest, ADuplicateThatEnteredUnjudgedIsSentAgainWhereItMustBeJudgedByNow) {
  office_.read_gate = ErrorCode::kInvalidState;
  Incr(1, 1);
  Duplicate(2, {Entry(Key(1))});
  office_.table.duplicating = true;
  office_.read_gate = ErrorCode::kOk;
  Do([&] { writes_.Begin(); });
  EXPECT_THAT(ordered_, ElementsAre(1));
  EXPECT_THAT(Taken(), ElementsAre(Pair(2, ErrorCode::kBusy)));
}

TEST_F(ClientWritesTest, RemovesInADuplicatedTableLeaveTombstones) {
  const std::string body = EncodeWrapped(Blob(Key(1)));
  const auto remove = [&](int number) {
    Do([&] {
      writes_.Write(WriteCode::kRemove, Inbound(number, body), {.arrived = env_.clock().Now()});
    });
    return last_updates_.at(0).data;
  };
  EXPECT_EQ(remove(1), body);
  office_.table.duplicating = true;
  EXPECT_EQ(remove(2), WithTombstoneMark(WriteCode::kRemove, body));
}

TEST_F(ClientWritesTest, ADuplicateThatWaitsIsRefusedWithTheOfficeAndLeavesNothing) {
  Put(1, 1);
  Incr(2, 2);
  Duplicate(3, {Entry(Key(1)), Entry(Of("b"))});
  Do([&] { writes_.RefuseUndecided(ErrorCode::kInvalidState); });
  EXPECT_THAT(Taken(), UnorderedElementsAre(Pair(2, ErrorCode::kInvalidState),
                                            Pair(3, ErrorCode::kInvalidState)));
  EXPECT_FALSE(writes_.HasUndecided());
  Duplicate(4, {Entry(Of("b")), Entry(Of("c"))});
  EXPECT_THAT(ordered_, ElementsAre(1, 4));
}

TEST_F(ClientWritesTest, WhatIsHeldGoesOnAsItCame) {
  office_.write_gate = ErrorCode::kInvalidState;
  office_.is_between = true;
  Put(1, 1);
  EXPECT_THAT(Taken(), IsEmpty());
  office_.write_gate = ErrorCode::kOk;
  office_.is_between = false;
  Do([&] { admission_.ReleaseHeld(); });
  EXPECT_THAT(ordered_, ElementsAre(1));
}

}  // namespace
}  // namespace arion
