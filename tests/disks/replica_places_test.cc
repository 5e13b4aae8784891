// SPDX-License-Identifier: Apache-2.0
#include "disks/replica_places.h"

#include <gtest/gtest.h>

#include "disks/disk_layout.h"
#include "disks/disk_watch.h"
#include "replica/replica_options.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"
#include "tests/wal/watched_environment.h"

namespace arion {
namespace {

constexpr PartitionId kPid{2, 1};
constexpr char kName[] = "2.1.pegasus";
constexpr char kFirst[] = "/a/2.1.pegasus";
constexpr char kSecond[] = "/b/2.1.pegasus";
constexpr char kThird[] = "/c/2.1.pegasus";

// Three data directories; the first has a replica's directory.
class ReplicaPlacesTest : public testing::Test {
 protected:
  ReplicaPlacesTest() {
    env_.files().on_change = [this](const std::string& path) {
      return path == fails_ ? absl::InternalError("Input/output error") : absl::OkStatus();
    };
    machine_.RunInPool([&] {
      for (const char* path : {kFirst, "/b", "/c"})
        ASSERT_TRUE(machine_.files().CreateDirectories(path).ok());
    });
    disks_->watch->Start({true, true, true});
    Use({true, true, true});
  }
  ~ReplicaPlacesTest() override {
    OnStrand([this] {
      disks_->watch->Stop();
      places_->Stop();
    });
  }
  std::shared_ptr<const ServerDisks> MakeDisks() {
    ReplicaServerOptions options;
    options.layout.data_directories = {{"a", "/a"}, {"b", "/b"}, {"c", "/c"}};
    options.disk = {.available_bytes_min = 0, .reserve_bytes = 0};
    auto watch =
        std::make_shared<DiskWatch>(env_, strand_, options.disk, options.layout.data_directories);
    return std::make_shared<const ServerDisks>(
        ServerDisks{env_, std::move(options.layout), std::move(watch)});
  }
  void Use(std::vector<bool> usable) {
    places_ = std::make_shared<ReplicaPlaces>(disks_, strand_, std::move(usable));
  }
  void OnStrand(absl::FunctionRef<void()> task) { machine_.RunOn(strand_, task); }
  std::optional<ReplicaPlaces::Place> Choose() {
    std::optional<ReplicaPlaces::Place> place;
    OnStrand([&] { place = places_->Choose(kName, loads_); });
    return place;
  }
  void ExpectPlace(const char* path, const std::vector<std::string>& replaces) {
    const std::optional<ReplicaPlaces::Place> place = Choose();
    ASSERT_TRUE(place);
    EXPECT_EQ(place->path, path);
    EXPECT_EQ(place->replaces, replaces);
  }
  void VacateFirst() {
    OnStrand(
        [this] { places_->Vacate(kPid, kFirst, SetAside::kFailed, [this] { ++times_gone_; }); });
  }
  bool IsLeaving() {
    bool is_leaving = false;
    OnStrand([&] { is_leaving = places_->IsLeaving(kPid); });
    return is_leaving;
  }

