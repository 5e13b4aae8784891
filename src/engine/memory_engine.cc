// All records are in one ordered map. A flush encodes the whole of it and replaces the records
// file; a checkpoint is another such file. That is slow for much data, but simulated servers hold
// little.
// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_engine.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "base/coding.h"
#include "base/crc.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/value_schema.h"
#include "engine/engine_directory.h"
#include "engine/index_store.h"
#include "env/clock.h"
#include "env/environment.h"

namespace arion {
namespace {

constexpr std::string_view kMagic = "ARIONMEM";
constexpr std::string_view kRecordsName = "records";
constexpr char kMemoryContent[] = "memory";

struct TaggedRecord : Record {
  // A TimeTag, packed.
  uint64_t tag = 0;
};
// A map, ordered: equal content encodes to equal bytes (memory_engine/M1).
using RecordMap = std::map<std::string, TaggedRecord, std::less<>>;
// `by_key` is shared with the views taken of it, and copied when it changes while one is left.
struct Records {
  Decree decree{0};
  std::shared_ptr<RecordMap> by_key = std::make_shared<RecordMap>();
  // By raw key, packed.
  std::map<std::string, uint64_t, std::less<>> tombstones;
  SourcePositions positions;
  int64_t latest_us = 0;
  // Something is told by the tags.
  bool HasTags() const { return latest_us != 0; }
};

// Behind the records, which former versions end with.
void EncodeTags(const Records& records, std::string* bytes) {
  AppendLittle(records.latest_us, bytes);
  for (const auto& [key, record] : *records.by_key) AppendLittle(record.tag, bytes);
  AppendLittle(static_cast<uint64_t>(records.tombstones.size()), bytes);
  for (const auto& [key, tag] : records.tombstones) {
    AppendLittle(static_cast<uint32_t>(key.size()), bytes);
    AppendLittle(tag, bytes);
    bytes->append(key);
  }
  for (const auto& [id, position] : records.positions.all()) {
    AppendLittle(static_cast<uint32_t>(position.cluster_id), bytes);
    AppendLittle(position.duplication_id, bytes);
    AppendLittle(position.decree.value(), bytes);
    AppendLittle(position.updates, bytes);
    AppendLittle(position.timestamp_us, bytes);
  }
}

void DecodeTags(ByteReader& reader, Records* records) {
  records->latest_us = reader.Little<int64_t>();
  for (auto& [key, record] : *records->by_key) record.tag = reader.Little<uint64_t>();
  const auto count = reader.Little<uint64_t>();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const auto key_bytes = reader.Little<uint32_t>();
    const auto tag = reader.Little<uint64_t>();
    records->tombstones.insert_or_assign(std::string(reader.Bytes(key_bytes)), tag);
  }
  while (reader.ok() && !reader.rest().empty()) {
    SourcePosition position;
    position.cluster_id = static_cast<uint8_t>(reader.Little<uint32_t>());
    position.duplication_id = reader.Little<int64_t>();
    position.decree = Decree(reader.Little<int64_t>());
    position.updates = reader.Little<int32_t>();
    position.timestamp_us = reader.Little<int64_t>();
    records->positions.Note(position);
  }
}

std::string EncodeRecords(const Records& records) {
  std::string bytes(kMagic);
  AppendLittle(records.decree.value(), &bytes);
  AppendLittle(static_cast<uint64_t>(records.by_key->size()), &bytes);
  for (const auto& [key, record] : *records.by_key) {
    AppendLittle(static_cast<uint32_t>(key.size()), &bytes);
    AppendLittle(static_cast<uint32_t>(record.value.size()), &bytes);
    AppendLittle(record.expire_ts, &bytes);
    bytes.append(key);
    bytes.append(record.value);
  }
  if (records.HasTags()) EncodeTags(records, &bytes);
  AppendLittle(Crc32c(bytes), &bytes);
  return bytes;
}

absl::StatusOr<Records> DecodeRecords(std::string_view bytes) {
  constexpr size_t kCrcBytes = sizeof(uint32_t);
  if (bytes.size() < kMagic.size() + kCrcBytes || !bytes.starts_with(kMagic)) {
    return absl::DataLossError("not a records file");
  }
  const std::string_view body = bytes.substr(0, bytes.size() - kCrcBytes);
  // The checksum is judged before any count is believed.
  if (LoadLittle<uint32_t>(bytes.data() + body.size()) != Crc32c(body)) {
    return absl::DataLossError("records file: wrong checksum");
  }
  Records records;
  ByteReader reader(body.substr(kMagic.size()));
  records.decree = Decree(reader.Little<int64_t>());
  const auto count = reader.Little<uint64_t>();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const auto key_bytes = reader.Little<uint32_t>();
    const auto value_bytes = reader.Little<uint32_t>();
    const auto expire_ts = reader.Little<uint32_t>();
    std::string key(reader.Bytes(key_bytes));
    std::string value(reader.Bytes(value_bytes));
    TaggedRecord record;
    record.value = std::move(value);
    record.expire_ts = expire_ts;
    records.by_key->insert_or_assign(std::move(key), std::move(record));
  }
  if (reader.ok() && !reader.rest().empty()) DecodeTags(reader, &records);
  if (!reader.ok() || !reader.rest().empty())
    return absl::DataLossError("records file: counts do not fit");
  return records;
}

