// Verdicts, repairs and totals of folders made by hand.
// SPDX-License-Identifier: Apache-2.0
#include "tools/log/verdict.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "tests/fuzz/log_bytes.h"
#include "tests/fuzz/memory_files.h"
#include "tools/log/log_places.h"
#include "tools/log/log_stat.h"
#include "tools/log/repair.h"
#include "tools/log/report.h"
#include "wal/log_identity.h"

namespace arion::logtool {
namespace {

constexpr char kFolder[] = "/data/2.1.pegasus/plog";

LogPlace PlaceIn(FileSystem& files, const std::string& path = "/data") {
  const auto found = FindLogs(files, path);
  EXPECT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->places.size(), 1u);
  return found->places.at(0);
}

// Three files that join, decrees 1-6, 7-8, 9.
class Folder {
 public:
  explicit Folder(std::optional<Durability> written_as) {
    one_ = FuzzLog({.blocks = 3, .mutations_per_block = 2});
    two_ = FuzzLog({.start_offset = End(one_), .first_decree = 7, .blocks = 2});
    three_ = FuzzLog({.start_offset = End(one_) + End(two_), .first_decree = 9, .blocks = 1});
    paths_ = {Path(1, 0), Path(2, End(one_)), Path(3, End(one_) + End(two_))};
    LogIdentity identity;
    const std::string* bytes[] = {&one_, &two_, &three_};
    for (size_t i = 0; i < 3; ++i) {
      files.Put(paths_[i], *bytes[i]);
      if (written_as) identity.Add(*files.Stat(paths_[i]), *written_as);
    }
    if (written_as) files.Put("/data/2.1.pegasus/.arion-log", identity.Format());
  }

  void Damage(size_t file, size_t at) {
    auto open = *files.OpenForWrite(paths_[file], FileSystem::CreateMode::kOpenExisting);
    const std::string byte(1, static_cast<char>(files.Content(paths_[file])[at] ^ 1));
    ASSERT_TRUE(open->WriteAt(at, byte).ok());
  }
  // The file was one that had been dropped: behind its content and the rest of that page, which is
  // zeros, lies what the other held.
  void WriteOver(size_t file, const std::string& older) {
    const size_t content = files.Content(paths_[file]).size();
    const size_t written = (content + 4095) / 4096 * 4096;
    ASSERT_LT(written, older.size());
    auto open = *files.OpenForWrite(paths_[file], FileSystem::CreateMode::kOpenExisting);
    ASSERT_TRUE(open->WriteAt(content, std::string(written - content, '\0')).ok());
    ASSERT_TRUE(open->WriteAt(written, older.substr(written)).ok());
  }
  const std::string& path(size_t file) const { return paths_[file]; }
  Verdict Judged(Decree applied = Decree(0)) {
    return Judge(files, PlaceIn(files), {.applied = applied});
  }
  absl::StatusOr<RepairPlan> Planned(Decree applied = Decree(0)) {
    return PlanRepair(files, PlaceIn(files), {.applied = applied});
  }

  MemoryFiles files;

 private:
  static int64_t End(const std::string& bytes) { return static_cast<int64_t>(bytes.size()); }
  static std::string Path(int64_t index, int64_t start) {
    return JoinPath(kFolder, LogFileName{.index = index, .start_offset = start}.ToString());
  }
  std::string one_, two_, three_;
  std::vector<std::string> paths_;
};

TEST(Verdict, AWholeLogIsOkAndItsDecreesAreCounted) {
  Folder folder(Durability::kFsync);
  const Verdict verdict = folder.Judged();
  EXPECT_EQ(verdict.judgement, Judgement::kOk) << verdict.reason;
  EXPECT_EQ(verdict.pid, kFuzzPid);
  EXPECT_EQ(verdict.readable.mutations, 9);
  EXPECT_EQ(verdict.readable.max_decree, Decree(9));
  EXPECT_EQ(verdict.files, 3);
}

TEST(Verdict, ATornTailIsHarmlessAndWhatTheStartWillDoIsSaid) {
  Folder folder(Durability::kFsync);
  const size_t size = folder.files.Content(folder.path(2)).size();
  folder.Damage(2, size - 1);
  const int64_t changes = folder.files.changes();
  const Verdict verdict = folder.Judged();
  EXPECT_EQ(verdict.judgement, Judgement::kTornTail) << verdict.reason;
  EXPECT_EQ(verdict.readable.max_decree, Decree(8));
  EXPECT_FALSE(verdict.at_start.empty());
  EXPECT_EQ(folder.files.changes(), changes);
  const auto plan = folder.Planned();
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->steps.empty());
}

