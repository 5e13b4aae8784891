// SPDX-License-Identifier: Apache-2.0
#include "replica/replica_learning.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "copies/file_fetcher.h"
#include "copies/learned_files.h"
#include "disks/replica_directory.h"
#include "env/clock.h"
#include "env/file_system.h"
#include "recovery/replica_opener.h"

namespace arion {
namespace {

constexpr absl::Duration kSlotPause = absl::Seconds(1);  // then a copy looks for a free slot again

// Files of indexes lie beside the checkpoint. false: these do not, or lack something.
bool AddIndexes(const LearnIndexes& indexes, const std::string& checkpoint, FetchPlan* plan) {
  if (indexes.sizes.size() != indexes.files.size() ||
      indexes.checksums.size() != indexes.files.size())
    return false;
  for (size_t i = 0; i < indexes.files.size(); ++i) {
    FileToFetch file{.name = indexes.files[i], .size = static_cast<uint64_t>(indexes.sizes[i])};
    uint32_t crc = 0;
    if (!absl::SimpleHexAtoi(indexes.checksums[i], &crc) ||
        absl::StartsWith(file.name, absl::StrCat(checkpoint, "/")))
      return false;
    file.crc32c = crc;
    plan->files.push_back(std::move(file));
  }
  return true;
}

}  // namespace

ReplicaLearning::ReplicaLearning(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
                                 PartitionId pid, std::string directory, size_t disk,
                                 std::shared_ptr<RequestStats> stats, DiskWork& work,
                                 const std::shared_ptr<Engine>& engine,
                                 const std::shared_ptr<PrivateLog>& log, Hooks hooks)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      pid_(pid),
      directory_(std::move(directory)),
      disk_(disk),
      stats_(std::move(stats)),
      work_(work),
      engine_(engine),
      log_(log),
      hooks_(std::move(hooks)) {}

void ReplicaLearning::NoteRole(const RoleChange& change) {
  if (change.to == change.from) return;
  if (change.to == PartitionStatus::kPotentialSecondary) {
    figures().Count(ReplicaCount::kLearnings);
    // Its log begins anew when the primary already waits for it, so the file is prepared now.
    log_->PrepareNextFile();
  } else if (change.from == PartitionStatus::kPotentialSecondary) {
    learned_files_ = nullptr;
    figures().Count(change.to == PartitionStatus::kSecondary ? ReplicaCount::kLearningsSucceeded
                                                             : ReplicaCount::kLearningsFailed);
  }
}

void ReplicaLearning::Begin(LearnerWork work) {
  switch (work.what) {
    case LearnerWork::What::kInstallCheckpoint:
      return InstallCheckpoint(std::move(work));
    case LearnerWork::What::kDiscard:
      return Discard(work.serial);
    case LearnerWork::What::kFlush:
      return Flush(work.serial);
    case LearnerWork::What::kCopyLog:
      return CopyLog(std::move(work));
    case LearnerWork::What::kReadLog:
      return ReadLog(work.serial);
  }
}

void ReplicaLearning::Finish(uint64_t serial) {
  // The engine is the new one, or the same after a flush.
  hooks_.step(LearnerWorkDone{.serial = serial,
                              .result = LearnerWorkDone::Result::kDone,
                              .applied = engine_->last_applied(),
                              .durable = engine_->last_flushed()});
}

void ReplicaLearning::FailHere(uint64_t serial, const absl::Status& why) {
  hooks_.step(LearnerWorkDone{.serial = serial,
                              .result = LearnerWorkDone::Result::kLocalFailed,
                              .why = std::string(why.message())});
}

// Unavailable is the source's, what the system refuses passes, and the rest is this disk's: only
// that ends the replica.
void ReplicaLearning::Fail(uint64_t serial, const absl::Status& why) {
  if (IsRefusal(why)) work_.OnNoSpace("a learner's copy", why);
  if (!absl::IsUnavailable(why) && !IsRefusal(why)) return FailHere(serial, why);
  hooks_.step(LearnerWorkDone{.serial = serial,
                              .result = LearnerWorkDone::Result::kRemoteFailed,
                              .why = std::string(why.message())});
}

void ReplicaLearning::Flush(uint64_t serial) {
  work_.Maintain([](Engine& engine) { return engine.Flush(); },
                 [this, serial](const absl::Status& status) {
                   // Waited for here: a learner that gave up would have to copy everything again.
                   if (IsRefusal(status)) {
                     work_.OnNoSpace("a flush", status);
                     return work_.After(DiskWork::kNoSpacePause, [this, serial] { Flush(serial); });
                   }
                   if (status.ok()) return Finish(serial);
                   LOG(ERROR) << hooks_.tag() << " flush: " << status;
                   FailHere(serial, status);
                 });
}

FetchPlan ReplicaLearning::PlanOf(const LearnResponse& response) {
  return {.source = response.learnee,
          .pid = pid_,
          .source_directory = response.base_local_dir,
          .source_disk_tag = response.replica_disk_tag.value_or(""),
          .target_directory = LearnPathOf(directory_),
          .target_disk_tag = host_->disks->layout.data_directories[disk_].tag,
          // Any path of the disk finds its pools.
          .pool_path = directory_,
          .in_pool =
              [this](DiskWork::PoolWork work, DiskWork::Then then) {
                work_.InBulkPool(std::move(work), std::move(then));
              },
          .generation = host_->options.peer_generation,
          // The receiver pays for its own disk; the source pays for its own.
          .pace =
              [host = host_, disk = disk_](uint64_t bytes) {
                return host->receiving->Take(disk, bytes, host->env.clock().Now());
              },
          .on_odd_answer = [this] { figures().Count(ReplicaCount::kOddMessages); }};
}

void ReplicaLearning::InstallCheckpoint(LearnerWork work) {
  const LearnResponse& response = work.response;
  const LearnState& state = response.state;
  FetchPlan plan = PlanOf(response);
  bool is_sound = !state.files.empty();
  // All files of a checkpoint lie in one directory; anything else can't be installed.
  const std::string directory = is_sound ? ParentDirectory(state.files.front()) : "";
  for (size_t i = 0; i < state.files.size(); ++i) {
    FileToFetch file{.name = state.files[i]};
    if (state.file_sizes && i < state.file_sizes->size())
      file.size = static_cast<uint64_t>((*state.file_sizes)[i]);
    uint32_t crc = 0;
    // A checksum that does not parse counts as absent: the file is then checked by its size only.
    if (state.file_checksums && i < state.file_checksums->size() &&
        absl::SimpleHexAtoi((*state.file_checksums)[i], &crc))
      file.crc32c = crc;
    is_sound = is_sound && ParentDirectory(file.name) == directory;
    plan.files.push_back(std::move(file));
  }
  if (state.indexes) is_sound = is_sound && AddIndexes(*state.indexes, directory, &plan);
  if (!is_sound) {
    figures().Count(ReplicaCount::kOddMessages);
    LOG(WARNING) << hooks_.tag() << " " << response.learnee
                 << " offers files that are no checkpoint";
    return Fail(work.serial, absl::UnavailableError("files that are no checkpoint"));
  }
  const std::string source =
      ParentDirectory(JoinPath(plan.target_directory, plan.files.front().name));
  const Decree decree = state.to_decree_included;
  Fetch(work.serial, std::move(plan), absl::StrCat("of the checkpoint at decree ", decree.value()),
        [this, serial = work.serial, source, decree] { InstallCopied(serial, source, decree); });
}

void ReplicaLearning::InstallCopied(uint64_t serial, const std::string& source, Decree decree) {
  hooks_.exchange_engine(
      serial, decree,
      [&engines = host_->opening->engines, &files = host_->env.files(), source, decree,
       directory = directory_, is_installed = false]() mutable -> absl::Status {
        // Not again after a removal that began and lacked descriptors: there is no source any more.
        if (!is_installed)
          RETURN_IF_ERROR(engines.InstallCheckpoint(source, decree, DataPathOf(directory)));
        is_installed = true;
        return files.RemoveAll(LearnPathOf(directory));
      });
}

void ReplicaLearning::Fetch(uint64_t serial, FetchPlan plan, std::string what,
                            absl::AnyInvocable<void()> then) {
  std::atomic<int>& copies = *host_->copies;
  // An earlier copy that is being dropped would take the new one's files with it
  // (replica_learning/L1).
  if (copies_dropping_ > 0 || copies.load() >= host_->options.max_concurrent_copies)
    return work_.After(kSlotPause, [this, serial, plan = std::move(plan), what = std::move(what),
                                    then = std::move(then)]() mutable {
      Fetch(serial, std::move(plan), std::move(what), std::move(then));
    });
  ++copies;
  // The slot belongs to the callback, so it is free however the copy ends.
  const std::shared_ptr<void> slot(nullptr, [all = host_->copies](void*) { --*all; });
  const size_t files = plan.files.size();
  LOG(INFO) << hooks_.tag() << " copies " << files << " files " << what << " from " << plan.source;
  const auto fetcher =
      std::make_shared<FileFetcher>(host_->env, host_->transport, strand_, std::move(plan));
  fetcher_ = fetcher;
  fetcher->Start([this, serial, slot, files, then = std::move(then),
                  weak = std::weak_ptr(fetcher)](const absl::Status& status) mutable {
    const std::shared_ptr<FileFetcher> ended = weak.lock();  // it is calling
    // A later copy may be under way by now.
    if (fetcher_ == ended) fetcher_ = nullptr;
    if (!status.ok()) {
      figures().Count(ReplicaCount::kCopiesFailed);
      LOG(WARNING) << hooks_.tag() << " learning: " << status;
      return Fail(serial, status);
    }
    figures().Count(ReplicaCount::kCopiedFiles, files);
    figures().Count(ReplicaCount::kCopiedBytes, ended->bytes_fetched());
    LOG(INFO) << hooks_.tag() << " copied " << ended->bytes_fetched() << " bytes; "
              << ended->bytes_kept() << " were here";
    then();
  });
}

void ReplicaLearning::CopyLog(LearnerWork work) {
  learned_files_ = nullptr;
  LearnState& state = work.response.state;
  FetchPlan plan = PlanOf(work.response);
  for (const std::string& name : state.files) plan.files.push_back({.name = name});
  // Before anything is copied: names with a hole make the copy useless.
  const absl::Status sound = LearnedFiles::CheckNames(state.files);
  if (!sound.ok()) {
    figures().Count(ReplicaCount::kOddMessages);
    LOG(WARNING) << hooks_.tag() << " learning: " << sound;
    return Fail(work.serial, sound);
  }
  auto files =
      std::make_shared<LearnedFiles>(host_->env.files(), plan.target_directory, pid_, work.log,
                                     std::move(state.files), std::move(state.meta.bytes));
  Fetch(work.serial, std::move(plan),
        absl::StrCat("of the log, decrees ", work.log.applied.value() + 1, " to ",
                     work.log.through.value()),
        // learned_files_ is set only now: pieces are read behind their copy.
        [this, serial = work.serial, files] {
          learned_files_ = files;
          hooks_.step(LearnerWorkDone{.serial = serial});
        });
}

void ReplicaLearning::ReadLog(uint64_t serial) {
  // The core asks for pieces only after it heard that the copy is there.
  CHECK(learned_files_ != nullptr) << "they are read behind their copy only";
  auto piece = std::make_shared<LearnedFiles::Piece>();
  work_.InBulkPool(
      [files = learned_files_, piece]() -> absl::Status {
        ASSIGN_OR_RETURN(*piece, files->Next());
        return absl::OkStatus();
      },
      [this, serial, piece](const absl::Status& status) {
        if (!status.ok() || !piece->has_more) learned_files_ = nullptr;
        if (!status.ok()) {
          LOG(WARNING) << hooks_.tag() << " learning: " << status;
          // Files that are gone were those of a session that has ended.
          return Fail(serial,
                      absl::IsNotFound(status) ? absl::UnavailableError(status.message()) : status);
        }
        hooks_.step(LearnerWorkDone{.serial = serial,
                                    .result = LearnerWorkDone::Result::kDone,
                                    .learned = std::move(piece->mutations),
                                    .has_more = piece->has_more});
      });
}

void ReplicaLearning::DropCopies() {
  learned_files_ = nullptr;
  ++copies_dropping_;
  work_.InPool(
      [&files = host_->env.files(), path = LearnPathOf(directory_)] {
        return Exists(files, path) ? files.RemoveAll(path) : absl::OkStatus();
      },
      [this](const absl::Status& status) {
        --copies_dropping_;
        LOG_IF(WARNING, !status.ok()) << hooks_.tag() << " an earlier copy stays: " << status;
      });
}

void ReplicaLearning::Discard(uint64_t serial) {
  figures().Count(ReplicaCount::kLearnResets);
  LOG(WARNING) << hooks_.tag()
               << " sets its data aside: they come from a history the group no longer has";
  hooks_.exchange_engine(
      serial, Decree(0), [&env = host_->env, directory = directory_]() -> absl::Status {
        FileSystem& files = env.files();
        const std::string data = DataPathOf(directory);
        ASSIGN_OR_RETURN(const bool has_data, IsThere(files, data));
        if (!has_data) return files.SyncDirectory(directory);
        return SetDirectoryAside(files, env.clock(), data, SetAside::kDiscarded).status();
      });
}

void ReplicaLearning::Close() {
  if (fetcher_ != nullptr) fetcher_->Cancel();
}

}  // namespace arion
