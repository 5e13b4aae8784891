// The log device on io_uring: one ring and one thread a device. Writes come in through a lock-free
// list; everything that is there when the thread looks is submitted together. At most one shared
// fdatasync is in flight: it covers every write that completed before it was submitted; what
// completes meanwhile waits for the next, which waits a little for more where flushes are slow
// (flush_pacing.h). A write that finds the disk idle carries its own flush.
//
// Threads   Write is thread-safe; all else of this class happens on its thread.
// SPDX-License-Identifier: Apache-2.0
#include <liburing.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "env/flush_pacing.h"
#include "env/posix_log_file.h"

namespace arion {
namespace {

class UringLogDevice : public PosixLogDevice {
 public:
  UringLogDevice(const std::string& path, const LogDeviceOptions& options, int event_fd)
      : PosixLogDevice(path, options), event_fd_(event_fd) {}

  ~UringLogDevice() override {
    if (thread_.joinable()) {
      stopping_.store(true);
      Wake();
      thread_.join();
    }
    ::close(event_fd_);
  }

  // False when the kernel refuses.
  bool Start(unsigned ring_entries) {
    std::promise<int> started;
    thread_ = std::thread([&, ring_entries] {
      const int error = MakeRing(ring_entries);
      started.set_value(error);
      if (error == 0) Run();
    });
    pthread_setname_np(thread_.native_handle(), "log_device");
    const int error = started.get_future().get();
    if (error != 0) LOG(WARNING) << "io_uring is refused: " << error;
    return error == 0;
  }

  void Write(WriteRequest request) override {
    PendingWrite* write = Begin(std::move(request)).release();
    write->next = incoming_.load(std::memory_order_relaxed);
    while (!incoming_.compare_exchange_weak(write->next, write)) {
    }
    // The thread looks at the list once more after it said that it sleeps.
    if (asleep_.load() && asleep_.exchange(false)) Wake();
  }

  std::string method() const override {
    return shared_flush() ? "io_uring, O_DIRECT, one flush per disk"
                          : "io_uring, O_DIRECT, RWF_DSYNC per write";
  }

 private:
  // The ring belongs to the thread that makes it: newer kernels then spare themselves interrupts.
  int MakeRing(unsigned entries) {
    for (const unsigned flags : {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 0U}) {
      const int error = io_uring_queue_init(entries, &ring_, flags);
      if (error == 0) return 0;
      if (flags == 0) return -error;
    }
    return EINVAL;
  }

