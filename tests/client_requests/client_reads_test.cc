// Clients' reads by themselves. SPDX-License-Identifier: Apache-2.0
#include "client_requests/client_reads.h"

#include <gmock/gmock.h>

#include "messages/client_messages.h"
#include "tests/client_requests/served_world.h"

namespace arion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class ClientReadsTest : public ServedWorld {
 protected:
  void Read(int number, ReadCode code, std::string body,
            Instant deadline = Instant::InfiniteFuture()) {
    Do([&] {
      reads_.Read(code, Inbound(number, std::move(body)),
                  {.arrived = env_.clock().Now(), .deadline = deadline});
    });
  }
  void Get(int number) { Read(number, ReadCode::kGet, EncodeWrapped(Blob(Key(1)))); }
  void Count(int number) { Read(number, ReadCode::kSortKeyCount, EncodeWrapped(Blob("g"))); }

  // The error of the answer.
  ErrorCode Asked(ReadCode code, std::string body, uint64_t hash) {
    Do([&] {
      reads_.Read(code, Inbound(0, std::move(body), hash), {.arrived = env_.clock().Now()});
    });
    Run(absl::Seconds(1));
    const Answers answers = Taken();
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? ErrorCode::kTimeout : answers[0].second;
  }
  static std::string FullScan(int32_t batch_size) {
    return EncodeWrapped(GetScannerRequest{.start_key = std::string(2, '\0'),
                                           .stop_key = "\xff\xff",
                                           .start_inclusive = true,
                                           .batch_size = batch_size});
  }
  static std::string ScanOf(const char* hash_key) {
    return EncodeWrapped(GetScannerRequest{.start_key = JoinRawKey(hash_key, ""),
                                           .stop_key = EndOfPrefix(JoinRawKey(hash_key, "")),
                                           .start_inclusive = true,
                                           .batch_size = 10});
  }

  ClientReads reads_{partition_, admission_, env_.random()};
};

TEST_F(ClientReadsTest, OneRecordIsAnsweredFromTheCache) {
  Get(1);
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
}

TEST_F(ClientReadsTest, RangesAreReadInThePool) {
  Count(1);
  EXPECT_THAT(Taken(), IsEmpty());
  Run(absl::Seconds(1));
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
}

TEST_F(ClientReadsTest, WhatWasReadCountsOnlyIfTheOfficeIsHeldStill) {
  Count(1);
  office_.holds_lease = false;
  Run(absl::Seconds(1));
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kInvalidState)));
  Get(2);
  EXPECT_THAT(Taken(), ElementsAre(Pair(2, ErrorCode::kInvalidState)));
}

TEST_F(ClientReadsTest, WhomNobodyWaitsForAnyMoreIsNotAnswered) {
  Read(1, ReadCode::kSortKeyCount, EncodeWrapped(Blob("g")), env_.clock().Now());
  Run(absl::Seconds(1));
  EXPECT_THAT(Taken(), IsEmpty());
}

TEST_F(ClientReadsTest, WhatDoesNotDecodeIsInvalid) {
  Read(1, ReadCode::kGet, "no request");
  Read(2, ReadCode::kMultiGet, "no request");
  Read(3, ReadCode::kScan, "no request");
  EXPECT_THAT(Taken(),
              ElementsAre(Pair(1, ErrorCode::kInvalidData), Pair(2, ErrorCode::kInvalidData),
                          Pair(3, ErrorCode::kInvalidData)));
}

TEST_F(ClientReadsTest, AScanThatIsNotKnownIsSaidSo) {
  Read(1, ReadCode::kScan, EncodeWrapped(ScanRequest{.context_id = 5}));
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
}

TEST_F(ClientReadsTest, AReadWaitsForTheConfiguration) {
  office_.read_gate = ErrorCode::kInvalidState;
  office_.is_between = true;
  Get(1);
  EXPECT_THAT(Taken(), IsEmpty());
  office_.read_gate = ErrorCode::kOk;
  office_.is_between = false;
  Do([&] { admission_.ReleaseHeld(); });
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kOk)));
}

// ---- a split ----

