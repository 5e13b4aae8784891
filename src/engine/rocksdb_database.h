// An open RocksDB database of one replica: its two column families, how it is opened, created and
// checked. Included by the engine's .cc files alone: it names RocksDB's types.
//
// Errors    FromRocksdb's: Unavailable for Incomplete, ResourceExhausted for no space or
//           descriptors, PermissionDenied for what the system does not permit (both say nothing of
//           what the files hold), FailedPrecondition for what is whole but not ours to open, else
//           DataLoss.
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace arion {

// The content's directory below that of an engine (engine_directory.h).
inline constexpr char kRocksdbContent[] = "rdb";
// Keys of the meta family. Values are decimal numbers.
inline constexpr char kDataVersionKey[] = "pegasus_data_version";
// In ms since 1970.
inline constexpr char kManualCompactKey[] = "pegasus_last_manual_compact_finish_time";
// A partition count. Ours: older versions pass over it.
inline constexpr char kCompactedForKey[] = "arion_compacted_for_partition_count";
inline constexpr char kDecreeKey[] = "pegasus_last_flushed_decree";

inline rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
// RocksDB's status as ours; `step` leads the message.
absl::Status FromRocksdb(const rocksdb::Status& status, std::string_view step);

// Options for one database, made in rocksdb_options.cc. Where it has no stored OPTIONS file, these
// are a new database's.
struct DatabaseOptions {
  // That of `db`; held as long as the database.
  std::shared_ptr<rocksdb::Env> env;
  rocksdb::DBOptions db;
  rocksdb::ColumnFamilyOptions data;
  rocksdb::ColumnFamilyOptions meta;
};

// Owns the database and its families' handles. Its engine holds it by shared_ptr, and iterators and
// views do too. Destruction closes it without a flush. Move-only.
class Database {
 public:
  enum class Access { kReadWrite, kReadOnly };
  // Opens what is at `path`; kReadOnly changes nothing there.
  static absl::StatusOr<Database> Open(const DatabaseOptions& options, const std::string& path,
                                       Access access);
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  // Waits for flushes and compactions to end. Afterwards no listener is called any more.
  void StopBackgroundWork() { rocksdb::CancelAllBackgroundWork(db_.get(), /*wait=*/true); }

  rocksdb::DB& db() const { return *db_; }
  rocksdb::ColumnFamilyHandle* data() const { return families_[0]; }
  rocksdb::ColumnFamilyHandle* meta() const { return families_[1]; }

  // The number under `key` in the meta family, as far as it is on disk.
  absl::StatusOr<uint64_t> PersistedNumber(const char* key) const;
  // The decree that a crash would leave.
  absl::StatusOr<Decree> PersistedDecree() const;
  // Flushes both families together; BeginFlush does not wait for the end.
  absl::Status Flush() const { return Flush(true); }
  absl::Status BeginFlush() const { return Flush(false); }
  // The last key of a part of the records from `from` on that takes seconds to merge; empty: it
  // ends at the last one.
  std::string CompactionStepEnd(const std::string& from) const;
  // Makes a database of its files as they are, without what is in memory only, at `path`, where
  // nothing is: by hard links, where the file system has them.
  absl::Status CopyFilesTo(const std::string& path) const;

 private:
  Database() = default;
  absl::Status Flush(bool waits) const;

  // Ends last.
  std::shared_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

// OK: the database at `path` has the two families and no other.
absl::Status CheckColumnFamilies(const rocksdb::DBOptions& options, const std::string& path);
// Takes over what the database's own OPTIONS file decides.
absl::Status AdoptOptionsFile(const std::string& path, DatabaseOptions* options);
// The decree of the checkpoint at `path`. Reads it as it is; nothing in it changes.
absl::StatusOr<Decree> DecreeOfCheckpoint(std::shared_ptr<rocksdb::Env> env,
                                          const std::string& path);
// Makes a new database with nothing in it but its meta keys, all on disk.
absl::Status CreateDatabase(DatabaseOptions options, const std::string& path);

}  // namespace arion