// It opens, but what it lacks was durable once.
TEST(Verdict, WhatIsLostSinceACleanStopIsSaid) {
  Folder folder(Durability::kFsync);
  LogIdentity identity = *ReadLogIdentity(folder.files, "/data/2.1.pegasus/.arion-log");
  const std::string newest = folder.files.Content(folder.path(2));
  identity.clean = true;
  identity.last_file = {.index = 3, .content_bytes = newest.size()};
  folder.files.Put("/data/2.1.pegasus/.arion-log", identity.Format());
  const auto expect_lost = [&](const std::string& what) {
    const Verdict verdict = folder.Judged();
    EXPECT_LE(static_cast<int>(verdict.judgement), static_cast<int>(Judgement::kTornTail))
        << verdict.reason;
    EXPECT_NE(verdict.lost.find(what), std::string::npos) << verdict.lost;
    EXPECT_NE(VerdictText(PlaceIn(folder.files), verdict).find("lost: "), std::string::npos);
    const Verdict of_one = Judge(folder.files, PlaceIn(folder.files, folder.path(0)), {});
    EXPECT_EQ(of_one.lost, "") << "the others were not looked at";
  };
  EXPECT_EQ(folder.Judged().lost, "");
  folder.files.Put(folder.path(2), newest.substr(0, kFirstBlockBytes));
  expect_lost("the last clean stop left");
  folder.files.Put(folder.path(2), "");
  expect_lost("lacks log.3");
  ASSERT_TRUE(folder.files.Remove(folder.path(2)).ok());
  expect_lost("holds 2 log files");
  for (const size_t file : {0, 1}) ASSERT_TRUE(folder.files.Remove(folder.path(file)).ok());
  const LogPlace empty = PlaceIn(folder.files);
  EXPECT_NE(Judge(folder.files, empty, {}).lost.find("holds 0 log files"), std::string::npos);
  MemoryFiles gone;
  gone.Put("/data/2.1.pegasus/.arion-log", identity.Format());
  const auto found = FindLogs(gone, "/data");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->troubles.size(), 1u);
  EXPECT_TRUE(absl::IsDataLoss(found->troubles[0].status)) << found->troubles[0].status;
}

TEST(Verdict, DamageInTheMiddleIsDamageWithFileAndPositionAndWhatIsReadable) {
  for (const auto written_as :
       {std::optional<Durability>(), std::optional<Durability>(Durability::kFsync)}) {
    Folder folder(written_as);
    folder.Damage(1, 100);
    const Verdict verdict = folder.Judged();
    EXPECT_EQ(verdict.judgement, Judgement::kDamaged);
    EXPECT_NE(verdict.reason.find("log.2."), std::string::npos) << verdict.reason;
    EXPECT_NE(verdict.reason.find("at 60"), std::string::npos) << verdict.reason;
    EXPECT_EQ(verdict.readable.max_decree, Decree(6));
  }
}

// Up to the older log's next whole block nobody can say whose the bytes are: a torn tail at most.
TEST(Verdict, WhatAFileHeldBeforeItWasWrittenAgainIsHarmlessAndHidesNoDamage) {
  const std::string older = FuzzLog({.start_offset = 0, .blocks = 100, .mutations_per_block = 2});
  for (const size_t file : {1, 2}) {
    Folder folder(Durability::kFsync);
    const size_t content = folder.files.Content(folder.path(file)).size();
    folder.WriteOver(file, older);
    const Verdict whole = folder.Judged();
    EXPECT_EQ(whole.judgement, Judgement::kTornTail) << whole.reason;
    EXPECT_EQ(whole.readable.mutations, 9);
    EXPECT_EQ(whole.readable.max_decree, Decree(9));
    EXPECT_TRUE(folder.Planned()->steps.empty());
    folder.Damage(file, content - 1);
    const Verdict damaged = folder.Judged();
    if (file == 2) {  // the last block of all may be torn
      EXPECT_EQ(damaged.judgement, Judgement::kTornTail) << damaged.reason;
      EXPECT_EQ(damaged.readable.max_decree, Decree(8));
    } else {
      EXPECT_EQ(damaged.judgement, Judgement::kDamaged) << damaged.reason;
      EXPECT_NE(damaged.reason.find("log.2."), std::string::npos) << damaged.reason;
    }
  }
}

