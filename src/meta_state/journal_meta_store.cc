// SPDX-License-Identifier: Apache-2.0
#include "meta_state/journal_meta_store.h"

#include <algorithm>
#include <utility>

#include "base/coding.h"
#include "base/crc.h"
#include "base/log.h"
#include "base/status.h"
#include "env/environment.h"
#include "env/file_system.h"
#include "meta_state/journal_reserve.h"

namespace arion {
namespace {

constexpr std::string_view kMagic = "ARIONMJ1";
constexpr size_t kRecordHeaderBytes = 16;
constexpr char kFileName[] = "meta.journal";
constexpr uint64_t kShortHistoryBytesMax = 64 << 10;  // while the disk is full

std::string EncodeRecord(uint64_t serial, const std::vector<MetaStore::Change>& changes) {
  std::string record(8, '\0');
  AppendLittle<uint64_t>(serial, &record);
  AppendLittle<uint32_t>(static_cast<uint32_t>(changes.size()), &record);
  for (const MetaStore::Change& change : changes) {
    record.push_back(change.value ? 1 : 0);
    AppendLittle<uint32_t>(static_cast<uint32_t>(change.key.size()), &record);
    record += change.key;
    if (!change.value) continue;
    AppendLittle<uint32_t>(static_cast<uint32_t>(change.value->size()), &record);
    record += *change.value;
  }
  StoreLittle<uint32_t>(static_cast<uint32_t>(record.size() - kRecordHeaderBytes), record.data());
  StoreLittle<uint32_t>(Crc32c(std::string_view(record).substr(8)), record.data() + 4);
  return record;
}

// One record as it was read; `size` has the header in it.
struct Record {
  uint64_t serial = 0;
  size_t size = 0;
  std::vector<MetaStore::Change> changes;
};

// The record at the front of `bytes` when it is whole, undamaged and its serial within [first,
// last].
std::optional<Record> ParseRecord(std::string_view bytes, uint64_t first, uint64_t last) {
  ByteReader header(bytes);
  uint32_t length = header.Little<uint32_t>();
  uint32_t crc = header.Little<uint32_t>();
  uint64_t serial = header.Little<uint64_t>();
  if (!header.ok() || length == 0 || length > header.rest().size()) return std::nullopt;
  if (serial < first || serial > last) return std::nullopt;
  std::string_view covered = bytes.substr(8, 8 + size_t{length});
  if (Crc32c(covered) != crc) return std::nullopt;

  Record record{.serial = serial, .size = kRecordHeaderBytes + length};
  ByteReader payload(covered.substr(8));
  uint32_t count = payload.Little<uint32_t>();
  for (uint32_t i = 0; i < count && payload.ok(); ++i) {
    MetaStore::Change change;
    bool is_set = payload.Little<uint8_t>() != 0;
    change.key = payload.Bytes(payload.Little<uint32_t>());
    if (is_set) change.value = payload.Bytes(payload.Little<uint32_t>());
    record.changes.push_back(std::move(change));
  }
  if (!payload.ok() || !payload.rest().empty()) return std::nullopt;
  return record;
}

void Apply(const std::vector<MetaStore::Change>& changes,
           std::map<std::string, std::string>* entries) {
  for (const MetaStore::Change& change : changes) {
    if (change.value) {
      (*entries)[change.key] = *change.value;
    } else {
      entries->erase(change.key);
    }
  }
}

std::string FreshFile(uint64_t serial, const std::map<std::string, std::string>& entries) {
  std::vector<MetaStore::Change> changes;
  for (const auto& [key, value] : entries) changes.push_back({key, value});
  return std::string(kMagic) + EncodeRecord(serial, changes);
}

}  // namespace

// The file. Used by one thread at a time: Load's, then the pool's task of the commit on its way.
class JournalMetaStore::Journal {
 public:
  Journal(Environment& env, std::string directory, JournalMetaStoreOptions options)
      : env_(env),
        directory_(std::move(directory)),
        path_(JoinPath(directory_, kFileName)),
        history_bytes_max_(options.history_bytes_max),
        reserve_(env.files(), directory_, options.reserve_bytes) {}

