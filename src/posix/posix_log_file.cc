// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/blocking_call.h"
#include "posix/posix_file_system.h"

namespace arion {
namespace {

constexpr size_t kFillChunkBytes = 256 << 10;  // what a log's write may have to wait for

bool IsOutOfSpace(int error) { return error == ENOSPC || error == EDQUOT; }

// The nameless file whose fdatasync is the shared flush; -1: a flush covers its own file only. A
// regular file: a directory's fsync commits ext4's journal only, and flushes nothing where nothing
// is to be committed.
int OpenFlushFile(const std::string& path) {
  struct stat s;
  if (::stat(path.c_str(), &s) != 0) return -1;
  std::ifstream mounts("/proc/self/mountinfo");
  if (!OneFlushCoversAll(mounts, absl::StrCat(major(s.st_dev), ":", minor(s.st_dev)))) return -1;
  const int fd = ::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  LOG_IF(WARNING, fd < 0) << path << ": no nameless file can be made (" << std::strerror(errno)
                          << "): each write of a log flushes the disk by itself";
  return fd;
}

PosixLogFile& Own(LogFile& file) { return static_cast<PosixLogFile&>(file); }

}  // namespace

// ext4 sends a flush with every fdatasync of a regular file, dirty or not; btrfs, for one, does
// not. XFS does, but what is written over where two files share a block goes elsewhere, and that it
// did is durable with that file's own sync only: a copy of a running server's directory (cp makes
// such by itself) would take every acknowledged write of its logs from the next power cut on.
// Nothing tells when one is made, so each write is flushed by itself there: the kernel writes it
// through where the disk can, and makes one flush of those that come together. What ext4 writes
// through its journal is not in place when the write ends.
bool OneFlushCoversAll(std::istream& mounts, std::string_view device) {
  std::string line;
  while (std::getline(mounts, line)) {
    // id parent major:minor root mountpoint options [tags]... - type source superoptions
    std::istringstream fields(line);
    std::string id, parent, number, root, place, word, type, source, options;
    fields >> id >> parent >> number >> root >> place;
    if (number != device) continue;
    while (fields >> word && word != "-") {
    }
    fields >> type >> source >> options;
    if (type != "ext4") return false;
    for (const char* off : {"nobarrier", "barrier=0"}) {
      if (options.find(off) == std::string::npos) continue;
      LOG(WARNING) << place << " is mounted with " << off << ": its disk's cache is never flushed";
      return false;
    }
    return options.find("data=journal") == std::string::npos;
  }
  return false;
}

PosixLogFile::~PosixLogFile() {
  delete pending_.load();
  if (descriptors_ != nullptr)
    descriptors_->Close(fd_);
  else
    ::close(fd_);
}

PosixLogDevice::PosixLogDevice(const std::string& path_on_device, const LogDeviceOptions& options)
    : LogDevice(options.zeros_ahead_bytes_max),
      flush_fd_(OpenFlushFile(path_on_device)),
      descriptors_(options.descriptors) {}

PosixLogDevice::~PosixLogDevice() {
  if (flush_fd_ >= 0) ::close(flush_fd_);
}

int PosixLogDevice::OpenFile(const std::string& path, int flags) const {
  return descriptors_ != nullptr ? descriptors_->Open(path, flags, 0644)
                                 : ::open(path.c_str(), flags, 0644);
}

void PosixLogDevice::CloseFile(int fd) const {
  if (descriptors_ != nullptr)
    descriptors_->Close(fd);
  else
    ::close(fd);
}

absl::StatusOr<std::shared_ptr<LogFile>> PosixLogDevice::Open(const std::string& path,
                                                              bool direct) {
  const BlockingCall call("open", path);
  // O_NOFOLLOW: a link in the place of a log would have us write somewhere else.
  const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  if (direct) {
    const int fd = OpenFile(path, flags | O_DIRECT);
    if (fd >= 0) {
      struct statx s;
      const bool told =
          ::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) == 0 && (s.stx_mask & STATX_DIOALIGN);
      const bool fits = !told || (s.stx_dio_offset_align > 0 &&
                                  s.stx_dio_offset_align <= AlignedBuffer::kAlignment &&
                                  s.stx_dio_mem_align <= AlignedBuffer::kAlignment);
      if (fits)
        return std::make_shared<PosixLogFile>(fd, path, AlignedBuffer::kAlignment, descriptors_);
      CloseFile(fd);
      // EINVAL: the file system has no direct I/O. Then the file is buffered, and each write is
      // followed by its own fdatasync.
    } else if (errno != EINVAL) {
      return PosixError(errno, "open", path);
    }
  }
  const int fd = OpenFile(path, flags);
  if (fd < 0) return PosixError(errno, "open", path);
  // Buffered: any offset and length.
  return std::make_shared<PosixLogFile>(fd, path, 1, descriptors_);
}

