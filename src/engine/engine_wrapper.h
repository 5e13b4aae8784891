// EngineWrapper: an engine that hands every call to another one, for those that change a few.
//
// Lifetime  Owns the inner engine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace arion {

// `Base`: Engine, or a class below it.
template <class Base>
class EngineWrapper : public Base {
 public:
  using typename Engine::AppliedMutation;
  using typename Engine::CheckpointFiles;
  using typename Engine::CompactionTerms;
  using typename Engine::IndexFiles;

  explicit EngineWrapper(std::unique_ptr<Engine> inner) : inner_(std::move(inner)) {}

  Decree last_applied() const override { return inner_->last_applied(); }
  Decree last_flushed() const override { return inner_->last_flushed(); }
  Decree last_durable() const override { return inner_->last_durable(); }
  absl::Status Apply(Decree decree, int64_t timestamp_us, absl::Span<const WriteOp> ops) override {
    return inner_->Apply(decree, timestamp_us, ops);
  }
  absl::Status ApplyAll(absl::Span<const AppliedMutation> mutations) override {
    return inner_->ApplyAll(mutations);
  }
  absl::Status TryApplyAll(absl::Span<const AppliedMutation> mutations) override {
    return inner_->TryApplyAll(mutations);
  }
  absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now, ReadTier tier) const override {
    return inner_->Get(raw_key, now, tier);
  }
  absl::StatusOr<uint64_t> TagOf(std::string_view raw_key, ReadTier tier) const override {
    return inner_->TagOf(raw_key, tier);
  }
  std::optional<SourcePosition> PositionOf(uint8_t cluster_id,
                                           int64_t duplication_id) const override {
    return inner_->PositionOf(cluster_id, duplication_id);
  }
  int64_t latest_timestamp_us() const override { return inner_->latest_timestamp_us(); }
  std::shared_ptr<const EngineView> View() const override { return inner_->View(); }
  absl::Status Flush() override { return inner_->Flush(); }
  absl::StatusOr<Decree> Checkpoint() override { return inner_->Checkpoint(); }
  absl::StatusOr<bool> RenewCheckpoints() override { return inner_->RenewCheckpoints(); }
  absl::StatusOr<CheckpointFiles> NewestCheckpoint(std::shared_ptr<void>* hold) override {
    return inner_->NewestCheckpoint(hold);
  }
  absl::StatusOr<IndexFiles> ShipIndexes(const CheckpointFiles& checkpoint,
                                         std::shared_ptr<void>* hold) override {
    return inner_->ShipIndexes(checkpoint, hold);
  }
  uint64_t size_bytes() const override { return inner_->size_bytes(); }
  ValueSchema data_version() const override { return inner_->data_version(); }
  std::shared_ptr<const EngineMeter> meter() const override { return inner_->meter(); }
  void BeforeFlush(std::function<void()> hook) override { inner_->BeforeFlush(std::move(hook)); }
  std::shared_ptr<IndexSet> indexes() const override { return inner_->indexes(); }
  void SetOwnership(const KeyOwnership& ownership) override { inner_->SetOwnership(ownership); }
  KeyOwnership ownership() const override { return inner_->ownership(); }
  int32_t compacted_for() const override { return inner_->compacted_for(); }
  absl::Status NoteCompactedFor(int32_t partition_count) override {
    return inner_->NoteCompactedFor(partition_count);
  }
  absl::StatusOr<std::string> CompactFrom(const std::string& from, const CompactionTerms& terms,
                                          std::atomic<bool>* cancelled) override {
    return inner_->CompactFrom(from, terms, cancelled);
  }
  int64_t last_compacted_ms() const override { return inner_->last_compacted_ms(); }
  absl::Status NoteCompacted(int64_t unix_ms) override { return inner_->NoteCompacted(unix_ms); }
  absl::Status Close() override { return inner_->Close(); }

 protected:
  Engine& inner() const { return *inner_; }
  // What is destroyed without Close.
  void DropInner() { inner_.reset(); }

 private:
  std::unique_ptr<Engine> inner_;
};

}  // namespace arion