TEST(Verdict, AHoleInTheDecreesIsSaid) {
  MemoryFiles files;
  const std::string one = FuzzLog({.blocks = 2});
  files.Put(JoinPath(kFolder, "log.1.0"), one);
  const auto start = static_cast<int64_t>(one.size());
  files.Put(JoinPath(kFolder, absl::StrCat("log.2.", start)),
            FuzzLog({.start_offset = start, .first_decree = 6, .blocks = 1}));
  const Verdict verdict = Judge(files, PlaceIn(files), {});
  EXPECT_EQ(verdict.judgement, Judgement::kOk);
  EXPECT_EQ(verdict.hole, "after decree 2 comes 6");
}

TEST(Verdict, AnotherReplicasLogIsRefusedAndNotRepaired) {
  MemoryFiles files;
  files.Put(JoinPath(kFolder, "log.1.0"), FuzzLog({.pids = {{7, 7}}}));
  const LogPlace place = PlaceIn(files);
  EXPECT_EQ(Judge(files, place, {}).judgement, Judgement::kRefused);
  EXPECT_TRUE(absl::IsFailedPrecondition(PlanRepair(files, place, {}).status()));
  EXPECT_EQ(files.changes(), 0);
}

TEST(Repair, KeepsThePrefixAndSetsTheRestAside) {
  Folder folder(Durability::kFsync);
  const std::string damaged = folder.path(1);
  folder.Damage(1, 100);
  const std::string content = folder.files.Content(damaged);
  const std::string last = folder.files.Content(folder.path(2));
  const auto plan = folder.Planned();
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->steps.size(), 2u);
  ASSERT_TRUE(CarryOut(folder.files, *plan).ok());
  EXPECT_EQ(folder.files.Content(folder.path(2) + ".removed"), last);
  // Zeros at the end of a file that is written ahead say nothing.
  std::string kept = folder.files.Content(damaged) + folder.files.Content(damaged + ".tail");
  kept.resize(content.size());
  EXPECT_EQ(kept, content);
  const Verdict after = folder.Judged();
  EXPECT_EQ(after.judgement, Judgement::kOk) << after.reason;
  EXPECT_EQ(after.readable.max_decree, Decree(6));
  EXPECT_TRUE(folder.Planned()->steps.empty());
}

TEST(Repair, KeepsWhatTheEngineLacksWhenOlderFilesAreMissing) {
  Folder folder(Durability::kFsync);
  ASSERT_TRUE(folder.files.Remove(folder.path(1)).ok());
  // Without knowing what the engine holds the oldest decrees are kept.
  EXPECT_EQ(folder.Planned()->after.readable.max_decree, Decree(6));
  const auto plan = folder.Planned(Decree(8));
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->steps.size(), 1u);
  EXPECT_EQ(plan->steps[0].path, folder.path(0));
  ASSERT_TRUE(CarryOut(folder.files, *plan).ok());
  const Verdict after = folder.Judged(Decree(8));
  EXPECT_EQ(after.judgement, Judgement::kOk) << after.reason;
  EXPECT_EQ(after.readable.min_decree, Decree(9));
}

TEST(Verdict, DamageInAFileThatNoStartReadsIsNone) {
  Folder folder(Durability::kFsync);
  folder.Damage(0, 100);
  EXPECT_EQ(folder.Judged().judgement, Judgement::kDamaged);
  EXPECT_EQ(folder.Judged(Decree(6)).judgement, Judgement::kOk);
}

