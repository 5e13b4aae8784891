// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_log_device.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "sim/sim_environment.h"

namespace arion::sim {

// As strict as O_DIRECT may be: offset and length in whole pages.
constexpr size_t kDirectAlignment = 4096;

class SimLogDevice::File : public LogFile {
 public:
  File(std::string path, InodePtr inode, size_t alignment)
      : path_(std::move(path)), inode_(std::move(inode)), alignment_(alignment) {}
  size_t alignment() const override { return alignment_; }
  const std::string& path() const override { return path_; }
  const InodePtr& inode() const { return inode_; }
  bool failed() const { return failed_; }
  void Fail() { failed_ = true; }
  Instant last_answer{0};  // log_device/V2: callbacks of one file keep the order of submission

 private:
  std::string path_;
  InodePtr inode_;
  size_t alignment_;
  bool failed_ = false;
};

DiskCall SimLogDevice::CallOf(const File& file, uint64_t offset, size_t n) {
  return offset + n > file.inode()->content.size() ? DiskCall::kGrow : DiskCall::kOverwrite;
}

SimLogDevice::SimLogDevice(SimNode& node, std::shared_ptr<const SimLife> life)
    : node_(node), life_(std::move(life)) {}

SimLogDevice::~SimLogDevice() = default;

template <class Work>
void SimLogDevice::After(absl::Duration delay, Work work) {
  // The device does not stop when the process is paused, but its completions are only seen
  // afterwards: an event of the node would wait, so it is one of the world, dropped by hand when
  // the life is over.
  node_.world().After(delay, EventKind::kDisk, [life = life_, work = std::move(work)] {
    if (life->alive) work();
  });
}

absl::Duration SimLogDevice::Delay(int64_t micros_min, int64_t micros_max) {
  SimRandom& random = node_.world().random();
  int64_t micros = random.Between(micros_min, micros_max);
  // Now and then a device stalls: that is where queues build up.
  if (random.Percent(0.5)) micros += random.Between(5000, 60000);
  return absl::Microseconds(micros * node_.disk().slowness());
}

void SimLogDevice::Answer(const PendingPtr& pending, absl::Status status) {
  // The strand goes with the answer, so that a write has one.
  if (!pending->request.reply_on) return;
  stats_.append_nanos.Record(NanosSince(pending->begun));
  stats_.records_per_write.Record(pending->request.records);
  stats_.writes.Add();
  if (status.ok()) {
    stats_.bytes.Add(static_cast<int64_t>(pending->request.buffer.size()));
  } else {
    stats_.failures.Add();
  }
  stats_.queued.Add(-1);
  StrandPtr strand = std::move(pending->request.reply_on);
  strand->Post(
      [done = std::move(pending->request.done), status = std::move(status),
       buffer = std::move(pending->request.buffer)]() mutable { done(status, std::move(buffer)); });
}

uint64_t SimLogDevice::NanosSince(Instant begun) const {
  return static_cast<uint64_t>(absl::ToInt64Nanoseconds(node_.world().now() - begun));
}

void SimLogDevice::CountSync(Instant begun, size_t writes, const absl::Status& status) {
  stats_.syncs.Add();
  stats_.sync_nanos.Record(NanosSince(begun));
  if (status.ok()) {
    stats_.writes_per_sync.Record(writes);
  } else {
    stats_.failures.Add();
  }
}

void SimLogDevice::Write(WriteRequest request) {
  if (!life_->alive) return;
  auto pending = std::make_shared<Pending>();
  pending->request = std::move(request);
  pending->begun = node_.world().now();
  stats_.queued.Add(1);
  File& file = static_cast<File&>(*pending->request.file);
  if (file.alignment() > 1) {
    // The kernel would refuse such a write. Here it is a mistake of the log's code.
    CHECK_EQ(pending->request.offset % kDirectAlignment, 0u) << "direct write off its alignment";
    CHECK_EQ(pending->request.buffer.size() % kDirectAlignment, 0u)
        << "direct write of an odd length";
  }
  // So that Spill finds it, should the life end before it is written.
  in_flight_.push_back(pending);
  After(Delay(15, 120), [this, pending] { Written(pending); });
}

absl::Status SimLogDevice::MayWrite(File& file, DiskCall call) const {
  const absl::Status status = node_.disk().TakeCallFailure(call, file.path());
  // A full disk may have room later; any other trouble leaves bytes that nobody can vouch for.
  if (status.ok() || absl::IsResourceExhausted(status)) return status;
  file.Fail();
  return absl::DataLossError(status.message());
}

void SimLogDevice::Written(const PendingPtr& pending) {
  in_flight_.remove(pending);
  File& file = static_cast<File&>(*pending->request.file);
  const std::string_view bytes = pending->request.buffer.view();
  absl::Status status;
  if (file.failed()) {
    status = absl::DataLossError(absl::StrCat(file.path(), ": a flush failed earlier"));
  } else {
    status = MayWrite(file, CallOf(file, pending->request.offset, bytes.size()));
    if (status.ok())
      status =
          node_.disk().Write(*file.inode(), pending->request.offset, bytes, SimDisk::Path::kDirect);
  }
  if (!life_->alive) return;  // the disk died under it
  if (!status.ok()) {
    Answer(pending, Annotate(status, absl::StrCat("write ", file.path())));
  } else if (pending->request.durability == Durability::kOs) {
    Answer(pending, absl::OkStatus());
    // A file that grew needs its size durable, too: a sync of its own.
  } else if (pending->request.coverage == Coverage::kGrowing) {
    pending->sync_begun = node_.world().now();
    After(Delay(300, 1500), [this, pending] { SyncOwn(pending); });
  } else {
    to_flush_.push_back(pending);
    // One flush at a time. What comes meanwhile shares the next.
    if (flushing_.empty()) StartFlush();
  }
}

void SimLogDevice::SyncOwn(const PendingPtr& pending) {
  File& file = static_cast<File&>(*pending->request.file);
  absl::Status status;
  // A disk that lies says that it is done, and nothing is durable.
  if (!node_.disk().forgets_flushes()) status = node_.disk().SyncFile(file.inode());
  if (!life_->alive) return;
  if (!status.ok()) file.Fail();
  CountSync(pending->sync_begun, 1, status);
  Answer(pending, Annotate(status, absl::StrCat("sync ", file.path())));
}

void SimLogDevice::StartFlush() {
  if (to_flush_.empty()) return;
  flushing_ = std::move(to_flush_);
  to_flush_.clear();
  // What is written from here on the running flush does not cover, although it may end after that.
  flush_before_ = node_.disk().next_sequence();
  flush_begun_ = node_.world().now();
  ++flushes_;
  After(Delay(150, 800), [this] { Flushed(); });
}

void SimLogDevice::Flushed() {
  std::vector<PendingPtr> covered = std::move(flushing_);
  flushing_.clear();
  absl::Status status;
  std::vector<InodePtr> inodes;
  for (const PendingPtr& pending : covered)
    inodes.push_back(static_cast<File&>(*pending->request.file).inode());
  if (node_.disk().TakeSyncFailure()) {
    status = absl::DataLossError("flush of the device: Input/output error");
    // sim_disk/K3
    for (const InodePtr& inode : inodes) node_.disk().LoseUnsynced(*inode);
    for (const PendingPtr& pending : covered) static_cast<File&>(*pending->request.file).Fail();
  } else {
    node_.disk().FlushDevice(inodes, flush_before_);
  }
  CountSync(flush_begun_, covered.size(), status);
  for (const PendingPtr& pending : covered) Answer(pending, status);
  StartFlush();
}

void SimLogDevice::Spill() {
  // Writes in flight are on their way: some sectors may arrive. They count as unsynced changes,
  // which the crash judges.
  for (const PendingPtr& pending : in_flight_) {
    File& file = static_cast<File&>(*pending->request.file);
    if (!node_.disk().is_dead()) {
      (void)node_.disk().Write(*file.inode(), pending->request.offset,
                               pending->request.buffer.view(), SimDisk::Path::kDirect);
    }
  }
  in_flight_.clear();
  to_flush_.clear();
  flushing_.clear();
}

absl::StatusOr<std::shared_ptr<LogFile>> SimLogDevice::Open(const std::string& path, bool direct) {
  if (!life_->alive) return absl::DataLossError("simulated: this life of the node has ended");
  absl::StatusOr<InodePtr> inode = node_.disk().Find(path);
  RETURN_IF_ERROR(
      node_.disk().TakeCallFailure(inode.ok() ? DiskCall::kOpenForWrite : DiskCall::kCreate, path));
  if (!inode.ok()) inode = node_.disk().CreateFile(path);
  if (!inode.ok()) return inode.status();
  return std::make_shared<File>(path, *std::move(inode), direct ? kDirectAlignment : 1);
}

absl::Status SimLogDevice::FillWithZeros(LogFile& file, uint64_t from, uint64_t to) {
  if (!life_->alive) return absl::DataLossError("simulated: this life of the node has ended");
  const InodePtr& inode = static_cast<File&>(file).inode();
  if (from < to) {
    // Kept for the next fill: files are filled again and again by the same size.
    if (zeros_.size() < to - from) zeros_.resize(to - from, '\0');
    const std::string_view zeros = std::string_view(zeros_).substr(0, to - from);
    File& own = static_cast<File&>(file);
    RETURN_IF_ERROR(MayWrite(own, CallOf(own, from, to - from)));
    RETURN_IF_ERROR(Annotate(node_.disk().Write(*inode, from, zeros, SimDisk::Path::kDirect),
                             absl::StrCat("fill ", file.path())));
  }
  return Sync(file);
}

absl::Status SimLogDevice::TruncateAndSync(LogFile& file, uint64_t size) {
  if (!life_->alive) return absl::DataLossError("simulated: this life of the node has ended");
  RETURN_IF_ERROR(MayWrite(static_cast<File&>(file), DiskCall::kTruncate));
  RETURN_IF_ERROR(Annotate(node_.disk().Truncate(*static_cast<File&>(file).inode(), size),
                           absl::StrCat("truncate ", file.path())));
  return Sync(file);
}

absl::Status SimLogDevice::Sync(LogFile& file) {
  if (!life_->alive) return absl::DataLossError("simulated: this life of the node has ended");
  absl::Status status = node_.disk().SyncFile(static_cast<File&>(file).inode());
  if (!status.ok()) static_cast<File&>(file).Fail();
  return Annotate(status, absl::StrCat("sync ", file.path()));
}

}  // namespace arion::sim
