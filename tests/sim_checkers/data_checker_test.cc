// The search for an order, and the model it asks: what each kind of operation must not be able to
// hide. Every history here that is refused differs in one answer from one that is accepted.
// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/data_checker.h"
#include "sim_checkers/data_history.h"
#include "sim_checkers/find_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "sim/sim_random.h"

namespace arion::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = DataOperation::Kind;
using Outcome = DataOperation::Outcome;
using Verdict = DataOperation::Verdict;

// Seconds, so that expiry is easy to tell.
Instant At(int64_t seconds) { return Instant() + absl::Seconds(seconds); }

DataOperation Of(Kind kind) {
  DataOperation operation;
  operation.kind = kind;
  operation.hash_key = "h";
  return operation;
}
DataOperation Put(std::string sort_key, std::string value, int32_t expire_ts = 0) {
  DataOperation operation = Of(Kind::kPut);
  operation.writes = {{std::move(sort_key), std::move(value), expire_ts}};
  return operation;
}
DataOperation Remove(std::string sort_key) {
  DataOperation operation = Of(Kind::kRemove);
  operation.writes = {{std::move(sort_key), std::nullopt, 0}};
  return operation;
}
DataOperation Get(std::string sort_key, std::optional<std::string> value) {
  DataOperation operation = Of(Kind::kGet);
  operation.sort_key = std::move(sort_key);
  operation.value = std::move(value);
  return operation;
}
using Rows = std::vector<std::pair<std::string, std::string>>;
DataOperation GetAll(Rows rows) {
  DataOperation operation = Of(Kind::kMultiGet);
  operation.rows = std::move(rows);
  return operation;
}
DataOperation Incr(std::string sort_key, int64_t amount, int64_t told) {
  DataOperation operation = Of(Kind::kIncr);
  operation.sort_key = std::move(sort_key);
  operation.amount = amount;
  operation.number = told;
  return operation;
}
DataOperation SetIf(std::string sort_key, CheckType check, std::string operand, std::string value,
                    Verdict verdict) {
  DataOperation operation = Of(Kind::kCheckAndSet);
  operation.sort_key = sort_key;
  operation.check = check;
  operation.operand = std::move(operand);
  operation.writes = {{sort_key, std::move(value), 0}};
  operation.verdict = verdict;
  return operation;
}
// Numbers from 1 on, of objects that are {"n":...}.
DataOperation Find(Rows rows) {
  DataOperation operation = Of(Kind::kFind);
  FindPage page{.definition = *IndexDefinition::Parse("$.n"), .request = {}, .next = {}};
  page.request.lower = FieldValue::Of(int64_t{1});
  page.request.with_value = true;
  operation.find = std::make_shared<const FindPage>(std::move(page));
  operation.rows = std::move(rows);
  return operation;
}
DataOperation Count(int64_t told) {
  DataOperation operation = Of(Kind::kSortKeyCount);
  operation.number = told;
  return operation;
}

// One operation after the other, unless Between says when.
class OneKey {
 public:
  OneKey& Then(DataOperation operation) {
    now_ += 2;
    return Between(now_, now_ + 1, std::move(operation));
  }
  OneKey& Between(int64_t begin, int64_t end, DataOperation operation) {
    const size_t index = history_.Invoke(std::move(operation), At(begin));
    history_.Return(index, Outcome::kAnswered, At(end));
    now_ = std::max(now_, end);
    return *this;
  }
  OneKey& Unanswered(Outcome outcome, DataOperation operation) {
    now_ += 2;
    const size_t index = history_.Invoke(std::move(operation), At(now_));
    history_.Return(index, outcome, At(now_ + 1));
    return *this;
  }
  Violations Check(DataCheckOptions options = {}) const {
    return CheckData(history_, options).violations;
  }
  const DataHistory& history() const { return history_; }

 private:
  DataHistory history_;
  int64_t now_ = 0;
};

