// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/status.h"
#include "env/blocking_call.h"
#include "env/held_bytes.h"
#include "posix/descriptor_reserve.h"

namespace arion {

namespace {

// Whose limit, how much, and the remedy.
std::string WhichLimit(int error) {
  if (error == ENFILE) return "; the whole system's limit of open files (sysctl fs.file-max)";
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return "";
  return absl::StrCat("; open files: this process's limit is ", limit.rlim_cur,
                      "; raise it: LimitNOFILE= of the service, or ulimit -n");
}

}  // namespace

std::string WhoIsRefused(std::string_view path) {
  struct stat s;
  std::string seen(path);
  // The path itself may not exist, or not be seen: the nearest directory that is says more.
  while (::stat(seen.c_str(), &s) != 0) {
    std::string above = ParentDirectory(seen);
    if (above == seen || above.empty()) return "";
    seen = std::move(above);
  }
  // A name is made and removed by whoever may write the directory.
  for (const std::string& suspect : {seen, ParentDirectory(seen)}) {
    if (::stat(suspect.c_str(), &s) != 0) break;
    const int access = S_ISDIR(s.st_mode) ? R_OK | W_OK | X_OK : R_OK | W_OK;
    if (::faccessat(AT_FDCWD, suspect.c_str(), access, AT_EACCESS) == 0) continue;
    if (errno == EPERM) break;  // immutable
    std::array<char, 8> mode;
    std::snprintf(mode.data(), mode.size(), "%04o", s.st_mode & 07777U);
    return absl::StrCat("; ", suspect, " belongs to user ", s.st_uid, ", group ", s.st_gid,
                        ", mode ", mode.data(), ", and this server runs as user ", ::geteuid(),
                        s.st_uid == ::geteuid() ? ": let it write there (chmod u+rwX)"
                                                : ": give it to that user (chown -R)");
  }
  return absl::StrCat("; owner and mode of ", seen,
                      " allow it: look at lsattr, at security modules and at ReadWritePaths= of the"
                      " service");
}

absl::Status PosixError(int error, std::string_view step, std::string_view path) {
  std::string message = absl::StrCat(Text(step), " ", Text(path), ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case EMFILE:  // LacksOpenFiles
    case ENFILE:
      message += WhichLimit(error);
      return absl::ResourceExhaustedError(message);
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:  // says nothing against the disk
      return absl::ResourceExhaustedError(message);
    case EACCES:
    case EPERM:
      message += WhoIsRefused(path);
      return absl::PermissionDeniedError(message);
    // A file system that the kernel has turned read-only after an error, or that was mounted so:
    // owner and mode are not to blame.
    case EROFS:
      return absl::PermissionDeniedError(message);
    default:
      return absl::InternalError(message);
  }
}

namespace {

absl::Status SyncFailed(int error, std::string_view path) {
  return absl::DataLossError(absl::StrCat("sync ", Text(path), ": ", std::strerror(error)));
}

// A file system without hard links, or without room for one more of this file, refuses, too.
absl::Status LinkRefused(int error, const std::string& step, const std::string& path) {
  absl::Status status = PosixError(error, step, path);
  if (error == EMLINK || error == EOPNOTSUPP || error == ENOSYS)
    return absl::PermissionDeniedError(status.message());
  return status;
}

int OpenRetrying(const std::string& path, int flags, mode_t mode = 0644) {
  const BlockingCall call("open", path);
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// What the reserve is for.
int OpenWith(DescriptorReserve* reserve, const std::string& path, int flags) {
  if (reserve == nullptr) return OpenRetrying(path, flags);
  const BlockingCall call("open", path);
  return reserve->Open(path, flags | O_CLOEXEC, 0644);
}

int CloseWith(DescriptorReserve* reserve, int fd) {
  return reserve == nullptr ? ::close(fd) : reserve->Close(fd);
}

class PosixReadableFile : public ReadableFile {
 public:
  PosixReadableFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  // Nothing that was read can be lost by a close, so its error says nothing.
  ~PosixReadableFile() override { ::close(fd_); }

  absl::StatusOr<uint64_t> Size() const override {
    struct stat s;
    if (::fstat(fd_, &s) != 0) return PosixError(errno, "stat", path_);
    return static_cast<uint64_t>(s.st_size);
  }

  absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const override {
    out->resize(n);
    const absl::StatusOr<size_t> done = ReadInto(offset, n, out->data());
    out->resize(done.ok() ? *done : 0);
    return done.status();
  }

  absl::StatusOr<size_t> ReadInto(uint64_t offset, size_t n, char* to) const override {
    const BlockingCall call("read", path_);
    size_t done = 0;
    // A read may return less than was asked for, also in the middle of a file.
    while (done < n) {
      const ssize_t got = ::pread(fd_, to + done, n - done, static_cast<off_t>(offset + done));
      if (got < 0) {
        if (errno == EINTR) continue;
        if (errno == EIO) return absl::DataLossError(PosixError(EIO, "read", path_).message());
        return PosixError(errno, "read", path_);
      }
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  std::unique_ptr<HeldBytes> Hold(uint64_t offset, size_t n) const override {
    const BlockingCall call("read", path_);
    return HeldBytes::Take(fd_, offset, n);
  }

  void Expect(Access access, uint64_t offset, uint64_t n) const override {
    constexpr int kAdvice[] = {POSIX_FADV_NORMAL, POSIX_FADV_SEQUENTIAL, POSIX_FADV_RANDOM,
                               POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED};
    ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(n),
                    kAdvice[static_cast<int>(access)]);
  }

 private:
  const int fd_;
  const std::string path_;
};

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(int fd, std::string path, std::shared_ptr<DescriptorReserve> reserve)
      : fd_(fd), path_(std::move(path)), reserve_(std::move(reserve)) {}
  ~PosixWritableFile() override {
    if (fd_ >= 0) CloseWith(reserve_.get(), fd_);
  }

  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    const BlockingCall call("write", path_);
    while (!bytes.empty()) {
      const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (put < 0) {
        if (errno == EINTR) continue;
        return PosixError(errno, "write", path_);
      }
      offset += static_cast<uint64_t>(put);
      bytes.remove_prefix(static_cast<size_t>(put));
    }
    return absl::OkStatus();
  }
  absl::Status Truncate(uint64_t size) override {
    const BlockingCall call("truncate", path_);
    if (::ftruncate(fd_, static_cast<off_t>(size)) != 0)
      return PosixError(errno, "truncate", path_);
    return absl::OkStatus();
  }
  absl::Status StartWriteback(uint64_t offset, uint64_t n) override {
    return SyncRange(offset, n, SYNC_FILE_RANGE_WRITE);
  }
  absl::Status AwaitWriteback(uint64_t offset, uint64_t n) override {
    const BlockingCall call("write back", path_);
    const absl::Status status = SyncRange(offset, n, SYNC_FILE_RANGE_WAIT_BEFORE);
    // The kernel tells of a lost page once.
    if (!status.ok()) sync_failed_ = true;
    return status;
  }
  absl::Status Sync() override {
    const BlockingCall call("sync", path_);
    // file_system/F1: after a failed sync Linux marks the lost pages clean, so a second one would
    // succeed though they are gone.
    if (sync_failed_) return absl::DataLossError(absl::StrCat("sync ", path_, ": failed before"));
    if (::fdatasync(fd_) == 0) return absl::OkStatus();
    sync_failed_ = true;
    return SyncFailed(errno, path_);
  }
  absl::Status Close() override {
    // EINTR counts as closed: Linux frees the descriptor before it returns, and to repeat the call
    // could close another thread's file.
    const int fd = std::exchange(fd_, -1);
    if (fd >= 0 && CloseWith(reserve_.get(), fd) != 0 && errno != EINTR)
      return PosixError(errno, "close", path_);
    return absl::OkStatus();
  }

 private:
  absl::Status SyncRange(uint64_t offset, uint64_t n, unsigned how) const {
    const BlockingCall call("write back", path_);
    const int result =
        ::sync_file_range(fd_, static_cast<off64_t>(offset), static_cast<off64_t>(n), how);
    // Some file systems have no such call.
    if (result == 0 || errno == ENOSYS || errno == EINVAL || errno == ESPIPE)
      return absl::OkStatus();
    return PosixError(errno, "write back", path_);
  }

  int fd_;
  bool sync_failed_ = false;
  const std::string path_;
  const std::shared_ptr<DescriptorReserve> reserve_;
};

// The pid that who locked the file wrote into it; one that writes none, as RocksDB, is known to the
// kernel.
std::string HolderOf(int fd) {
  char text[24] = {};
  if (::pread(fd, text, sizeof(text) - 1, 0) > 0 && text[0] != '\n')
    return std::string(text, std::strcspn(text, "\n"));
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (::fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK && whole.l_pid > 0)
    return std::to_string(whole.l_pid);
  return "(unknown)";
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReadableFile>> PosixFileSystem::OpenForRead(
    const std::string& path) {
  // O_NONBLOCK: opening a pipe under a log's name must not wait for its writer.
  const int fd = OpenRetrying(path, O_RDONLY | O_NONBLOCK);
  if (fd < 0 && reserve_ != nullptr && (errno == EMFILE || errno == ENFILE)) reserve_->NoteWant();
  if (fd < 0) return PosixError(errno, "open", path);
  auto file = std::make_unique<PosixReadableFile>(fd, path);
  struct stat s;
  if (::fstat(fd, &s) != 0) return PosixError(errno, "stat", path);
  // A pipe under that name would never end.
  if (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))
    return absl::FailedPreconditionError(absl::StrCat("open ", path, ": not a regular file"));
  return file;
}

absl::StatusOr<std::unique_ptr<WritableFile>> PosixFileSystem::OpenForWrite(const std::string& path,
                                                                            CreateMode mode) {
  int flags = O_WRONLY;
  if (mode == CreateMode::kMustNotExist) flags |= O_CREAT | O_EXCL;
  if (mode == CreateMode::kTruncate) flags |= O_CREAT | O_TRUNC;
  const int fd = OpenWith(reserve_.get(), path, flags);
  if (fd < 0) return PosixError(errno, "open", path);
  return std::make_unique<PosixWritableFile>(fd, path, reserve_);
}

absl::StatusOr<FileStatus> PosixFileSystem::Stat(const std::string& path) {
  const BlockingCall call("stat", path);
  struct statx s;
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &s) !=
      0)
    return PosixError(errno, "stat", path);
  FileStatus status;
  status.size = s.stx_size;
  status.inode = s.stx_ino;
  if (s.stx_mask & STATX_BTIME)
    status.birth_nanos =
        static_cast<int64_t>(s.stx_btime.tv_sec) * 1000000000 + s.stx_btime.tv_nsec;
  status.modified_unix_nanos =
      static_cast<int64_t>(s.stx_mtime.tv_sec) * 1000000000 + s.stx_mtime.tv_nsec;
  status.is_directory = S_ISDIR(s.stx_mode);
  status.is_symlink = S_ISLNK(s.stx_mode);
  return status;
}

