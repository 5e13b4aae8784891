// Each checker's own negative tests: a net that never held anything proves nothing.
// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/checkers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/sim_random.h"

namespace arion::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const PartitionId kPid{2, 0};
const Endpoint kA = *Endpoint::Parse("10.0.0.1:1"), kB = *Endpoint::Parse("10.0.0.2:1");

TEST(CommitChecker, AcceptsMembersThatApplyTheSame) {
  CommitChecker checker;
  checker.Opened("a", kPid, Decree(0));
  checker.Opened("b", kPid, Decree(0));
  for (const char* server : {"a", "b"}) {
    checker.Applied(server, kPid, Decree(1), 11);
    checker.Applied(server, kPid, Decree(2), 22);
  }
  checker.Opened("a", kPid, Decree(1));
  checker.Applied("a", kPid, Decree(2), 22);
  EXPECT_THAT(checker.violations(), IsEmpty());
}

TEST(CommitChecker, CatchesTwoContentsOfOneDecree) {
  CommitChecker checker;
  checker.Applied("a", kPid, Decree(1), 11);
  checker.Applied("b", kPid, Decree(1), 12);
  EXPECT_THAT(checker.violations(), SizeIs(1));
}

// A child stands where its parent stood when it was made, at each member somewhere else.
TEST(CommitChecker, AChildMayBeginWithItsParentsUntilItIsStored) {
  const PartitionId child{kPid.app_id, kPid.index + 8};
  CommitChecker checker;
  for (int64_t d = 1; d <= 9; ++d) checker.Applied("a", kPid, Decree(d), d);
  checker.Opened("a", child, Decree(3));
  checker.Applied("a", child, Decree(4), 4);
  checker.Opened("b", child, Decree(6));
  EXPECT_THAT(checker.violations(), IsEmpty());
  checker.Applied("a", child, Decree(5), 50);
  EXPECT_THAT(checker.violations(), SizeIs(1)) << "its parent's was another";
  checker.Stored(child);
  checker.Opened("b", child, Decree(8));
  EXPECT_THAT(checker.violations(), SizeIs(2));
}

TEST(CommitChecker, CatchesADecreeAppliedOutOfOrder) {
  CommitChecker checker;
  checker.Applied("a", kPid, Decree(1), 11);
  checker.Applied("a", kPid, Decree(3), 33);
  EXPECT_THAT(checker.violations(), SizeIs(1));
}

TEST(CommitChecker, CatchesAnEngineThatKnowsMoreThanAnybodyApplied) {
  CommitChecker checker;
  checker.Opened("a", kPid, Decree(1));
  EXPECT_THAT(checker.violations(), SizeIs(1));
}

TEST(PrimaryChecker, CatchesTwoSendersOfOneBallot) {
  PrimaryChecker checker;
  checker.Prepared(kPid, Ballot(3), kA);
  checker.Prepared(kPid, Ballot(4), kB);
  EXPECT_THAT(checker.violations(), IsEmpty());
  checker.Prepared(kPid, Ballot(3), kB);
  EXPECT_THAT(checker.violations(), SizeIs(1));
}

TEST(PrimaryChecker, CatchesAnAnswerOfAServerThatIsNoPrimaryAnyMore) {
  using Asked = PrimaryChecker::Asked;
  PrimaryChecker checker;
  checker.Stored(kPid, kA);
  checker.Answered(kPid, kA, Asked::kRead, Instant(100));
  checker.Stored(kPid, Endpoint{});  // nobody yet: the old one's lease may last
  checker.Answered(kPid, kA, Asked::kRead, Instant(150));
  checker.Stored(kPid, kB);
  checker.Answered(kPid, kB, Asked::kRead, Instant(200));
  EXPECT_THAT(checker.violations(), IsEmpty());
  checker.Answered(kPid, kA, Asked::kRead, Instant(300));
  EXPECT_THAT(checker.violations(), SizeIs(1));
}

TEST(PrimaryChecker, AWriteMayBeAnsweredLateByWhoWasPrimaryAndByNobodyElse) {
  using Asked = PrimaryChecker::Asked;
  PrimaryChecker checker;
  checker.Stored(kPid, kA);
  checker.Stored(kPid, kB);
  checker.Answered(kPid, kA, Asked::kWrite, Instant(100));
  EXPECT_THAT(checker.violations(), IsEmpty());
  checker.Stored(kPid, kA);
  checker.Answered(kPid, Endpoint{.ip = 9, .port = 9}, Asked::kWrite, Instant(200));
  EXPECT_THAT(checker.violations(), SizeIs(1));
}

TEST(BallotChecker, CatchesAFallALeapAndAnEarlyUse) {
  BallotChecker checker;
  checker.Stored(kPid, Ballot(1));
  checker.Stored(kPid, Ballot(2));
  checker.Used(kPid, Ballot(2));
  EXPECT_THAT(checker.violations(), IsEmpty());
  checker.Used(kPid, Ballot(3));
  EXPECT_THAT(checker.violations(), SizeIs(1));
  checker.Stored(kPid, Ballot(4));
  EXPECT_THAT(checker.violations(), SizeIs(2));
  checker.Stored(kPid, Ballot(3));
  EXPECT_THAT(checker.violations(), SizeIs(3));
}

