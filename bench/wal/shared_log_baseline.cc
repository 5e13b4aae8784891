// SPDX-License-Identifier: Apache-2.0
#include "bench/wal/shared_log_baseline.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/coding.h"
#include "base/crc.h"
#include "base/log.h"
#include "wal/log_format.h"
#include "wal/private_log.h"

namespace arion {
namespace {

constexpr uint64_t kSegmentBytes = 32 << 20;
constexpr size_t kPage = AlignedBuffer::kAlignment;
constexpr size_t kPrivateBatchBytes = 512 << 10;

size_t RoundUpToPage(size_t n) { return (n + kPage - 1) / kPage * kPage; }

}  // namespace

// ---- one file of the shared log ----

class SharedLogBaseline::File {
 public:
  File(const std::string& path, SharedLogMethod method)
      : is_packed_(method == SharedLogMethod::kPrewritten) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (is_packed_ ? O_DIRECT : 0), 0644);
    PCHECK(fd_ >= 0) << path;
  }
  ~File() { ::close(fd_); }

  int fd() const { return fd_; }
  bool HasRoomFor(size_t body_bytes) const {
    return position_ == 0 || position_ + kBlockHeaderBytes + body_bytes + kPage <= kSegmentBytes;
  }

  // Room for a block's body; Seal completes it.
  char* Begin(size_t body_bytes) {
    prefix_ = is_packed_ ? position_ % kPage : 0;
    body_bytes_ = body_bytes;
    const size_t needed = RoundUpToPage(prefix_ + kBlockHeaderBytes + body_bytes);
    if (buffer_.size() < needed) buffer_.Resize(needed);
    return buffer_.data() + prefix_ + kBlockHeaderBytes;
  }
  uint64_t position() const { return position_; }

  // Writes the block; returns how many bytes went out.
  size_t SealAndWrite(int flags) {
    char* const block = buffer_.data() + prefix_;
    const size_t block_bytes = kBlockHeaderBytes + body_bytes_;
    crc_ = Crc32c({block + kBlockHeaderBytes, body_bytes_}, crc_);
    StoreBlockHeader({.length = static_cast<int32_t>(body_bytes_),
                      .body_crc = crc_,
                      .position = static_cast<uint32_t>(position_)},
                     block);
    size_t bytes = prefix_ + block_bytes;
    if (is_packed_) {
      std::memcpy(buffer_.data(), last_page_, prefix_);
      const size_t end = bytes;
      bytes = RoundUpToPage(end);
      std::memset(buffer_.data() + end, 0, bytes - end);
      const size_t last = end / kPage * kPage;
      std::memcpy(last_page_, buffer_.data() + last, end - last);
    }
    const iovec part{buffer_.data(), bytes};
    PCHECK(::pwritev2(fd_, &part, 1, static_cast<off_t>(position_ - prefix_), flags) ==
           static_cast<ssize_t>(bytes));
    position_ += block_bytes;
    return bytes;
  }
  // The buffer is worth keeping: its pages are touched.
  AlignedBuffer& buffer() { return buffer_; }

 private:
  const bool is_packed_;
  int fd_;
  uint64_t position_ = 0;
  uint32_t crc_ = 0;
  AlignedBuffer buffer_;
  size_t prefix_ = 0;
  size_t body_bytes_ = 0;
  char last_page_[kPage];
};

// ---- the log ----

SharedLogBaseline::SharedLogBaseline(Environment& env, EmulatedEnvironment* disks,
                                     SharedLogMethod method, const std::string& log_directory)
    : env_(env),
      disks_(disks),
      device_(env.log_device(log_directory)),
      pool_(env.disk_pool(log_directory)),
      disk_(EmulatedDiskOf(log_directory)),
      method_(method),
      directory_(log_directory + "/slog") {
  std::filesystem::create_directories(directory_);
  file_ = MakeSpare(1);
  thread_ = std::thread([this] { RunWriter(); });
  pthread_setname_np(thread_.native_handle(), "shared_log");
}

SharedLogBaseline::~SharedLogBaseline() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (next_file_.valid()) next_file_.wait();
}

SharedLogBaseline::Partition& SharedLogBaseline::Add(StrandPtr strand,
                                                     const std::string& private_log_path) {
  auto partition =
      std::make_unique<Partition>(*this, std::move(strand), env_.disk_pool(private_log_path),
                                  EmulatedDiskOf(private_log_path), private_log_path);
  std::lock_guard lock(mutex_);
  return *partitions_.emplace_back(std::move(partition));
}