absl::StatusOr<std::vector<std::string>> PosixFileSystem::List(const std::string& directory) {
  const BlockingCall call("list", directory);
  const int fd = OpenWith(reserve_.get(), directory, O_RDONLY | O_DIRECTORY);
  DIR* dir = fd < 0 ? nullptr : ::fdopendir(fd);
  if (dir == nullptr) {
    const int error = errno;
    if (fd >= 0) CloseWith(reserve_.get(), fd);
    return PosixError(error, "list", directory);
  }
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  const int error = errno;
  // closedir ends the descriptor itself, so the reserve's Close can't keep it: it takes one anew.
  ::closedir(dir);
  if (reserve_ != nullptr && !reserve_->is_whole()) reserve_->Refill();
  if (error != 0) return PosixError(error, "list", directory);
  // The kernel's order differs from disk to disk; callers count on one.
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status PosixFileSystem::CreateDirectories(const std::string& path) {
  const BlockingCall call("mkdir", path);
  if (::mkdir(path.c_str(), 0755) == 0) return absl::OkStatus();
  // From below: nearly always the parent is there. A second try may meet EEXIST, if another thread
  // makes the same directory.
  if (errno == ENOENT) {
    const std::string parent = ParentDirectory(path);
    if (parent == path) return PosixError(ENOENT, "mkdir", path);
    RETURN_IF_ERROR(CreateDirectories(parent));
    if (::mkdir(path.c_str(), 0755) == 0) return absl::OkStatus();
  }
  if (errno == EEXIST) {
    struct stat s;
    if (::stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode)) return absl::OkStatus();
    return PosixError(EEXIST, "mkdir", path);
  }
  return PosixError(errno, "mkdir", path);
}

