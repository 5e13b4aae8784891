// RocksDB's calls become the environment's, one by one. What differs is what it hears of failures:
// an AppendedFile swallows the first error and everything after it, and gives it back from Sync and
// Close (the header says why). What is written back while a table grows goes in pieces, with rests
// between.
// SPDX-License-Identifier: Apache-2.0
#include "engine/rocksdb_file_system.h"

#include <absl/time/clock.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/clock.h"
#include "env/log_device.h"

namespace arion {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus ToRocksdb(const absl::Status& status) {
  if (status.ok()) return IOStatus::OK();
  const Slice text(status.message().data(), status.message().size());
  switch (status.code()) {
    case absl::StatusCode::kPermissionDenied:  // it is tried again, too
    case absl::StatusCode::kResourceExhausted: {
      IOStatus no_space = IOStatus::NoSpace(text);
      // It may pass: the same may be tried again.
      no_space.SetRetryable(true);
      return no_space;
    }
    case absl::StatusCode::kNotFound:
      return IOStatus::PathNotFound(text);
    default:
      return IOStatus::IOError(text);
  }
}

// Counts a failure that is the disk's.
IOStatus Counted(const absl::Status& status, EngineIoStats& stats) {
  // RocksDB asks for files that need not exist.
  if (!status.ok() && !absl::IsNotFound(status)) stats.failures.Add();
  return ToRocksdb(status);
}

IOStatus CountedRead(const ReadableFile& file, uint64_t offset, size_t n, Slice* result, char* to,
                     EngineIoStats& stats) {
  const absl::StatusOr<size_t> done = file.ReadInto(offset, n, to);
  // Empty where the read failed: nothing of `to` can be trusted then.
  *result = Slice(to, done.ok() ? *done : 0);
  stats.reads.Add();
  stats.read_bytes.Add(static_cast<int64_t>(result->size()));
  return Counted(done.status(), stats);
}

class SequentialFile : public rocksdb::FSSequentialFile {
 public:
  SequentialFile(std::unique_ptr<ReadableFile> file, EngineIoStats& stats)
      : file_(std::move(file)), stats_(stats) {}

  IOStatus Read(size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) override {
    const IOStatus status = CountedRead(*file_, offset_, n, result, scratch, stats_);
    offset_ += result->size();
    return status;
  }
  IOStatus Skip(uint64_t n) override {
    offset_ += n;
    return IOStatus::OK();
  }

 private:
  const std::unique_ptr<ReadableFile> file_;
  EngineIoStats& stats_;
  uint64_t offset_ = 0;
};

class RandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  RandomAccessFile(std::unique_ptr<ReadableFile> file, EngineIoStats& stats)
      : file_(std::move(file)), stats_(stats) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    return CountedRead(*file_, offset, n, result, scratch, stats_);
  }
  IOStatus Prefetch(uint64_t offset, size_t n, const IOOptions&, IODebugContext*) override {
    file_->Expect(ReadableFile::Access::kSoon, offset, n);
    return IOStatus::OK();
  }
  void Hint(AccessPattern pattern) override { file_->Expect(AccessOf(pattern), 0, 0); }
  IOStatus InvalidateCache(size_t offset, size_t length) override {
    file_->Expect(ReadableFile::Access::kNotSoon, offset, length);
    return IOStatus::OK();
  }

 private:
  static ReadableFile::Access AccessOf(AccessPattern pattern) {
    switch (pattern) {
      case kNormal:
        return ReadableFile::Access::kNormal;
      case kRandom:
        return ReadableFile::Access::kRandom;
      case kSequential:
        return ReadableFile::Access::kSequential;
      case kWillNeed:
        return ReadableFile::Access::kSoon;
      case kWontNeed:
        return ReadableFile::Access::kNotSoon;
    }
    return ReadableFile::Access::kNormal;
  }

  const std::unique_ptr<ReadableFile> file_;
  EngineIoStats& stats_;
};