  const std::string& directory() const { return directory_; }

  absl::StatusOr<std::map<std::string, std::string>> Load() {
    FileSystem& files = env_.files();
    // How a start goes about it: lock the directory, make a first file where there is none, replay
    // all whole records, cut what a crash left behind them, and make durable what was read.
    RETURN_IF_ERROR(CreateDirectoryDurably(files, directory_));
    ASSIGN_OR_RETURN(lock_, files.Lock(JoinPath(directory_, "lock")));
    ASSIGN_OR_RETURN(const bool is_there, IsThere(files, path_));
    if (!is_there) RETURN_IF_ERROR(WriteFileDurably(files, path_, FreshFile(0, {})));
    ASSIGN_OR_RETURN(std::string content, ReadFile(files, path_));
    RETURN_IF_ERROR(Replay(content));
    ASSIGN_OR_RETURN(file_, files.OpenForWrite(path_, FileSystem::CreateMode::kOpenExisting));
    if (end_ < content.size()) RETURN_IF_ERROR(CutTail(std::string_view(content).substr(end_)));
    RETURN_IF_ERROR(MakeDurable(std::string_view(content).substr(0, end_)));
    RETURN_IF_ERROR(files.SyncDirectory(directory_));
    return entries_;
  }

  absl::Status Write(const std::vector<Change>& changes, StoreNeed need) {
    if (!failure_.ok()) return failure_;
    if (need == StoreNeed::kWhileRoom && reserve_.is_short())
      return absl::ResourceExhaustedError(absl::StrCat(path_, ": the disk is full"));
    const std::string record = EncodeRecord(last_serial_ + 1, changes);
    absl::Status appended = Append(record);
    while (failure_.ok() && LacksSpace(appended)) {
      reserve_.OnNoSpace();
      if (need == StoreNeed::kWhileRoom || !reserve_.GiveUpFor(record.size())) break;
      appended = Append(record);
    }
    // No sync has seen it, and it is not whole: as if it had not been tried.
    if (!appended.ok()) return failure_.ok() ? NotStored(appended) : failure_;
    // A failed sync is final: what of the record is on disk nobody can tell.
    failure_ = Accept(record.size(), changes);
    if (failure_.ok()) failure_ = RewriteWhenLong();
    // None of those promises that nothing was stored (meta_store/D1).
    if (!failure_.ok()) failure_ = absl::DataLossError(failure_.message());
    return failure_;
  }

  StoreRoom Look() {
    const StoreRoom room = reserve_.Look();
    // On a full disk a shorter file makes room by itself.
    if (!room.is_short || !failure_.ok()) return room;
    failure_ = RewriteWhenLong();
    if (!failure_.ok()) failure_ = absl::DataLossError(failure_.message());
    return room;
  }

 private:
  absl::Status Replay(std::string_view content) {
    if (!content.starts_with(kMagic)) {
      return absl::DataLossError(absl::StrCat(path_, ": damaged at its beginning"));
    }
    size_t at = kMagic.size();
    std::optional<uint64_t> last;
    while (at < content.size()) {
      std::optional<Record> record = last ? ParseRecord(content.substr(at), *last + 1, *last + 1)
                                          : ParseRecord(content.substr(at), 0, UINT64_MAX - 1);
      if (!record) break;
      Apply(record->changes, &entries_);
      last = record->serial;
      at += record->size;
    }
    // The first record came with the file, by an atomic replacement.
    if (!last) return absl::DataLossError(absl::StrCat(path_, ": damaged at its beginning"));
    // A valid record behind the damage shows that durable bytes were damaged, not that a write was
    // cut short. So each offset is tried. Serials bound what counts as one: a checksum alone could
    // fit by chance.
    for (size_t i = at + 1; i + kRecordHeaderBytes < content.size(); ++i) {
      if (ParseRecord(content.substr(i), *last + 1, *last + content.size())) {
        return absl::DataLossError(absl::StrCat(path_, ": damaged at offset ", at,
                                                ", and a valid record lies behind at ", i));
      }
    }
    last_serial_ = *last;
    end_ = at;
    // When to write the file anew is judged by this, without building it for each commit.
    fresh_bytes_ = FreshFile(0, entries_).size();
    return absl::OkStatus();
  }