TEST(DataChecker, PutAndRemoveAreSeenByWhoComesLater) {
  EXPECT_THAT(OneKey().Then(Put("a", "1")).Then(Get("a", "1")).Check(), IsEmpty());
  EXPECT_THAT(OneKey().Then(Put("a", "1")).Then(Get("a", std::nullopt)).Check(), SizeIs(1));
  EXPECT_THAT(OneKey().Then(Put("a", "1")).Then(Put("a", "2")).Then(Get("a", "1")).Check(),
              SizeIs(1));
  EXPECT_THAT(OneKey().Then(Put("a", "1")).Then(Remove("a")).Then(Get("a", std::nullopt)).Check(),
              IsEmpty());
  EXPECT_THAT(OneKey().Then(Put("a", "1")).Then(Remove("a")).Then(Get("a", "1")).Check(),
              SizeIs(1));
}

TEST(DataChecker, ConcurrentWritesMayEndEitherWayButOnlyOneWay) {
  OneKey key;
  key.Between(1, 10, Put("a", "1")).Between(1, 10, Put("a", "2"));
  EXPECT_THAT(OneKey(key).Then(Get("a", "1")).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Then(Get("a", "2")).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Then(Get("a", "2")).Then(Get("a", "1")).Check(), SizeIs(1));
}

TEST(DataChecker, AMultiPutIsSeenWholeOrNotAtAll) {
  DataOperation both = Of(Kind::kMultiPut);
  both.writes = {{"a", "1", 0}, {"b", "1", 0}};
  OneKey key;
  key.Between(1, 20, both);
  EXPECT_THAT(
      OneKey(key).Between(2, 3, GetAll({})).Between(4, 5, GetAll({{"a", "1"}, {"b", "1"}})).Check(),
      IsEmpty());
  EXPECT_THAT(OneKey(key).Between(2, 3, GetAll({{"a", "1"}})).Check(), SizeIs(1));
  EXPECT_THAT(
      OneKey(key).Between(2, 3, Get("a", "1")).Between(4, 5, Get("b", std::nullopt)).Check(),
      SizeIs(1));
}

TEST(DataChecker, AMultiRemoveIsSeenWholeOrNotAtAll) {
  DataOperation both = Of(Kind::kMultiRemove);
  both.writes = {{"a", std::nullopt, 0}, {"b", std::nullopt, 0}};
  OneKey key;
  key.Then(Put("a", "1")).Then(Put("b", "1")).Between(10, 30, both);
  EXPECT_THAT(OneKey(key).Between(12, 13, GetAll({})).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(12, 13, GetAll({{"b", "1"}})).Check(), SizeIs(1));
}

TEST(DataChecker, AnIncrementCountsOnce) {
  EXPECT_THAT(OneKey().Then(Incr("n", 5, 5)).Then(Incr("n", 2, 7)).Then(Get("n", "7")).Check(),
              IsEmpty());
  EXPECT_THAT(OneKey().Then(Incr("n", 5, 5)).Then(Incr("n", 2, 2)).Check(), SizeIs(1))
      << "decided from what was there before the first";
  EXPECT_THAT(OneKey().Then(Incr("n", 5, 5)).Then(Get("n", "10")).Check(), SizeIs(1))
      << "decided twice";
  EXPECT_THAT(OneKey().Between(1, 10, Incr("n", 5, 5)).Between(1, 10, Incr("n", 5, 5)).Check(),
              SizeIs(1))
      << "two that saw the same";
}

TEST(DataChecker, AnIncrementOfATextIsInvalidAndWritesNothing) {
  DataOperation invalid = Incr("n", 1, 0);
  invalid.verdict = Verdict::kInvalid;
  EXPECT_THAT(OneKey().Then(Put("n", "x")).Then(invalid).Then(Get("n", "x")).Check(), IsEmpty());
  EXPECT_THAT(OneKey().Then(Put("n", "4")).Then(invalid).Check(), SizeIs(1));
  EXPECT_THAT(OneKey().Then(Put("n", "x")).Then(invalid).Then(Get("n", "1")).Check(), SizeIs(1));
}