TEST(Repair, OverwritesNothingThatWasSetAsideBefore) {
  Folder folder(Durability::kFsync);
  folder.Damage(1, 100);
  folder.files.Put(folder.path(1) + ".tail", "older");
  folder.files.Put(folder.path(2) + ".removed", "older");
  ASSERT_TRUE(CarryOut(folder.files, *folder.Planned()).ok());
  EXPECT_EQ(folder.files.Content(folder.path(1) + ".tail"), "older");
  EXPECT_EQ(folder.files.Content(folder.path(2) + ".removed"), "older");
  EXPECT_NE(folder.files.Content(folder.path(1) + ".tail.1"), "");
  EXPECT_NE(folder.files.Content(folder.path(2) + ".removed.1"), "");
  EXPECT_EQ(folder.Judged().judgement, Judgement::kOk);
}

TEST(Verdict, IsTheSameWithATailKeptBefore) {
  Folder folder(Durability::kFsync);
  folder.Damage(2, 100);
  const Verdict before = folder.Judged();
  const uint64_t size = folder.files.Content(folder.path(2)).size();
  for (uint64_t begin = 0; begin < size; ++begin) {
    folder.files.Put(folder.path(2) + ".tail", std::string(size - begin, 'x'));
    const Verdict after = folder.Judged();
    ASSERT_EQ(after.judgement, before.judgement) << begin << ": " << after.reason;
  }
}

TEST(Repair, MayBeKilledAnywhere) {
  for (int64_t n = 0;; ++n) {
    Folder folder(Durability::kFsync);
    folder.Damage(1, 100);
    const auto plan = folder.Planned();
    ASSERT_TRUE(plan.ok());
    folder.files.FailAfter(n);
    const bool was_killed = !CarryOut(folder.files, *plan).ok();
    folder.files.FailAfter(INT64_MAX);
    const auto rest = folder.Planned();
    ASSERT_TRUE(rest.ok()) << "after " << n << ": " << rest.status();
    ASSERT_TRUE(CarryOut(folder.files, *rest).ok());
    const Verdict after = folder.Judged();
    EXPECT_TRUE(after.judgement == Judgement::kOk || after.judgement == Judgement::kTornTail);
    EXPECT_EQ(after.readable.max_decree, Decree(6)) << "after " << n;
    if (was_killed) continue;
    EXPECT_GE(n, 4);
    break;
  }
}

TEST(Repair, ADamagedIdentityFileIsSetAside) {
  Folder folder(Durability::kFsync);
  folder.files.Put("/data/2.1.pegasus/.arion-log", "arion-log 1\nrubbish");
  EXPECT_EQ(folder.Judged().judgement, Judgement::kDamaged);
  const auto plan = folder.Planned();
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_TRUE(CarryOut(folder.files, *plan).ok());
  EXPECT_EQ(folder.Judged().judgement, Judgement::kOk);
  EXPECT_EQ(folder.files.Content("/data/2.1.pegasus/.arion-log.removed"), "arion-log 1\nrubbish");
}

TEST(Repair, SharedLogsAreLeftAlone) {
  MemoryFiles files;
  files.Put("/data/slog/log.1.0", FuzzLog({.pids = {{1, 0}, {2, 1}}}).substr(0, 300));
  const LogPlace place = PlaceIn(files);
  EXPECT_EQ(place.kind, LogKind::kShared);
  EXPECT_TRUE(absl::IsInvalidArgument(PlanRepair(files, place, {}).status()));
}

TEST(Stat, TellsWhatIsVoidAndSetAside) {
  Folder folder(Durability::kFsync);
  folder.files.Put(JoinPath(kFolder, "log.1.0.tail"), "12345");
  folder.files.Put("/data/2.1.pegasus/.init-info",
                   "{\"init_ballot\":3,\"init_durable_decree\":0,\"init_offset_in_shared_log\":0,"
                   "\"init_offset_in_private_log\":300}");
  const auto stat = StatLog(folder.files, PlaceIn(folder.files));
  ASSERT_TRUE(stat.ok()) << stat.status();
  EXPECT_EQ(stat->mutations, 9);
  EXPECT_EQ(stat->blocks, 6);
  EXPECT_EQ(stat->set_aside_bytes, 5u);
  EXPECT_GT(stat->void_bytes, 0u);
  EXPECT_LT(stat->void_bytes, 300u);
}

}  // namespace
}  // namespace arion::logtool
