// RocksDB's write-ahead log is off: the private log takes its place. So what counts is which decree
// has reached table files, and that the decree travels in the same batch as the data. Three numbers
// are kept outside RocksDB: last_applied_, which Write advances; last_flushed_, read back from the
// tables after each flush; the newest checkpoint, which EngineDirectory knows. The watcher hears of
// RocksDB's own flushes and errors on its threads.
// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_engine.h"

#include <absl/strings/match.h>
#include <rocksdb/version.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "engine/engine_directory.h"
#include "engine/rocksdb_database.h"
#include "engine/rocksdb_file_system.h"
#include "engine/rocksdb_index_store.h"
#include "engine/rocksdb_log.h"
#include "engine/rocksdb_meter.h"
#include "engine/rocksdb_options.h"
#include "engine/rocksdb_tags.h"
#include "engine/rocksdb_threads.h"
#include "engine/rocksdb_view.h"
#include "env/blocking_call.h"
#include "env/clock.h"
#include "posix/thread_limit.h"

namespace arion {
namespace {

// A database is opened with 15 for a moment and one of the process that stays. RocksDB ends the
// process where the system does not make one. A trial takes 0.7 ms: of many that are opened at once
// only the first in a second is tried.
constexpr int kThreadsOfOpening = 16;
constexpr absl::Duration kTrialHolds = absl::Seconds(1);

absl::Status StartThreads(DiskThreads& threads) {
  static std::atomic<int64_t> holds_until_nanos = INT64_MIN;
  RETURN_IF_ERROR(threads.Start());
  const int64_t now = absl::GetCurrentTimeNanos();
  if (now < holds_until_nanos) return absl::OkStatus();
  RETURN_IF_ERROR(TryThreads(kThreadsOfOpening));
  holds_until_nanos = now + absl::ToInt64Nanoseconds(kTrialHolds);
  return absl::OkStatus();
}

class RocksdbEngine : public Engine {
 public:
  // kIndexes: of an IndexStore, which makes no checkpoints by itself.
  enum class Holds { kRecords, kIndexes };

  RocksdbEngine(FileSystem& files, const std::string& data_directory,
                const RocksdbEngineOptions& options, std::shared_ptr<DropRule> drops,
                std::shared_ptr<RocksdbEngineFactory::Shared::Limited> limited)
      : options_(options),
        files_(files),
        directory_(files, data_directory,
                   {.content = kRocksdbContent, .checkpoints_kept = options.checkpoints_kept}),
        drops_(std::move(drops)),
        tags_(drops_),
        watcher_(std::make_shared<FlushWatcher>()),
        meter_(std::make_shared<RocksdbMeter>()),
        limited_(std::move(limited)) {
    write_options_.disableWAL = true;
  }
  ~RocksdbEngine() override { Drop(); }