// Keeps the first error for Sync and Close.
class AppendedFile : public rocksdb::FSWritableFile {
 public:
  AppendedFile(std::unique_ptr<WritableFile> file, const rocksdb::FileOptions& options,
               RocksdbFileSystem& disk, EngineIoStats& stats)
      : FSWritableFile(options), file_(std::move(file)), disk_(disk), stats_(stats) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    if (error_.ok()) {
      Keep(file_->WriteAt(size_, {data.data(), data.size()}));
      stats_.writes.Add();
      stats_.written_bytes.Add(static_cast<int64_t>(data.size()));
    }
    // Also where nothing was written: RocksDB counts on (GetFileSize), and hears of it from Sync.
    size_ += data.size();
    return IOStatus::OK();
  }
  IOStatus Truncate(uint64_t size, const IOOptions&, IODebugContext*) override {
    if (error_.ok() && size != size_) Keep(file_->Truncate(size));
    size_ = size;
    return IOStatus::OK();
  }
  // Nothing is buffered here: Append has written it.
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus RangeSync(uint64_t offset, uint64_t n, const IOOptions&, IODebugContext*) override {
    for (const uint64_t end = offset + n; offset < end && error_.ok();) {
      const uint64_t piece = std::min(end - offset, TablePace::kPieceBytes);
      WriteBack(offset, piece);
      offset += piece;
    }
    return IOStatus::OK();
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    if (error_.ok()) {
      const Instant start = disk_.clock().Now();
      Keep(file_->Sync());
      stats_.sync_nanos.Record(static_cast<uint64_t>(disk_.clock().Now().nanos() - start.nanos()));
    }
    return ToRocksdb(error_);
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override {
    const absl::Status closed = file_->Close();
    if (error_.ok()) Keep(closed);
    return ToRocksdb(error_);
  }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return size_; }

 private:
  // All at once would be up to a memtable in the disk's queue, before any log's sync.
  void WriteBack(uint64_t offset, uint64_t n) {
    const Instant start = disk_.clock().Now();
    Keep(file_->StartWriteback(offset, n));
    if (error_.ok()) Keep(file_->AwaitWriteback(offset, n));
    // RocksDB's priority of a flush nobody waits for.
    if (GetIOPriority() == rocksdb::Env::IO_HIGH) disk_.RestAfterPiece(disk_.clock().Now() - start);
  }
  void Keep(absl::Status status) {
    if (status.ok()) return;
    stats_.failures.Add();
    error_ = std::move(status);
  }

  const std::unique_ptr<WritableFile> file_;
  RocksdbFileSystem& disk_;
  EngineIoStats& stats_;
  uint64_t size_ = 0;  // what RocksDB believes it has
  absl::Status error_;
};

// RocksDB syncs a directory through an object of its own.
class Directory : public rocksdb::FSDirectory {
 public:
  Directory(FileSystem& files, std::string path, EngineIoStats& stats)
      : files_(files), path_(std::move(path)), stats_(stats) {}
  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return Counted(files_.SyncDirectory(path_), stats_);
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

 private:
  FileSystem& files_;
  const std::string path_;
  EngineIoStats& stats_;
};

struct HeldLock : rocksdb::FileLock {
  std::unique_ptr<WritableFile> file;
};

}  // namespace

void RocksdbFileSystem::RestAfterPiece(absl::Duration took) {
  const int64_t log_syncs = environment_.log_device(path_).stats().syncs.value();
  // In RocksDB's flush thread, which has nothing else to do.
  absl::SleepFor(pace_.RestAfter(took, log_syncs, clock().Now()));
}

IOStatus RocksdbFileSystem::Done(const absl::Status& status) { return Counted(status, stats_); }

IOStatus RocksdbFileSystem::NewSequentialFile(const std::string& path, const rocksdb::FileOptions&,
                                              std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                              Debug*) {
  auto opened = files_.OpenForRead(path);
  if (!opened.ok()) return Done(opened.status());
  *file = std::make_unique<SequentialFile>(*std::move(opened), stats_);
  return IOStatus::OK();
}

IOStatus RocksdbFileSystem::NewRandomAccessFile(const std::string& path,
                                                const rocksdb::FileOptions&,
                                                std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                                Debug*) {
  auto opened = files_.OpenForRead(path);
  if (!opened.ok()) return Done(opened.status());
  *file = std::make_unique<RandomAccessFile>(*std::move(opened), stats_);
  return IOStatus::OK();
}

IOStatus RocksdbFileSystem::NewWritableFile(const std::string& path,
                                            const rocksdb::FileOptions& options,
                                            std::unique_ptr<rocksdb::FSWritableFile>* file,
                                            Debug*) {
  auto opened = files_.OpenForWrite(path, arion::FileSystem::CreateMode::kTruncate);
  if (!opened.ok()) return Done(opened.status());
  *file = std::make_unique<AppendedFile>(*std::move(opened), options, *this, stats_);
  return IOStatus::OK();
}

IOStatus RocksdbFileSystem::NewDirectory(const std::string& path, const Options&,
                                         std::unique_ptr<rocksdb::FSDirectory>* directory, Debug*) {
  const absl::StatusOr<FileStatus> status = files_.Stat(path);
  if (!status.ok()) return Done(status.status());
  *directory = std::make_unique<Directory>(files_, path, stats_);
  return IOStatus::OK();
}

IOStatus RocksdbFileSystem::FileExists(const std::string& path, const Options&, Debug*) {
  const absl::Status status = files_.Stat(path).status();
  if (absl::IsNotFound(status)) return IOStatus::NotFound();
  const IOStatus done = Done(status);
  // Of its log's archive RocksDB hears no error (the header says why).
  return !status.ok() && path.ends_with("/archive") ? IOStatus::NotFound() : done;
}