absl::StatusOr<Records> LoadRecords(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(std::string bytes, ReadFile(files, path));
  absl::StatusOr<Records> records = DecodeRecords(bytes);
  if (!records.ok()) return Annotate(records.status(), path);
  return records;
}

class MapIterator : public RecordIterator {
 public:
  MapIterator(const RecordMap& map, const KeyRange& range, Direction direction)
      : direction_(direction),
        begin_(map.lower_bound(range.first)),
        end_(range.IsEmpty()     ? begin_
             : range.end.empty() ? map.end()
                                 : map.lower_bound(range.end)),
        at_(direction == Direction::kForward ? begin_ : end_) {
    // A backward walk begins behind the range; one step back is its first record.
    is_valid_ = begin_ != end_;
    if (is_valid_ && direction_ == Direction::kBackward) --at_;
    Look();
  }
  void Next() override {
    if (direction_ == Direction::kForward) {
      is_valid_ = ++at_ != end_;
    } else {
      is_valid_ = at_ != begin_;
      if (is_valid_) --at_;
    }
    Look();
  }

 private:
  void Look() {
    if (!is_valid_) return;
    key_ = at_->first;
    value_ = at_->second.value;
    expire_ts_ = at_->second.expire_ts;
  }

  const Direction direction_;
  const RecordMap::const_iterator begin_;
  const RecordMap::const_iterator end_;
  RecordMap::const_iterator at_;
};

class MapView : public EngineView {
 public:
  explicit MapView(std::shared_ptr<const RecordMap> map) : map_(std::move(map)) {}
  absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now, ReadTier) const override {
    return Find(*map_, raw_key, now);
  }
  std::unique_ptr<RecordIterator> Walk(KeyRange range, Direction direction) const override {
    return std::make_unique<MapIterator>(*map_, range, direction);
  }
  static absl::StatusOr<Record> Find(const RecordMap& map, std::string_view raw_key, uint32_t now) {
    const auto it = map.find(raw_key);
    if (it == map.end() || IsExpired(it->second.expire_ts, now))
      return absl::NotFoundError("no such record");
    return Record(it->second);
  }

 private:
  const std::shared_ptr<const RecordMap> map_;
};

}  // namespace

class MemoryEngine;

// Those of one factory, by directory.
struct MemoryEngineFactory::OpenOnes {
  Mutex mutex;
  std::map<std::string, MemoryEngine*> engines ABSL_GUARDED_BY(mutex);
};

class MemoryEngine : public IndexStore {
 public:
  // Null: it is a store of indexes, which makes no checkpoints and is not damaged silently.
  using OpenOnes = std::shared_ptr<MemoryEngineFactory::OpenOnes>;
  MemoryEngine(Environment& environment, const std::string& data_directory,
               const MemoryEngineOptions& options, OpenOnes open)
      : options_(options),
        open_(std::move(open)),
        files_(environment.files()),
        clock_(environment.clock()),
        directory_(files_, data_directory,
                   {.content = kMemoryContent, .checkpoints_kept = options.checkpoints_kept}) {}