  absl::Status Open(DatabaseOptions options, Holds holds) {
    RETURN_IF_ERROR(directory_.Prepare());
    env_ = options.env;
    const std::string path = directory_.content_path();
    options.db.listeners.push_back(watcher_);
    options.db.listeners.push_back(meter_->Listener());
    options.db.statistics = meter_->Statistics();
    ASSIGN_OR_RETURN(const bool has_content, IsThere(files_, path));
    if (!has_content) {
      // An empty database in its place would hide that the data are lost.
      if (directory_.newest() > Decree(0)) {
        return absl::DataLossError(absl::StrCat(path, " is missing beside a checkpoint"));
      }
      // Built aside and renamed: a crash never leaves half a database, which could not be told from
      // a damaged one.
      RETURN_IF_ERROR(directory_.InstallContent(
          Decree(0), [&](const std::string& to) { return CreateDatabase(options, to); }));
    }
    // Before the open, whose own refusal would not say what to do.
    RETURN_IF_ERROR(CheckColumnFamilies(options.db, path));
    RETURN_IF_ERROR(AdoptOptionsFile(path, &options));
    ASSIGN_OR_RETURN(Database database,
                     Database::Open(options, path, Database::Access::kReadWrite));
    ASSIGN_OR_RETURN(uint64_t data_version, database.PersistedNumber(kDataVersionKey));
    if (data_version > static_cast<uint64_t>(ValueSchema::kV1)) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, ": ", kDataVersionKey, " ", data_version, ", this program knows 0 and 1"));
    }
    schema_ = static_cast<ValueSchema>(data_version);
    ASSIGN_OR_RETURN(Decree decree, database.PersistedDecree());
    last_applied_.store(decree);
    last_flushed_.store(decree);
    // Not there in what older versions wrote.
    last_compacted_ms_.store(
        static_cast<int64_t>(database.PersistedNumber(kManualCompactKey).value_or(0)));
    // Only there after a split.
    compacted_for_.store(
        static_cast<int32_t>(database.PersistedNumber(kCompactedForKey).value_or(0)));
    if (directory_.newest() > decree) {
      return absl::DataLossError(absl::StrCat(directory_.path(), " has a checkpoint of decree ",
                                              directory_.newest().value(),
                                              ", but its content ends at ", decree.value()));
    }
    RETURN_IF_ERROR(tags_.Load(database, schema_));
    database_ = std::make_shared<Database>(std::move(database));
    limited_->Begin(&database_->db(), options.db.max_open_files);
    // Only now compactions may drop records: before that nobody knew how values are read.
    drops_->schema.store(static_cast<int>(schema_), std::memory_order_release);
    watcher_->engine.store(this);
    meter_->Watch(database_);
    if (holds == Holds::kIndexes || directory_.newest() == decree) return absl::OkStatus();
    return Checkpoint().status();
  }
  const std::shared_ptr<Database>& database() const { return database_; }

  Decree last_applied() const override { return last_applied_.load(); }
  Decree last_flushed() const override { return last_flushed_.load(); }
  Decree last_durable() const override { return directory_.newest(); }

  absl::Status Apply(Decree decree, int64_t timestamp_us, absl::Span<const WriteOp> ops) override {
    // A strand never comes here after a lack of space: TryApplyAll has refused.
    RETURN_IF_ERROR(GoOnAfterNoSpace());
    return Write({{decree, timestamp_us, ops}}, Patience::kWaits);
  }
  absl::Status ApplyAll(absl::Span<const AppliedMutation> mutations) override {
    if (mutations.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(GoOnAfterNoSpace());
    return Write(mutations, Patience::kWaits);
  }
  absl::Status TryApplyAll(absl::Span<const AppliedMutation> mutations) override {
    if (mutations.empty()) return absl::OkStatus();
    // To resume writes to the disk: a strand must not wait for that.
    if (watcher_->lacks_space.load()) return absl::UnavailableError("apply: a flush lacked space");
    return Write(mutations, Patience::kNone);
  }

  absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now, ReadTier tier) const override {
    return GetRecord(*database_, nullptr, schema_, raw_key, now, tier);
  }

  absl::StatusOr<uint64_t> TagOf(std::string_view raw_key, ReadTier tier) const override {
    return tags_.TagOf(*database_, raw_key, tier);
  }
  std::optional<SourcePosition> PositionOf(uint8_t cluster_id,
                                           int64_t duplication_id) const override {
    return tags_.PositionOf({cluster_id, duplication_id});
  }
  int64_t latest_timestamp_us() const override { return tags_.latest_timestamp_us(); }

  std::shared_ptr<const EngineView> View() const override {
    return std::make_shared<RocksdbView>(database_, schema_);
  }

  absl::Status Flush() override {
    if (last_flushed() == last_applied()) return absl::OkStatus();
    RETURN_IF_ERROR(GoOnAfterNoSpace());
    const Decree target = last_applied();
    const absl::Status flushed = database_->Flush();
    if (IsRefusal(flushed)) watcher_->lacks_space.store(true);
    RETURN_IF_ERROR(flushed);
    RETURN_IF_ERROR(RefreshFlushed().status());
    return AwaitFlushed(target);
  }

  absl::StatusOr<Decree> Checkpoint() override {
    RETURN_IF_ERROR(tags_.DropOld(*database_));
    RETURN_IF_ERROR(Flush());
    if (directory_.newest() == last_flushed()) return last_flushed();
    ASSIGN_OR_RETURN(const NewCheckpoint made, MakeCheckpoint());
    RETURN_IF_ERROR(directory_.AddCheckpoint(made.path, made.decree));
    return made.decree;
  }

  absl::StatusOr<bool> RenewCheckpoints() override {
    RETURN_IF_ERROR(Flush());
    ASSIGN_OR_RETURN(const NewCheckpoint made, MakeCheckpoint());
    return directory_.ReplaceCheckpoints(made.path, made.decree);
  }

  struct NewCheckpoint {
    std::string path;
    Decree decree;
  };
  // Of what is flushed, under a name that counts for nothing.
  absl::StatusOr<NewCheckpoint> MakeCheckpoint() {
    ASSIGN_OR_RETURN(std::string path, directory_.MakeRoomForCheckpoint());
    // The decree is read before and after: if no flush came between, the checkpoint has exactly
    // that one.
    ASSIGN_OR_RETURN(Decree before, RefreshFlushed());
    RETURN_IF_ERROR(database_->CopyFilesTo(path));
    ASSIGN_OR_RETURN(Decree decree, RefreshFlushed());
    // A flush of RocksDB's own came between: only the files know which side they are of.
    if (decree != before) {
      ASSIGN_OR_RETURN(decree, DecreeOfCheckpoint(env_, path));
    }
    return NewCheckpoint{std::move(path), decree};
  }

  absl::StatusOr<CheckpointFiles> NewestCheckpoint(std::shared_ptr<void>* hold) override {
    return directory_.HoldNewest(hold);
  }

  uint64_t size_bytes() const override {
    uint64_t bytes = 0;
    for (const std::string& property : {rocksdb::DB::Properties::kLiveSstFilesSize,
                                        rocksdb::DB::Properties::kCurSizeAllMemTables}) {
      uint64_t part = 0;
      if (database_->db().GetIntProperty(database_->data(), property, &part)) bytes += part;
    }
    return bytes;
  }

  std::shared_ptr<const EngineMeter> meter() const override { return meter_; }
  void BeforeFlush(std::function<void()> hook) override {
    const MutexLock lock(watcher_->mutex);
    watcher_->before_flush = std::move(hook);
  }

  absl::StatusOr<std::string> CompactFrom(const std::string& from, const CompactionTerms& terms,
                                          std::atomic<bool>* cancelled) override {
    RETURN_IF_ERROR(GoOnAfterNoSpace());
    const std::string end = database_->CompactionStepEnd(from);
    rocksdb::CompactRangeOptions options;
    options.exclusive_manual_compaction = false;  // else writes would stall behind it
    options.allow_write_stall = true;             // else it waits until no write would have to
    options.canceled = cancelled;
    using Bottommost = rocksdb::BottommostLevelCompaction;
    options.bottommost_level_compaction = terms.bottommost ? Bottommost::kForce : Bottommost::kSkip;
    const rocksdb::Slice first = ToSlice(from), last = ToSlice(end);
    const BlockingCall call("compact", directory_.path());
    rocksdb::Status status = database_->db().CompactRange(
        options, database_->data(), from.empty() ? nullptr : &first, end.empty() ? nullptr : &last);
    if (status.ok() && end.empty() && terms.target_level > 0) {
      // Files move, nothing is written: all of them lie in one level by now.
      options.bottommost_level_compaction = Bottommost::kSkip;
      options.change_level = true;
      options.target_level =
          std::min(terms.target_level, database_->db().NumberLevels(database_->data()) - 1);
      status = database_->db().CompactRange(options, database_->data(), nullptr, nullptr);
    }
    // Asked before the status: a cancelled compaction is no error of the data.
    if (cancelled->load()) return absl::CancelledError("compaction");
    RETURN_IF_ERROR(FromRocksdb(status, absl::StrCat("compact ", directory_.path())));
    // The end of a step was merged with it, so the next begins right behind.
    return end.empty() ? std::string() : JustBehind(end);
  }

  ValueSchema data_version() const override { return schema_; }
  int64_t last_compacted_ms() const override { return last_compacted_ms_.load(); }

  absl::Status NoteCompacted(int64_t unix_ms) override {
    RETURN_IF_ERROR(Note(kManualCompactKey, unix_ms));
    last_compacted_ms_.store(unix_ms);
    return absl::OkStatus();
  }

  void SetOwnership(const KeyOwnership& ownership) override { drops_->ownership.store(ownership); }
  KeyOwnership ownership() const override { return drops_->ownership.load(); }
  int32_t compacted_for() const override { return compacted_for_.load(); }
  absl::Status NoteCompactedFor(int32_t partition_count) override {
    RETURN_IF_ERROR(Note(kCompactedForKey, partition_count));
    compacted_for_.store(partition_count);
    return absl::OkStatus();
  }

  absl::Status Close() override {
    RETURN_IF_ERROR(Flush());
    Drop();
    return absl::OkStatus();
  }

 private:
  // Flushes that RocksDB starts by itself advance last_flushed too.
  struct FlushWatcher : rocksdb::EventListener {
    void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
      std::function<void()> hook;
      {
        const MutexLock lock(mutex);
        hook = before_flush;
      }
      if (hook) hook();
    }
    void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
      // Null while the engine is being opened and once Drop has begun its last step.
      if (RocksdbEngine* watched = engine.load()) {
        absl::Status status = watched->RefreshFlushed().status();
        if (!status.ok()) LOG(WARNING) << "after a flush: " << status;
      }
      Notify();
    }
    void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
      if (error->IsShutdownInProgress()) return;
      // It is tried again by itself, a second later. Were it an error of the database, 7.8.3 would
      // forget the memory tables of a flush under way, and the next one wait for them for ever.
      if (reason == rocksdb::BackgroundErrorReason::kCompaction && error->IsNoSpace()) {
        *error = rocksdb::Status::OK();
        return;
      }
      // Likewise, where a compaction cannot name its result: but this error RocksDB insists on.
      const bool may_resume =
          error->IsNoSpace() && reason != rocksdb::BackgroundErrorReason::kManifestWrite;
      const bool said = may_resume ? lacks_space.exchange(true) : failed.exchange(true);
      LOG_IF(ERROR, !said) << "RocksDB stops writing: " << error->ToString();
      Notify();
    }
    // Its own recovery wants a whole write buffer of free space and looks every 5 s.
    void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status error,
                              bool* auto_recovery) override {
      if (error.IsNoSpace()) *auto_recovery = false;
    }
    std::atomic<RocksdbEngine*> engine{nullptr};
    std::atomic<bool> lacks_space{false};  // the database takes nothing until it is resumed
    std::atomic<bool> failed{false};       // and will never again

    void Notify() {
      const MutexLock lock(mutex);
      changed.NotifyAll();
    }
    Mutex mutex;
    std::function<void()> before_flush ABSL_GUARDED_BY(mutex);
    ConditionVariable changed;  // a flush ended, or never will
  };

  // A number in the meta family, on disk when it returns.
  absl::Status Note(const char* key, int64_t number) {
    RETURN_IF_ERROR(GoOnAfterNoSpace());
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    RETURN_IF_ERROR(
        FromRocksdb(database_->db().Put(options, database_->meta(), key, std::to_string(number)),
                    absl::StrCat("note ", key)));
    const absl::Status flushed = database_->Flush();
    if (IsRefusal(flushed)) watcher_->lacks_space.store(true);
    RETURN_IF_ERROR(flushed);
    return RefreshFlushed().status();
  }

  void Drop() {
    if (database_ == nullptr) return;
    // Everybody who might still look at the database is turned away first; it goes last.
    meter_->Watch(nullptr);
    limited_->End();
    database_->StopBackgroundWork();  // while the listener may still look at this
    watcher_->engine.store(nullptr);
    database_.reset();
  }

  enum class Patience { kWaits, kNone };
  absl::Status Write(absl::Span<const AppliedMutation> mutations, Patience patience) {
    // One batch for all mutations and the decree of the last: RocksDB takes it whole (engine/E1).
    batch_.Clear();
    tags_.BeginBatch();
    rocksdb::Status status;
    Decree decree = last_applied();
    for (const AppliedMutation& mutation : mutations) {
      CHECK_EQ(mutation.decree, decree + 1);
      decree = mutation.decree;
      if (status.ok()) status = AddToBatch(mutation);
    }
    if (status.ok()) {
      status = batch_.Put(database_->meta(), kDecreeKey, std::to_string(decree.value()));
    }
    // RocksDB answers Incomplete instead of waiting, which becomes Unavailable.
    write_options_.no_slowdown = patience == Patience::kNone;
    if (status.ok()) status = database_->db().Write(write_options_, &batch_);
    if (status.IsNoSpace()) watcher_->lacks_space.store(true);
    RETURN_IF_ERROR(FromRocksdb(status, "apply"));
    tags_.Written();
    last_applied_.store(decree);
    return absl::OkStatus();
  }

  rocksdb::Status AddToBatch(const AppliedMutation& mutation) {
    const TimeTag time_tag{.timestamp_us = mutation.timestamp_us,
                           .cluster_id = options_.cluster_id};
    rocksdb::Status status = tags_.AddTo(*database_, mutation, time_tag, &batch_);
    // The empty key gives the flush something to write in `default` too.
    if (mutation.ops.empty() && status.ok())
      status = AddToBatch({.kind = WriteOp::Kind::kPut}, time_tag);
    for (const WriteOp& op : mutation.ops) {
      const TimeTag tag = op.time_tag == 0 ? time_tag : TimeTag::FromPacked(op.time_tag);
      if (status.ok()) status = AddToBatch(op, tag);
    }
    return status;
  }

  // RocksDB 7.8.3, once resumed after an error, says that a flush is done before it is, and may
  // never begin it: then it is asked for again.
  absl::Status AwaitFlushed(Decree target) {
    constexpr std::chrono::seconds kAgain(1);
    constexpr int kTries = 300;
    // Woken by the watcher, and looked at again each second in any case.
    const auto is_over = [&] {
      return last_flushed() >= target || watcher_->lacks_space || watcher_->failed;
    };
    for (int i = 0; i < kTries && !is_over(); ++i) {
      if (i > 0) RETURN_IF_ERROR(database_->BeginFlush());
      MutexLock lock(watcher_->mutex);
      watcher_->changed.WaitFor(watcher_->mutex, kAgain, is_over);
    }
    if (last_flushed() >= target) return absl::OkStatus();
    const std::string text =
        absl::StrCat("flush ", directory_.path(), ": did not reach decree ", target.value());
    // The caller may ask again; otherwise nothing will make it durable.
    if (watcher_->lacks_space) return absl::ResourceExhaustedError(text);
    return absl::DataLossError(text);
  }

  // After a flush found no space: tries it again, and if it succeeds the database
  // takes writes as before.
  absl::Status GoOnAfterNoSpace() {
    if (watcher_->failed.load())
      return absl::DataLossError(absl::StrCat(directory_.path(), ": RocksDB has failed"));
    if (!watcher_->lacks_space.load()) return absl::OkStatus();
    const MutexLock lock(resume_mutex_);  // Apply and Flush may both come
    if (!watcher_->lacks_space.load()) return absl::OkStatus();
    // Before, not after: the flush that Resume starts may fail again at once.
    watcher_->lacks_space.store(false);
    const absl::Status resumed =
        FromRocksdb(database_->db().Resume(), absl::StrCat("resume ", directory_.path()));
    if (!resumed.ok()) {
      watcher_->lacks_space.store(true);
      return resumed;
    }
    LOG(INFO) << directory_.path() << ": RocksDB writes again";
    return absl::OkStatus();
  }

  rocksdb::Status AddToBatch(const WriteOp& op, TimeTag time_tag) {
    const rocksdb::Slice key = ToSlice(op.key);
    if (op.kind == WriteOp::Kind::kRemove) return batch_.Delete(database_->data(), key);
    char header[kValueHeaderBytesMax];
    const rocksdb::Slice parts[] = {
        {header, StoreValueHeader(schema_, std::min(op.expire_ts, kExpiryMax), time_tag, header)},
        ToSlice(op.value)};
    return batch_.Put(database_->data(), rocksdb::SliceParts(&key, 1),
                      rocksdb::SliceParts(parts, 2));
  }

  absl::StatusOr<Decree> RefreshFlushed() {
    ASSIGN_OR_RETURN(Decree persisted, database_->PersistedDecree());
    // A flush may end between a batch's write and the step of last_applied_ (engine/E2).
    const Decree flushed = std::min(persisted, last_applied());
    Decree known = last_flushed_.load();
    // Several threads may come with different decrees: it only rises.
    while (known < flushed && !last_flushed_.compare_exchange_weak(known, flushed)) {
    }
    return persisted;
  }

  const RocksdbEngineOptions options_;
  FileSystem& files_;
  EngineDirectory directory_;
  const std::shared_ptr<DropRule> drops_;
  RocksdbTags tags_;
  const std::shared_ptr<FlushWatcher> watcher_;
  const std::shared_ptr<RocksdbMeter> meter_;
  const std::shared_ptr<RocksdbEngineFactory::Shared::Limited> limited_;
  std::shared_ptr<rocksdb::Env> env_;
  std::shared_ptr<Database> database_;  // iterators and views hold it too
  ValueSchema schema_ = ValueSchema::kV1;
  rocksdb::WriteOptions write_options_;
  rocksdb::WriteBatch batch_;  // Apply's, reused
  Mutex resume_mutex_;
  std::atomic<Decree> last_applied_{Decree(0)};
  std::atomic<Decree> last_flushed_{Decree(0)};
  std::atomic<int64_t> last_compacted_ms_{0};
  std::atomic<int32_t> compacted_for_{0};
};