absl::Status PosixLogDevice::FillWithZeros(LogFile& log_file, uint64_t from, uint64_t to) {
  PosixLogFile& file = Own(log_file);
  const BlockingCall call("fill", file.path());
  if (from % file.alignment() != 0 || to % file.alignment() != 0)
    return absl::InvalidArgumentError(absl::StrCat("fill ", file.path(), ": not aligned"));
  if (file.has_failed()) return absl::DataLossError(absl::StrCat(file.path(), " failed before"));
  // With the size set first the writes below don't keep the log's own writes out of the file. Not
  // inside it: that would make the sync below write the journal.
  struct stat now;
  const bool grows = ::fstat(file.fd(), &now) != 0 || static_cast<uint64_t>(now.st_size) < to;
  if (from < to && grows &&
      ::fallocate(file.fd(), 0, static_cast<off_t>(from), static_cast<off_t>(to - from)) != 0 &&
      IsOutOfSpace(errno))
    return PosixError(errno, "fill", file.path());
  AlignedBuffer zeros;
  zeros.Resize(std::min<uint64_t>(kFillChunkBytes, to - std::min(from, to)));
  for (uint64_t at = from; at < to;) {
    const ssize_t put = ::pwrite(file.fd(), zeros.data(), std::min<uint64_t>(zeros.size(), to - at),
                                 static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return PosixError(errno, "fill", file.path());
    if (put == 0 || static_cast<size_t>(put) % file.alignment() != 0)
      return absl::ResourceExhaustedError(absl::StrCat("fill ", file.path(), ": short write"));
    at += static_cast<uint64_t>(put);
  }
  return Sync(file);
}

absl::Status PosixLogDevice::TruncateAndSync(LogFile& log_file, uint64_t size) {
  PosixLogFile& file = Own(log_file);
  const BlockingCall call("truncate", file.path());
  if (file.has_failed()) return absl::DataLossError(absl::StrCat(file.path(), " failed before"));
  if (::ftruncate(file.fd(), static_cast<off_t>(size)) != 0)
    return PosixError(errno, "truncate", file.path());
  // fsync, because fdatasync need not write a size that became smaller.
  if (::fsync(file.fd()) != 0) return SyncFailed(file, errno);
  return absl::OkStatus();
}

absl::Status PosixLogDevice::Sync(LogFile& log_file) {
  PosixLogFile& file = Own(log_file);
  const BlockingCall call("sync", file.path());
  if (file.has_failed()) return absl::DataLossError(absl::StrCat(file.path(), " failed before"));
  if (::fdatasync(file.fd()) != 0) return SyncFailed(file, errno);
  return absl::OkStatus();
}

absl::Status PosixLogDevice::Refusal(const WriteRequest& request) {
  const PosixLogFile& file = FileOf(request);
  if (file.has_failed()) return absl::DataLossError(absl::StrCat(file.path(), " failed before"));
  const size_t alignment = file.alignment();
  if (request.offset % alignment != 0 || request.buffer.size() % alignment != 0)
    return absl::InvalidArgumentError(absl::StrCat("write ", file.path(), ": not aligned"));
  return absl::OkStatus();
}

absl::Status PosixLogDevice::WriteFailed(const PendingWrite& write, int error) {
  PosixLogFile& file = FileOf(write.request);
  // The kernel wrote nothing wrong: the same bytes may be written again.
  if (IsOutOfSpace(error) || error == ENOMEM) return PosixError(error, "write", file.path());
  file.Fail();
  return absl::DataLossError(absl::StrCat("write ", file.path(), ": ", std::strerror(error)));
}

absl::Status PosixLogDevice::SyncFailed(PosixLogFile& file, int error) {
  file.Fail();
  return absl::DataLossError(absl::StrCat("sync ", file.path(), ": ", std::strerror(error)));
}

int64_t PosixLogDevice::NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void PosixLogDevice::CountSync(int64_t begun_nanos, size_t writes, bool ok) {
  stats_.syncs.Add();
  stats_.sync_nanos.Record(static_cast<uint64_t>(NowNanos() - begun_nanos));
  if (ok) {
    stats_.writes_per_sync.Record(writes);
  } else {
    stats_.failures.Add();
  }
}

std::unique_ptr<PendingWrite> PosixLogDevice::Begin(WriteRequest request) {
  auto write = FileOf(request).TakePending();
  write->request = std::move(request);
  write->begun_nanos = NowNanos();
  stats_.queued.Add(1);
  return write;
}

void PosixLogDevice::Finish(std::unique_ptr<PendingWrite> write, absl::Status status) {
  const WriteRequest& request = write->request;
  stats_.append_nanos.Record(static_cast<uint64_t>(NowNanos() - write->begun_nanos));
  stats_.records_per_write.Record(request.records);
  stats_.writes.Add();
  if (status.ok()) {
    stats_.bytes.Add(static_cast<int64_t>(request.buffer.size()));
  } else {
    stats_.failures.Add();
  }
  stats_.queued.Add(-1);
  write->status = std::move(status);
  // Taken out first: `write` moves into the task, and with it everything of the request.
  const StrandPtr strand = std::move(write->request.reply_on);
  strand->Post([write = std::move(write)]() mutable {
    const auto file = std::static_pointer_cast<PosixLogFile>(std::move(write->request.file));
    auto done = std::move(write->request.done);
    absl::Status status = std::move(write->status);
    AlignedBuffer buffer = std::move(write->request.buffer);
    // Before the callback, which may submit the file's next write.
    file->KeepPending(std::move(write));
    done(std::move(status), std::move(buffer));
  });
}

NextStep PosixLogDevice::StepAfter(const PendingWrite& write) {
  const WriteRequest& request = write.request;
  if (request.durability == Durability::kOs || write.carries_flush) return NextStep::kNone;
  // A new size is metadata of the file, and buffered bytes lie in the page cache: a flush of the
  // disk reaches neither.
  if (request.coverage == Coverage::kGrowing || !FileOf(request).is_direct())
    return NextStep::kOwnSync;
  return NextStep::kDeviceFlush;
}

bool PosixLogDevice::NeedsDsync(const WriteRequest& request) const {
  return !shared_flush() && request.durability == Durability::kFsync &&
         request.coverage == Coverage::kPrewritten && FileOf(request).is_direct();
}

}  // namespace arion
