// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_database.h"

#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/utilities/options_util.h>

#include <set>
#include <utility>

#include "base/status.h"
#include "engine/rocksdb_log.h"
#include "engine/rocksdb_options.h"
#include "env/file_system.h"

namespace arion {
namespace {

constexpr uint64_t kCompactionStepBytes = uint64_t{128} << 20;

// A want of space, descriptors or memory (rocksdb_file_system.cc), also where RocksDB wraps it: a
// CURRENT that can't be opened is to it a wrong option, and one that then can be opened the second
// time a lack of direct I/O, for which nobody asks.
bool MayPass(const rocksdb::Status& status, const std::string& text) {
  return status.IsNoSpace() || WantIn(text) ||
         absl::StrContains(text, "Direct I/O is not supported by the specified DB");
}

}  // namespace

absl::Status FromRocksdb(const rocksdb::Status& status, std::string_view step) {
  if (status.ok()) return absl::OkStatus();
  // The order of the tests matters: what may pass comes before what would fence the replica,
  // because RocksDB wraps a refusal in several of its own codes.
  const std::string text = WithoutMisname(absl::StrCat(Text(step), ": ", status.ToString()));
  if (status.IsIncomplete()) return absl::UnavailableError(text);
  // Files of another user, a file system that is read-only.
  if (WantIn(text) == Want::kPermission) return absl::PermissionDeniedError(text);
  if (MayPass(status, text)) return absl::ResourceExhaustedError(text);
  // Our own words (FileSystem::Lock): another process has it open, and nothing is damaged.
  if (absl::StrContains(text, "is locked by process")) {
    return absl::FailedPreconditionError(text);
  }
  if (absl::StrContains(text, "unknown tag")) {
    return absl::FailedPreconditionError(
        absl::StrCat(text, "; written by Pegasus before 2.1: open it with 2.1 to 2.5 once"));
  }
  return absl::DataLossError(text);
}

Database::Database(Database&& other) noexcept
    : env_(std::move(other.env_)),
      db_(std::move(other.db_)),
      families_(std::exchange(other.families_, {})) {}

Database::~Database() {
  // Handles must go before the database, and no thread may be in it then.
  if (db_ == nullptr) return;
  StopBackgroundWork();
  for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
}

absl::StatusOr<Database> Database::Open(const DatabaseOptions& options, const std::string& path,
                                        Access access) {
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, options.data}, {kMetaColumnFamily, options.meta}};
  Database database;
  database.env_ = options.env;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      access == Access::kReadOnly
          ? rocksdb::DB::OpenForReadOnly(options.db, path, families, &database.families_, &db)
          : rocksdb::DB::Open(options.db, path, families, &database.families_, &db);
  database.db_.reset(db);
  RETURN_IF_ERROR(FromRocksdb(status, absl::StrCat("open ", path)));
  return database;
}

absl::StatusOr<uint64_t> Database::PersistedNumber(const char* key) const {
  rocksdb::ReadOptions options;
  // Tables only: what memtables hold would not survive a crash.
  options.read_tier = rocksdb::kPersistedTier;
  std::string text;
  const rocksdb::Status status = db_->Get(options, meta(), key, &text);
  if (status.IsNotFound()) {
    return absl::FailedPreconditionError(
        absl::StrCat(db_->GetName(), ": no ", key, " in ", kMetaColumnFamily,
                     "; written by Pegasus before 2.1: open it with 2.1 to 2.5 once"));
  }
  RETURN_IF_ERROR(FromRocksdb(status, absl::StrCat("read ", key)));
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number > INT64_MAX) {
    return absl::DataLossError(absl::StrCat(db_->GetName(), ": ", key, " is no number"));
  }
  return number;
}

absl::StatusOr<Decree> Database::PersistedDecree() const {
  ASSIGN_OR_RETURN(uint64_t decree, PersistedNumber(kDecreeKey));
  return Decree(static_cast<int64_t>(decree));
}

absl::Status Database::Flush(bool waits) const {
  rocksdb::FlushOptions options;
  options.wait = waits;
  options.allow_write_stall = true;  // else it waits until no write would have to
  return FromRocksdb(db_->Flush(options, families_), absl::StrCat("flush ", db_->GetName()));
}

