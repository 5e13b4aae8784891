// RocksdbFileSystem: RocksDB's file system made of ours (decision 24), so that faults, crash states
// and the disk's numbers are the same for its files as for every other.
//
// Errors    RocksDB hears of a file's first failed write, write-back or sync from Sync and Close
//           alone; what it appends after that goes nowhere. The reason: its own writer, built with
//           assertions as Debian's is, ends the process when it meets a file again that has failed
//           an append. NotSupported for a link that is not permitted (then it copies), NoSpace for
//           what else is refused (IsRefusal), PathNotFound for NotFound, else IOError. An archive
//           of its log that can't be looked for is not there: a RocksDB built with assertions ends
//           the process at any other answer, and with its log off there is none.
// Shapes    What is written while a file grows goes to the disk in pieces (table_pace.h), one at a
//           time, and flushes rest between them; but not where RocksDB stalls writes.
// Threads   Thread-safe.
// Lifetime  The environment outlives it; it outlives its files.
// Promises  A file that lost a byte never syncs or closes well.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_io_stats.h"
#include "engine/table_pace.h"
#include "env/environment.h"
#include "env/file_system.h"

namespace arion {

class Clock;

// One for a device, made at its first database; the factory owns it. The overrides mean what
// RocksDB's FileSystem says; those that are not here are not used.
class RocksdbFileSystem : public rocksdb::FileSystem {
 public:
  // Of the disk that holds `path`.
  RocksdbFileSystem(Environment& environment, std::string path)
      : environment_(environment), files_(environment.files()), path_(std::move(path)) {}

  // Of all files of this disk.
  const EngineIoStats& stats() const { return stats_; }
  const Clock& clock() const { return environment_.clock(); }

  // After a piece of a flush that took `took`: sleeps for a while, and so leaves the disk to its
  // logs.
  void RestAfterPiece(absl::Duration took);

  const char* Name() const override { return "arion"; }

  using Options = rocksdb::IOOptions;
  using Debug = rocksdb::IODebugContext;
  // Files are opened by the environment's file system, and counted.
  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions&,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      Debug*) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions&,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        Debug*) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions&,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    Debug*) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const Options&,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory, Debug*) override;
  rocksdb::IOStatus FileExists(const std::string& path, const Options&, Debug*) override;
  rocksdb::IOStatus GetChildren(const std::string& path, const Options&,
                                std::vector<std::string>* names, Debug*) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const Options&, Debug*) override;
  rocksdb::IOStatus CreateDir(const std::string& path, const Options&, Debug*) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const Options&, Debug*) override;
  rocksdb::IOStatus DeleteDir(const std::string& path, const Options&, Debug*) override;
  rocksdb::IOStatus GetFileSize(const std::string& path, const Options&, uint64_t* size,
                                Debug*) override;
  rocksdb::IOStatus GetFileModificationTime(const std::string& path, const Options&,
                                            uint64_t* unix_seconds, Debug*) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const Options&,
                               Debug*) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to, const Options&,
                             Debug*) override;
  // The lock keeps out other processes, RocksDB's own tools too (FileSystem::Lock).
  rocksdb::IOStatus LockFile(const std::string& path, const Options&, rocksdb::FileLock** lock,
                             Debug*) override;
  rocksdb::IOStatus UnlockFile(rocksdb::FileLock* lock, const Options&, Debug*) override;
  rocksdb::IOStatus GetAbsolutePath(const std::string& path, const Options&, std::string* absolute,
                                    Debug*) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const Options&, uint64_t* bytes,
                                 Debug*) override;
  rocksdb::IOStatus IsDirectory(const std::string& path, const Options&, bool* is_directory,
                                Debug*) override;
  // For RocksDB's own tests, and its logs, which are ours (rocksdb_log.h).
  rocksdb::IOStatus GetTestDirectory(const Options&, std::string*, Debug*) override;
  rocksdb::IOStatus NewLogger(const std::string&, const Options&, std::shared_ptr<rocksdb::Logger>*,
                              Debug*) override;

 private:
  // Counts a failure, and makes RocksDB's status of ours.
  rocksdb::IOStatus Done(const absl::Status& status);

  Environment& environment_;
  arion::FileSystem& files_;
  const std::string path_;
  EngineIoStats stats_;
  TablePace pace_;
  // That links are not permitted here was logged.
  std::atomic<bool> copies_for_links_{false};
};

}  // namespace arion
