// Only configurations that became durable are told. SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/checked_meta_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace arion::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr PartitionId kStored{2, 1};

// Answers a batch when it is told to.
class HeldStore : public MetaStore {
 public:
  absl::StatusOr<std::map<std::string, std::string>> Load() override { return entries; }
  void Commit(std::vector<Change>, StoreNeed, StrandPtr,
              absl::AnyInvocable<void(const absl::Status&)> done) override {
    held = std::move(done);
  }
  void Look(StrandPtr, absl::AnyInvocable<void(const StoreRoom&)>) override {}
  std::map<std::string, std::string> entries;
  absl::AnyInvocable<void(const absl::Status&)> held;
};

class CheckedMetaStoreTest : public ::testing::Test {
 protected:
  CheckedMetaStoreTest() {
    Table& table = state_.tables[2];
    table.info = {.status = AppStatus::kAvailable,
                  .app_type = "pegasus",
                  .app_name = "t",
                  .app_id = 2,
                  .partition_count = 2};
    table.partitions.resize(2);
    for (int32_t i = 0; i < 2; ++i) table.partitions[static_cast<size_t>(i)].config.pid = {2, i};
    auto inner = std::make_unique<HeldStore>();
    inner_ = inner.get();
    store_ = std::make_unique<CheckedMetaStore>(
        std::move(inner),
        [this](const PartitionConfiguration& config) { stored_.push_back(config.pid); },
        [this](const absl::Status&) { ++refused_; });
  }
  std::vector<MetaStore::Change> All() const {
    const Table& table = state_.tables.at(2);
    std::vector<MetaStore::Change> all = {state_.ChangeOf(table.info)};
    for (const Partition& partition : table.partitions)
      all.push_back(state_.ChangeOf(partition.config));
    return all;
  }
  MetaStore::Change One() const {
    return state_.ChangeOf(state_.tables.at(2).partitions[1].config);
  }
  void Commit(std::vector<MetaStore::Change> batch, StoreNeed need = StoreNeed::kToServe) {
    store_->Commit(std::move(batch), need, nullptr,
                   [this](const absl::Status& status) { answers_.push_back(status); });
  }
  void Ends(const absl::Status& status) { inner_->held(status); }

  ClusterState state_;
  HeldStore* inner_ = nullptr;
  std::unique_ptr<CheckedMetaStore> store_;
  std::vector<PartitionId> stored_;
  std::vector<absl::Status> answers_;
  int refused_ = 0;
};

TEST_F(CheckedMetaStoreTest, WhatIsNotDurableYetIsNotTold) {
  Commit(All());
  EXPECT_THAT(stored_, IsEmpty());
  Ends(absl::OkStatus());
  EXPECT_THAT(stored_, ElementsAre(PartitionId{2, 0}, kStored));
  EXPECT_THAT(answers_, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(store_->State()->tables.at(2).info.app_name, "t");
}

TEST_F(CheckedMetaStoreTest, OfALaterBatchOnlyWhatItChangesIsTold) {
  Commit(All());
  Ends(absl::OkStatus());
  stored_.clear();
  Commit({One()});
  Ends(absl::OkStatus());
  EXPECT_THAT(stored_, ElementsAre(kStored));
  Commit({ClusterState::ChangeOf(FunctionLevel::kSteady)});
  Ends(absl::OkStatus());
  EXPECT_THAT(stored_, ElementsAre(kStored)) << "that is no partition";
}

TEST_F(CheckedMetaStoreTest, ARefusedBatchIsToldAsRefusedWhereItWasToServe) {
  Commit(All(), StoreNeed::kWhileRoom);
  Ends(absl::ResourceExhaustedError("full"));
  EXPECT_EQ(refused_, 0);
  Commit(All());
  Ends(absl::ResourceExhaustedError("full"));
  EXPECT_EQ(refused_, 1);
  EXPECT_THAT(stored_, IsEmpty());
  EXPECT_EQ(answers_.size(), 2u);
  EXPECT_TRUE(store_->State()->tables.empty());
}

TEST_F(CheckedMetaStoreTest, WhatIsLoadedIsToldAsStored) {
  for (const MetaStore::Change& change : All()) inner_->entries[change.key] = *change.value;
  ASSERT_TRUE(store_->Load().ok());
  EXPECT_THAT(stored_, ElementsAre(PartitionId{2, 0}, kStored));
}

}  // namespace
}  // namespace arion::sim
