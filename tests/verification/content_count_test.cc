// SPDX-License-Identifier: Apache-2.0
#include "verification/content_count.h"
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace arion {
namespace {

using ::testing::HasSubstr;

// So many records of 100,000 bytes.
class LongView : public EngineView {
 public:
  explicit LongView(int records) : records_(records) {}
  absl::StatusOr<Record> Get(std::string_view, uint32_t, ReadTier) const override {
    return absl::NotFoundError("");
  }
  std::unique_ptr<RecordIterator> Walk(KeyRange range, Direction) const override {
    return std::make_unique<Iterator>(range.first.size() <= 3 ? 0 : range.first[3] - 'A' + 1,
                                      records_);
  }

 private:
  class Iterator : public RecordIterator {
   public:
    Iterator(int at, int records) : at_(at), records_(records) { Look(); }
    void Next() override { ++at_, Look(); }

   private:
    void Look() {
      is_valid_ = at_ < records_;
      text_ = std::string("\0\1k", 3) + static_cast<char>('A' + at_);
      key_ = text_;
      value_ = value_text_;
    }
    int at_;
    const int records_;
    std::string text_;
    const std::string value_text_ = std::string(100000, 'x');
  };
  const int records_;
};

class ContentCountTest : public testing::Test {
 protected:
  static constexpr int64_t kNow = 10000, kMargin = ContentCount::kMarginSecondsMin;

  void Begin(int records) {
    count_ = std::make_shared<ContentCount>(
        CountContentRequest{.run = 1, .decree = Decree(5), .now = kNow},
        ContentChecksum::Terms{.expires_after = static_cast<uint32_t>(kNow + kMargin)},
        records * 100000,
        ContentCount::Hooks{
            .view_at = [this](Decree, auto take) { take_ = std::move(take); },
            .in_pool =
                [this](absl::AnyInvocable<absl::Status()> work,
                       absl::AnyInvocable<void(absl::Status)> then) {
                  ++pieces_;
                  then(work());
                },
            .pace = [](uint64_t) { return absl::Seconds(1); },
            .after = [this](absl::Duration,
                            absl::AnyInvocable<void()> then) { tasks_.push_back(std::move(then)); },
            .now = [this] { return now_; },
            .wall_seconds = [this] { return wall_; },
            .may_read = [this] { return may_read_; }});
    count_->Start();
    view_ = std::make_shared<LongView>(records);
    seen_ = view_;
  }
  void RunOne() {
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
  }
  void RunAll() {
    for (int i = 0; i < 100 && !tasks_.empty(); ++i) RunOne();
  }

  Instant now_{1000};
  int64_t wall_ = kNow;
  bool may_read_ = true;
  int pieces_ = 0;
  std::deque<absl::AnyInvocable<void()>> tasks_;
  std::function<void(std::shared_ptr<const EngineView>)> take_;
  std::shared_ptr<const EngineView> view_;
  std::weak_ptr<const EngineView> seen_;
  std::shared_ptr<ContentCount> count_;
};

TEST_F(ContentCountTest, ItCountsInPiecesAndThenLetsGoOfTheView) {
  Begin(25);
  EXPECT_EQ(count_->Answer().state, CountState::kWaiting);
  take_(std::move(view_));
  EXPECT_EQ(count_->Answer().state, CountState::kCounting);
  RunAll();
  EXPECT_EQ(pieces_, 3);
  const CountContentResponse answer = count_->Answer();
  EXPECT_EQ(answer.state, CountState::kDone);
  EXPECT_EQ(answer.records, 25);
  EXPECT_TRUE(count_->IsEqualTo(answer.records, answer.sum));
  EXPECT_FALSE(count_->IsEqualTo(answer.records, answer.sum + 1));
  EXPECT_TRUE(seen_.expired());
}

TEST_F(ContentCountTest, ADecreeThatIsPastIsMissed) {
  Begin(1);
  take_(nullptr);
  EXPECT_EQ(count_->Answer().state, CountState::kMissed);
}

// Meanwhile a compaction may have dropped, from views too, what another member has counted.
TEST_F(ContentCountTest, OneThatTakesLongerThanItsMarginIsNone) {
  Begin(25);
  take_(std::move(view_));
  RunOne();
  wall_ = kNow + kMargin - ContentCount::kClocksApartSeconds + 1;
  RunAll();
  const CountContentResponse answer = count_->Answer();
  EXPECT_EQ(answer.state, CountState::kRefused);
  EXPECT_THAT(answer.why, HasSubstr("so long"));
  EXPECT_TRUE(seen_.expired());
}

TEST_F(ContentCountTest, OneThatNobodyAsksForAnyMoreEnds) {
  Begin(25);
  take_(std::move(view_));
  RunOne();
  now_ = now_ + 2 * ContentCount::kForgotten;
  RunAll();
  EXPECT_EQ(pieces_, 1);
  EXPECT_TRUE(seen_.expired());
}

TEST_F(ContentCountTest, ItRestsWhileSomethingWaitsForThePool) {
  Begin(25);
  take_(std::move(view_));
  may_read_ = false;
  for (int i = 0; i < 5; ++i) RunOne();
  EXPECT_EQ(pieces_, 0);
  may_read_ = true;
  RunAll();
  EXPECT_EQ(count_->Answer().state, CountState::kDone);
}

}  // namespace
}  // namespace arion