TEST(DataChecker, ACheckAndSetReadsWhatIsThereAtItsMoment) {
  const auto if_absent = [](std::string value, Verdict verdict) {
    return SetIf("a", CheckType::kNotExist, "", std::move(value), verdict);
  };
  EXPECT_THAT(OneKey()
                  .Then(if_absent("1", Verdict::kWritten))
                  .Then(if_absent("2", Verdict::kCheckFailed))
                  .Then(Get("a", "1"))
                  .Check(),
              IsEmpty());
  EXPECT_THAT(OneKey()
                  .Between(1, 10, if_absent("1", Verdict::kWritten))
                  .Between(1, 10, if_absent("2", Verdict::kWritten))
                  .Check(),
              SizeIs(1))
      << "both won";
  EXPECT_THAT(OneKey().Then(if_absent("1", Verdict::kCheckFailed)).Check(), SizeIs(1));
  EXPECT_THAT(OneKey()
                  .Then(Put("a", "0"))
                  .Then(if_absent("1", Verdict::kCheckFailed))
                  .Then(Get("a", "1"))
                  .Check(),
              SizeIs(1))
      << "failed and wrote";
}

TEST(DataChecker, ACheckTellsWhatWasThere) {
  DataOperation told = SetIf("a", CheckType::kBytesEqual, "1", "2", Verdict::kWritten);
  told.told_value = true;
  told.value = "1";
  EXPECT_THAT(OneKey().Then(Put("a", "1")).Then(told).Then(Get("a", "2")).Check(), IsEmpty());
  told.value = "0";
  EXPECT_THAT(OneKey().Then(Put("a", "1")).Then(told).Check(), SizeIs(1));
  told.value = std::nullopt;
  EXPECT_THAT(OneKey().Then(Put("a", "1")).Then(told).Check(), SizeIs(1));
}

TEST(DataChecker, EachCheckDecidesAsTheProtocolSays) {
  struct Case {
    CheckType check;
    const char* operand;
    Verdict of_12;  // the record is "12"
    Verdict of_nothing;
  };
  constexpr Verdict kYes = Verdict::kWritten, kNo = Verdict::kCheckFailed, kBad = Verdict::kInvalid;
  const Case cases[] = {
      {CheckType::kNoCheck, "", kYes, kYes},
      {CheckType::kNotExist, "", kNo, kYes},
      {CheckType::kNotExistOrEmpty, "", kNo, kYes},
      {CheckType::kExist, "", kYes, kNo},
      {CheckType::kNotEmpty, "", kYes, kNo},
      {CheckType::kMatchAnywhere, "2", kYes, kNo},
      {CheckType::kMatchPrefix, "2", kNo, kNo},
      {CheckType::kMatchPostfix, "2", kYes, kNo},
      {CheckType::kBytesLess, "2", kYes, kNo},
      {CheckType::kBytesLessOrEqual, "12", kYes, kNo},
      {CheckType::kBytesEqual, "1", kNo, kNo},
      {CheckType::kBytesGreaterOrEqual, "12", kYes, kNo},
      {CheckType::kBytesGreater, "2", kNo, kNo},
      {CheckType::kIntLess, "2", kNo, kNo},
      {CheckType::kIntLessOrEqual, "12", kYes, kNo},
      {CheckType::kIntEqual, "12", kYes, kNo},
      {CheckType::kIntGreaterOrEqual, "13", kNo, kNo},
      {CheckType::kIntGreater, "2", kYes, kNo},
      {CheckType::kIntGreater, "x", kBad, kNo},
  };
  for (const Case& c : cases) {
    for (Verdict verdict : {kYes, kNo, kBad}) {
      const DataOperation check = SetIf("a", c.check, c.operand, "v", verdict);
      const std::string what = std::to_string(static_cast<int>(c.check));
      EXPECT_EQ(OneKey().Then(Put("a", "12")).Then(check).Check().empty(), verdict == c.of_12)
          << what;
      EXPECT_EQ(OneKey().Then(check).Check().empty(), verdict == c.of_nothing) << what;
    }
  }
}

TEST(DataChecker, ACheckAndMutateWritesAllOrNothing) {
  DataOperation mutate = Of(Kind::kCheckAndMutate);
  mutate.sort_key = "a";
  mutate.check = CheckType::kExist;
  mutate.writes = {{"b", "2", 0}, {"a", std::nullopt, 0}};
  EXPECT_THAT(OneKey().Then(Put("a", "1")).Then(mutate).Then(GetAll({{"b", "2"}})).Check(),
              IsEmpty());
  EXPECT_THAT(
      OneKey().Then(Put("a", "1")).Then(mutate).Then(GetAll({{"a", "1"}, {"b", "2"}})).Check(),
      SizeIs(1));
  EXPECT_THAT(OneKey().Then(mutate).Check(), SizeIs(1)) << "nothing was there";
}

