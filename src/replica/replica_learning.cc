// A replica's part in learning: what it ships to a learner, and what it does as one.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "replica/replica.h"
#include "rpc/thrift_codec.h"

namespace arion {

namespace {

constexpr uint64_t kLogBytesUnpaid = 16 << 10;           // the end of a log
constexpr absl::Duration kSlotPause = absl::Seconds(1);  // then a copy looks for a free slot again

}  // namespace

// ---- the member that is asked ----

// The log where it reaches back far enough, can be read, and is the shorter way.
LogCoverage Replica::CoverageFrom(Decree start) const {
  if (!log_->Covers(start) || start <= log_damaged_through_) return LogCoverage::kDropped;
  const bool has_checkpoint = engine_ != nullptr && start <= engine_->last_durable();
  return has_checkpoint &&
                 CheckpointIsCheaper(log_->EstimatedReplay(start - 1), engine_->size_bytes())
             ? LogCoverage::kDropped
             : LogCoverage::kCovered;
}

std::string Replica::EncodedForPeer(const LearnResponse& response) const {
  return EncodeWrapped(response, host_->options.peer_generation);
}

void Replica::ReplyLearn(ReplyToken token, const LearnResponse& response, std::string encoded) {
  const auto it = peers_.find(token);
  if (it == peers_.end()) return;
  Responder responder = std::move(it->second);
  peers_.erase(it);
  const auto learner = learners_asking_.find(token);
  if (learner != learners_asking_.end()) {
    // Past its checkpoint: the files need not be kept for it any longer.
    if (response.err == ErrorCode::kOk && response.type != LearnType::kApp)
      source_.KeepShare(learner->second, nullptr);
    learners_asking_.erase(learner);
  }
  responder.Reply(ErrorCode::kOk, std::move(encoded));
}

void Replica::NoteLearners() {
  std::vector<Endpoint> learners = core_->learners();
  if (learners == learners_) return;
  learners_ = std::move(learners);
  source_.KeepOnly(learners_);
  After(absl::ZeroDuration(), [](Replica& r) {
    if (r.core_->role() == PartitionStatus::kPrimary && r.engine_ != nullptr)
      r.DropUnneededLog(r.engine_->last_durable());
  });
}

void Replica::Ship(ShipState ship) {
  auto shipped = std::make_shared<ShipState>(std::move(ship));
  auto shipment = std::make_shared<LearnSource::Shipment>();
  const auto asking = learners_asking_.find(shipped->token);
  const Endpoint learner = asking != learners_asking_.end() ? asking->second : Endpoint{};
  const uint64_t piece_bytes = source_.PieceBytes(learner);
  auto encoded = std::make_shared<std::string>();  // in the pool: it takes a loop long
  EngineWork work = [this, log = log_, piece_bytes, shipped, shipment, encoded](Engine& engine) {
    RETURN_IF_ERROR(source_.Read(*log, engine, piece_bytes, shipped.get(), shipment.get()));
    *encoded = EncodedForPeer(shipped->response);
    return absl::OkStatus();
  };
  auto then = [this, shipped, shipment, encoded](const absl::Status& status) {
    if (!shipment->log_damage.ok()) OnLogDamaged(shipment->log_damage);
    if (!status.ok()) {
      LOG(WARNING) << Tag() << " nothing to ship to a learner yet: " << status;
      if (IsRefusal(status)) OnNoSpace("a learner's checkpoint", status);
      shipped->response.err =
          absl::IsUnavailable(status) ? ErrorCode::kInactiveState : ErrorCode::kGetLearnStateFailed;
      shipped->response.state = LearnState{};
      *encoded = EncodedForPeer(shipped->response);
    } else if (const auto learner = learners_asking_.find(shipped->token);
               learner != learners_asking_.end() && shipment->share != nullptr) {
      source_.KeepShare(learner->second, std::move(shipment->share));
      source_.KeepOnly(learners_);
    }
    if (status.ok())
      Step(Shipped{shipped->token, shipped->response.type,
                   shipped->response.state.to_decree_included});
    // What has been read of a log is paid for afterwards, but not so long that its end runs away.
    const uint64_t bytes = shipped->response.state.meta.bytes.size();
    absl::Duration delay;
    if (const auto learner = learners_asking_.find(shipped->token);
        bytes >= kLogBytesUnpaid && learner != learners_asking_.end()) {
      delay = std::min(source_.LogPatience(learner->second, *shipped),
                       host_->sending->Take(disk_, bytes, host_->env.clock().Now()));
    }
    if (delay == absl::ZeroDuration())
      return ReplyLearn(shipped->token, shipped->response, std::move(*encoded));
    After(delay, [shipped, encoded](Replica& replica) {
      replica.ReplyLearn(shipped->token, shipped->response, std::move(*encoded));
    });
  };
  work_.MaintainInBulkPool(std::move(work), std::move(then));
}

// Fencing would cost the group a member that serves well: it has applied, or holds in its prepare
// list, whatever can't be read. What needs that piece of the log is a start before the next write,
// which is made here, and the checkpoint behind it, and learners, who get checkpoints from now on. It
// goes when that is durable.
void Replica::OnLogDamaged(const absl::Status& status) {
  if (office_.IsClosed()) return;
  LOG(ERROR) << Tag() << " a part of the log can't be read, checkpoints take its place: " << status;
  host_->disks->watch->OnIoError(log_disk_, absl::StrCat("log read: ", status.ToString()));
  log_damaged_through_ = core_->marks().last_prepared;
  log_->LeaveFile();  // a start reads the newest file whatever a checkpoint holds
  WriteBehindDamage();
  CheckpointIfNeeded();
  ScheduleCheckpoint(kCheckpointAgain);  // of what was not committed, or where that one had to wait
}

// A table that nobody writes to gets an empty write: its record begins the next file, and says under
// which ballot this replica was a member.
void Replica::WriteBehindDamage() {
  if (core_->marks().last_prepared > log_damaged_through_) return;
  if (core_->WriteGate() == ErrorCode::kOk) WriteNothing();
  After(kCheckpointAgain, [](Replica& replica) { replica.WriteBehindDamage(); });
}

// ---- learner's work ----

void Replica::NoteLearning(const RoleChange& change) {
  if (change.to == change.from) return;
  if (change.to == PartitionStatus::kPotentialSecondary) {
    figures().Count(ReplicaCount::kLearnings);
    // Its log begins anew when the primary waits for it already.
    log_->PrepareNextFile();
  } else if (change.from == PartitionStatus::kPotentialSecondary) {
    learned_files_ = nullptr;
    figures().Count(change.to == PartitionStatus::kSecondary ? ReplicaCount::kLearningsSucceeded
                                                             : ReplicaCount::kLearningsFailed);
  }
}

void Replica::NoteLearned(const LearnResponse& response) {
  figures().Count(ReplicaCount::kLearnRounds);
  figures().Count(response.type == LearnType::kApp   ? ReplicaCount::kLearnedFromFiles
                  : response.type == LearnType::kLog ? ReplicaCount::kLearnedFromLog
                                                     : ReplicaCount::kLearnedFromMemory);
}

void Replica::StartLearnerWork(LearnerWork work) {
  switch (work.what) {
    case LearnerWork::What::kInstallCheckpoint:
      return InstallCheckpoint(std::move(work));
    case LearnerWork::What::kDiscard:
      return Discard(work.serial);
    case LearnerWork::What::kFlush:
      return FlushForLearner(work.serial);
    case LearnerWork::What::kCopyLog:
      return CopyLog(std::move(work));
    case LearnerWork::What::kReadLog:
      return ReadLog(work.serial);
  }
}

void Replica::FinishLearnerWork(uint64_t serial, LearnerWorkDone::Result result) {
  LearnerWorkDone done{.serial = serial, .result = result};
  if (result == LearnerWorkDone::Result::kDone) {
    done.applied = engine_->last_applied();
    done.durable = engine_->last_flushed();
  }
  Step(done);
}

// Unavailable is of the source; what the system refuses may pass; the rest is our disk's.
void Replica::FailLearnerWork(uint64_t serial, const absl::Status& why) {
  if (IsRefusal(why)) OnNoSpace("a learner's copy", why);
  const bool may_pass = absl::IsUnavailable(why) || IsRefusal(why);
  Step(LearnerWorkDone{.serial = serial,
                       .result = may_pass ? LearnerWorkDone::Result::kRemoteFailed
                                          : LearnerWorkDone::Result::kLocalFailed,
                       .why = std::string(why.message())});
}

void Replica::FlushForLearner(uint64_t serial) {
  Maintain([](Engine& engine) { return engine.Flush(); },
           [this, serial](const absl::Status& status) {
             if (IsRefusal(status)) {
               OnNoSpace("a flush", status);
               return After(DiskWork::kNoSpacePause,
                            [serial](Replica& r) { r.FlushForLearner(serial); });
             }
             if (status.ok()) return FinishLearnerWork(serial, LearnerWorkDone::Result::kDone);
             LOG(ERROR) << Tag() << " flush: " << status;
             Step(LearnerWorkDone{.serial = serial,
                                  .result = LearnerWorkDone::Result::kLocalFailed,
                                  .why = std::string(status.message())});
           });
}

FetchPlan Replica::PlanOf(const LearnResponse& response) {
  return {.source = response.learnee,
          .pid = pid_,
          .source_directory = response.base_local_dir,
          .source_disk_tag = response.replica_disk_tag.value_or(""),
          .target_directory = LearnPathOf(directory_),
          .target_disk_tag = host_->disks->layout.data_directories[disk_].tag,
          .pool_path = directory_,
          .in_pool = [this](PoolWork work,
                            Then then) { work_.InBulkPool(std::move(work), std::move(then)); },
          .generation = host_->options.peer_generation,
          .pace =
              [host = host_, disk = disk_](uint64_t bytes) {
                return host->receiving->Take(disk, bytes, host->env.clock().Now());
              },
          .on_odd_answer = [this] { figures().Count(ReplicaCount::kOddMessages); }};
}

void Replica::InstallCheckpoint(LearnerWork work) {
  const LearnResponse& response = work.response;
  const LearnState& state = response.state;
  FetchPlan plan = PlanOf(response);
  bool is_sound = !state.files.empty();
  const std::string directory = is_sound ? ParentDirectory(state.files.front()) : "";
  for (size_t i = 0; i < state.files.size(); ++i) {
    FileToFetch file{.name = state.files[i]};
    if (state.file_sizes && i < state.file_sizes->size())
      file.size = static_cast<uint64_t>((*state.file_sizes)[i]);
    uint32_t crc = 0;
    if (state.file_checksums && i < state.file_checksums->size() &&
        absl::SimpleHexAtoi((*state.file_checksums)[i], &crc))
      file.crc32c = crc;
    is_sound = is_sound && ParentDirectory(file.name) == directory;
    plan.files.push_back(std::move(file));
  }
  if (!is_sound) {
    figures().Count(ReplicaCount::kOddMessages);
    LOG(WARNING) << Tag() << " " << response.learnee << " offers files that are no checkpoint";
    return FailLearnerWork(work.serial, absl::UnavailableError("files that are no checkpoint"));
  }
  const std::string source =
      ParentDirectory(JoinPath(plan.target_directory, plan.files.front().name));
  const Decree decree = state.to_decree_included;
  Fetch(work.serial, std::move(plan), absl::StrCat("of the checkpoint at decree ", decree.value()),
        [serial = work.serial, source, decree](Replica& replica) {
          replica.InstallCopied(serial, source, decree);
        });
}

void Replica::InstallCopied(uint64_t serial, const std::string& source, Decree decree) {
  ExchangeEngine(
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

void Replica::Fetch(uint64_t serial, FetchPlan plan, std::string what,
                    absl::AnyInvocable<void(Replica&)> then) {
  std::atomic<int>& copies = *host_->copies;
  if (copies_dropping_ > 0 || copies.load() >= host_->options.max_concurrent_copies)
    return After(kSlotPause, [serial, plan = std::move(plan), what = std::move(what),
                              then = std::move(then)](Replica& replica) mutable {
      replica.Fetch(serial, std::move(plan), std::move(what), std::move(then));
    });
  ++copies;
  const std::shared_ptr<void> slot(nullptr, [all = host_->copies](void*) { --*all; });
  const size_t files = plan.files.size();
  LOG(INFO) << Tag() << " copies " << files << " files " << what << " from " << plan.source;
  const auto fetcher =
      std::make_shared<FileFetcher>(host_->env, host_->transport, strand_, std::move(plan));
  fetcher_ = fetcher;
  fetcher->Start([this, serial, slot, files, then = std::move(then),
                  weak = std::weak_ptr(fetcher)](const absl::Status& status) mutable {
    const std::shared_ptr<FileFetcher> ended = weak.lock();  // it is calling
    if (fetcher_ == ended) fetcher_ = nullptr;
    if (!status.ok()) {
      figures().Count(ReplicaCount::kCopiesFailed);
      LOG(WARNING) << Tag() << " learning: " << status;
      return FailLearnerWork(serial, status);
    }
    figures().Count(ReplicaCount::kCopiedFiles, files);
    figures().Count(ReplicaCount::kCopiedBytes, ended->bytes_fetched());
    LOG(INFO) << Tag() << " copied " << ended->bytes_fetched() << " bytes; " << ended->bytes_kept()
              << " were here";
    then(*this);
  });
}

void Replica::CopyLog(LearnerWork work) {
  learned_files_ = nullptr;
  LearnState& state = work.response.state;
  FetchPlan plan = PlanOf(work.response);
  for (const std::string& name : state.files) plan.files.push_back({.name = name});
  const absl::Status sound = LearnedFiles::CheckNames(state.files);
  if (!sound.ok()) {
    figures().Count(ReplicaCount::kOddMessages);
    LOG(WARNING) << Tag() << " learning: " << sound;
    return FailLearnerWork(work.serial, sound);
  }
  auto files =
      std::make_shared<LearnedFiles>(host_->env.files(), plan.target_directory, pid_, work.log,
                                     std::move(state.files), std::move(state.meta.bytes));
  Fetch(work.serial, std::move(plan),
        absl::StrCat("of the log, decrees ", work.log.applied.value() + 1, " to ",
                     work.log.through.value()),
        [serial = work.serial, files](Replica& replica) {
          replica.learned_files_ = files;
          replica.Step(LearnerWorkDone{.serial = serial});
        });
}

void Replica::ReadLog(uint64_t serial) {
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
          LOG(WARNING) << Tag() << " learning: " << status;
          // Files that are gone were those of a session that has ended.
          return FailLearnerWork(
              serial, absl::IsNotFound(status) ? absl::UnavailableError(status.message()) : status);
        }
        Step(LearnerWorkDone{.serial = serial,
                             .result = LearnerWorkDone::Result::kDone,
                             .learned = std::move(piece->mutations),
                             .has_more = piece->has_more});
      });
}