// `env`: whose threads flush and compact.
absl::StatusOr<std::unique_ptr<RocksdbEngine>> OpenEngine(
    const std::string& directory, const std::shared_ptr<DiskThreads>& env,
    RocksdbEngine::Holds holds, Environment& environment, const RocksdbEngineOptions& settings,
    const std::shared_ptr<RocksdbEngineFactory::Shared>& shared) {
  auto drops = std::make_shared<DropRule>();
  drops->now = [&clock = environment.clock()] { return ExpiredForGood(clock); };
  RETURN_IF_ERROR(StartThreads(*env));
  DatabaseOptions options{.env = env,
                          .db = MakeDbOptions(settings, *shared),
                          .data = MakeDataOptions(settings, *shared, drops),
                          .meta = MakeMetaOptions(*shared)};
  options.db.env = env.get();
  options.db.info_log = std::make_shared<RocksdbLog>(directory);
  if (holds == RocksdbEngine::Holds::kIndexes) MakeIndexStoreOptions(&options);
  const auto limited = shared->NewLimited();
  auto engine =
      std::make_unique<RocksdbEngine>(environment.files(), directory, settings, drops, limited);
  // From here until it is open compactions of the disk give way: a recovery waits for it.
  const DiskThreads::Opening opening(*env);
  RETURN_IF_ERROR(engine->Open(std::move(options), holds));
  limited->SetOpenFilesMax(shared->open_files_max.load());  // it may be another by now
  return engine;
}

}  // namespace

