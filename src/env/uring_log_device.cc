// The log device on io_uring: one ring and one thread a device. Writes come in through a lock-free
// list; everything that is there when the thread wakes is submitted together. At most one shared
// fdatasync is in flight: it covers every write that completed before it was submitted; what
// completes meanwhile waits for the next.
//
// Threads   Write is thread-safe; all else of this class happens on its thread.
// SPDX-License-Identifier: Apache-2.0
#include <liburing.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "env/posix_log_file.h"

namespace arion {
namespace {

class UringLogDevice : public PosixLogDevice {
 public:
  UringLogDevice(const std::string& path, io_uring ring, int event_fd)
      : PosixLogDevice(path), ring_(ring), event_fd_(event_fd) {
    thread_ = std::thread([this] { Run(); });
    pthread_setname_np(thread_.native_handle(), "log_device");
  }

  ~UringLogDevice() override {
    stopping_.store(true, std::memory_order_release);
    Wake();
    thread_.join();
    io_uring_queue_exit(&ring_);
    ::close(event_fd_);
  }

  void Write(WriteRequest request) override {
    auto* write = new Pending{.request = std::move(request), .begun_nanos = NowNanos()};
    stats_.queued.Add(1);
    write->next = incoming_.load(std::memory_order_relaxed);
    while (!incoming_.compare_exchange_weak(write->next, write, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    }
    if (write->next == nullptr)
      Wake();  // whoever finds the list empty wakes the thread; the rest ride along
  }

  std::string method() const override {
    return shared_flush() ? "io_uring, O_DIRECT, one flush per disk"
                          : "io_uring, O_DIRECT, RWF_DSYNC per write";
  }

 private:
  struct Pending {
    WriteRequest request;
    int64_t begun_nanos = 0;
    int64_t step_begun_nanos = 0;  // the write's first part, later its own sync
    Pending* next = nullptr;
    enum class Stage { kWriting, kSyncing } stage = Stage::kWriting;
    size_t done_bytes = 0;
  };

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
    Pending* newest_first = incoming_.exchange(nullptr, std::memory_order_acquire);
    Pending* in_order = nullptr;
    while (newest_first != nullptr) {
      Pending* next = newest_first->next;
      newest_first->next = in_order;
      in_order = newest_first;
      newest_first = next;
    }
    while (in_order != nullptr) {
      Pending* write = std::exchange(in_order, in_order->next);
      if (absl::Status refusal = Refusal(write->request); !refusal.ok()) {
        End(write, std::move(refusal));
      } else {
        ++in_flight_;
        write->step_begun_nanos = NowNanos();
        SubmitWrite(write);
      }
    }
  }

  void SubmitWrite(Pending* write) {
    io_uring_sqe* sqe = NextSqe();
    const WriteRequest& request = write->request;
    io_uring_prep_write(sqe, FileOf(request).fd(), request.buffer.data() + write->done_bytes,
                        static_cast<unsigned>(request.buffer.size() - write->done_bytes),
                        request.offset + write->done_bytes);
    if (WantsDsync(request)) sqe->rw_flags = RWF_DSYNC;
    io_uring_sqe_set_data(sqe, write);
  }

  void SubmitOwnSync(Pending* write) {
    write->stage = Pending::Stage::kSyncing;
    write->step_begun_nanos = NowNanos();
    io_uring_sqe* sqe = NextSqe();
    io_uring_prep_fsync(sqe, FileOf(write->request).fd(), IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data(sqe, write);
  }

  void MaybeSubmitFlush() {
    if (!flushing_.empty() || written_.empty()) return;
    flushing_.swap(written_);
    flush_begun_nanos_ = NowNanos();
    io_uring_sqe* sqe = NextSqe();
    io_uring_prep_fsync(sqe, FileOf(flushing_.front()->request).fd(), IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data(sqe, &flushing_);
  }

  void OnFlushed(int result) {
    CountSync(flush_begun_nanos_, flushing_.size(), result >= 0);
    for (Pending* write : flushing_)
      Complete(write, result < 0 ? SyncFailed(FileOf(write->request), -result) : absl::OkStatus());
    flushing_.clear();
  }

  void OnCompletion(Pending* write, int result) {
    PosixLogFile& file = FileOf(write->request);
    if (write->stage == Pending::Stage::kSyncing) {
      if (result == -EINTR || result == -EAGAIN) return SubmitOwnSync(write);
      CountSync(write->step_begun_nanos, 1, result >= 0);
      return Complete(write, result < 0 ? SyncFailed(file, -result) : absl::OkStatus());
    }
    if (result == -EINTR || result == -EAGAIN) return SubmitWrite(write);
    if (result < 0) return Complete(write, WriteFailed(file, -result));
    if (result == 0 || static_cast<size_t>(result) % file.alignment() != 0)
      return Complete(write, WriteFailed(file, EIO));
    write->done_bytes += static_cast<size_t>(result);
    if (write->done_bytes < write->request.buffer.size()) return SubmitWrite(write);
    switch (StepAfter(write->request)) {
      case NextStep::kNone:
        if (WantsDsync(write->request)) CountSync(write->step_begun_nanos, 1, true);
        return Complete(write, absl::OkStatus());
      case NextStep::kOwnSync:
        return SubmitOwnSync(write);
      case NextStep::kDeviceFlush:
        written_.push_back(write);
        return;
    }
  }

  void Complete(Pending* write, absl::Status status) {
    --in_flight_;
    End(write, std::move(status));
  }
  void End(Pending* write, absl::Status status) {
    Finish(std::move(write->request), std::move(status), write->begun_nanos);
    delete write;
  }

  void Run() {
    ListenForWrites();
    while (true) {
      TakeIncoming();
      MaybeSubmitFlush();
      if (stopping_.load(std::memory_order_acquire) && in_flight_ == 0 &&
          incoming_.load(std::memory_order_acquire) == nullptr)
        return;
      const int submitted = io_uring_submit_and_wait(&ring_, 1);
      CHECK(submitted >= 0 || submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY)
          << "io_uring: " << submitted;
      unsigned head;
      unsigned seen = 0;
      io_uring_cqe* cqe;
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
          OnCompletion(static_cast<Pending*>(data), result);
        }
      }
    }
  }

  io_uring ring_;
  const int event_fd_;
  std::atomic<Pending*> incoming_{nullptr};  // newest first
  std::atomic<bool> stopping_{false};
  std::thread thread_;

  // On thread_ only.
  uint64_t wake_count_ = 0;
  size_t in_flight_ = 0;
  std::vector<Pending*> written_;   // completed, no flush submitted since
  std::vector<Pending*> flushing_;  // covered by the flush in flight
  int64_t flush_begun_nanos_ = 0;
  std::vector<std::pair<void*, int>> completions_;
};

}  // namespace

std::unique_ptr<LogDevice> NewUringLogDevice(const std::string& path_on_device,
                                             unsigned ring_entries) {
  io_uring ring;
  if (const int error = io_uring_queue_init(ring_entries, &ring, 0); error < 0) {
    LOG(WARNING) << "io_uring is refused: " << -error;
    return nullptr;
  }
  const int event_fd = ::eventfd(0, EFD_CLOEXEC);
  if (event_fd < 0) {
    io_uring_queue_exit(&ring);
    return nullptr;
  }
  return std::make_unique<UringLogDevice>(path_on_device, ring, event_fd);
}

}  // namespace arion
