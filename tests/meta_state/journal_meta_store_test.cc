// SPDX-License-Identifier: Apache-2.0
#include "meta_state/journal_meta_store.h"
#include "env/file_system.h"

#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <memory>

#include "meta_state/cluster_warning.h"
#include "meta_state/store_room.h"
#include "sim/sim_environment.h"
#include "sim/sim_world.h"

namespace arion {
namespace {

constexpr char kPath[] = "/var/lib/meta/meta.journal";

class JournalMetaStoreTest : public testing::Test {
 protected:
  JournalMetaStoreTest() : node_(world_.AddNode("meta")) { Begin(); }

  void Begin() {
    env_ = &node_.Start();
    strand_ = env_->NewStrand("test");
    store_ = std::make_unique<JournalMetaStore>(
        *env_, "/var/lib/meta",
        JournalMetaStoreOptions{.history_bytes_max = 4096, .reserve_bytes = reserve_bytes_});
  }
  absl::StatusOr<std::map<std::string, std::string>> Load() {
    absl::StatusOr<std::map<std::string, std::string>> loaded;
    env_->RunInPool([&] { loaded = store_->Load(); });
    return loaded;
  }
  absl::StatusOr<std::map<std::string, std::string>> CrashAndLoad(sim::CrashMode mode) {
    node_.Crash(mode);
    store_.reset();
    strand_.reset();
    Begin();
    return Load();
  }
  void CommitLater(std::vector<MetaStore::Change> batch, StoreNeed need) {
    env_->RunOn(strand_, [&] {
      store_->Commit(std::move(batch), need, strand_,
                     [this](const absl::Status& status) { done_.push_back(status); });
    });
  }
  absl::Status Commit(std::vector<MetaStore::Change> batch, StoreNeed need = StoreNeed::kToServe) {
    size_t before = done_.size();
    CommitLater(std::move(batch), need);
    world_.RunUntil([&] { return done_.size() > before; }, absl::Seconds(5));
    return done_.size() > before ? done_.back() : absl::UnavailableError("no answer");
  }
  std::string Content() {
    std::string content;
    env_->RunInPool([&] { content = ReadFile(env_->files(), kPath).value(); });
    return content;
  }
  void Overwrite(const std::string& content) {
    env_->RunInPool([&] { ASSERT_TRUE(WriteFileDurably(env_->files(), kPath, content).ok()); });
  }

  StoreRoom Look() {
    std::optional<StoreRoom> seen;
    env_->RunOn(strand_,
                [&] { store_->Look(strand_, [&](const StoreRoom& room) { seen = room; }); });
    world_.RunUntil([&] { return seen.has_value(); }, absl::Seconds(5));
    return seen.value_or(StoreRoom{});
  }
  // With a whole reserve of so many bytes.
  void LoadWithReserve(uint64_t bytes) {
    reserve_bytes_ = bytes;
    ASSERT_TRUE(CrashAndLoad(sim::CrashMode::kProcess).ok());
    for (int i = 0; i < 10 && Look().reserve_bytes != bytes; ++i) continue;
    ASSERT_EQ(Look().reserve_bytes, bytes);
  }