  // What can't be set aside is lost: nobody was told of it, and all partitions wait for this start.
  absl::Status CutTail(std::string_view tail) {
    const std::string aside = path_ + ".tail";
    const absl::Status saved = WriteFileDurably(env_.files(), aside, tail);
    LOG(WARNING) << "meta: " << path_ << ": an interrupted commit of " << tail.size()
                 << " bytes at offset " << end_ << " was cut, "
                 << (saved.ok() ? "see " + aside : "and not kept: " + saved.ToString());
    if (!saved.ok()) RemoveLeftOver(aside + ".tmp");
    return Annotate(file_->Truncate(end_), "truncate " + path_);
  }

  // Of a file that could not be written; it may hold the last space there is.
  void RemoveLeftOver(const std::string& path) {
    if (!Exists(env_.files(), path)) return;
    env_.files().Remove(path).IgnoreError();  // else it is overwritten one day
  }

  // If a sync failed before the process ended, what was read just now sits in a cache that counts
  // as clean: only what is done anew reaches the disk with the next sync. In place, for that takes
  // no space, and a power cut meanwhile finds the same bytes or what it would have found before.
  absl::Status MakeDurable(std::string_view content) {
    RETURN_IF_ERROR(Annotate(file_->WriteAt(0, content), "write again " + path_));
    RETURN_IF_ERROR(Annotate(file_->Truncate(content.size()), "truncate " + path_));
    return Annotate(file_->Sync(), "sync " + path_);
  }

  static absl::Status NotStored(const absl::Status& why) {
    return absl::IsResourceExhausted(why) ? why : absl::UnavailableError(why.message());
  }

  absl::Status Append(const std::string& record) {
    RETURN_IF_ERROR(SettleName());
    RETURN_IF_ERROR(CutRemains());
    absl::Status appended = Annotate(file_->WriteAt(end_, record), "append to " + path_);
    if (appended.ok()) return appended;
    has_remains_ = true;
    CutRemains().IgnoreError();  // else before the next; a start cuts it, too
    return appended;
  }

  // Of a record that could not be appended.
  absl::Status CutRemains() {
    if (!has_remains_) return absl::OkStatus();
    RETURN_IF_ERROR(Annotate(file_->Truncate(end_), "truncate " + path_));
    has_remains_ = false;
    return absl::OkStatus();
  }

  // A new file has its name for good before anything is appended to it: what it has so far is in
  // the old one, too. A sync that failed is final, one that could not be asked for is not.
  absl::Status SettleName() {
    if (!has_new_name_) return absl::OkStatus();
    const absl::Status synced = env_.files().SyncDirectory(directory_);
    if (absl::IsDataLoss(synced)) failure_ = synced;
    if (synced.ok()) has_new_name_ = false;
    return synced;
  }

  // A record that was appended.
  absl::Status Accept(size_t record_bytes, const std::vector<Change>& changes) {
    RETURN_IF_ERROR(Annotate(file_->Sync(), "sync " + path_));
    ++last_serial_;
    end_ += record_bytes;
    Apply(changes, &entries_);
    return absl::OkStatus();
  }