EmulatedDisk* SharedLogBaseline::EmulatedDiskOf(const std::string& path) const {
  return disks_ != nullptr ? static_cast<EmulatedDisk*>(&env_.log_device(path)) : nullptr;
}

std::string SharedLogBaseline::SparePath(int64_t index) const {
  return absl::StrCat(directory_, "/spare.", index);
}

std::unique_ptr<SharedLogBaseline::File> SharedLogBaseline::MakeSpare(int64_t index) {
  const std::string path = SparePath(index);
  // The log is dropped as fast as it is written: what it held two files ago is written again.
  if (method_ == SharedLogMethod::kPrewritten && index > 2) {
    std::filesystem::rename(dropped_.front(), path);
    dropped_.pop_front();
  } else if (method_ == SharedLogMethod::kPrewritten) {
    auto file = device_.Open(path, /*direct=*/true);
    CHECK(file.ok()) << file.status();
    CHECK(device_.FillWithZeros(**file, 0, kSegmentBytes).ok());
  }
  return std::make_unique<File>(path, method_);
}

void SharedLogBaseline::Append(Pending pending) {
  bool was_empty;
  {
    std::lock_guard lock(mutex_);
    was_empty = pending_.empty();
    pending_.push_back(std::move(pending));
  }
  if (was_empty) wake_.notify_one();
}

void SharedLogBaseline::RunWriter() {
  SwitchFile();
  std::vector<Pending> block;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
      if (stopping_) return;
      block.swap(pending_);
    }
    WriteBlock(block);
    blocks_.fetch_add(1, std::memory_order_relaxed);
    mutations_.fetch_add(static_cast<int64_t>(block.size()), std::memory_order_relaxed);
    Report(std::move(block));
    block.clear();
  }
}

// The file gets its name and its header block; the next is made ahead.
void SharedLogBaseline::SwitchFile() {
  ++index_;
  const std::string name = LogFileName{.index = index_, .start_offset = start_offset_}.ToString();
  std::filesystem::rename(SparePath(index_), absl::StrCat(directory_, "/", name));
  dropped_.push_back(absl::StrCat(directory_, "/", name));
  const int directory = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  PCHECK(::fsync(directory) == 0);
  ::close(directory);
  size_t partitions;
  {
    std::lock_guard lock(mutex_);
    partitions = partitions_.size();
  }
  const size_t body_bytes = kFileHeaderBytes + partitions * kFileHeaderEntryBytes;
  char* const body = file_->Begin(body_bytes);
  std::memset(body, 0, body_bytes);
  StoreLittle(kLogMagic, body);
  StoreLittle<int32_t>(1, body + 4);
  StoreLittle(start_offset_, body + 8);
  StoreLittle(static_cast<int32_t>(partitions), body + 16);
  for (size_t i = 0; i < partitions; ++i) {
    char* const entry = body + kFileHeaderBytes + i * kFileHeaderEntryBytes;
    StoreLittle<int32_t>(1, entry);
    StoreLittle(static_cast<int32_t>(i), entry + 4);
  }
  MakeDurable(file_->SealAndWrite(0));
  auto made = std::make_shared<std::promise<std::unique_ptr<File>>>();
  next_file_ = made->get_future();
  pool_.Submit([this, made, index = index_ + 1] { made->set_value(MakeSpare(index)); });
}

void SharedLogBaseline::WriteBlock(const std::vector<Pending>& block) {
  size_t body_bytes = 0;
  for (const Pending& pending : block) body_bytes += EncodedSize(*pending.mutation);
  if (!file_->HasRoomFor(body_bytes)) {
    start_offset_ += static_cast<int64_t>(file_->position());
    AlignedBuffer buffer = std::move(file_->buffer());
    file_ = next_file_.get();
    file_->buffer() = std::move(buffer);
    SwitchFile();
  }
  char* to = file_->Begin(body_bytes);
  int64_t offset = start_offset_ + static_cast<int64_t>(file_->position() + kBlockHeaderBytes);
  for (const Pending& pending : block) {
    const size_t bytes = EncodedSize(*pending.mutation);
    StoreMutation(*pending.mutation, offset, to);
    to += bytes;
    offset += static_cast<int64_t>(bytes);
  }
  const bool syncs_itself = disk_ == nullptr && method_ == SharedLogMethod::kPrewritten;
  const size_t written = file_->SealAndWrite(syncs_itself ? RWF_DSYNC : 0);
  if (!syncs_itself) MakeDurable(written);
}