  uint64_t reserve_bytes_ = 0;
  sim::SimWorld world_{7};
  sim::SimNode& node_;
  sim::SimEnvironment* env_ = nullptr;
  StrandPtr strand_;
  std::unique_ptr<JournalMetaStore> store_;
  std::vector<absl::Status> done_;
};

using Entries = std::map<std::string, std::string>;

TEST_F(JournalMetaStoreTest, WhatWasCommittedSurvivesEveryCrash) {
  EXPECT_EQ(*Load(), Entries{});
  ASSERT_TRUE(Commit({{"/apps/1", "a"}, {"/apps/1/0", std::string("\0x\n", 3)}}).ok());
  ASSERT_TRUE(Commit({{"/apps/1", "b"}, {"/apps/2", ""}}).ok());
  ASSERT_TRUE(Commit({{"/apps/1/0", std::nullopt}}).ok());
  for (sim::CrashMode mode : {sim::CrashMode::kPowerNone, sim::CrashMode::kPowerRandom,
                              sim::CrashMode::kPowerPrefix, sim::CrashMode::kProcess}) {
    EXPECT_EQ(*CrashAndLoad(mode), (Entries{{"/apps/1", "b"}, {"/apps/2", ""}}));
  }
}

TEST_F(JournalMetaStoreTest, ACommitIsAllOrNothingAndTornTailsAreCut) {
  // Crashes between any two changes of the disk, torn ones included.
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    sim::SimWorld world(seed);
    sim::SimNode& node = world.AddNode("meta");
    auto* env = &node.Start();
    auto store = std::make_unique<JournalMetaStore>(
        *env, "/meta", JournalMetaStoreOptions{.history_bytes_max = 2048});
    env->RunInPool([&] { ASSERT_TRUE(store->Load().ok()); });
    StrandPtr strand = env->NewStrand("test");
    int64_t acknowledged = -1, submitted = -1;
    bool crashed = false;
    sim::CrashMode mode =
        seed % 2 == 0 ? sim::CrashMode::kPowerRandom : sim::CrashMode::kPowerPrefix;
    node.CrashAfterChanges(static_cast<int64_t>(seed % 40), mode, [&] { crashed = true; });
    for (int64_t i = 0; i < 60 && !crashed; ++i) {
      strand->Post([&, i] {
        submitted = i;
        std::string value = std::to_string(i) + std::string(200, 'v');
        store->Commit({{"/a", value}, {"/b", value}}, StoreNeed::kToServe, strand,
                      [&, i](const absl::Status& status) {
                        if (status.ok()) acknowledged = i;
                      });
      });
      world.RunFor(absl::Milliseconds(i % 3 * 2));
    }
    world.RunFor(absl::Seconds(1));
    ASSERT_TRUE(crashed) << seed;
    store.reset();
    strand.reset();
    env = &node.Start();
    store = std::make_unique<JournalMetaStore>(*env, "/meta");
    absl::StatusOr<Entries> loaded;
    env->RunInPool([&] { loaded = store->Load(); });
    ASSERT_TRUE(loaded.ok()) << "seed " << seed << ": " << loaded.status();
    int64_t found = loaded->empty() ? -1 : std::stoll((*loaded)["/a"]);
    EXPECT_GE(found, acknowledged) << seed;
    EXPECT_LE(found, submitted) << seed;
    EXPECT_EQ((*loaded)["/a"], (*loaded)["/b"]) << seed;
  }
}

TEST_F(JournalMetaStoreTest, ADamagedEndIsSetAsideAndTheNextCommitFollowsTheLastGoodOne) {
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(Commit({{"k", "1"}}).ok());
  std::string good = Content();
  ASSERT_TRUE(Commit({{"k", "2"}}).ok());
  std::string longer = Content();
  for (size_t size = good.size() + 1; size < longer.size(); ++size) {
    Overwrite(longer.substr(0, size));
    EXPECT_EQ(CrashAndLoad(sim::CrashMode::kProcess)->at("k"), "1") << size;
    EXPECT_EQ(Content(), good);
  }
  std::string tail;
  env_->RunInPool([&] { tail = ReadFile(env_->files(), std::string(kPath) + ".tail").value(); });
  EXPECT_EQ(tail, longer.substr(good.size(), longer.size() - good.size() - 1));
  ASSERT_TRUE(Commit({{"k", "3"}}).ok());
  EXPECT_EQ(CrashAndLoad(sim::CrashMode::kPowerNone)->at("k"), "3");
}

TEST_F(JournalMetaStoreTest, WhatWasReadAfterAFailedSyncIsDurable) {
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(Commit({{"k", "1"}}).ok());
  for (const bool commits_more : {false, true}) {
    node_.disk().FailSyncs(1);
    EXPECT_FALSE(Commit({{"k", commits_more ? "3" : "2"}}).ok());
    Entries read = *CrashAndLoad(sim::CrashMode::kProcess);
    if (commits_more) {
      read["big"] = std::string(2000, 'v');
      ASSERT_TRUE(Commit({{"big", read["big"]}}).ok());
    }
    const absl::StatusOr<Entries> again = CrashAndLoad(sim::CrashMode::kPowerNone);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, read) << "servers may have been told of it";
  }
}