  ~MemoryEngine() override {
    if (open_ == nullptr) return;
    const MutexLock lock(open_->mutex);
    const auto it = open_->engines.find(directory_.path());
    // A replica that was opened again has put its new engine under this name already.
    if (it != open_->engines.end() && it->second == this) open_->engines.erase(it);
  }

  absl::Status Open() {
    if (open_ != nullptr) {
      const MutexLock lock(open_->mutex);
      open_->engines[directory_.path()] = this;
    }
    RETURN_IF_ERROR(directory_.Prepare());
    ASSIGN_OR_RETURN(const bool has_records, IsThere(files_, records_path()));
    if (has_records) {
      ASSIGN_OR_RETURN(Records records, LoadRecords(files_, records_path()));
      const MutexLock lock(mutex_);
      records_ = std::move(records);
      last_flushed_ = records_.decree;
      keeps_expired_ = !records_.tombstones.empty();
    }
    // A checkpoint is made of what is flushed, so one that is newer shows a lost file.
    if (directory_.newest() > last_flushed()) {
      return absl::DataLossError(absl::StrCat(
          directory_.path(), " has a checkpoint of decree ", directory_.newest().value(),
          ", but its content ends at ", last_flushed().value()));
    }
    // A crash between a flush and its checkpoint: it is made up for now, so that what is durable
    // and what is flushed agree.
    if (open_ == nullptr || directory_.newest() == last_flushed()) return absl::OkStatus();
    return Checkpoint().status();
  }

  Decree last_applied() const override {
    const MutexLock lock(mutex_);
    return records_.decree;
  }
  Decree last_flushed() const override {
    const MutexLock lock(mutex_);
    return last_flushed_;
  }
  Decree last_durable() const override { return directory_.newest(); }

  absl::Status Apply(Decree decree, int64_t timestamp_us, absl::Span<const WriteOp> ops) override {
    const AppliedMutation one{.decree = decree, .timestamp_us = timestamp_us, .ops = ops};
    return ApplyAll({&one, 1});
  }
  absl::Status ApplyAll(absl::Span<const AppliedMutation> mutations) override {
    const MutexLock lock(mutex_);
    for (const AppliedMutation& mutation : mutations) ApplyOne(mutation);
    return absl::OkStatus();
  }
  void ApplyOne(const AppliedMutation& mutation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // Decrees come in order, each once: what was passed over would be lost for good.
    CHECK_EQ(mutation.decree, records_.decree + 1);
    RecordMap& by_key = Changing();
    for (const WriteOp& op : mutation.ops) {
      TimeTag tag = TimeTag::FromPacked(op.time_tag);
      if (op.time_tag == 0)
        tag = {.timestamp_us = mutation.timestamp_us, .cluster_id = options_.cluster_id};
      auto it = by_key.find(op.key);
      // Removing what is not there is no error: a replay does so, too.
      if (op.kind == WriteOp::Kind::kRemove) {
        if (it != by_key.end()) by_key.erase(it);
        tag.deleted = true;
        if (op.leaves_tombstone)
          records_.tombstones.insert_or_assign(std::string(op.key), tag.packed());
        keeps_expired_ |= op.leaves_tombstone;
        continue;
      }
      if (it == by_key.end()) it = by_key.emplace(std::string(op.key), TaggedRecord()).first;
      it->second.value = std::string(op.value);
      it->second.expire_ts = std::min(op.expire_ts, kExpiryMax);
      it->second.tag = tag.packed();
    }
    keeps_expired_ |= mutation.compares_tags;
    if (mutation.position) records_.positions.Note(*mutation.position);
    records_.latest_us = std::max(records_.latest_us, mutation.timestamp_us);
    records_.decree = mutation.decree;
  }