  void Wake() {
    const uint64_t one = 1;
    while (::write(event_fd_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
  }

  io_uring_sqe* NextSqe() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    while (sqe == nullptr) {
      io_uring_submit(&ring_);
      sqe = io_uring_get_sqe(&ring_);
    }
    return sqe;
  }

  void ListenForWrites() {
    io_uring_sqe* sqe = NextSqe();
    io_uring_prep_read(sqe, event_fd_, &wake_count_, sizeof(wake_count_), 0);
    io_uring_sqe_set_data(sqe, &wake_count_);
  }

  void TakeIncoming() {
    PendingWrite* newest_first = incoming_.exchange(nullptr);
    PendingWrite* in_order = nullptr;
    while (newest_first != nullptr) {
      PendingWrite* next = newest_first->next;
      newest_first->next = in_order;
      in_order = newest_first;
      newest_first = next;
    }
    const bool is_alone = in_order != nullptr && in_order->next == nullptr && in_flight_ == 0;
    while (in_order != nullptr) {
      PendingWrite* write = std::exchange(in_order, in_order->next);
      if (absl::Status refusal = Refusal(write->request); !refusal.ok()) {
        End(write, std::move(refusal));
        continue;
      }
      ++in_flight_;
      write->step_begun_nanos = NowNanos();
      write->carries_flush =
          NeedsDsync(write->request) || (is_alone && StepAfter(*write) == NextStep::kDeviceFlush);
      SubmitWrite(write);
    }
  }

  void SubmitWrite(PendingWrite* write) {
    io_uring_sqe* sqe = NextSqe();
    const WriteRequest& request = write->request;
    io_uring_prep_write(sqe, FileOf(request).fd(), request.buffer.data() + write->done_bytes,
                        static_cast<unsigned>(request.buffer.size() - write->done_bytes),
                        request.offset + write->done_bytes);
    if (write->carries_flush) sqe->rw_flags = RWF_DSYNC;
    io_uring_sqe_set_data(sqe, write);
  }

  void SubmitOwnSync(PendingWrite* write) {
    write->stage = PendingWrite::Stage::kSyncing;
    write->step_begun_nanos = NowNanos();
    io_uring_sqe* sqe = NextSqe();
    io_uring_prep_fsync(sqe, FileOf(write->request).fd(), IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data(sqe, write);
  }

  void MaybeSubmitFlush() {
    wait_until_nanos_ = 0;
    if (!flushing_.empty() || written_.empty()) return;
    if (const int64_t begin = pacing_.BeginAt(written_.size()); begin > 0 && begin > NowNanos()) {
      wait_until_nanos_ = begin;
      return;
    }
    flushing_.swap(written_);
    flush_begun_nanos_ = NowNanos();
    io_uring_sqe* sqe = NextSqe();
    io_uring_prep_fsync(sqe, FileOf(flushing_.front()->request).fd(), IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data(sqe, &flushing_);
  }

  void OnFlushed(int result) {
    CountSync(flush_begun_nanos_, flushing_.size(), result >= 0);
    const int64_t now = NowNanos();
    pacing_.OnFlushed(now, now - flush_begun_nanos_, flushing_.size(), written_.size());
    for (PendingWrite* write : flushing_)
      Complete(write, result < 0 ? SyncFailed(FileOf(write->request), -result) : absl::OkStatus());
    flushing_.clear();
  }

  void OnCompletion(PendingWrite* write, int result) {
    PosixLogFile& file = FileOf(write->request);
    if (write->stage == PendingWrite::Stage::kSyncing) {
      if (result == -EINTR || result == -EAGAIN) return SubmitOwnSync(write);
      CountSync(write->step_begun_nanos, 1, result >= 0);
      return Complete(write, result < 0 ? SyncFailed(file, -result) : absl::OkStatus());
    }
    if (result == -EINTR || result == -EAGAIN) return SubmitWrite(write);
    if (result < 0) return Complete(write, WriteFailed(*write, -result));
    if (result == 0 || static_cast<size_t>(result) % file.alignment() != 0)
      return Complete(write, WriteFailed(*write, EIO));
    write->done_bytes += static_cast<size_t>(result);
    if (write->done_bytes < write->request.buffer.size()) return SubmitWrite(write);
    switch (StepAfter(*write)) {
      case NextStep::kNone:
        if (write->carries_flush) CountSync(write->step_begun_nanos, 1, true);
        return Complete(write, absl::OkStatus());
      case NextStep::kOwnSync:
        return SubmitOwnSync(write);
      case NextStep::kDeviceFlush:
        written_.push_back(write);
        return;
    }
  }

  void Complete(PendingWrite* write, absl::Status status) {
    --in_flight_;
    End(write, std::move(status));
  }
  void End(PendingWrite* write, absl::Status status) {
    Finish(std::unique_ptr<PendingWrite>(write), std::move(status));
  }

  void Run() {
    ListenForWrites();
    while (true) {
      TakeIncoming();
      MaybeSubmitFlush();
      if (stopping_.load() && in_flight_ == 0 && incoming_.load() == nullptr) break;
      Wait();
      io_uring_cqe* cqe;
      unsigned head;
      unsigned seen = 0;
      completions_.clear();
      io_uring_for_each_cqe(&ring_, head, cqe) {
        completions_.emplace_back(io_uring_cqe_get_data(cqe), cqe->res);
        ++seen;
      }
      io_uring_cq_advance(&ring_, seen);
      for (const auto& [data, result] : completions_) {
        if (data == &wake_count_) {
          ListenForWrites();
        } else if (data == &flushing_) {
          OnFlushed(result);
        } else {
          OnCompletion(static_cast<PendingWrite*>(data), result);
        }
      }
    }
    io_uring_queue_exit(&ring_);
  }

  // Submits, and waits for a completion, or until a flush is to begin, unless there is something to
  // do already.
  void Wait() {
    asleep_.store(true);
    const bool may_sleep = incoming_.load() == nullptr;
    if (!may_sleep) asleep_.store(false);
    const int submitted = may_sleep && wait_until_nanos_ > 0
                              ? SubmitAndWaitUntil(wait_until_nanos_)
                              : io_uring_submit_and_wait(&ring_, may_sleep ? 1 : 0);
    asleep_.store(false);
    CHECK(submitted >= 0 || submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY ||
          submitted == -ETIME)
        << "io_uring: " << submitted;
  }

  int SubmitAndWaitUntil(int64_t nanos) {
    const int64_t left = std::max<int64_t>(1, nanos - NowNanos());
    __kernel_timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    io_uring_cqe* cqe;
    return io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &timeout, nullptr);
  }

  io_uring ring_;
  const int event_fd_;
  std::atomic<PendingWrite*> incoming_{nullptr};  // newest first
  std::atomic<bool> asleep_{false};               // whoever adds to the list must wake the thread
  std::atomic<bool> stopping_{false};
  std::thread thread_;

  // On thread_ only.
  uint64_t wake_count_ = 0;
  size_t in_flight_ = 0;
  std::vector<PendingWrite*> written_;   // completed, no flush submitted since
  std::vector<PendingWrite*> flushing_;  // covered by the flush in flight
  int64_t flush_begun_nanos_ = 0;
  FlushPacing pacing_;
  int64_t wait_until_nanos_ = 0;  // a flush waits for more writes until then; 0: none does
  std::vector<std::pair<void*, int>> completions_;
};

}  // namespace

std::unique_ptr<LogDevice> NewUringLogDevice(const std::string& path_on_device,
                                             const LogDeviceOptions& options) {
  const int event_fd = ::eventfd(0, EFD_CLOEXEC);
  if (event_fd < 0) return nullptr;
  auto device = std::make_unique<UringLogDevice>(path_on_device, options, event_fd);
  if (!device->Start(options.ring_entries)) return nullptr;
  return device;
}

}  // namespace arion