  bool IsLong() const {
    const uint64_t history_max = reserve_.is_short()
                                     ? std::min(history_bytes_max_, kShortHistoryBytesMax)
                                     : history_bytes_max_;
    return end_ > std::max(history_max, not_before_bytes_) &&
           end_ > (reserve_.is_short() ? 2 : 4) * fresh_bytes_;
  }

  // Until the new file has the name, the old one is whole and goes on.
  absl::Status RewriteWhenLong() {
    if (!IsLong()) return absl::OkStatus();
    const std::string fresh = FreshFile(last_serial_, entries_);
    // The size by which it was judged is that of the last new file. With the present one it is
    // judged again.
    fresh_bytes_ = fresh.size();
    if (!IsLong()) return absl::OkStatus();
    const std::string spare = path_ + ".tmp";
    auto written = WriteSpare(spare, fresh);
    if (LacksSpace(written.status()) && reserve_.GiveUpForAllOf(fresh.size()))
      written = WriteSpare(spare, fresh);
    absl::Status replaced = written.status();
    if (replaced.ok()) {
      replaced = env_.files().Rename(spare, path_);
      // After an I/O error it may have the name all the same; for want of space or memory not.
      if (!replaced.ok() && !absl::IsResourceExhausted(replaced))
        RETURN_IF_ERROR(env_.files().Stat(spare).status());
    }
    if (!replaced.ok()) {
      LOG(WARNING) << "meta: " << path_ << " of " << end_ << " bytes grows on, a new one of "
                   << fresh.size() << " could not take its place: " << replaced;
      RemoveLeftOver(spare);
      // Otherwise each commit would write the whole state in vain on a disk that refuses it.
      not_before_bytes_ = end_ + fresh_bytes_;
      return absl::OkStatus();
    }
    file_ = *std::move(written);
    const uint64_t shorter_by = end_ - fresh.size();
    end_ = fresh.size();
    not_before_bytes_ = 0;
    has_new_name_ = true;
    SettleName().IgnoreError();  // else before the next record; a failure is noted
    reserve_.TakeBack(shorter_by);
    return failure_;
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> WriteSpare(const std::string& path,
                                                           std::string_view content) {
    ASSIGN_OR_RETURN(auto file, env_.files().OpenForWrite(path, FileSystem::CreateMode::kTruncate));
    RETURN_IF_ERROR(file->WriteAt(0, content));
    RETURN_IF_ERROR(file->Sync());
    return file;
  }

  Environment& env_;
  const std::string directory_;
  const std::string path_;
  const uint64_t history_bytes_max_;
  JournalReserve reserve_;
  std::unique_ptr<WritableFile> lock_;
  std::unique_ptr<WritableFile> file_;
  // What the file comes to, for the next new one.
  std::map<std::string, std::string> entries_;
  uint64_t last_serial_ = 0;
  // Where the next record goes: behind the last one that is durable.
  uint64_t end_ = 0;
  bool has_remains_ = false;   // behind end_
  bool has_new_name_ = false;  // which is not durable
  uint64_t fresh_bytes_ = 0;
  uint64_t not_before_bytes_ = 0;  // a new file is not tried before, since the last could not be
  absl::Status failure_;
};

// Commits in their order; strand-bound. One job is on its way, what arrives meanwhile waits.
class JournalMetaStore::Queue : public std::enable_shared_from_this<Queue> {
 public:
  Queue(Environment& env, std::shared_ptr<Journal> journal)
      : env_(env), journal_(std::move(journal)) {}

  // May wait for the disk, as may finding out which disk it is.
  absl::StatusOr<std::map<std::string, std::string>> Load() {
    pool_ = &env_.disk_pool(journal_->directory());
    return journal_->Load();
  }

  void Commit(std::vector<Change> batch, StoreNeed need, StrandPtr reply_on,
              absl::AnyInvocable<void(const absl::Status&)> done) {
    waiting_.batches.push_back({std::move(batch), need, std::move(done)});
    Begin(std::move(reply_on));
  }

