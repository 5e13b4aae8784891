// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/checked_engine.h"

#include <array>
#include <optional>

#include "base/coding.h"
#include "base/crc.h"
#include "base/status.h"
#include "disks/replica_directory.h"
#include "engine/engine_wrapper.h"
#include "env/file_system.h"
#include "sim/sim_environment.h"
#include "sim_checkers/checkers.h"

namespace arion::sim {
namespace {

// Of what a mutation does; its length in the upper half.
uint64_t Checksum(int64_t timestamp_us, absl::Span<const WriteOp> ops) {
  uint32_t crc = 0;
  uint64_t length = 0;
  const auto add = [&](std::string_view bytes) {
    crc = Crc32c(bytes, crc);
    length += bytes.size();
  };
  std::array<char, 12> header;
  StoreLittle(timestamp_us, header.data());
  add({header.data(), sizeof(timestamp_us)});
  for (const WriteOp& op : ops) {
    StoreLittle(static_cast<uint32_t>(op.kind), header.data());
    StoreLittle(op.expire_ts, header.data() + 4);
    StoreLittle(static_cast<uint32_t>(op.key.size()), header.data() + 8);
    add({header.data(), header.size()});
    add(op.key);
    add(op.value);
  }
  // Two contents of one checksum would have to have one length, too.
  return length << 32 | crc;
}

class CheckedEngine : public EngineWrapper<Engine> {
 public:
  CheckedEngine(std::unique_ptr<Engine> inner, SimNode& node, std::string server, PartitionId pid,
                CommitChecker& checker, OpenEngines& open, CheckedEngineFactory::Times times,
                CheckedEngineFactory::OnApplied on_applied)
      : EngineWrapper(std::move(inner)),
        node_(node),
        server_(std::move(server)),
        pid_(pid),
        checker_(checker),
        open_(open),
        times_(times),
        on_applied_(std::move(on_applied)) {
    open_[{server_, pid_}] = this;
    checker_.Opened(server_, pid_, last_applied());
  }
  // Also without Close: a crash destroys engines that were never closed.
  ~CheckedEngine() override { Forget(); }

  absl::Status TryApplyAll(absl::Span<const AppliedMutation> mutations) override {
    for (const AppliedMutation& m : mutations) {
      // Rarely, so that the path through the pool is walked in each run.
      if (node_.world().random().Percent(1)) return absl::UnavailableError("simulated: stalled");
      RETURN_IF_ERROR(Take(m));
    }
    return absl::OkStatus();
  }
  absl::Status Apply(Decree decree, int64_t timestamp_us, absl::Span<const WriteOp> ops) override {
    return Take({.decree = decree, .timestamp_us = timestamp_us, .ops = ops});
  }
  absl::Status Take(const AppliedMutation& mutation) {
    // As RocksDB: a write that must wait for a flush meets the full disk.
    constexpr uint64_t kNextToNothing = 100000;
    if (node_.disk().free_bytes() < kNextToNothing && node_.world().random().Percent(30))
      return absl::ResourceExhaustedError("simulated: a flush found no space");
    const bool do_times_count = times_ == CheckedEngineFactory::Times::kCount;
    checker_.Applied(server_, pid_, mutation.decree,
                     Checksum(do_times_count ? mutation.timestamp_us : 0, mutation.ops));
    if (mutation.decree != inner().last_applied() + 1) {
      return absl::InternalError(
          "applied out of order");  // the checker holds it against the server
    }
    if (on_applied_) on_applied_(pid_, mutation.decree, mutation.timestamp_us, mutation.ops);
    return inner().ApplyAll({&mutation, 1});
  }
  absl::Status ApplyAll(absl::Span<const AppliedMutation> mutations) override {
    for (const AppliedMutation& m : mutations) RETURN_IF_ERROR(Take(m));
    return absl::OkStatus();
  }
  absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now, ReadTier tier) const override {
    // Likewise for reads: some must go to the pool.
    if (tier == ReadTier::kCacheOnly && node_.world().random().Percent(3))
      return absl::UnavailableError("simulated: not in the cache");
    return inner().Get(raw_key, now, tier);
  }
  absl::StatusOr<uint64_t> TagOf(std::string_view raw_key, ReadTier tier) const override {
    if (tier == ReadTier::kCacheOnly && node_.world().random().Percent(3))
      return absl::UnavailableError("simulated: not in the cache");
    return inner().TagOf(raw_key, tier);
  }
  absl::Status Close() override {
    Forget();
    return inner().Close();
  }

 private:
  void Forget() {
    auto it = open_.find({server_, pid_});
    // The next life may have opened its own already.
    if (it != open_.end() && it->second == this) open_.erase(it);
  }

  SimNode& node_;
  std::string server_;
  PartitionId pid_;
  CommitChecker& checker_;
  OpenEngines& open_;
  const CheckedEngineFactory::Times times_;
  const CheckedEngineFactory::OnApplied on_applied_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> CheckedEngineFactory::Open(
    const std::string& data_directory) {
  std::optional<ReplicaDirectoryName> name =
      ParseReplicaDirectoryName(BaseName(ParentDirectory(data_directory)));
  if (!name.has_value())
    return absl::InvalidArgumentError(
        absl::StrCat(data_directory, ": not in a replica's directory"));
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, inner_.Open(data_directory));
  events_.opened(name->pid, engine->last_applied());
  return std::make_unique<CheckedEngine>(std::move(engine), node_, server_, name->pid, checker_,
                                         open_, times_, events_.applied);
}

}  // namespace arion::sim