TEST_F(ClientReadsTest, KeysOfOtherPartitionsAreNotReadWhateverTheHeaderSays) {
  Split(8);
  const std::string moved = JoinRawKey(kMoves, "s");
  const std::pair<ReadCode, std::string> reads[] = {
      {ReadCode::kGet, EncodeWrapped(Blob(moved))},
      {ReadCode::kTtl, EncodeWrapped(Blob(moved))},
      {ReadCode::kMultiGet,
       EncodeWrapped(MultiGetRequest{.hash_key = kMoves, .start_inclusive = true})},
      {ReadCode::kMultiGet, EncodeWrapped(MultiGetRequest{.hash_key = kMoves, .sort_keys = {"s"}})},
      {ReadCode::kBatchGet, EncodeWrapped(BatchGetRequest{.keys = {{kStays, "s"}, {kMoves, "s"}}})},
      {ReadCode::kBatchGet,
       EncodeWrapped(BatchGetRequest{.keys = {1000, FullKey{kMoves, std::string(20, 's')}}})},
      {ReadCode::kSortKeyCount, EncodeWrapped(Blob(kMoves))},
      {ReadCode::kGetScanner, ScanOf(kMoves)}};
  for (const auto& [code, body] : reads)
    for (const uint64_t hash : {0, 9})
      EXPECT_EQ(Asked(code, body, hash), ErrorCode::kParentPartitionMisused)
          << static_cast<int>(code) << " " << hash;
  for (const uint64_t hash : {0, 9}) {
    EXPECT_EQ(Asked(ReadCode::kGet, EncodeWrapped(Blob(JoinRawKey(kStays, "s"))), hash),
              ErrorCode::kOk);
    EXPECT_EQ(Asked(ReadCode::kSortKeyCount, EncodeWrapped(Blob(kStays)), hash), ErrorCode::kOk);
    EXPECT_EQ(Asked(ReadCode::kGetScanner, ScanOf(kStays), hash), ErrorCode::kOk);
  }
  EXPECT_EQ(Asked(ReadCode::kSortKeyCount, EncodeWrapped(Blob(kStays)), 5),
            ErrorCode::kParentPartitionMisused);
}

TEST_F(ClientReadsTest, AReadThatASplitOvertakesIsNotAnswered) {
  Read(1, ReadCode::kSortKeyCount, EncodeWrapped(Blob(kMoves)));
  Split(8);
  Run(absl::Seconds(1));
  EXPECT_THAT(Taken(), ElementsAre(Pair(1, ErrorCode::kParentPartitionMisused)));
}

TEST_F(ClientReadsTest, AScanBegunBeforeASplitShowsAllAndOneBegunAfterItWhatStays) {
  for (const char* hash_key : {kStays, kMoves, "q"}) Apply(JoinRawKey(hash_key, "s"), "v");
  int64_t id = 0;
  const auto batch = [&](ReadCode code, std::string body) {
    EXPECT_EQ(Asked(code, std::move(body), 0), ErrorCode::kOk);
    const auto answer = DecodeWrapped<ScanResponse>(last_body_);
    EXPECT_TRUE(answer.ok()) << answer.status();
    id = answer->context_id;
    std::string keys;
    for (const KeyValue& kv : answer->kvs) keys += SplitRawKey(kv.key)->hash_key;
    return keys;
  };
  EXPECT_EQ(batch(ReadCode::kGetScanner, FullScan(1)), "g");
  const int64_t former = id;
  Split(8);
  EXPECT_EQ(batch(ReadCode::kGetScanner, FullScan(10)), "g");
  bool has_former = false;
  const auto look = [&] {
    Do([&] { has_former = reads_.HasFormerScans(); });
    return has_former;
  };
  EXPECT_TRUE(look());
  EXPECT_EQ(batch(ReadCode::kScan, EncodeWrapped(ScanRequest{.context_id = former})), "n");
  EXPECT_EQ(batch(ReadCode::kScan, EncodeWrapped(ScanRequest{.context_id = id})), "q");
  EXPECT_EQ(id, kScanEnded);
  EXPECT_FALSE(look());
}

TEST_F(ClientReadsTest, AFormerScanThatNobodyContinuesHoldsNothingUp) {
  Apply(JoinRawKey(kStays, "s"), "v");
  Apply(JoinRawKey(kMoves, "s"), "v");
  EXPECT_EQ(Asked(ReadCode::kGetScanner, FullScan(1), 0), ErrorCode::kOk);
  Split(8);
  Run(ScannerTable::kLifetime + absl::Seconds(1));
  Do([&] { EXPECT_FALSE(reads_.HasFormerScans()); });
}

TEST_F(ClientReadsTest, WhatWasReadIsSampled) {
  for (int i = 0; i < 16; ++i) Get(i);
  EXPECT_THAT(reads_.HotKeys(), ElementsAre(Key(1)));
}

}  // namespace
}  // namespace arion
