// SPDX-License-Identifier: Apache-2.0
#include "verification/content_checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/crc.h"
#include "base/raw_key.h"
#include "engine/engine.h"

namespace arion {
namespace {

using Content = std::map<std::string, Record>;

class ContentIterator : public RecordIterator {
 public:
  ContentIterator(const Content& content, const std::string& first)
      : content_(content), at_(content.lower_bound(first)) {
    Look();
  }
  void Next() override { ++at_, Look(); }

 private:
  void Look() {
    is_valid_ = at_ != content_.end();
    if (!is_valid_) return;
    key_ = at_->first;
    value_ = at_->second.value;
    expire_ts_ = at_->second.expire_ts;
  }
  const Content& content_;
  Content::const_iterator at_;
};

class ContentView : public EngineView {
 public:
  explicit ContentView(Content content) : content_(std::move(content)) {}
  absl::StatusOr<Record> Get(std::string_view, uint32_t, ReadTier) const override {
    return absl::NotFoundError("");
  }
  std::unique_ptr<RecordIterator> Walk(KeyRange range, Direction) const override {
    return std::make_unique<ContentIterator>(content_, range.first);
  }

 private:
  const Content content_;
};

std::string Key(int i) { return JoinRawKey("hash" + std::to_string(i), "s"); }

Content Records(int n) {
  Content content;
  for (int i = 0; i < n; ++i) content[Key(i)] = {.value = "value" + std::to_string(i)};
  return content;
}

ContentChecksum Count(const Content& content, ContentChecksum::Terms terms = {},
                      uint64_t piece = UINT64_MAX) {
  ContentChecksum checksum(terms);
  const ContentView view(content);
  while (!checksum.IsDone()) EXPECT_TRUE(checksum.Continue(view, piece).ok());
  return checksum;
}

TEST(ContentChecksumTest, EqualContentHasEqualSumsHoweverItIsCutIntoPieces) {
  const ContentChecksum whole = Count(Records(1000)), pieces = Count(Records(1000), {}, 100);
  EXPECT_EQ(whole.records(), 1000);
  EXPECT_EQ(pieces.records(), 1000);
  EXPECT_EQ(whole.sum(), pieces.sum());
  ASSERT_EQ(whole.ranges().size(), pieces.ranges().size());
  for (size_t i = 0; i < whole.ranges().size(); ++i) {
    EXPECT_EQ(whole.ranges()[i].first, pieces.ranges()[i].first);
    EXPECT_EQ(whole.ranges()[i].sum, pieces.ranges()[i].sum);
  }
}

TEST(ContentChecksumTest, AChangedALostAndAnotherExpiryShow) {
  const uint64_t sum = Count(Records(100)).sum();
  Content changed = Records(100), lost = Records(100), expiring = Records(100),
          swapped = Records(100);
  changed[Key(7)].value = "other";
  lost.erase(Key(7));
  expiring[Key(7)].expire_ts = 1000000;
  std::swap(swapped[Key(7)].value, swapped[Key(8)].value);
  for (const Content& content : {changed, lost, expiring, swapped})
    EXPECT_NE(Count(content).sum(), sum);
}

TEST(ContentChecksumTest, WhatExpiresSoonIsLeftOutWhetherItIsThereOrNot) {
  Content has = Records(10);
  has["\0\1x" + std::string("1")] = {.value = "gone soon", .expire_ts = 500};
  has[Key(99)] = {.value = "stays", .expire_ts = 501};
  Content lacks = has;
  lacks.erase("\0\1x" + std::string("1"));
  const ContentChecksum a = Count(has, {.expires_after = 500}),
                        b = Count(lacks, {.expires_after = 500});
  EXPECT_EQ(a.left_out(), 1);
  EXPECT_EQ(a.records(), 11);
  EXPECT_EQ(a.sum(), b.sum());
}

TEST(ContentChecksumTest, KeysOfAnotherPartitionAreLeftOut) {
  int64_t ours = 0;
  for (int i = 0; i < 100; ++i) ours += PartitionHash(Key(i)) % 4 == 2 ? 1 : 0;
  const ContentChecksum checksum = Count(Records(100), {.owned = {.index = 2, .count = 4}});
  EXPECT_EQ(checksum.records(), ours);
  EXPECT_EQ(checksum.left_out(), 100 - ours);
}

TEST(ContentChecksumTest, FewRecordsAreARangeEachAndManyStayBounded) {
  EXPECT_EQ(Count(Records(100)).ranges().size(), 101u);  // what is before the first is one
  const ContentChecksum many = Count(Records(20000));
  EXPECT_LE(many.ranges().size(), ContentChecksum::kRangesMax);
  EXPECT_GE(many.ranges().size(), ContentChecksum::kRangesMax / 8);
  int64_t records = 0;
  uint64_t sum = 0;
  for (const ContentChecksum::Range& range : many.ranges()) {
    records += range.records;
    sum += range.sum;
  }
  EXPECT_EQ(records, 20000);
  EXPECT_EQ(sum, many.sum());
}

}  // namespace
}  // namespace arion