TEST(DataChecker, ReadsOfSeveralRecordsAreOneLook) {
  OneKey key;
  key.Then(Put("a", "1")).Then(Put("b", "1")).Then(Put("b", "2"));
  EXPECT_THAT(OneKey(key).Then(GetAll({{"a", "1"}, {"b", "2"}})).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Then(GetAll({{"a", "1"}, {"b", "1"}})).Check(), SizeIs(1));
  EXPECT_THAT(OneKey(key).Then(GetAll({{"b", "2"}})).Check(), SizeIs(1)) << "one is missing";
  EXPECT_THAT(OneKey(key).Then(GetAll({{"a", "1"}, {"b", "2"}, {"c", "1"}})).Check(), SizeIs(1));
  DataOperation part = GetAll({{"a", "1"}});
  part.is_incomplete = true;
  EXPECT_THAT(OneKey(key).Then(part).Check(), SizeIs(1)) << "nobody asked for fewer";
  part.rows_max = 2;
  EXPECT_THAT(OneKey(key).Then(part).Check(), SizeIs(1)) << "it asked for two";
  part.rows_max = 1;
  EXPECT_THAT(OneKey(key).Then(part).Check(), IsEmpty());
  part.rows = {{"b", "2"}};
  EXPECT_THAT(OneKey(key).Then(part).Check(), SizeIs(1)) << "one in front is missing";
  DataOperation batch = Of(Kind::kBatchGet);
  batch.sort_keys = {"b", "c"};
  batch.rows = {{"b", "2"}};
  EXPECT_THAT(OneKey(key).Then(batch).Check(), IsEmpty());
  batch.rows = {};
  EXPECT_THAT(OneKey(key).Then(batch).Check(), SizeIs(1));
  DataOperation scan = Of(Kind::kScan);
  scan.rows = {{"a", "1"}, {"b", "1"}};
  EXPECT_THAT(OneKey(key).Then(scan).Check(), SizeIs(1));
  EXPECT_THAT(OneKey(key).Then(Count(2)).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Then(Count(1)).Check(), SizeIs(1));
}

TEST(DataChecker, ATwoRecordReadMustFitOneMoment) {
  // x and y are written one after the other, then read together in the other order.
  EXPECT_THAT(OneKey()
                  .Between(1, 2, Put("a", "1"))
                  .Between(3, 20, Put("b", "2"))
                  .Between(3, 20, Put("a", "3"))
                  .Between(4, 5, GetAll({{"a", "1"}, {"b", "2"}}))
                  .Between(6, 7, GetAll({{"a", "3"}}))
                  .Check(),
              SizeIs(1));
}

TEST(DataChecker, ARefusedWriteIsNeverSeenAnUndecidedOneLateOrNever) {
  OneKey refused, undecided;
  refused.Then(Put("a", "1")).Unanswered(Outcome::kRefused, Put("a", "2"));
  undecided.Then(Put("a", "1")).Unanswered(Outcome::kUndecided, Put("a", "2"));
  EXPECT_THAT(OneKey(refused).Then(Get("a", "1")).Check(), IsEmpty());
  EXPECT_THAT(OneKey(refused).Then(Get("a", "2")).Check(), SizeIs(1));
  EXPECT_THAT(OneKey(undecided).Then(Get("a", "1")).Then(Get("a", "2")).Check(), IsEmpty());
  EXPECT_THAT(OneKey(undecided).Then(Get("a", "2")).Then(Get("a", "1")).Check(), SizeIs(1));
  OneKey twice;
  twice.Unanswered(Outcome::kUndecided, Incr("n", 3, 0));
  EXPECT_THAT(OneKey(twice).Then(Get("n", "3")).Check(), IsEmpty());
  EXPECT_THAT(OneKey(twice).Then(Get("n", "6")).Check(), SizeIs(1)) << "it happened twice";
}