void Replica::DropCopies() {
  learned_files_ = nullptr;
  ++copies_dropping_;
  InPool(
      [&files = host_->env.files(), path = LearnPathOf(directory_)] {
        return Exists(files, path) ? files.RemoveAll(path) : absl::OkStatus();
      },
      [this](const absl::Status& status) {
        --copies_dropping_;
        LOG_IF(WARNING, !status.ok()) << Tag() << " an earlier copy stays: " << status;
      });
}

void Replica::Discard(uint64_t serial) {
  figures().Count(ReplicaCount::kLearnResets);
  LOG(WARNING) << Tag() << " sets its data aside: they come from a history the group no longer has";
  ExchangeEngine(
      serial, Decree(0),
      [&files = host_->env.files(), directory = directory_,
       now_us = host_->env.clock().WallMicros()]() -> absl::Status {
        const std::string data = DataPathOf(directory);
        ASSIGN_OR_RETURN(const bool has_data, IsThere(files, data));
        if (has_data)
          RETURN_IF_ERROR(files.Rename(data, absl::StrCat(data, ".", now_us, ".discarded")));
        return files.SyncDirectory(directory);
      });
}

void Replica::ExchangeEngine(uint64_t serial, Decree expected, PoolWork exchange) {
  if (holds_ > 0)  // .init-info may be about to be stored
    return After(DiskWork::kNoSpacePause,
                 [serial, expected, exchange = std::move(exchange)](Replica& replica) mutable {
                   replica.ExchangeEngine(serial, expected, std::move(exchange));
                 });
  ++holds_;
  reads_.EndScans();
  verifying_.EndCounting();
  work_.WhenQuiet([this, serial, expected, exchange = std::move(exchange)]() mutable {
    InitInfo info = info_;
    info.is_learner = true;
    info.durable = std::min(info.durable, expected);
    info.offset_in_shared_log = host_->opening->SharedLogEnd();
    info.offset_in_private_log = log_->end_offset();
    // Each step may be repeated, or is not when it has succeeded.
    struct Exchange {
      std::shared_ptr<Engine> old, fresh;
      PoolWork install;
    };
    auto state = std::make_shared<Exchange>(
        Exchange{.old = std::move(engine_), .install = std::move(exchange)});
    work_.InPoolOnceThereIsRoom(
        std::make_shared<PoolWork>([this, info, expected, state]() -> absl::Status {
          if (state->old != nullptr) {
            RETURN_IF_ERROR(StoreInitInfo(host_->env.files(), directory_, info));
            RETURN_IF_ERROR(state->old->Close());
            state->old = nullptr;
          }
          if (state->install) {
            RETURN_IF_ERROR(state->install());
            state->install = nullptr;
          }
          ASSIGN_OR_RETURN(state->fresh, host_->opening->engines.Open(DataPathOf(directory_)));
          if (state->fresh->last_applied() == expected) return absl::OkStatus();
          return absl::DataLossError(absl::StrCat("the new content stands at decree ",
                                                  state->fresh->last_applied().value(), ", not at ",
                                                  expected.value()));
        }),
        [this, serial, info, state](const absl::Status& status) {
          OnExchanged(serial, info, std::move(state->fresh), status);
        });
  });
}

void Replica::OnExchanged(uint64_t serial, const InitInfo& info, std::shared_ptr<Engine> engine,
                          const absl::Status& status) {
  source_.Forget();
  if (office_.IsClosed()) {
    engine_ = std::move(engine);  // for Close, which waits for this
    return;
  }
  if (!status.ok()) {
    LOG(ERROR) << Tag() << " new content: " << status;
    effects_.clear();  // there is no engine to carry them out on
    --holds_;
    return Step(LearnerWorkDone{.serial = serial,
                                .result = LearnerWorkDone::Result::kLocalFailed,
                                .why = std::string(status.message())});
  }
  engine_ = std::move(engine);
  figures().SetEngine(engine_->meter());
  info_ = info;
  log_->StartAnew(engine_->last_applied());
  FinishLearnerWork(serial, LearnerWorkDone::Result::kDone);
  Release();
}

}  // namespace arion