  absl::StatusOr<uint64_t> TagOf(std::string_view raw_key, ReadTier tier) const override {
    const MutexLock lock(mutex_);
    const auto record = records_.by_key->find(raw_key);
    const auto tombstone = records_.tombstones.find(raw_key);
    return std::max(record == records_.by_key->end() ? 0 : record->second.tag,
                    tombstone == records_.tombstones.end() ? 0 : tombstone->second);
  }
  std::optional<SourcePosition> PositionOf(uint8_t cluster_id,
                                           int64_t duplication_id) const override {
    const MutexLock lock(mutex_);
    return records_.positions.Find({cluster_id, duplication_id});
  }
  int64_t latest_timestamp_us() const override {
    const MutexLock lock(mutex_);
    return records_.latest_us;
  }

  absl::StatusOr<Record> Get(std::string_view raw_key, uint32_t now, ReadTier tier) const override {
    const MutexLock lock(mutex_);
    return MapView::Find(*records_.by_key, raw_key, now);
  }

  std::shared_ptr<const EngineView> View() const override {
    const MutexLock lock(mutex_);
    return std::make_shared<MapView>(records_.by_key);
  }

  std::optional<std::string> ChangeSilently(const std::string& from,
                                            std::optional<std::string> value) {
    const MutexLock lock(mutex_);
    RecordMap& by_key = Changing();
    // One that expires might be gone by itself before anybody compares.
    const auto stays = [](const auto& entry) { return entry.second.expire_ts == 0; };
    auto it = std::find_if(by_key.lower_bound(from), by_key.end(), stays);
    if (it == by_key.end()) it = std::find_if(by_key.begin(), by_key.end(), stays);
    if (it == by_key.end()) return std::nullopt;
    std::string key = it->first;
    if (value)
      it->second.value = *std::move(value);
    else
      by_key.erase(it);
    return key;
  }

  absl::Status Flush() override { return FlushUpTo().status(); }
  void BeforeFlush(std::function<void()> hook) override {
    const MutexLock lock(mutex_);
    before_flush_ = std::move(hook);
  }

  absl::StatusOr<std::unique_ptr<BulkWriter>> NewBulkWriter(
      const std::vector<std::string>& saved) override {
    class Writer : public BulkWriter {
     public:
      explicit Writer(MemoryEngine& engine) : engine_(engine) {}
      absl::Status Take(const std::vector<std::string>& saved) {
        if (saved.empty()) return engine_.files_.RemoveAll(directory());
        for (const std::string& name : saved) {
          ASSIGN_OR_RETURN(const Records records,
                           LoadRecords(engine_.files_, JoinPath(directory(), name)));
          added_.by_key->insert(records.by_key->begin(), records.by_key->end());
        }
        return absl::OkStatus();
      }
      absl::Status Add(std::string_view raw_key) override {
        added_.by_key->emplace(raw_key, TaggedRecord());
        return absl::OkStatus();
      }
      absl::StatusOr<std::vector<std::string>> Save() override {
        RETURN_IF_ERROR(CreateDirectoryDurably(engine_.files_, directory()));
        RETURN_IF_ERROR(WriteFileDurably(engine_.files_, JoinPath(directory(), kRecordsName),
                                         EncodeRecords(added_)));
        return std::vector<std::string>{std::string(kRecordsName)};
      }
      absl::Status Sort() override { return absl::OkStatus(); }
      absl::Status Finish() override {
        engine_.AddBeneath(*added_.by_key);
        RETURN_IF_ERROR(engine_.Flush());
        return engine_.files_.RemoveAll(directory());
      }

     private:
      std::string directory() const { return JoinPath(engine_.directory_.path(), "bulk"); }

      MemoryEngine& engine_;
      Records added_;
    };
    auto writer = std::make_unique<Writer>(*this);
    RETURN_IF_ERROR(writer->Take(saved));
    return writer;
  }
  absl::Status CopyTo(const std::string& directory) override {
    ASSIGN_OR_RETURN(const Flushed flushed, FlushUpTo());
    const std::string to = JoinPath(directory, kMemoryContent);
    RETURN_IF_ERROR(files_.CreateDirectories(to));
    return WriteFileDurably(files_, JoinPath(to, kRecordsName), flushed.bytes);
  }
  absl::Status RemoveRange(const KeyRange& range) override {
    const MutexLock lock(mutex_);
    RecordMap& by_key = Changing();
    by_key.erase(by_key.lower_bound(range.first), by_key.lower_bound(range.end));
    return absl::OkStatus();
  }