IOStatus RocksdbFileSystem::GetChildren(const std::string& path, const Options&,
                                        std::vector<std::string>* names, Debug*) {
  names->clear();
  auto listed = files_.List(path);
  // RocksDB's contract says NotFound here; PathNotFound is an I/O error to it.
  if (absl::IsNotFound(listed.status())) return IOStatus::NotFound();
  if (listed.ok()) *names = *std::move(listed);
  return Done(listed.status());
}

IOStatus RocksdbFileSystem::DeleteFile(const std::string& path, const Options&, Debug*) {
  return Done(files_.Remove(path));
}

IOStatus RocksdbFileSystem::CreateDir(const std::string& path, const Options&, Debug*) {
  // CreateDirectories would take an existing directory for success; RocksDB's contract does not.
  if (Exists(files_, path)) return IOStatus::IOError(path, "exists");
  return Done(files_.CreateDirectories(path));
}

IOStatus RocksdbFileSystem::CreateDirIfMissing(const std::string& path, const Options&, Debug*) {
  return Done(files_.CreateDirectories(path));
}

IOStatus RocksdbFileSystem::DeleteDir(const std::string& path, const Options&, Debug*) {
  return Done(files_.Remove(path));
}

IOStatus RocksdbFileSystem::GetFileSize(const std::string& path, const Options&, uint64_t* size,
                                        Debug*) {
  const absl::StatusOr<FileStatus> status = files_.Stat(path);
  *size = status.ok() ? status->size : 0;
  return Done(status.status());
}

IOStatus RocksdbFileSystem::GetFileModificationTime(const std::string& path, const Options&,
                                                    uint64_t* unix_seconds, Debug*) {
  const absl::StatusOr<FileStatus> status = files_.Stat(path);
  if (status.ok())
    *unix_seconds = static_cast<uint64_t>(status->modified_unix_nanos) / 1'000'000'000;
  return Done(status.status());
}

IOStatus RocksdbFileSystem::RenameFile(const std::string& from, const std::string& to,
                                       const Options&, Debug*) {
  // CURRENT is to name a manifest that a crash leaves there; RocksDB syncs their directory only
  // after, and counts on names becoming durable in their order (file_system/F2 says they do not).
  if (BaseName(to) == "CURRENT") {
    const absl::Status synced = files_.SyncDirectory(ParentDirectory(to));
    if (!synced.ok()) return Done(synced);
  }
  return Done(files_.Rename(from, to));
}

// Of a link that is NotSupported RocksDB makes a copy.
IOStatus RocksdbFileSystem::LinkFile(const std::string& from, const std::string& to, const Options&,
                                     Debug*) {
  const absl::Status status = files_.Link(from, to);
  if (!absl::IsPermissionDenied(status)) return Done(status);
  LOG_IF(WARNING, !copies_for_links_.exchange(true))
      << status.message() << "; checkpoints copy instead of linking on this disk";
  return IOStatus::NotSupported(Slice(status.message().data(), status.message().size()));
}

IOStatus RocksdbFileSystem::LockFile(const std::string& path, const Options&,
                                     rocksdb::FileLock** lock, Debug*) {
  // A lock that another process holds is no failure of the disk, so it is not counted.
  auto file = files_.Lock(path);
  if (!file.ok()) return ToRocksdb(file.status());
  auto held = std::make_unique<HeldLock>();
  held->file = *std::move(file);
  *lock = held.release();
  return IOStatus::OK();
}

IOStatus RocksdbFileSystem::UnlockFile(rocksdb::FileLock* lock, const Options&, Debug*) {
  delete static_cast<HeldLock*>(lock);
  return IOStatus::OK();
}

IOStatus RocksdbFileSystem::GetAbsolutePath(const std::string& path, const Options&,
                                            std::string* absolute, Debug*) {
  *absolute = path;
  return IOStatus::OK();
}

IOStatus RocksdbFileSystem::GetFreeSpace(const std::string& path, const Options&, uint64_t* bytes,
                                         Debug*) {
  const absl::StatusOr<arion::FileSystem::Space> space = files_.SpaceOf(path);
  if (space.ok()) *bytes = space->available_bytes;
  return Done(space.status());
}

IOStatus RocksdbFileSystem::IsDirectory(const std::string& path, const Options&, bool* is_directory,
                                        Debug*) {
  const absl::StatusOr<FileStatus> status = files_.Stat(path);
  if (status.ok() && is_directory != nullptr) *is_directory = status->is_directory;
  return Done(status.status());
}

IOStatus RocksdbFileSystem::GetTestDirectory(const Options&, std::string*, Debug*) {
  return IOStatus::NotSupported("no tests here");
}

IOStatus RocksdbFileSystem::NewLogger(const std::string&, const Options&,
                                      std::shared_ptr<rocksdb::Logger>*, Debug*) {
  return IOStatus::NotSupported("logs are the server's");
}

}  // namespace arion
