// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/crash_environment.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"

namespace arion::crash {
namespace {

class RecordedFile : public ReadableFile, public WritableFile {
 public:
  RecordedFile(RecordedDisk& disk, std::string path, uint64_t inode)
      : disk_(disk), path_(std::move(path)), inode_(inode) {}

  absl::StatusOr<uint64_t> Size() const override { return bytes().size(); }
  absl::Status ReadAt(uint64_t offset, size_t n, std::string* out) const override {
    out->clear();
    if (offset < bytes().size()) out->assign(bytes(), offset, n);
    return absl::OkStatus();
  }
  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    if (bytes.empty()) return absl::OkStatus();
    return Annotate(disk_.Write(inode_, offset, bytes), absl::StrCat("write ", path_));
  }
  absl::Status Truncate(uint64_t size) override {
    return Annotate(disk_.Truncate(inode_, size), absl::StrCat("truncate ", path_));
  }
  absl::Status Sync() override {
    return Annotate(disk_.SyncFile(inode_), absl::StrCat("sync ", path_));
  }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  const std::string& bytes() const { return disk_.node(inode_).content->bytes; }

  RecordedDisk& disk_;
  const std::string path_;
  const uint64_t inode_;
};

class RecordedFileSystem : public FileSystem {
 public:
  explicit RecordedFileSystem(RecordedDisk& disk) : disk_(disk) {}

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(const std::string& path) override {
    ASSIGN_OR_RETURN(const uint64_t inode, disk_.tree().Find(path));
    return std::make_unique<RecordedFile>(disk_, path, inode);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path,
                                                             CreateMode mode) override {
    absl::StatusOr<uint64_t> inode = disk_.tree().Find(path);
    if (inode.ok()) {
      if (mode == CreateMode::kMustNotExist)
        return absl::AlreadyExistsError(absl::StrCat(path, ": File exists"));
      if (mode == CreateMode::kTruncate && !disk_.node(*inode).content->bytes.empty())
        RETURN_IF_ERROR(disk_.Truncate(*inode, 0));
    } else {
      if (mode == CreateMode::kOpenExisting) return inode.status();
      inode = disk_.Create(path);
      RETURN_IF_ERROR(inode.status());
    }
    return std::make_unique<RecordedFile>(disk_, path, *inode);
  }
  absl::StatusOr<FileStatus> Stat(const std::string& path) override {
    ASSIGN_OR_RETURN(const uint64_t inode, disk_.tree().Find(path));
    const Node& node = disk_.node(inode);
    FileStatus status;
    status.size = node.content->bytes.size();
    status.inode = inode;
    status.birth_nanos = node.birth_nanos;
    status.is_directory = node.is_directory;
    return status;
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    ASSIGN_OR_RETURN(const uint64_t inode, disk_.tree().Find(directory));
    std::vector<std::string> names;
    for (const auto& [name, child] : disk_.node(inode).entries) names.push_back(name);
    return names;
  }
  absl::Status CreateDirectories(const std::string& path) override {
    return disk_.CreateDirectories(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return disk_.Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override { return disk_.Remove(path); }
  absl::Status RemoveAll(const std::string& path) override {
    absl::StatusOr<std::vector<std::string>> names = List(path);
    if (!names.ok()) return absl::OkStatus();
    for (const std::string& name : *names) RETURN_IF_ERROR(RemoveAll(JoinPath(path, name)));
    return Remove(path);
  }
  absl::Status Link(const std::string& from, const std::string& to) override {
    return disk_.Link(from, to);
  }
  absl::Status SyncDirectory(const std::string& path) override {
    ASSIGN_OR_RETURN(const uint64_t inode, disk_.tree().Find(path));
    return Annotate(disk_.SyncDirectory(inode), absl::StrCat("sync ", path));
  }
  absl::StatusOr<Space> SpaceOf(const std::string&) override {
    constexpr uint64_t kTotalBytes = uint64_t{100} << 30;
    return Space{kTotalBytes, kTotalBytes / 2};
  }
  absl::StatusOr<uint64_t> DeviceOf(const std::string&) override { return 1; }
  absl::StatusOr<std::unique_ptr<WritableFile>> Lock(const std::string& path) override {
    return OpenForWrite(path, CreateMode::kTruncate);
  }

 private:
  RecordedDisk& disk_;
};

}  // namespace

// A write is given to the disk, completes later, and a flush begun after that makes it durable.
class RecordedLogDevice : public LogDevice {
 public:
  RecordedLogDevice(sim::SimEnvironment& under, RecordedDisk& disk) : under_(under), disk_(disk) {}

  void End() { *alive_ = false; }