// With a file of the level that holds most, so that none is written twice.
std::string Database::CompactionStepEnd(const std::string& from) const {
  rocksdb::ColumnFamilyMetaData family;
  db_->GetColumnFamilyMetaData(data(), &family);
  const rocksdb::LevelMetaData* largest = nullptr;
  for (const rocksdb::LevelMetaData& level : family.levels)
    // Level 0 overlaps itself: its files are no borders.
    if (level.level > 0 && (largest == nullptr || level.size > largest->size)) largest = &level;
  uint64_t bytes = 0;
  for (size_t i = 0; largest != nullptr && i + 1 < largest->files.size(); ++i) {
    if (largest->files[i].largestkey < from) continue;
    bytes += largest->files[i].size;
    if (bytes >= kCompactionStepBytes) return largest->files[i].largestkey;
  }
  return {};
}

absl::Status Database::CopyFilesTo(const std::string& path) const {
  rocksdb::Checkpoint* maker = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &maker);
  const std::unique_ptr<rocksdb::Checkpoint> owner(maker);
  // A huge limit: no flush of its own.
  if (status.ok()) status = maker->CreateCheckpoint(path, UINT64_MAX);
  return FromRocksdb(status, absl::StrCat("copy ", db_->GetName(), " to ", path));
}

absl::Status CheckColumnFamilies(const rocksdb::DBOptions& options, const std::string& path) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(FromRocksdb(rocksdb::DB::ListColumnFamilies(options, path, &names),
                              absl::StrCat("list column families of ", path)));
  const std::set<std::string> found(names.begin(), names.end());
  if (!found.contains(kMetaColumnFamily)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": no column family ", kMetaColumnFamily,
                     "; written by Pegasus before 2.1: open it with 2.1 to 2.5 once"));
  }
  if (found != std::set<std::string>{rocksdb::kDefaultColumnFamilyName, kMetaColumnFamily}) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": unknown column families: ", absl::StrJoin(found, ", ")));
  }
  return absl::OkStatus();
}

absl::Status AdoptOptionsFile(const std::string& path, DatabaseOptions* options) {
  rocksdb::ConfigOptions config;
  config.env = options->env.get();
  // Other versions of RocksDB write options that this one does not know.
  config.ignore_unknown_options = true;
  config.ignore_unsupported_options = true;  // our prefix extractor and compaction filter
  rocksdb::DBOptions stored;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  RETURN_IF_ERROR(FromRocksdb(rocksdb::LoadLatestOptions(config, path, &stored, &families),
                              absl::StrCat("read the OPTIONS file of ", path)));
  AdoptStoredOptions(stored, &options->db);  // a stored wal_dir is of no use: there is no WAL
  for (const rocksdb::ColumnFamilyDescriptor& family : families) {
    AdoptStoredOptions(family.options,
                       family.name == kMetaColumnFamily ? &options->meta : &options->data);
  }
  // Sealed together with the records' buffers: fewer would hold up writes before those do.
  options->meta.max_write_buffer_number = options->data.max_write_buffer_number;
  return absl::OkStatus();
}

absl::StatusOr<Decree> DecreeOfCheckpoint(std::shared_ptr<rocksdb::Env> env,
                                          const std::string& path) {
  DatabaseOptions options;
  options.db.env = env.get();
  options.db.info_log = std::make_shared<RocksdbLog>(path);
  options.env = std::move(env);
  RETURN_IF_ERROR(CheckColumnFamilies(options.db, path));
  ASSIGN_OR_RETURN(Database database, Database::Open(options, path, Database::Access::kReadOnly));
  return database.PersistedDecree();
}

absl::Status CreateDatabase(DatabaseOptions options, const std::string& path) {
  options.db.create_if_missing = true;
  options.db.create_missing_column_families = true;
  ASSIGN_OR_RETURN(Database database, Database::Open(options, path, Database::Access::kReadWrite));
  rocksdb::WriteBatch batch;
  rocksdb::WriteOptions write_options;
  write_options.disableWAL = true;
  rocksdb::Status status;
  for (const auto& [key, value] :
       {std::pair{kDataVersionKey, "1"}, {kDecreeKey, "0"}, {kManualCompactKey, "0"}}) {
    if (status.ok()) status = batch.Put(database.meta(), key, value);
  }
  if (status.ok()) status = database.db().Write(write_options, &batch);
  RETURN_IF_ERROR(FromRocksdb(status, absl::StrCat("create ", path)));
  return database.Flush();
}

}  // namespace arion
