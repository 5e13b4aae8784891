// faulty_replica FAULT [flags of arion_replica]: a replica server whose engine lies, to show that
// arion_load --verify finds out.
//
//   lose   one mutation in 10,000 is acknowledged and never there, on every member
//   stale  one read in 1,000 of a key that was written over gets the value before the last
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/engine_wrapper.h"
#include "engine/index_store.h"
#include "main/replica_process.h"

namespace arion {
namespace {

constexpr int64_t kLostOneIn = 10000;
constexpr int64_t kStaleOneIn = 1000;

class FaultyEngine : public EngineWrapper<Engine> {
 public:
  FaultyEngine(std::unique_ptr<Engine> engine, bool loses)
      : EngineWrapper(std::move(engine)), loses_(loses) {}

  absl::Status Apply(Decree decree, int64_t timestamp_us, absl::Span<const WriteOp> ops) override {
    return inner().Apply(decree, timestamp_us, Told(decree, ops));
  }
  absl::Status TryApplyAll(absl::Span<const AppliedMutation> mutations) override {
    for (AppliedMutation told : mutations) {
      told.ops = Told(told.decree, told.ops);
      RETURN_IF_ERROR(inner().TryApplyAll(absl::MakeConstSpan(&told, 1)));
    }
    return absl::OkStatus();
  }
  absl::Status ApplyAll(absl::Span<const AppliedMutation> mutations) override {
    return Engine::ApplyAll(mutations);  // one by one
  }
  absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now, ReadTier tier) const override {
    if (!loses_) {
      const std::lock_guard lock(mutex_);
      const auto found = before_.find(raw_key);
      if (found != before_.end() && ++reads_ % kStaleOneIn == 0) return found->second;
    }
    return inner().Get(raw_key, now, tier);
  }

 private:
  // What the engine below gets.
  absl::Span<const WriteOp> Told(Decree decree, absl::Span<const WriteOp> ops) {
    if (loses_) return decree.value() % kLostOneIn == 0 ? absl::Span<const WriteOp>() : ops;
    const std::lock_guard lock(mutex_);
    for (const WriteOp& op : ops)
      if (auto old = inner().Get(op.key, 0, ReadTier::kAll); old.ok())
        before_.insert_or_assign(std::string(op.key), *std::move(old));
    return ops;
  }

  const bool loses_;
  mutable std::mutex mutex_;
  std::map<std::string, Record, std::less<>> before_;  // guarded by mutex_
  mutable int64_t reads_ = 0;                          // guarded by mutex_
};

class FaultyEngineFactory : public EngineFactory {
 public:
  FaultyEngineFactory(EngineFactory& engines, bool loses) : engines_(engines), loses_(loses) {}

  absl::StatusOr<std::unique_ptr<Engine>> Open(const std::string& data_directory) override {
    auto engine = engines_.Open(data_directory);
    if (!engine.ok()) return engine.status();
    return std::make_unique<FaultyEngine>(*std::move(engine), loses_);
  }
  absl::Status InstallCheckpoint(const std::string& checkpoint_directory, Decree decree,
                                 const std::string& data_directory) override {
    return engines_.InstallCheckpoint(checkpoint_directory, decree, data_directory);
  }
  absl::StatusOr<std::unique_ptr<IndexStore>> OpenIndexStore(
      const std::string& directory) override {
    return engines_.OpenIndexStore(directory);
  }
  void LimitUnflushed(uint64_t bytes) override { engines_.LimitUnflushed(bytes); }
  uint64_t unflushed_bytes() const override { return engines_.unflushed_bytes(); }
  std::string description() const override { return "faulty " + engines_.description(); }

 private:
  EngineFactory& engines_;
  const bool loses_;
};

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  const std::string_view fault = argc > 1 ? argv[1] : "";
  if (fault != "lose" && fault != "stale") {
    std::fputs("usage: faulty_replica lose|stale [flags of arion_replica]\n", stderr);
    return 2;
  }
  std::unique_ptr<arion::FaultyEngineFactory> factory;
  arion::ReplicaVariant variant;
  variant.engines = [&](arion::EngineFactory& engines) -> arion::EngineFactory& {
    factory = std::make_unique<arion::FaultyEngineFactory>(engines, fault == "lose");
    return *factory;
  };
  argv[1] = argv[0];
  return arion::RunReplicaServer(argc - 1, argv + 1, variant);
}