void SharedLogBaseline::MakeDurable(uint64_t bytes) {
  if (disk_ == nullptr) {
    PCHECK(::fdatasync(file_->fd()) == 0);
    return;
  }
  // Into the drive's cache, as direct I/O does; no journal commit.
  if (method_ == SharedLogMethod::kAppend)
    PCHECK(::sync_file_range(file_->fd(), 0, 0,
                             SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                 SYNC_FILE_RANGE_WAIT_AFTER) == 0);
  disk_->AddWritten(bytes);
  disk_->Flush();
}

// One task per partition that had mutations in the block.
void SharedLogBaseline::Report(std::vector<Pending> block) {
  std::vector<Partition*> touched;
  for (Pending& pending : block) {
    Partition* const partition = pending.partition;
    if (partition->in_block_.empty()) touched.push_back(partition);
    partition->in_block_.push_back(std::move(pending));
  }
  for (Partition* partition : touched)
    partition->strand_->Post([done = std::move(partition->in_block_)]() mutable {
      for (Pending& pending : done) {
        pending.on_durable(absl::OkStatus());
        pending.partition->AppendLazily(*pending.mutation);
      }
    });
  for (Partition* partition : touched) partition->in_block_.clear();
}

double SharedLogBaseline::RecordsPerWrite() const {
  return static_cast<double>(mutations_) / static_cast<double>(std::max<int64_t>(1, blocks_));
}

// ---- a partition ----

struct SharedLogBaseline::Partition::PrivateFile {
  ~PrivateFile() { ::close(fd); }
  int fd = -1;
  std::mutex mutex;
  std::vector<AlignedBuffer> free_buffers;  // guarded by mutex
};

SharedLogBaseline::Partition::Partition(SharedLogBaseline& log, StrandPtr strand, DiskPool& pool,
                                        EmulatedDisk* disk, const std::string& private_log_path)
    : log_(log),
      strand_(std::move(strand)),
      pool_(pool),
      disk_(disk),
      private_file_(std::make_shared<PrivateFile>()) {
  private_file_->fd = ::open(private_log_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  PCHECK(private_file_->fd >= 0) << private_log_path;
}

SharedLogBaseline::Partition::~Partition() = default;

void SharedLogBaseline::Partition::Append(MutationPtr mutation,
                                          PrivateLog::DurableCallback on_durable) {
  log_.Append(
      {.partition = this, .mutation = std::move(mutation), .on_durable = std::move(on_durable)});
}

void SharedLogBaseline::Partition::AppendLazily(const Mutation& mutation) {
  const size_t bytes = EncodedSize(mutation);
  const size_t at = std::max(buffered_bytes_, kBlockHeaderBytes);
  if (buffer_.size() < at + bytes) buffer_.Resize(std::max(kPrivateBatchBytes, at + bytes));
  char* const to = buffer_.data() + at;
  StoreMutation(mutation, static_cast<int64_t>(position_ + at), to);
  crc_ = Crc32c({to, bytes}, crc_);
  buffered_bytes_ = at + bytes;
  if (++buffered_records_ < kBufferedRecordsMax && buffered_bytes_ < kPrivateBatchBytes) return;
  StoreBlockHeader({.length = static_cast<int32_t>(buffered_bytes_ - kBlockHeaderBytes),
                    .body_crc = crc_,
                    .position = static_cast<uint32_t>(position_)},
                   buffer_.data());
  pool_.Submit([file = private_file_, disk = disk_, bytes = buffered_bytes_, position = position_,
                buffer = std::move(buffer_)]() mutable {
    PCHECK(::pwrite(file->fd, buffer.data(), bytes, static_cast<off_t>(position)) ==
           static_cast<ssize_t>(bytes));
    PCHECK(::sync_file_range(file->fd, static_cast<off_t>(position), static_cast<off_t>(bytes),
                             SYNC_FILE_RANGE_WRITE) == 0);
    if (disk != nullptr) disk->AddWritten(bytes);
    std::lock_guard lock(file->mutex);
    file->free_buffers.push_back(std::move(buffer));
  });
  position_ += buffered_bytes_;
  buffered_bytes_ = buffered_records_ = 0;
  std::lock_guard lock(private_file_->mutex);
  if (private_file_->free_buffers.empty()) return;
  buffer_ = std::move(private_file_->free_buffers.back());
  private_file_->free_buffers.pop_back();
}

}  // namespace arion