  int64_t last_compacted_ms() const override { return last_compacted_ms_.load(); }
  absl::Status NoteCompacted(int64_t unix_ms) override {  // until it is closed: nothing is merged
    last_compacted_ms_.store(unix_ms);
    return absl::OkStatus();
  }

  void SetOwnership(const KeyOwnership& ownership) override {
    const MutexLock lock(mutex_);
    ownership_ = ownership;
  }
  KeyOwnership ownership() const override {
    const MutexLock lock(mutex_);
    return ownership_;
  }
  int32_t compacted_for() const override { return compacted_for_.load(); }
  absl::Status NoteCompactedFor(int32_t partition_count) override {  // until it is closed
    RETURN_IF_ERROR(Flush());                                        // drops the others
    compacted_for_.store(partition_count);
    return absl::OkStatus();
  }

  absl::StatusOr<Decree> Checkpoint() override {
    ASSIGN_OR_RETURN(Flushed flushed, FlushUpTo());
    // Nothing was applied since the newest one.
    if (directory_.newest() == flushed.decree) return flushed.decree;
    ASSIGN_OR_RETURN(const std::string path, MakeCheckpoint(flushed));
    RETURN_IF_ERROR(directory_.AddCheckpoint(path, flushed.decree));
    return flushed.decree;
  }

  absl::StatusOr<bool> RenewCheckpoints() override {
    ASSIGN_OR_RETURN(const Flushed flushed, FlushUpTo());
    ASSIGN_OR_RETURN(const std::string path, MakeCheckpoint(flushed));
    return directory_.ReplaceCheckpoints(path, flushed.decree);
  }

  absl::StatusOr<CheckpointFiles> NewestCheckpoint(std::shared_ptr<void>* hold) override {
    return directory_.HoldNewest(hold);
  }

  uint64_t size_bytes() const override {
    const MutexLock lock(mutex_);
    uint64_t bytes = 0;
    for (const auto& [key, record] : *records_.by_key) bytes += key.size() + record.value.size();
    return bytes;
  }

  absl::Status Close() override { return Flush(); }

 private:
  struct Flushed {
    Decree decree;
    std::string bytes;
  };

  absl::StatusOr<std::string> MakeCheckpoint(const Flushed& flushed) {
    ASSIGN_OR_RETURN(std::string path, directory_.MakeRoomForCheckpoint());
    RETURN_IF_ERROR(files_.CreateDirectories(path));
    RETURN_IF_ERROR(WriteFileDurably(files_, JoinPath(path, kRecordsName), flushed.bytes));
    return path;
  }
  std::string records_path() const { return JoinPath(directory_.content_path(), kRecordsName); }

