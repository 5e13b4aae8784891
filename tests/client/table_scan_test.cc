// SPDX-License-Identifier: Apache-2.0
#include "client/table_scan.h"

#include "base/crc.h"
#include "base/raw_key.h"
#include "tests/client/scripted_server.h"

namespace arion {
namespace {

class TableScanTest : public ScriptedServerTest {
 protected:
  std::string Drain(TableScan& scan) {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      auto batch = Outcome<std::vector<KeyValue>>([&](auto done) { scan.Next(std::move(done)); });
      if (!batch.ok()) return text + batch.status().ToString();
      if (batch->empty()) return text;
      for (const KeyValue& kv : *batch) text += SplitRawKey(kv.key)->sort_key;
      text += "|";
    }
    return text + "without end";
  }
  static ScanResponse Batch(std::vector<std::string> sort_keys, int64_t id) {
    ScanResponse response{.context_id = id};
    for (const std::string& key : sort_keys)
      response.kvs.push_back({JoinRawKey("h1", key), "v", {}});
    return response;
  }
};

TEST_F(TableScanTest, AScanOfAHashKeyFollowsItsIds) {
  answers_.push_back(Ok(Batch({"a", "b"}, 7)));
  answers_.push_back(Ok(Batch({}, 8)));
  answers_.push_back(Ok(Batch({"c"}, kScanEnded)));
  const auto scan =
      TableScan::OfHashKey(client_, "temp", {.start_key = JoinRawKey("h1", ""), .batch_size = 2});
  EXPECT_EQ(Drain(*scan), "ab|c|");
  EXPECT_EQ(asked_[0].pid, (PartitionId{2, 2}));
  EXPECT_EQ(DecodeWrapped<ScanRequest>(asked_[1].body)->context_id, 7);
  EXPECT_EQ(DecodeWrapped<ScanRequest>(asked_[2].body)->context_id, 8);
}

TEST_F(TableScanTest, AForgottenScanGoesOnBehindTheLastRecord) {
  answers_.push_back(Ok(Batch({"a", "b"}, 7)));
  answers_.push_back(Ok(ScanResponse{.error = 1}));
  answers_.push_back(Ok(Batch({"c"}, kScanEnded)));
  const auto scan = TableScan::OfHashKey(
      client_, "temp", {.start_key = JoinRawKey("h1", ""), .start_inclusive = true});
  EXPECT_EQ(Drain(*scan), "ab|c|");
  const auto again = DecodeWrapped<GetScannerRequest>(asked_[2].body);
  EXPECT_EQ(again->start_key.bytes, JoinRawKey("h1", "b"));
  EXPECT_FALSE(again->start_inclusive);
}

TEST_F(TableScanTest, AScanOfATableGoesThroughAllPartitions) {
  answers_.push_back(Ok(Batch({"a"}, 7)));
  answers_.push_back(Ok(Batch({"b"}, kScanEnded)));
  answers_.push_back(Ok(Batch({}, kScanEnded)));
  answers_.push_back(Ok(Batch({"c"}, kScanEnded)));
  answers_.push_back(Ok(Batch({"d"}, kScanEnded)));
  const auto scan = TableScan::OfTable(client_, "temp", {});
  EXPECT_EQ(Drain(*scan), "a|b|c|d|");
  std::vector<int32_t> partitions;
  for (const OutboundRequest& request : asked_) partitions.push_back(request.pid.index);
  EXPECT_EQ(partitions, (std::vector<int32_t>{3, 3, 2, 1, 0}));
  const auto first = DecodeWrapped<GetScannerRequest>(asked_[3].body);
  EXPECT_EQ(first->start_key.bytes, std::string(2, '\0')) << "each from its beginning";
  EXPECT_TRUE(first->start_inclusive);
}

TEST_F(TableScanTest, AFailedBatchMayBeAskedForAgain) {
  answers_.push_back(Ok(Batch({"a"}, kScanEnded)));
  answers_.push_back(RpcResult{.error = ErrorCode::kAclDeny});
  for (int i = 0; i < 3; ++i) answers_.push_back(Ok(Batch({std::to_string(i)}, kScanEnded)));
  const auto scan = TableScan::OfTable(client_, "temp", {});
  EXPECT_TRUE(Drain(*scan).starts_with("a|PERMISSION_DENIED"));
  EXPECT_EQ(Drain(*scan), "0|1|2|") << "no partition is left out";
}

TEST_F(TableScanTest, PartsAreTogetherTheWholeTable) {
  std::vector<int32_t> partitions;
  for (int32_t part : {0, 1, 2, 3, 4}) {
    for (int i = 0; i < 4; ++i) answers_.push_back(Ok(Batch({"a"}, kScanEnded)));
    const auto scan = TableScan::OfTable(client_, "temp", {}, {}, {.part = part, .parts = 5});
    EXPECT_EQ(Drain(*scan), part < 4 ? "a|" : "");
    EXPECT_EQ(Drain(*scan), "") << "it stays at its end";
    answers_.clear();
  }
  const auto evens = TableScan::OfTable(client_, "temp", {}, {}, {.part = 0, .parts = 2});
  for (int i = 0; i < 4; ++i) answers_.push_back(Ok(Batch({"e"}, kScanEnded)));
  EXPECT_EQ(Drain(*evens), "e|e|");
  for (const OutboundRequest& request : asked_) partitions.push_back(request.pid.index);
  EXPECT_EQ(partitions, (std::vector<int32_t>{0, 1, 2, 3, 2, 0}));
}

// Of each partition's records: the first hash key that falls into it.
class SplitScanTest : public TableScanTest {
 protected:
  static std::string KeyOf(int32_t index, int32_t count) {
    for (int i = 0;; ++i) {
      const std::string key = JoinRawKey(absl::StrCat("h", i), absl::StrCat(index));
      if (PartitionHash(key) % static_cast<uint64_t>(count) == static_cast<uint64_t>(index))
        return key;
    }
  }
  static ScanResponse Rows(std::vector<int32_t> indices, int32_t count, int64_t id = kScanEnded) {
    ScanResponse response{.context_id = id};
    for (const int32_t index : indices) response.kvs.push_back({KeyOf(index, count), "v", {}});
    return response;
  }
  // By who is asked next.
  void Split() { answers_.push_back(RpcResult{.error = ErrorCode::kParentPartitionMisused}); }
  std::vector<int32_t> AskedPartitions() const {
    std::vector<int32_t> partitions;
    for (const OutboundRequest& request : asked_) partitions.push_back(request.pid.index);
    return partitions;
  }
};

TEST_F(SplitScanTest, UntilPartitionsAreMadeTheirParentsAreReadForThem) {
  count_ = 8;
  made_ = 7;  // the last one has the parent 3
  for (int32_t index : {6, 5, 4}) answers_.push_back(Ok(Rows({index}, 8)));
  answers_.push_back(Ok(Rows({3, 7}, 8)));
  for (int32_t index : {2, 1, 0}) answers_.push_back(Ok(Rows({index}, 8)));
  const auto scan = TableScan::OfTable(client_, "temp", {});
  EXPECT_EQ(Drain(*scan), "6|5|4|37|2|1|0|");
  EXPECT_EQ(AskedPartitions(), (std::vector<int32_t>{6, 5, 4, 3, 2, 1, 0}));
  // By the first split of the parent the server would refuse.
  EXPECT_EQ(asked_[3].partition_hash, 7);
}

TEST_F(SplitScanTest, WhatIsLeftWhenATableIsSplitIsReadFromBothHalves) {
  answers_.push_back(Ok(Rows({3}, 4)));
  answers_.push_back(Ok(Rows({2}, 8, 5)));
  answers_.push_back(Ok(ScanResponse{.error = 1}));  // forgotten behind the first record
  Split();
  answers_.push_back(Ok(Rows({6}, 8)));
  answers_.push_back(Ok(Rows({}, 8)));
  for (int32_t index : {5, 1, 4, 0}) answers_.push_back(Ok(Rows({index}, 8)));
  const auto scan = TableScan::OfTable(client_, "temp", {});
  EXPECT_EQ(Drain(*scan), "3|2|6|5|1|4|0|");
  EXPECT_EQ(AskedPartitions(), (std::vector<int32_t>{3, 2, 2, 2, 6, 2, 5, 1, 4, 0}));
  for (size_t i : {4, 5}) {
    const auto half = DecodeWrapped<GetScannerRequest>(asked_[i].body);
    EXPECT_EQ(half->start_key.bytes, KeyOf(2, 8)) << "behind what was read";
    EXPECT_FALSE(half->start_inclusive);
  }
  EXPECT_EQ(DecodeWrapped<GetScannerRequest>(asked_[6].body)->start_key.bytes,
            std::string(2, '\0'));
}

TEST_F(SplitScanTest, BehindAKeyItBeginsThere) {
  answers_.push_back(Ok(Rows({6}, 8)));
  answers_.push_back(Ok(Rows({2}, 8)));
  count_ = made_ = 8;
  // A part of two partitions: in both.
  const auto scan =
      TableScan::OfTable(client_, "temp", {}, {}, {.part = 2, .parts = 4, .after = KeyOf(2, 8)});
  EXPECT_EQ(Drain(*scan), "6|2|");
  for (const OutboundRequest& request : asked_) {
    const auto begin = DecodeWrapped<GetScannerRequest>(request.body);
    EXPECT_EQ(begin->start_key.bytes, KeyOf(2, 8));
    EXPECT_FALSE(begin->start_inclusive);
  }
}

TEST_F(SplitScanTest, OfAnExactPartitionAnotherOnesSplitChangesNothing) {
  answers_.push_back(Ok(Rows({2}, 4, 5)));
  answers_.push_back(Ok(ScanResponse{.error = 1}));
  answers_.push_back(Ok(Rows({2}, 4)));
  const auto scan =
      TableScan::OfTable(client_, "temp", {}, {}, {.part = 2, .parts = 4, .is_exact = true});
  EXPECT_EQ(Drain(*scan), "2|2|");
}

TEST_F(SplitScanTest, AnExactPartitionThatIsSplitEndsTheScan) {
  answers_.push_back(Ok(Rows({2}, 8, 5)));
  answers_.push_back(Ok(ScanResponse{.error = 1}));
  Split();
  const auto scan =
      TableScan::OfTable(client_, "temp", {}, {}, {.part = 2, .parts = 4, .is_exact = true});
  EXPECT_TRUE(Drain(*scan).starts_with("2|ABORTED")) << "a key is a place in both halves";
  EXPECT_EQ(asked_.size(), 3);
}

TEST_F(SplitScanTest, AnExactPartitionThatIsNotThereIsRefused) {
  for (const auto& [part, parts] : {std::pair(1, 2), {5, 8}, {1, 8}}) {
    const auto scan = TableScan::OfTable(client_, "temp", {}, {},
                                         {.part = part, .parts = parts, .is_exact = true});
    EXPECT_TRUE(Drain(*scan).starts_with("ABORTED")) << part << " of " << parts;
  }
  EXPECT_TRUE(asked_.empty());
}

TEST_F(SplitScanTest, AnExactPartitionMayStillAnswerForItsOtherHalf) {
  count_ = 8;
  made_ = 7;
  answers_.push_back(Ok(Rows({3, 7}, 8)));
  const auto scan =
      TableScan::OfTable(client_, "temp", {}, {}, {.part = 3, .parts = 4, .is_exact = true});
  EXPECT_EQ(Drain(*scan), "37|");
}

TEST_F(SplitScanTest, ACountOverASplitCountsBothHalves) {
  answers_.push_back(Ok(ScanResponse{.kv_count = 3}));
  Split();
  for (int i = 0; i < 6; ++i) answers_.push_back(Ok(ScanResponse{.kv_count = 2}));
  const auto scan = TableScan::OfTable(client_, "temp", {});
  EXPECT_EQ(*Outcome<int64_t>([&](auto done) { scan->Count(std::move(done)); }), 15);
}

TEST_F(TableScanTest, CountingAddsUpWithoutRecords) {
  answers_.push_back(Ok(ScanResponse{.context_id = 5, .kv_count = 3}));
  answers_.push_back(Ok(ScanResponse{.kv_count = 4}));
  for (int i = 0; i < 3; ++i) answers_.push_back(Ok(ScanResponse{.kv_count = 10}));
  const auto scan = TableScan::OfTable(client_, "temp", {});
  EXPECT_EQ(*Outcome<int64_t>([&](auto done) { scan->Count(std::move(done)); }), 37);
  EXPECT_TRUE(*DecodeWrapped<GetScannerRequest>(asked_[0].body)->only_return_count);
}

TEST_F(TableScanTest, ACountThatWasForgottenBeginsItsPartitionAnew) {
  answers_.push_back(Ok(ScanResponse{.context_id = 5, .kv_count = 3}));
  answers_.push_back(Ok(ScanResponse{.error = 1}));
  answers_.push_back(Ok(ScanResponse{.kv_count = 4}));
  const auto scan = TableScan::OfHashKey(client_, "temp", {.start_key = JoinRawKey("h1", "")});
  EXPECT_EQ(*Outcome<int64_t>([&](auto done) { scan->Count(std::move(done)); }), 4);
}

TEST_F(TableScanTest, AScanThatIsForgottenAgainAndAgainFails) {
  for (int i = 0; i < 20; ++i) {
    answers_.push_back(Ok(Batch({}, i)));
    answers_.push_back(Ok(ScanResponse{.error = 1}));
  }
  const auto scan = TableScan::OfHashKey(client_, "temp", {.start_key = JoinRawKey("h1", "")});
  EXPECT_TRUE(Drain(*scan).starts_with("UNAVAILABLE")) << asked_.size();
}

TEST_F(TableScanTest, AScanClosedWhileItIsAskedTellsTheServerItsLastId) {
  cluster_.latency = absl::Milliseconds(10);
  answers_.push_back(Ok(Batch({"a"}, 77)));
  const auto scan = TableScan::OfHashKey(client_, "temp", {.start_key = JoinRawKey("h1", "")});
  bool is_answered = false;
  cluster_.Run([&] { scan->Next([&](auto) { is_answered = true; }); }, absl::Milliseconds(15));
  cluster_.Run([&] { scan->Close(); });
  EXPECT_FALSE(is_answered);
  EXPECT_EQ(cluster_.told(), (std::vector<std::string>{kRpcClearScanner}));
}

}  // namespace
}  // namespace arion