TEST(DataChecker, ARecordIsThereUntilItsExpiryAndNotAfter) {
  OneKey key;
  key.Then(Put("a", "1", 100));
  DataOperation ttl = Of(Kind::kTtl);
  ttl.sort_key = "a";
  ttl.number = 90;
  EXPECT_THAT(OneKey(key).Between(10, 11, Get("a", "1")).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(10, 11, Get("a", std::nullopt)).Check(), SizeIs(1));
  EXPECT_THAT(OneKey(key).Between(110, 111, Get("a", std::nullopt)).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(110, 111, Get("a", "1")).Check(), SizeIs(1));
  EXPECT_THAT(OneKey(key).Between(10, 11, ttl).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(30, 31, ttl).Check(), SizeIs(1));
  ttl.number = -1;
  EXPECT_THAT(OneKey(key).Between(10, 11, ttl).Check(), SizeIs(1)) << "it expires";
  EXPECT_THAT(OneKey(key).Between(110, 111, Count(0)).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(110, 111, Count(1)).Check(), SizeIs(1));
  // A clock may be off by some seconds: then both are allowed, but not further away.
  const DataCheckOptions loose{.wall_error_seconds = 5};
  EXPECT_THAT(OneKey(key).Between(97, 98, Get("a", std::nullopt)).Check(loose), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(103, 104, Get("a", "1")).Check(loose), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(90, 91, Get("a", std::nullopt)).Check(loose), SizeIs(1));
  EXPECT_THAT(OneKey(key).Between(108, 109, Get("a", "1")).Check(loose), SizeIs(1));
}

TEST(DataChecker, WhatTakesTooManyStepsIsUndecidedAndAViolation) {
  OneKey key;
  for (int i = 0; i < 24; ++i)
    key.Unanswered(Outcome::kUndecided, Put("a", "v" + std::to_string(i)));
  key.Then(Get("a", "never written"));
  const DataCheckResult result = CheckData(key.history(), {.steps_per_key = 100});
  EXPECT_EQ(result.undecided_keys, 1);
  EXPECT_THAT(result.violations, SizeIs(1));
}

// What nobody answered stays possible for ever: without a memory of what was spent in vain, each of
// these makes the search twice as long.
TEST(DataChecker, WritesNobodyAnsweredDoNotMakeTheSearchLong) {
  const auto history = [](int writes) {
    OneKey key;
    for (int i = 0; i < writes; ++i) {
      const std::string sort_key(1, static_cast<char>('a' + i % 3)), n = std::to_string(i);
      key.Unanswered(Outcome::kUndecided, Put(sort_key, "lost" + n));
      key.Then(Put(sort_key, "v" + n)).Then(Get(sort_key, "v" + n));
    }
    return key;
  };
  OneKey seen = history(40);
  seen.Then(Get("a", "lost33")).Then(Get("b", "lost37")).Then(Get("c", "lost38"));
  const DataCheckResult result = CheckData(seen.history());
  EXPECT_THAT(result.violations, IsEmpty());
  EXPECT_LT(result.steps, 2000);
  OneKey twice = history(6);
  twice.Then(Get("a", "lost0")).Then(Get("a", "lost3")).Then(Get("a", "lost0"));
  const DataCheckResult refused = CheckData(twice.history());
  EXPECT_THAT(refused.violations, SizeIs(1));
  EXPECT_LT(refused.steps, 2000);
}

// Seed 39200016: b is removed by who saw a, and both were never answered.
TEST(DataChecker, AnUndecidedWriteMayBeWhatAnotherUndecidedOneSaw) {
  DataOperation mutate = Of(Kind::kCheckAndMutate);
  mutate.sort_key = "a";
  mutate.check = CheckType::kExist;
  mutate.writes = {{"b", std::nullopt, 0}, {"c", "3", 0}};
  const auto violations = [&mutate](Rows seen) {
    OneKey key;
    key.Unanswered(Outcome::kUndecided, Put("a", "1"));
    key.Unanswered(Outcome::kUndecided, mutate);
    return key.Then(Put("b", "9")).Then(GetAll(std::move(seen))).Check();
  };
  EXPECT_THAT(violations({{"a", "1"}, {"b", "9"}, {"c", "3"}}), IsEmpty());
  EXPECT_THAT(violations({{"a", "1"}, {"c", "3"}}), IsEmpty()) << "it may come late, too";
  EXPECT_THAT(violations({{"a", "1"}, {"b", "8"}, {"c", "3"}}), SizeIs(1));
}