  // Views share the map: it is copied once, at the first change after a view was taken.
  RecordMap& Changing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (records_.by_key.use_count() > 1)
      records_.by_key = std::make_shared<RecordMap>(*records_.by_key);
    return *records_.by_key;
  }

  void AddBeneath(const RecordMap& added) {
    const MutexLock lock(mutex_);
    Changing().insert(added.begin(), added.end());
  }

  // As a compaction does.
  void DropGone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const uint32_t expired = ExpiredForGood(clock_);
    const KeyOwnership ours = ownership_.MayDrop() ? ownership_ : KeyOwnership();
    std::erase_if(records_.tombstones, [&](const auto& entry) {
      const int64_t at =
          TimeTag::FromPacked(entry.second).timestamp_us / 1000000 - kExpiryEpochUnixSeconds;
      return at + absl::ToInt64Seconds(kTombstonesKept) <= expired || !ours.OwnsKey(entry.first);
    });
    const auto kept = static_cast<uint32_t>(absl::ToInt64Seconds(kExpiredKept));
    const uint32_t gone_up_to = keeps_expired_ ? expired - std::min(expired, kept) : expired;
    const auto goes = [&](const auto& entry) {
      return IsExpired(entry.second.expire_ts, gone_up_to) || !ours.OwnsKey(entry.first);
    };
    if (std::none_of(records_.by_key->begin(), records_.by_key->end(), goes)) return;
    std::erase_if(Changing(), goes);
  }

  absl::StatusOr<Flushed> FlushUpTo() {
    Flushed flushed;
    std::function<void()> before_flush;
    {
      const MutexLock lock(mutex_);
      before_flush = before_flush_;
      DropGone();
      // Encoded under the lock, written outside it: what is applied meanwhile goes with the next
      // flush.
      flushed = {.decree = records_.decree, .bytes = EncodeRecords(records_)};
    }
    if (before_flush) before_flush();
    if (!has_durable_name_.load()) {  // where a sync failed the directory is there without one
      RETURN_IF_ERROR(files_.CreateDirectories(directory_.content_path()));
      RETURN_IF_ERROR(files_.SyncDirectory(directory_.path()));
      has_durable_name_.store(true);
    }
    RETURN_IF_ERROR(WriteFileDurably(files_, records_path(), flushed.bytes));
    const MutexLock lock(mutex_);
    last_flushed_ = flushed.decree;
    return flushed;
  }

  const MemoryEngineOptions options_;
  const OpenOnes open_;
  FileSystem& files_;
  const Clock& clock_;
  EngineDirectory directory_;
  std::atomic<int64_t> last_compacted_ms_{0};
  std::atomic<int32_t> compacted_for_{0};
  std::atomic<bool> has_durable_name_{false};
  mutable Mutex mutex_;
  std::function<void()> before_flush_ ABSL_GUARDED_BY(mutex_);
  Records records_ ABSL_GUARDED_BY(mutex_);
  // As in RocksDB's (DropRule).
  bool keeps_expired_ ABSL_GUARDED_BY(mutex_) = false;
  Decree last_flushed_ ABSL_GUARDED_BY(mutex_){0};
  KeyOwnership ownership_ ABSL_GUARDED_BY(mutex_);
};

MemoryEngineFactory::MemoryEngineFactory(Environment& environment, MemoryEngineOptions options)
    : environment_(environment), options_(options), open_(std::make_shared<OpenOnes>()) {}

std::optional<std::string> MemoryEngineFactory::ChangeSilently(const std::string& data_directory,
                                                               const std::string& from,
                                                               std::optional<std::string> value) {
  const MutexLock lock(open_->mutex);
  const auto it = open_->engines.find(data_directory);
  if (it == open_->engines.end()) return std::nullopt;
  return it->second->ChangeSilently(from, std::move(value));
}

std::vector<std::string> MemoryEngineFactory::OpenDirectories() const {
  const MutexLock lock(open_->mutex);
  std::vector<std::string> directories;
  for (const auto& [directory, engine] : open_->engines) directories.push_back(directory);
  return directories;
}

absl::StatusOr<std::unique_ptr<Engine>> MemoryEngineFactory::Open(
    const std::string& data_directory) {
  auto engine = std::make_unique<MemoryEngine>(environment_, data_directory, options_, open_);
  RETURN_IF_ERROR(Annotate(engine->Open(), absl::StrCat("open ", data_directory)));
  return engine;
}

absl::StatusOr<std::unique_ptr<IndexStore>> MemoryEngineFactory::OpenIndexStore(
    const std::string& directory) {
  auto engine = std::make_unique<MemoryEngine>(environment_, directory, options_, nullptr);
  RETURN_IF_ERROR(Annotate(engine->Open(), absl::StrCat("open ", directory)));
  return engine;
}

absl::Status MemoryEngineFactory::InstallCheckpoint(const std::string& checkpoint_directory,
                                                    Decree decree,
                                                    const std::string& data_directory) {
  FileSystem& files = environment_.files();
  const std::string source = JoinPath(checkpoint_directory, kRecordsName);
  ASSIGN_OR_RETURN(Records records, LoadRecords(files, source));
  // The learner was promised this decree: another one would leave a hole before its log.
  if (records.decree != decree) {
    return absl::DataLossError(
        absl::StrCat(source, " holds decree ", records.decree.value(), ", not ", decree.value()));
  }
  EngineDirectory directory(
      files, data_directory,
      {.content = kMemoryContent, .checkpoints_kept = options_.checkpoints_kept});
  return directory.InstallContent(decree, [&](const std::string& to) {
    return CopyFile(files, source, JoinPath(to, kRecordsName));
  });
}

}  // namespace arion