TEST_F(JournalMetaStoreTest, AJournalThatCanNotBeLookedForIsNotTakenForNone) {
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(Commit({{"k", "1"}}).ok());
  const std::string good = Content();
  for (int n = 1; n <= 6; ++n) {  // of the directory and those above it, then of the file
    node_.disk().FailStats(n);
    const absl::StatusOr<Entries> loaded = CrashAndLoad(sim::CrashMode::kProcess);
    node_.disk().FailStats(0);
    EXPECT_TRUE(!loaded.ok() || loaded->at("k") == "1") << n;
    EXPECT_EQ(Content(), good) << n << " " << loaded.status();
  }
  EXPECT_EQ(CrashAndLoad(sim::CrashMode::kPowerNone)->at("k"), "1");
}

TEST_F(JournalMetaStoreTest, AFullDiskKeepsNoStartFromCuttingATornEnd) {
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(Commit({{"k", "1"}}).ok());
  const std::string good = Content();
  ASSERT_TRUE(Commit({{"k", "2"}}).ok());
  Overwrite(Content().substr(0, good.size() + 9));
  node_.disk().SetFreeBytes(0);
  const absl::StatusOr<Entries> loaded = CrashAndLoad(sim::CrashMode::kProcess);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->at("k"), "1");
  EXPECT_EQ(Content(), good);
}

TEST_F(JournalMetaStoreTest, ACommitWithoutSpaceFailsAloneAndLeavesNothing) {
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(Commit({{"k", "1"}}).ok());
  const std::string good = Content();
  node_.disk().SetFreeBytes(100);
  EXPECT_TRUE(absl::IsResourceExhausted(Commit({{"k", std::string(200, 'v')}})));
  EXPECT_EQ(Content(), good);
  ASSERT_TRUE(Commit({{"k", "2"}}).ok()) << "a smaller one, or when there is space again";
  EXPECT_EQ(*CrashAndLoad(sim::CrashMode::kPowerNone), (Entries{{"k", "2"}}));

  node_.disk().SetFreeBytes(0);
  EXPECT_TRUE(absl::IsResourceExhausted(Commit({{"k", "3"}})));
  node_.disk().SetFreeBytes(UINT64_MAX);
  node_.disk().FailSyncs(1);
  EXPECT_TRUE(absl::IsDataLoss(Commit({{"k", "4"}})));
  EXPECT_TRUE(absl::IsDataLoss(Commit({{"k", "5"}}))) << "that is final";
}

TEST_F(JournalMetaStoreTest, AFullDiskRefusesTablesAndStoresFailoversByItsReserve) {
  LoadWithReserve(256 << 10);
  EXPECT_FALSE(Look().is_short);
  node_.disk().SetFreeBytes(0);
  EXPECT_TRUE(absl::IsResourceExhausted(Commit({{"t", "1"}}, StoreNeed::kWhileRoom)));
  EXPECT_EQ(Look().reserve_bytes, uint64_t{256 << 10}) << "tables take nothing of it";
  ASSERT_TRUE(Commit({{"k", "1"}}).ok());
  const StoreRoom room = Look();
  EXPECT_TRUE(room.is_short);
  EXPECT_LT(room.reserve_bytes, uint64_t{256 << 10});
  EXPECT_GE(room.reserve_bytes, uint64_t{240 << 10}) << "no more than it needed";
  EXPECT_TRUE(absl::IsResourceExhausted(Commit({{"t", "1"}}, StoreNeed::kWhileRoom)))
      << "what was given up is not for tables";
  EXPECT_EQ(*CrashAndLoad(sim::CrashMode::kPowerNone), (Entries{{"k", "1"}}));
  ASSERT_TRUE(Commit({{"k", "2"}}).ok()) << "also before anybody looked";
}