struct Register {
  History history;
  void Write(std::string value, int64_t begin, int64_t end) {
    size_t i = history.Invoke(Operation::Kind::kWrite, "k", std::move(value), Instant(begin));
    history.Return(i, Operation::Outcome::kOk, Instant(end));
  }
  void Write(std::string value, int64_t begin, Operation::Outcome outcome) {
    history.Return(history.Invoke(Operation::Kind::kWrite, "k", std::move(value), Instant(begin)),
                   outcome, Instant(begin + 1));
  }
  void Read(std::string value, int64_t begin, int64_t end) {
    history.ReturnRead(history.Invoke(Operation::Kind::kRead, "k", "", Instant(begin)),
                       std::move(value), Instant(end));
  }
};

TEST(Linearizability, AcceptsConcurrencyInEitherOrder) {
  Register r;
  r.Read("", 0, 5);
  r.Write("x", 10, 30);
  r.Write("y", 10, 30);
  r.Read("x", 15, 20);
  r.Read("y", 40, 50);
  EXPECT_THAT(CheckLinearizable(r.history), IsEmpty());
}

TEST(Linearizability, CatchesALostWrite) {
  Register r;
  r.Write("x", 0, 10);
  r.Write("y", 20, 30);
  r.Read("x", 40, 50);
  EXPECT_THAT(CheckLinearizable(r.history), SizeIs(1));
}

TEST(Linearizability, CatchesAnAcknowledgedWriteThatVanished) {
  Register r;
  r.Write("x", 0, 10);
  r.Read("", 20, 30);
  EXPECT_THAT(CheckLinearizable(r.history), SizeIs(1));
}

TEST(Linearizability, CatchesAStaleRead) {
  Register r;
  r.Write("x", 0, 10);
  r.Write("y", 5, 100);  // concurrent with both reads
  r.Read("y", 20, 30);
  r.Read("x", 40, 50);
  EXPECT_THAT(CheckLinearizable(r.history), SizeIs(1));
}

TEST(Linearizability, CatchesARefusedWriteThatIsSeen) {
  Register r;
  r.Write("x", 0, Operation::Outcome::kRefused);
  r.Read("x", 20, 30);
  auto violations = CheckLinearizable(r.history);
  ASSERT_THAT(violations, SizeIs(1));
  EXPECT_THAT(violations[0], HasSubstr("refused"));
}

TEST(Linearizability, AnUndecidedWriteMayHappenLateOrNever) {
  Register r;
  r.Write("x", 0, 10);
  r.Write("u", 5, Operation::Outcome::kUndecided);
  r.Write("never", 5, Operation::Outcome::kUndecided);
  r.Read("x", 100, 110);
  r.Read("u", 200, 210);
  EXPECT_THAT(CheckLinearizable(r.history), IsEmpty());
  r.Read("x", 300, 310);
  EXPECT_THAT(CheckLinearizable(r.history), SizeIs(1));
}

TEST(Linearizability, CatchesAValueFromNowhereAndFromTheFuture) {
  Register r;
  r.Read("x", 0, 10);
  EXPECT_THAT(CheckLinearizable(r.history), SizeIs(1));
  r.Write("x", 20, 30);
  EXPECT_FALSE(CheckLinearizable(r.history).empty());
}

// Against a search over all orders, on small random histories.
bool SearchLinearization(const std::vector<Operation>& ops, uint32_t done,
                         const std::string& state) {
  Instant earliest_end = Instant::InfiniteFuture();
  bool all_done = true;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (done >> i & 1) continue;
    if (ops[i].outcome == Operation::Outcome::kOk) all_done = false;
    earliest_end = std::min(earliest_end, ops[i].returned);
  }
  if (all_done) return true;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (done >> i & 1 || ops[i].invoked > earliest_end) continue;
    if (ops[i].kind == Operation::Kind::kRead && ops[i].value != state) continue;
    if (SearchLinearization(ops, done | 1u << i,
                            ops[i].kind == Operation::Kind::kWrite ? ops[i].value : state)) {
      return true;
    }
  }
  return false;
}

TEST(Linearizability, AgreesWithASearchOverAllOrders) {
  SimRandom random(1);
  int accepted = 0;
  constexpr int kHistories = 3000;
  for (int n = 0; n < kHistories; ++n) {
    Register r;
    int writes = 0;
    for (int i = 0; i < 7; ++i) {
      int64_t begin = random.Between(0, 60), end = begin + random.Between(1, 30);
      if (random.Coin()) {
        std::string value(1, static_cast<char>('a' + writes++));
        if (random.Percent(25)) {
          r.Write(value, begin, Operation::Outcome::kUndecided);
        } else {
          r.Write(value, begin, end);
        }
      } else {
        int which = static_cast<int>(random.Below(4));
        r.Read(which == 3 ? "" : std::string(1, static_cast<char>('a' + which)), begin, end);
      }
    }
    bool expected = SearchLinearization(r.history.operations(), 0, "");
    accepted += expected;
    ASSERT_EQ(CheckLinearizable(r.history).empty(), expected) << "history " << n;
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, kHistories - 100);
}

}  // namespace
}  // namespace arion::sim
