// FileSystem: the blocking file operations a server needs, with their durability stated.
//
//   RETURN_IF_ERROR(WriteFileDurably(files, path, content));     // a small file, all or nothing
//   ASSIGN_OR_RETURN(std::string content, ReadFile(files, path));
//
// Units     Offsets and sizes are bytes. Paths are absolute or relative to the process.
// Errors    NotFound; AlreadyExists; ResourceExhausted (no space, open files or memory: WantOf);
//           PermissionDenied; DataLoss (a sync failed, or a read met EIO); Internal otherwise.
//           Messages name path, step and errno's text.
// Threads   Thread-safe; a writable file is used by one thread at a time. Every call may wait for a
//           disk: never on an event-loop thread.
// Promises  file_system/F1  Content is durable after Sync() returned OK; a failed Sync is final for
//               that file: never repeat it.
//           file_system/F2  A created, renamed or removed name is durable after
//               SyncDirectory(parent) returned OK. DataLoss: the sync failed, finally, as
//               file_system/F1 has it. Any other error: the directory could not be opened, nothing
//               was synced and nothing lost; it may be asked again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace arion {

class HeldBytes;

// An open file for reading, by any number of threads. Destruction closes it.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual absl::StatusOr<uint64_t> Size() const = 0;
  // Reads up to n bytes from `offset`; fewer only at the end of the file. Replaces *out.
  virtual absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const = 0;
  // The same into the caller's n bytes; returns how many were read.
  virtual absl::StatusOr<size_t> ReadInto(uint64_t offset, size_t n, char* to) const;
  // The same, ready to go out over a socket. nullptr: it can't be had in that way; ReadAt then
  // tells why.
  virtual std::unique_ptr<HeldBytes> Hold(uint64_t offset, size_t n) const;
  // Hints for the cache. kSoon: read it ahead. kNotSoon: it need not be kept.
  enum class Access { kNormal, kSequential, kRandom, kSoon, kNotSoon };
  // `n` 0: to the end of the file.
  virtual void Expect(Access access, uint64_t offset, uint64_t n) const {}
};

// An open file for writing. Destruction closes it and drops errors; Close reports them.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // Writes all bytes at `offset`, behind the end too, or fails. Nothing is durable by it.
  virtual absl::Status WriteAt(uint64_t offset, std::string_view bytes) = 0;
  // Cuts the file, or makes it longer.
  virtual absl::Status Truncate(uint64_t size) = 0;
  // Begins to write back what was written there. Nothing is durable by it.
  virtual absl::Status StartWriteback(uint64_t offset, uint64_t n) { return absl::OkStatus(); }
  // Waits until the write-back that was begun there has ended. After an error Sync fails too.
  virtual absl::Status AwaitWriteback(uint64_t offset, uint64_t n) { return absl::OkStatus(); }
  // Makes the content durable (fdatasync); file_system/F1.
  virtual absl::Status Sync() = 0;
  // To be called once; no call may follow.
  virtual absl::Status Close() = 0;
};

// What Stat says of a path.
struct FileStatus {
  uint64_t size = 0;
  uint64_t inode = 0;
  // 0 where the file system has none.
  int64_t birth_nanos = 0;
  int64_t modified_unix_nanos = 0;
  bool is_directory = false;
  bool is_symlink = false;
};

// All files of one server.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) = 0;
  // What is to be there before: nothing; anything, which is emptied, or nothing; a file, which is
  // kept.
  enum class CreateMode { kMustNotExist, kTruncate, kOpenExisting };
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path,
                                                                     CreateMode mode) = 0;

  // Does not follow a last symbolic link.
  virtual absl::StatusOr<FileStatus> Stat(const std::string& path) = 0;
  // Names, sorted, without . and ..
  virtual absl::StatusOr<std::vector<std::string>> List(const std::string& directory) = 0;
  // With parents; no error if it exists.
  virtual absl::Status CreateDirectories(const std::string& path) = 0;
  // Replaces `to`, atomically.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  // A file or an empty directory.
  virtual absl::Status Remove(const std::string& path) = 0;
  // With all that is in it; no error if it is not there.
  virtual absl::Status RemoveAll(const std::string& path) = 0;
  // Makes a hard link.
  virtual absl::Status Link(const std::string& from, const std::string& to) = 0;
  // Makes its names durable; file_system/F2.
  virtual absl::Status SyncDirectory(const std::string& path) = 0;
  // Of a file system; available to this process.
  struct Space {
    uint64_t total_bytes = 0;
    uint64_t available_bytes = 0;
  };
  virtual absl::StatusOr<Space> SpaceOf(const std::string& path) = 0;
  // The number of the device that holds `path` (st_dev).
  virtual absl::StatusOr<uint64_t> DeviceOf(const std::string& path) = 0;
  // An exclusive lock on `path` (created if missing) until the file is closed. It also keeps out
  // who locks by fcntl, as RocksDB does. FailedPrecondition names the holder's pid.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> Lock(const std::string& path) = 0;
};

// The system refused the call and did nothing (ResourceExhausted, PermissionDenied). That says
// nothing of what files hold, and the call may be repeated.
bool IsRefusal(const absl::Status& status);
// What there is too little of.
enum class Want { kSpace, kOpenFiles, kMemory, kPermission };
// Of a refusal that came from files, through RocksDB too.
Want WantOf(const absl::Status& status);
// "open files"
std::string_view NameOf(Want want);
// By the system's words in a message, which are all that comes through RocksDB; nullopt: none of
// them.
std::optional<Want> WantIn(std::string_view text);
// Text of an error that counts as a want of memory.
inline constexpr std::string_view kNoThread = "no thread can be made";
// Whether it is a refusal for want of space.
bool LacksSpace(const absl::Status& status);
// Whether it is a refusal for want of open files. That says nothing about the disk.
bool LacksOpenFiles(const absl::Status& status);

// Whether the path is there. An error counts as no: where "no" replaces something or gives it up,
// use IsThere.
bool Exists(FileSystem& files, const std::string& path);
absl::StatusOr<bool> IsThere(FileSystem& files, const std::string& path);
// The whole content.
absl::StatusOr<std::string> ReadFile(FileSystem& files, const std::string& path);
// Makes the directory with its parents, and so that no power cut takes its name away again, whoever
// made it.
absl::Status CreateDirectoryDurably(FileSystem& files, const std::string& path);
// Replaces `path` atomically and durably: path.tmp, sync, rename, sync of the directory.
absl::Status WriteFileDurably(FileSystem& files, const std::string& path, std::string_view content);
// Paths as texts; no file is looked at.
std::string JoinPath(std::string_view directory, std::string_view name);
std::string ParentDirectory(std::string_view path);
// Whether `path` is that directory or lies below it, by their names alone.
bool IsWithin(std::string_view path, std::string_view directory);
std::string BaseName(std::string_view path);

}  // namespace arion