RocksdbEngineFactory::RocksdbEngineFactory(Environment& environment, RocksdbEngineOptions options)
    : environment_(environment), options_(options), shared_(std::make_shared<Shared>()) {
  shared_->block_cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  shared_->open_files_max.store(options.open_files_max);
  shared_->write_buffers =
      std::make_shared<rocksdb::WriteBufferManager>(options.write_buffers_total_bytes);
}

RocksdbEngineFactory::~RocksdbEngineFactory() = default;

const EngineIoStats& RocksdbEngineFactory::io_stats(const std::string& directory) {
  return shared_->DiskOf(environment_, directory).files->stats();
}

absl::StatusOr<std::unique_ptr<Engine>> RocksdbEngineFactory::Open(
    const std::string& data_directory) {
  Shared::Disk& disk = shared_->DiskOf(environment_, data_directory);
  return OpenEngine(data_directory, disk.env, RocksdbEngine::Holds::kRecords, environment_,
                    options_, shared_);
}

absl::StatusOr<std::unique_ptr<IndexStore>> RocksdbEngineFactory::OpenIndexStore(
    const std::string& directory) {
  Shared::Disk& disk = shared_->DiskOf(environment_, directory);
  ASSIGN_OR_RETURN(std::unique_ptr<RocksdbEngine> engine,
                   OpenEngine(directory, disk.index_env, RocksdbEngine::Holds::kIndexes,
                              environment_, options_, shared_));
  std::shared_ptr<Database> database = engine->database();
  return MakeIndexStore(std::move(engine), std::move(database), environment_.files(), directory);
}