TEST_F(JournalMetaStoreTest, OfWhatIsCommittedAtOnceAFullDiskStoresWhatServes) {
  LoadWithReserve(256 << 10);
  node_.disk().SetFreeBytes(0);
  for (const StoreNeed need : {StoreNeed::kToServe, StoreNeed::kWhileRoom, StoreNeed::kToServe})
    CommitLater({{absl::StrCat("k", done_.size()), "1"}}, need);
  world_.RunUntil([&] { return done_.size() == 3; }, absl::Seconds(5));
  ASSERT_EQ(done_.size(), 3u);
  EXPECT_TRUE(done_[0].ok() && done_[2].ok());
  EXPECT_TRUE(absl::IsResourceExhausted(done_[1])) << done_[1];
}

TEST_F(JournalMetaStoreTest, FailoversGoOnForHoursOnAFullDiskSinceTheJournalIsWrittenAnew) {
  LoadWithReserve(256 << 10);
  node_.disk().SetFreeBytes(0);
  const std::string value(300, 'v');
  Entries entries;
  for (int n = 0; n < 20000; ++n) {
    const std::string key = absl::StrCat("k", n % 50);
    entries[key] = absl::StrCat(value, n);
    const absl::Status stored = Commit({{key, entries[key]}});
    ASSERT_TRUE(stored.ok()) << n << " " << stored;
    if (n % 100 == 0) Look();
  }
  EXPECT_LT(Content().size(), size_t{128 << 10});
  EXPECT_EQ(*CrashAndLoad(sim::CrashMode::kPowerNone), entries);
}

TEST_F(JournalMetaStoreTest, WhoTakesAllThatComesFreeGetsTheReserveOnlyPieceByPiece) {
  LoadWithReserve(1 << 20);
  int stored = 0;
  node_.disk().SetFreeBytes(0);
  while (Commit({{"k", std::string(300, 'v')}}).ok()) {
    ++stored;
    node_.disk().SetFreeBytes(0);
  }
  EXPECT_GE(stored, 80);
  EXPECT_EQ(Look().reserve_bytes, 0u);
  EXPECT_TRUE(absl::IsResourceExhausted(Commit({{"k", "1"}})));
}

TEST_F(JournalMetaStoreTest, WhenThereIsRoomTheReserveIsTakenAgainAndTablesChange) {
  LoadWithReserve(6 << 20);
  node_.disk().SetFreeBytes(0);
  for (int n = 0; n < 100; ++n) ASSERT_TRUE(Commit({{"k", std::string(4000, 'v')}}).ok()) << n;
  const uint64_t left = Look().reserve_bytes;
  EXPECT_LT(left, uint64_t{6 << 20});
  node_.disk().SetFreeBytes(5 << 20);
  EXPECT_TRUE(Look().is_short) << "others have use for a little room, too";
  EXPECT_EQ(Look().reserve_bytes, left);
  node_.disk().SetFreeBytes(100 << 20);
  EXPECT_EQ(Look().reserve_bytes, uint64_t{6 << 20});
  EXPECT_FALSE(Look().is_short);
  EXPECT_TRUE(Commit({{"t", "1"}}, StoreNeed::kWhileRoom).ok());
}

TEST_F(JournalMetaStoreTest, AReserveGrowsAPieceAtEachLookAndIsCutWhereLessIsWanted) {
  reserve_bytes_ = 10 << 20;
  ASSERT_TRUE(CrashAndLoad(sim::CrashMode::kProcess).ok());
  EXPECT_EQ(Look().reserve_bytes, uint64_t{4 << 20});
  EXPECT_FALSE(Look().is_short) << "it is new, nothing is full";
  EXPECT_EQ(Look().reserve_bytes, uint64_t{10 << 20});
  LoadWithReserve(0);
}