  void Write(WriteRequest request) override {
    auto pending = std::make_shared<Pending>(Pending{.request = std::move(request)});
    if (pending->request.durability == Durability::kOs)
      return After(5, 100, [this, pending] { WriteCached(pending); });
    const File& file = static_cast<const File&>(*pending->request.file);
    pending->id =
        disk_.BeginWrite(file.inode, pending->request.offset, pending->request.buffer.view());
    After(15, 400, [this, pending] { Written(pending); });
  }

  absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string& path, bool direct) override {
    absl::StatusOr<uint64_t> inode = disk_.tree().Find(path);
    if (!inode.ok()) inode = disk_.Create(path);
    RETURN_IF_ERROR(inode.status());
    return std::make_shared<File>(path, *inode, direct ? AlignedBuffer::kAlignment : 1);
  }
  absl::Status FillWithZeros(LogFile& file, uint64_t from, uint64_t to) override {
    const uint64_t inode = static_cast<File&>(file).inode;
    // In two steps: the size may have grown by the first alone.
    const uint64_t middle =
        from + (to - from) / 2 / AlignedBuffer::kAlignment * AlignedBuffer::kAlignment;
    for (const auto& [begin, end] : {std::pair(from, middle), std::pair(middle, to)}) {
      if (begin >= end) continue;
      RETURN_IF_ERROR(
          disk_.EndWrite(disk_.BeginWrite(inode, begin, std::string(end - begin, '\0'))));
    }
    return Sync(file);
  }
  absl::Status TruncateAndSync(LogFile& file, uint64_t size) override {
    RETURN_IF_ERROR(disk_.Truncate(static_cast<File&>(file).inode, size));
    return Sync(file);
  }
  absl::Status Sync(LogFile& file) override {
    return disk_.SyncFile(static_cast<File&>(file).inode);
  }
  std::string method() const override { return "recorded"; }
  const LogDeviceStats& stats() const override { return stats_; }

 private:
  struct File : LogFile {
    File(std::string path, uint64_t inode, size_t alignment)
        : path_(std::move(path)), inode(inode), alignment_(alignment) {}
    size_t alignment() const override { return alignment_; }
    const std::string& path() const override { return path_; }

    const std::string path_;
    const uint64_t inode;
    const size_t alignment_;
  };
  struct Pending {
    WriteRequest request;
    uint64_t id = 0;
  };
  using PendingPtr = std::shared_ptr<Pending>;

  template <class Run>
  void After(int64_t micros_min, int64_t micros_max, Run run) {
    sim::SimWorld& world = under_.node().world();
    world.After(absl::Microseconds(world.random().Between(micros_min, micros_max)),
                sim::EventKind::kDisk, [alive = alive_, run = std::move(run)] {
                  if (*alive) run();
                });
  }
  void WriteCached(const PendingPtr& pending) {
    const File& file = static_cast<const File&>(*pending->request.file);
    Answer(pending,
           disk_.Write(file.inode, pending->request.offset, pending->request.buffer.view()));
  }
  void Written(const PendingPtr& pending) {
    const absl::Status status = disk_.EndWrite(pending->id);
    if (!status.ok()) return Answer(pending, status);
    if (pending->request.coverage == Coverage::kGrowing) {
      const uint64_t inode = static_cast<const File&>(*pending->request.file).inode;
      return After(50, 500, [this, pending, inode] { Answer(pending, disk_.SyncFile(inode)); });
    }
    to_flush_.push_back(pending);
    if (flushing_.empty()) StartFlush();
  }
  void StartFlush() {
    if (to_flush_.empty()) return;
    flushing_ = std::move(to_flush_);
    to_flush_.clear();
    const uint64_t id = disk_.BeginFlush();
    After(50, 500, [this, id] {
      const absl::Status status = disk_.EndFlush(id);
      std::vector<PendingPtr> covered = std::move(flushing_);
      flushing_.clear();
      for (const PendingPtr& pending : covered) Answer(pending, status);
      StartFlush();
    });
  }
  void Answer(const PendingPtr& pending, absl::Status status) {
    pending->request.reply_on->Post([pending, status = std::move(status)]() mutable {
      pending->request.done(std::move(status), std::move(pending->request.buffer));
    });
  }

  sim::SimEnvironment& under_;
  RecordedDisk& disk_;
  LogDeviceStats stats_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::vector<PendingPtr> to_flush_;
  std::vector<PendingPtr> flushing_;
};

CrashEnvironment::CrashEnvironment(sim::SimEnvironment& under, RecordedDisk& disk)
    : under_(under),
      files_(std::make_unique<RecordedFileSystem>(disk)),
      device_(std::make_unique<RecordedLogDevice>(under, disk)) {}

CrashEnvironment::~CrashEnvironment() = default;

LogDevice& CrashEnvironment::log_device(const std::string&) { return *device_; }

void CrashEnvironment::End() { device_->End(); }

}  // namespace arion::crash