  void Look(StrandPtr reply_on, absl::AnyInvocable<void(const StoreRoom&)> done) {
    waiting_.looks.push_back(std::move(done));
    Begin(std::move(reply_on));
  }

 private:
  struct Batch {
    std::vector<Change> changes;
    StoreNeed need;
    absl::AnyInvocable<void(const absl::Status&)> done;
    absl::Status written;
  };
  struct Job {
    std::vector<Batch> batches;
    std::vector<absl::AnyInvocable<void(const StoreRoom&)>> looks;
    StoreRoom room;

    bool IsEmpty() const { return batches.empty() && looks.empty(); }
  };

  void Begin(StrandPtr reply_on) {
    reply_on_ = std::move(reply_on);
    if (!is_busy_) DoWaiting();
  }

  void DoWaiting() {
    is_busy_ = true;
    // The task holds the journal, not the queue: the store may be destroyed while a record is
    // written.
    pool_->Submit([weak = weak_from_this(), journal = journal_, strand = reply_on_,
                   job = std::exchange(waiting_, {})]() mutable {
      if (!job.batches.empty()) Write(*journal, job.batches);
      if (!job.looks.empty()) job.room = journal->Look();
      strand->Post([weak, job = std::move(job)]() mutable {
        if (auto self = weak.lock()) self->Finish(std::move(job));
      });
    });
  }

  // As one record; where there is no space for that, each by itself: a small one may still fit, and
  // some may use the reserve.
  static void Write(Journal& journal, std::vector<Batch>& batches) {
    std::vector<Change> all;
    StoreNeed need = StoreNeed::kToServe;
    for (const Batch& batch : batches) {
      all.insert(all.end(), batch.changes.begin(), batch.changes.end());
      if (batch.need == StoreNeed::kWhileRoom) need = StoreNeed::kWhileRoom;
    }
    const absl::Status written = journal.Write(all, need);
    const bool has_others = absl::IsResourceExhausted(written) && batches.size() > 1;
    for (Batch& batch : batches)
      batch.written = has_others ? journal.Write(batch.changes, batch.need) : written;
  }

  void Finish(Job job) {
    is_busy_ = false;
    for (Batch& batch : job.batches) batch.done(batch.written);  // these may commit again
    for (auto& look : job.looks) look(job.room);
    if (!is_busy_ && !waiting_.IsEmpty()) DoWaiting();
  }

  Environment& env_;
  std::shared_ptr<Journal> journal_;
  DiskPool* pool_ = nullptr;  // since Load
  Job waiting_;
  StrandPtr reply_on_;
  bool is_busy_ = false;
};

JournalMetaStore::JournalMetaStore(Environment& env, std::string directory,
                                   JournalMetaStoreOptions options)
    : queue_(std::make_shared<Queue>(
          env, std::make_shared<Journal>(env, std::move(directory), options))) {}

JournalMetaStore::~JournalMetaStore() = default;

std::string JournalMetaStore::FileOf(const std::map<std::string, std::string>& entries) {
  return FreshFile(0, entries);
}

absl::StatusOr<std::map<std::string, std::string>> JournalMetaStore::Load() {
  return queue_->Load();
}

void JournalMetaStore::Commit(std::vector<Change> batch, StoreNeed need, StrandPtr reply_on,
                              absl::AnyInvocable<void(const absl::Status&)> done) {
  queue_->Commit(std::move(batch), need, std::move(reply_on), std::move(done));
}

void JournalMetaStore::Look(StrandPtr reply_on, absl::AnyInvocable<void(const StoreRoom&)> done) {
  queue_->Look(std::move(reply_on), std::move(done));
}

std::string JournalMetaStore::WayBack() const {
  return "put a whole copy of the file in its place; or move it aside, start this meta server "
         "again, and have the state learned from the replica servers, arion_shell's recover -s "
         "SERVER,... (all of them), before anybody makes a table";
}

}  // namespace arion