TEST(DataChecker, KeysAreCheckedEachOnItsOwn) {
  DataOperation other = Get("a", std::nullopt);
  other.hash_key = "other";
  EXPECT_THAT(OneKey().Then(Put("a", "1")).Then(other).Check(), IsEmpty());
}

// Runs a model by hand-made dice, and then falsifies one answer.
TEST(DataChecker, FindsOneFalseAnswerAmongMany) {
  SimRandom random(3);
  int caught = 0;
  constexpr int kHistories = 200;
  for (int n = 0; n < kHistories; ++n) {
    std::map<std::string, std::string> rows;
    OneKey key, false_key;
    const int64_t liar = random.Between(10, 28);
    for (int64_t i = 0; i < 30; ++i) {
      const std::string sort_key(1, static_cast<char>('a' + random.Below(2)));
      if (i != liar && random.Coin()) {
        const std::string value = "v" + std::to_string(i);
        rows[sort_key] = value;
        key.Then(Put(sort_key, value));
        false_key.Then(Put(sort_key, value));
      } else {
        const Rows told(rows.begin(), rows.end());
        key.Then(GetAll(told));
        Rows lie = told;
        if (i == liar && !lie.empty()) lie.pop_back();
        false_key.Then(GetAll(lie));
      }
    }
    ASSERT_THAT(key.Check(), IsEmpty());
    caught += !false_key.Check().empty();
  }
  EXPECT_GT(caught, kHistories * 9 / 10);
}

constexpr char kZero[] = R"({"n":0})", kOne[] = R"({"n":1})", kTwo[] = R"({"n":2})";

TEST(DataChecker, AFindShowsWhatIsWithinItsBoundsAndNothingElse) {
  OneKey key;
  key.Then(Put("a", kOne)).Then(Put("b", kZero)).Then(Put("c", "v")).Then(Put("d", kTwo));
  EXPECT_THAT(OneKey(key).Then(Find({{"a", kOne}, {"d", kTwo}})).Check(), IsEmpty());
  // One is missing, one has another value, one lies outside, one was never there.
  EXPECT_THAT(OneKey(key).Then(Find({{"d", kTwo}})).Check(),
              ElementsAre(HasSubstr("checkers/C9: key h is not linearizable")));
  EXPECT_THAT(OneKey(key).Then(Find({{"a", kTwo}, {"d", kTwo}})).Check(), SizeIs(1));
  EXPECT_THAT(OneKey(key).Then(Find({{"a", kOne}, {"b", kZero}, {"d", kTwo}})).Check(), SizeIs(1));
  EXPECT_THAT(OneKey(key).Then(Find({{"a", kOne}, {"d", kTwo}, {"e", kOne}})).Check(), SizeIs(1));
}

TEST(DataChecker, AFindMayShowWhatIsBeingWrittenButOfOneMoment) {
  OneKey key;
  key.Then(Put("a", kOne)).Between(4, 10, Put("a", kTwo)).Between(11, 20, Remove("a"));
  EXPECT_THAT(OneKey(key).Between(5, 6, Find({{"a", kOne}})).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(5, 6, Find({{"a", kTwo}})).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(5, 6, Find({})).Check(), SizeIs(1));
  EXPECT_THAT(OneKey(key).Between(12, 13, Find({})).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(12, 13, Find({{"a", kOne}})).Check(), SizeIs(1));
  EXPECT_THAT(OneKey(key).Then(Find({{"a", kTwo}})).Check(), SizeIs(1));
}

TEST(DataChecker, AFindMayLackWhatMayHaveExpired) {
  OneKey key;
  key.Then(Put("a", kOne, 20));
  EXPECT_THAT(OneKey(key).Between(5, 6, Find({})).Check(), SizeIs(1));
  EXPECT_THAT(OneKey(key).Between(19, 21, Find({})).Check(), IsEmpty());
  EXPECT_THAT(OneKey(key).Between(25, 26, Find({{"a", kOne}})).Check(), SizeIs(1));
}

}  // namespace
}  // namespace arion::sim