TEST_F(JournalMetaStoreTest, AReserveThatCanNotBeMadeKeepsNoTableFromChanging) {
  reserve_bytes_ = 1 << 20;
  ASSERT_TRUE(CrashAndLoad(sim::CrashMode::kProcess).ok());
  node_.disk().FailCalls("/var/lib/meta/.arion-reserve", sim::DiskTrouble::kReadOnly, 100);
  EXPECT_FALSE(Look().is_short);
  EXPECT_TRUE(Commit({{"t", "1"}}, StoreNeed::kWhileRoom).ok());
}

TEST_F(JournalMetaStoreTest, WhatSharesARecordWithACommitThatIsTooLargeIsStored) {
  ASSERT_TRUE(Load().ok());
  node_.disk().SetFreeBytes(1000);
  env_->RunOn(strand_, [&] {
    for (const size_t bytes : {size_t{1}, size_t{2}, size_t{2000}, size_t{3}}) {
      store_->Commit({{"k", std::string(bytes, 'v')}}, StoreNeed::kToServe, strand_,
                     [this](const absl::Status& status) { done_.push_back(status); });
    }
  });
  world_.RunUntil([&] { return done_.size() == 4; }, absl::Seconds(5));
  ASSERT_EQ(done_.size(), 4u);
  for (const size_t i : {0, 1, 3}) EXPECT_TRUE(done_[i].ok()) << i << " " << done_[i];
  EXPECT_TRUE(absl::IsResourceExhausted(done_[2])) << done_[2];
  EXPECT_EQ(*CrashAndLoad(sim::CrashMode::kPowerNone), (Entries{{"k", "vvv"}}));
}

TEST_F(JournalMetaStoreTest, AHistoryThatCanNotBeWrittenAnewGrowsOn) {
  ASSERT_TRUE(Load().ok());
  const std::string value(300, 'v');
  Entries entries;
  const auto commit = [&](int n) {
    entries["k" + std::to_string(n % 3)] = value + std::to_string(n);
    return Commit({{"k" + std::to_string(n % 3), value + std::to_string(n)}});
  };
  int n = 0;
  while (Content().size() <= 4096 - 400) ASSERT_TRUE(commit(n++).ok());
  node_.disk().SetFreeBytes(1000);  // of two records, or of half a new file
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(commit(n++).ok()) << i;
  EXPECT_GT(Content().size(), 4096u);
  EXPECT_FALSE(Exists(env_->files(), std::string(kPath) + ".tmp")) << "it takes what commits need";
  node_.disk().SetFreeBytes(UINT64_MAX);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(commit(n++).ok()) << i;
  EXPECT_LT(Content().size(), 6000u) << "tried again";
  EXPECT_EQ(*CrashAndLoad(sim::CrashMode::kPowerNone), entries);
}

TEST_F(JournalMetaStoreTest, ACommitThatCanNotBeWrittenFailsAloneAndLeavesNothing) {
  ASSERT_TRUE(Load().ok());
  ASSERT_TRUE(Commit({{"k", "1"}}).ok());
  const std::string good = Content();
  node_.disk().FailWrites(1);
  EXPECT_TRUE(absl::IsUnavailable(Commit({{"k", std::string(2000, 'v')}})));
  EXPECT_EQ(Content(), good);
  ASSERT_TRUE(Commit({{"k", "2"}}).ok());
  EXPECT_EQ(*CrashAndLoad(sim::CrashMode::kPowerNone), (Entries{{"k", "2"}}));

  node_.disk().FailCalls("/var", sim::DiskTrouble::kErrors, 100);  // nor can anything be cut off
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(absl::IsUnavailable(Commit({{"k", "3"}}))) << i;
  node_.disk().FailCalls("/var", sim::DiskTrouble::kErrors, 0);
  ASSERT_TRUE(Commit({{"k", "4"}}).ok());
  EXPECT_EQ(*CrashAndLoad(sim::CrashMode::kPowerNone), (Entries{{"k", "4"}}));
}