absl::Status RocksdbEngineFactory::InstallCheckpoint(const std::string& checkpoint_directory,
                                                     Decree decree,
                                                     const std::string& data_directory) {
  FileSystem& files = environment_.files();
  const Shared::Disk& disk = shared_->DiskOf(environment_, data_directory);
  RETURN_IF_ERROR(StartThreads(*disk.env));
  ASSIGN_OR_RETURN(Decree found, DecreeOfCheckpoint(disk.env, checkpoint_directory));
  // The files decide, not the sender: a wrong decree would leave a hole between data and log.
  if (found != decree) {
    return absl::DataLossError(absl::StrCat(checkpoint_directory, " holds decree ", found.value(),
                                            ", not ", decree.value()));
  }
  EngineDirectory directory(
      files, data_directory,
      {.content = kRocksdbContent, .checkpoints_kept = options_.checkpoints_kept});
  return directory.InstallContent(decree, [&](const std::string& to) -> absl::Status {
    ASSIGN_OR_RETURN(const FileSizes there, FilesOf(files, checkpoint_directory));
    for (const auto& [name, size] : there) {
      const std::string from = JoinPath(checkpoint_directory, name);
      // Table files never change; a link is as good as a copy where the file system has links.
      if (absl::EndsWith(name, ".sst") && files.Link(from, JoinPath(to, name)).ok()) continue;
      RETURN_IF_ERROR(CopyFile(files, from, JoinPath(to, name)));
    }
    return absl::OkStatus();
  });
}

std::function<void(int)> RocksdbEngineFactory::OpenFilesLimiter() const {
  return [shared = shared_](int open_files_max) { shared->SetOpenFilesMax(open_files_max); };
}

void RocksdbEngineFactory::LimitUnflushed(uint64_t bytes) {
  const uint64_t configured = options_.write_buffers_total_bytes;
  shared_->write_buffers->SetBufferSize(bytes == 0 ? configured : std::min(bytes, configured));
}

uint64_t RocksdbEngineFactory::unflushed_bytes() const {
  return shared_->write_buffers->memory_usage();
}

RocksdbEngineFactory::CacheUse RocksdbEngineFactory::block_cache() const {
  return {.capacity_bytes = shared_->block_cache->GetCapacity(),
          .used_bytes = shared_->block_cache->GetUsage(),
          .pinned_bytes = shared_->block_cache->GetPinnedUsage()};
}

std::string RocksdbEngineFactory::description() const {
  return absl::StrCat("RocksDB ", ROCKSDB_MAJOR, ".", ROCKSDB_MINOR, ".", ROCKSDB_PATCH, " (",
                      ARION_ROCKSDB_BUILD, " build)");
}

}  // namespace arion
