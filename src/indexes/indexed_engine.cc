// SPDX-License-Identifier: Apache-2.0
#include "indexes/indexed_engine.h"

#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "engine/engine_wrapper.h"
#include "engine/index_store.h"
#include "env/environment.h"
#include "env/file_system.h"
#include "indexes/index_set.h"

namespace arion {
namespace {

constexpr char kIndexName[] = "index";
// In the data directory, with a decree behind it. Not in the checkpoint: version 2.5.0 takes all
// files below that for data.
constexpr char kShippedPrefix[] = "index.";

std::string ShippedName(Decree decree) { return absl::StrCat(kShippedPrefix, decree.value()); }

// For learners of a former life.
absl::Status RemoveShipped(FileSystem& files, const std::string& data_directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(data_directory));
  for (const std::string& name : names)
    if (name.starts_with(kShippedPrefix))
      RETURN_IF_ERROR(files.RemoveAll(JoinPath(data_directory, name)));
  return absl::OkStatus();
}

std::string IndexPathOf(const std::string& data_directory) {
  return JoinPath(ParentDirectory(data_directory), kIndexName);
}

class IndexedEngine : public EngineWrapper<Engine> {
 public:
  IndexedEngine(std::unique_ptr<Engine> data, std::shared_ptr<IndexSet> indexes)
      : EngineWrapper(std::move(data)), indexes_(std::move(indexes)) {
    inner().BeforeFlush([indexes = indexes_] { indexes->Flush(); });
  }
  // First the data, which flush the indexes before themselves.
  ~IndexedEngine() override { DropInner(); }

  absl::Status Apply(Decree decree, int64_t timestamp_us, absl::Span<const WriteOp> ops) override {
    const AppliedMutation one{.decree = decree, .timestamp_us = timestamp_us, .ops = ops};
    return ApplyAll({&one, 1});
  }
  absl::Status ApplyAll(absl::Span<const AppliedMutation> mutations) override {
    return indexes_->Around(mutations, /*waits=*/true, [&] { return inner().ApplyAll(mutations); });
  }
  absl::Status TryApplyAll(absl::Span<const AppliedMutation> mutations) override {
    return indexes_->Around(mutations, /*waits=*/false,
                            [&] { return inner().TryApplyAll(mutations); });
  }
  std::shared_ptr<IndexSet> indexes() const override { return indexes_; }
  absl::StatusOr<IndexFiles> ShipIndexes(const CheckpointFiles& checkpoint,
                                         std::shared_ptr<void>* hold) override {
    const std::string shipped = ShippedName(checkpoint.decree);
    ASSIGN_OR_RETURN(IndexFiles files,
                     indexes_->Ship(JoinPath(ParentDirectory(checkpoint.directory), shipped),
                                    checkpoint.decree, hold));
    for (std::string& name : files.names) name = JoinPath(shipped, name);
    return files;
  }

  absl::Status Close() override {
    RETURN_IF_ERROR(inner().Close());
    return indexes_->Close();
  }

 private:
  const std::shared_ptr<IndexSet> indexes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> IndexedEngineFactory::Open(
    const std::string& data_directory) {
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> data, inner_.Open(data_directory));
  RETURN_IF_ERROR(RemoveShipped(environment_.files(), data_directory));
  auto indexes = std::make_shared<IndexSet>(environment_.files(), environment_.clock(), inner_,
                                            IndexPathOf(data_directory), options_);
  indexes->Load(*data);
  return std::make_unique<IndexedEngine>(std::move(data), std::move(indexes));
}

absl::StatusOr<std::unique_ptr<IndexStore>> IndexedEngineFactory::OpenIndexStore(
    const std::string& directory) {
  return inner_.OpenIndexStore(directory);
}

absl::Status IndexedEngineFactory::InstallCheckpoint(const std::string& checkpoint_directory,
                                                     Decree decree,
                                                     const std::string& data_directory) {
  // Of the former content. What says that they are there goes first, and for good.
  const std::string index = IndexPathOf(data_directory);
  FileSystem& files = environment_.files();
  RETURN_IF_ERROR(files.RemoveAll(JoinPath(index, "list")));
  RETURN_IF_ERROR(files.RemoveAll(index));
  RETURN_IF_ERROR(inner_.InstallCheckpoint(checkpoint_directory, decree, data_directory));
  // They cover the decree, or are not used. Where a crash comes before they are built instead.
  const std::string shipped = JoinPath(ParentDirectory(checkpoint_directory), ShippedName(decree));
  ASSIGN_OR_RETURN(const bool are_there, IsThere(files, shipped));
  if (!are_there) return absl::OkStatus();
  LOG(INFO) << index << ": came with the checkpoint at decree " << decree.value();
  RETURN_IF_ERROR(files.Rename(shipped, index));
  return files.SyncDirectory(ParentDirectory(index));
}

}  // namespace arion