TEST_F(JournalMetaStoreTest, ADiskInTroubleForAWhileEndsNothing) {
  ASSERT_TRUE(Load().ok());
  Entries entries;
  int n = 0, refused = 0;
  const auto commit = [&](const std::string& value) {
    const std::string key = absl::StrCat("k", n++ % 3);
    const absl::Status stored = Commit({{key, value}});
    if (stored.ok()) entries[key] = value;
    return stored;
  };
  for (const sim::DiskTrouble trouble :
       {sim::DiskTrouble::kErrors, sim::DiskTrouble::kNoSpace, sim::DiskTrouble::kNoDescriptors,
        sim::DiskTrouble::kReadOnly, sim::DiskTrouble::kNoMemory, sim::DiskTrouble::kNameErrors}) {
    for (const double percent : {5, 40, 100}) {
      for (int round = 0; round < 10; ++round) {
        node_.disk().FailCalls("/var", trouble, percent);
        absl::Status last;
        for (int i = 0; i < 30 && !absl::IsDataLoss(last); ++i) {  // it is written anew meanwhile
          last = commit(std::string(300, static_cast<char>('a' + i)));
          refused += !last.ok();
        }
        node_.disk().FailCalls("/var", trouble, 0);
        // A sync of the directory that failed is final until the next start; so is an I/O error of
        // which it can't be looked what came of it.
        const bool is_final = absl::IsDataLoss(last);
        ASSERT_TRUE(!is_final || trouble == sim::DiskTrouble::kErrors ||
                    trouble == sim::DiskTrouble::kNameErrors)
            << last;
        ASSERT_TRUE(is_final || commit("after").ok());
        absl::StatusOr<Entries> loaded = CrashAndLoad(sim::CrashMode::kPowerRandom);
        ASSERT_TRUE(loaded.ok()) << loaded.status();
        if (is_final) {  // what failed with it may be stored or not
          const std::string key = absl::StrCat("k", (n - 1) % 3);
          entries[key] = (*loaded)[key];
        }
        EXPECT_EQ(*loaded, entries);
      }
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(JournalMetaStoreTest, ADamagedMiddleIsRefusedAndNothingChanged) {
  ASSERT_TRUE(Load().ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Commit({{"k", std::to_string(i)}}).ok());
  const std::string good = Content();
  const size_t record = (good.size() - 8) / 4;  // the empty first one is a little shorter
  for (size_t at = 0; at < good.size() - record - 8; ++at) {
    std::string damaged = good;
    damaged[at] ^= 0x40;
    Overwrite(damaged);
    absl::StatusOr<Entries> loaded = CrashAndLoad(sim::CrashMode::kProcess);
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kDataLoss) << at;
    EXPECT_EQ(Content(), damaged) << at;
  }
}

TEST_F(JournalMetaStoreTest, TheHistoryIsWrittenAnewBeforeItGrowsLong) {
  ASSERT_TRUE(Load().ok());
  std::string value(300, 'v');
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Commit({{"k" + std::to_string(i % 3), value + std::to_string(i)}}).ok());
    EXPECT_LT(Content().size(), 6000u);
  }
  Entries entries = *CrashAndLoad(sim::CrashMode::kPowerNone);
  EXPECT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries["k0"], value + "99");
}

TEST_F(JournalMetaStoreTest, CommitsAreAnsweredInOrderAndShareRecords) {
  ASSERT_TRUE(Load().ok());
  std::vector<int> order;
  env_->RunOn(strand_, [&] {
    for (int i = 0; i < 50; ++i) {
      store_->Commit({{"k", std::to_string(i)}}, StoreNeed::kToServe, strand_,
                     [&order, i](const absl::Status& status) {
                       EXPECT_TRUE(status.ok());
                       order.push_back(i);
                     });
    }
  });
  world_.RunUntil([&] { return order.size() == 50; }, absl::Seconds(5));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), 50u);
  EXPECT_EQ(CrashAndLoad(sim::CrashMode::kPowerNone)->at("k"), "49");
}

}  // namespace
}  // namespace arion