  sim::SimWorld world_{5};
  sim::SimNetwork network_{world_};
  sim::SimNode& node_ = world_.AddNode("n");
  sim::SimEnvironment& machine_ = node_.Start();
  WatchedEnvironment env_{machine_};
  sim::SimTransport transport_{network_, node_, *Endpoint::Parse("10.0.0.1:34801")};
  StrandPtr strand_ = machine_.NewStrand("server");
  std::shared_ptr<const ServerDisks> disks_ = MakeDisks();
  std::shared_ptr<ReplicaPlaces> places_;
  std::vector<DirectoryLoad> loads_ = std::vector<DirectoryLoad>(3);
  std::string fails_;  // what can't be changed
  int times_gone_ = 0;
};

TEST_F(ReplicaPlacesTest, ANewOneGoesWhereFewestAreAndReplacesNothing) {
  loads_ = {{.replicas = 3}, {.replicas = 1}, {.replicas = 2}};
  ExpectPlace(kSecond, {});
  loads_[1].replicas_of_table = 1;
  ExpectPlace(kThird, {});
}

TEST_F(ReplicaPlacesTest, NothingIsMadeWhereADirectoryOfThatNameIsStillToGo) {
  VacateFirst();
  EXPECT_TRUE(IsLeaving());
  ExpectPlace(kSecond, {kFirst});
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(times_gone_, 1);
  EXPECT_FALSE(IsLeaving());
  EXPECT_FALSE(machine_.files().Stat(kFirst).ok());
  ExpectPlace(kFirst, {});
}

TEST_F(ReplicaPlacesTest, WhatCantBeSetAsideIsTriedAgainAndHoldsUpNobody) {
  fails_ = kFirst;
  VacateFirst();
  world_.RunFor(absl::Minutes(1));
  EXPECT_EQ(times_gone_, 0);
  EXPECT_FALSE(IsLeaving()) << "a new one may be made elsewhere";
  ExpectPlace(kSecond, {kFirst});
  fails_ = "";
  world_.RunFor(absl::Seconds(6));
  EXPECT_EQ(times_gone_, 1);
  ExpectPlace(kFirst, {});
}

TEST_F(ReplicaPlacesTest, NothingIsTriedAgainOnceItIsStopped) {
  fails_ = kFirst;
  VacateFirst();
  world_.RunFor(absl::Seconds(1));
  OnStrand([this] { places_->Stop(); });
  fails_ = "";
  world_.RunFor(absl::Minutes(1));
  EXPECT_EQ(times_gone_, 0);
  EXPECT_TRUE(machine_.files().Stat(kFirst).ok());
}

// Its name was gone when the sync failed.
TEST_F(ReplicaPlacesTest, ARenamingCountsOnceItIsDurable) {
  bool fails = true;
  env_.files().on_sync_directory = [&](const std::string&) {
    return fails ? absl::InternalError("Input/output error") : absl::OkStatus();
  };
  VacateFirst();
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(times_gone_, 0);
  ExpectPlace(kSecond, {kFirst});
  fails = false;
  world_.RunFor(absl::Seconds(6));
  EXPECT_EQ(times_gone_, 1);
}

TEST_F(ReplicaPlacesTest, WhatCantBeReadOrReachedIsReplaced) {
  Use({true, true, false});
  OnStrand([this] { places_->Ignore(kFirst); });
  loads_[0].replicas = 1;
  ExpectPlace(kSecond, {kFirst, kThird});
  VacateFirst();  // it could be read after all, and was found to be the older copy
  world_.RunFor(absl::Seconds(1));
  ExpectPlace(kSecond, {kThird});
}

// A split's child lies beside its parent; but another copy of it may turn up elsewhere.
TEST_F(ReplicaPlacesTest, InOneDirectoryItRecordsWhatItReplacesToo) {
  Use({true, true, false});
  OnStrand([&] {
    places_->Ignore(kFirst);
    const std::optional<ReplicaPlaces::Place> place = places_->ChooseIn(1, kName);
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(place->path, kSecond);
    EXPECT_EQ(place->data_directory, 1);
    EXPECT_EQ(place->replaces, (std::vector<std::string>{kFirst, kThird}));
    EXPECT_FALSE(places_->ChooseIn(2, kName).has_value()) << "it can't be used";
    places_->Vacate(kPid, kSecond, SetAside::kUnborn, [] {});
    EXPECT_FALSE(places_->ChooseIn(1, kName).has_value()) << "the former one is still to go";
  });
}

TEST_F(ReplicaPlacesTest, ADirectoryWhereManyFailedGetsNoNewOneForAWhile) {
  loads_ = {{}, {.replicas = 1}, {.replicas = 1}};
  OnStrand([this] {
    for (int i = 0; i <= DirectoryRest::kFree; ++i) places_->NoteFailure(0);
  });
  ExpectPlace(kSecond, {});
  world_.RunFor(absl::Seconds(2));
  ExpectPlace(kFirst, {});
}

TEST_F(ReplicaPlacesTest, ADiskThatFailedIsTheLastChoiceAndAFullOneIsNone) {
  const absl::Status no_space = absl::ResourceExhaustedError("No space left on device");
  loads_ = {{}, {.replicas = 1}, {.replicas = 2}};
  disks_->watch->OnIoError(0, "a read");
  ExpectPlace(kSecond, {});
  for (size_t disk : {1, 2}) disks_->watch->OnNoSpace(disk, no_space);
  ExpectPlace(kFirst, {});
  disks_->watch->OnNoSpace(0, no_space);
  EXPECT_FALSE(Choose());
}

}  // namespace
}  // namespace arion