absl::Status PosixFileSystem::Rename(const std::string& from, const std::string& to) {
  const BlockingCall call("rename", from);
  if (::rename(from.c_str(), to.c_str()) != 0)
    return PosixError(errno, "rename to " + to + " of", from);
  return absl::OkStatus();
}

absl::Status PosixFileSystem::Remove(const std::string& path) {
  const BlockingCall call("remove", path);
  if (std::remove(path.c_str()) != 0) return PosixError(errno, "remove", path);
  return absl::OkStatus();
}

absl::Status PosixFileSystem::RemoveAll(const std::string& path) {
  const auto status = Stat(path);
  if (absl::IsNotFound(status.status())) return absl::OkStatus();
  RETURN_IF_ERROR(status.status());
  if (status->is_directory) {
    ASSIGN_OR_RETURN(const auto names, List(path));
    for (const std::string& name : names) RETURN_IF_ERROR(RemoveAll(JoinPath(path, name)));
  }
  const absl::Status removed = Remove(path);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

absl::Status PosixFileSystem::Link(const std::string& from, const std::string& to) {
  const BlockingCall call("link", from);
  if (::link(from.c_str(), to.c_str()) != 0)
    return LinkRefused(errno, "link to " + to + " of", from);
  return absl::OkStatus();
}

absl::Status PosixFileSystem::SyncDirectory(const std::string& path) {
  const int fd = OpenWith(reserve_.get(), path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return PosixError(errno, "open directory", path);
  const BlockingCall call("sync directory", path);
  const int result = ::fsync(fd);
  const int error = errno;
  CloseWith(reserve_.get(), fd);
  return result == 0 ? absl::OkStatus() : SyncFailed(error, path);
}

absl::StatusOr<FileSystem::Space> PosixFileSystem::SpaceOf(const std::string& path) {
  const BlockingCall call("statvfs", path);
  struct statvfs s;
  if (::statvfs(path.c_str(), &s) != 0) return PosixError(errno, "statvfs", path);
  return Space{.total_bytes = static_cast<uint64_t>(s.f_blocks) * s.f_frsize,
               // What an ordinary user may still take: some of what is free is kept for root.
               .available_bytes = static_cast<uint64_t>(s.f_bavail) * s.f_frsize};
}

absl::StatusOr<uint64_t> PosixFileSystem::DeviceOf(const std::string& path) {
  const BlockingCall call("stat", path);
  struct stat s;
  if (::stat(path.c_str(), &s) != 0) return PosixError(errno, "stat", path);
  return static_cast<uint64_t>(s.st_dev);
}

absl::StatusOr<std::unique_ptr<WritableFile>> PosixFileSystem::Lock(const std::string& path) {
  const int fd = OpenWith(reserve_.get(), path, O_RDWR | O_CREAT);
  if (fd < 0) return PosixError(errno, "open", path);
  auto file = std::make_unique<PosixWritableFile>(fd, path, reserve_);
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (::fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    if (errno != EAGAIN && errno != EACCES) return PosixError(errno, "lock", path);
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is locked by process ", HolderOf(fd)));
  }
  // The lock is held, even if a full disk has no room to say by whom.
  const std::string holder = absl::StrCat(::getpid(), "\n");
  const absl::Status said = file->WriteAt(0, holder);
  if (absl::IsResourceExhausted(said)) return file;
  RETURN_IF_ERROR(said);
  RETURN_IF_ERROR(file->Truncate(holder.size()));
  return file;
}

}  // namespace arion
