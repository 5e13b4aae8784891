// The log device on io_uring: one ring a device, which an event loop serves. Writes come in through
// a lock-free list; everything that is there when the loop gets to it is submitted together, and an
// eventfd tells the loop that something ended. At most one shared fdatasync is in flight: it covers
// every write that completed before it was submitted; what completes meanwhile waits for the next,
// which waits a little for more where flushes are slow (flush_pacing.h). A write that finds the
// disk idle carries its own flush. The loop waits for no disk: the kernel gives what would have to
// wait to threads of its own.
//
// Threads   Write is thread-safe; all else of this class happens on its loop.
// SPDX-License-Identifier: Apache-2.0
#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "env/flush_pacing.h"
#include "posix/event_loops.h"
#include "posix/posix_log_file.h"

namespace arion {
namespace {

absl::Status Refused(std::string_view what, int error) {
  return absl::UnavailableError(
      absl::StrCat("io_uring is refused: ", Text(what), ": ",
                   std::error_code(error, std::generic_category()).message(),
                   error == ENOMEM      ? " (see LimitMEMLOCK)"
                   : error == ECANCELED ? " (see LimitNPROC and TasksMax)"
                                        : ""));
}

// Debian's liburing forgot to export its function for that. 0 or an errno.
int EnableRing(const io_uring& ring) {
  const long result =
      ::syscall(__NR_io_uring_register, ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
  return result == 0 ? 0 : errno;
}

// What the device will ask of the kernel.
struct Operation {
  const char* name;
  int number;
  int result;  // of the trial
};
constexpr size_t kTriedBytes = 16;
constexpr std::array kOperations = {Operation{"write", IORING_OP_WRITE, kTriedBytes},
                                    Operation{"fsync", IORING_OP_FSYNC, 0},
                                    Operation{"timeout", IORING_OP_TIMEOUT, -ETIME}};

// 0 or an errno. On a file in memory: no disk is waited for, and a full one is no lack. What the
// kernel says of its operations (IORING_REGISTER_PROBE) isn't asked: it knows of no filter.
int TryOperation(io_uring* ring, const Operation& operation, int file) {
  static constexpr std::array<char, kTriedBytes> kBytes = {};
  __kernel_timespec over = {.tv_sec = 0, .tv_nsec = 1};
  io_uring_sqe* sqe = io_uring_get_sqe(ring);
  if (operation.number == IORING_OP_WRITE) {
    io_uring_prep_write(sqe, file, kBytes.data(), kBytes.size(), 0);
    sqe->rw_flags = RWF_DSYNC;
  } else if (operation.number == IORING_OP_FSYNC) {
    io_uring_prep_fsync(sqe, file, IORING_FSYNC_DATASYNC);
  } else {
    io_uring_prep_timeout(sqe, &over, 0, IORING_TIMEOUT_ABS);
  }
  if (const int entered = io_uring_submit(ring); entered != 1) return entered < 0 ? -entered : EIO;
  io_uring_cqe* cqe;
  int error;
  do error = -io_uring_wait_cqe(ring, &cqe);
  while (error == EINTR);
  if (error != 0) return error;
  const int result = cqe->res;
  io_uring_cqe_seen(ring, cqe);
  if (result == operation.result) return 0;
  return result < 0 ? -result : EIO;
}

absl::Status CheckOperations(io_uring* ring) {
  if (const int error = EnableRing(*ring)) return Refused("io_uring_register", error);
  const int file = ::memfd_create("arion_io_uring", MFD_CLOEXEC);
  if (file < 0) return Refused("memfd_create", errno);
  absl::Status status;
  for (const Operation& operation : kOperations)
    if (const int error = TryOperation(ring, operation, file))
      status.Update(Refused(operation.name, error));
  ::close(file);
  return status;
}

// Tries on a ring that is thrown away whatever the device will ask of the kernel. A container's
// filter may let some of the system calls pass and refuse the others, an old kernel lacks
// operations, and a device that has begun can't turn to another method.
absl::Status ProbeUring() {
  io_uring ring;
  // Disabled until it is enabled by the probe itself, as the device's ring will be: that call may
  // be refused, too.
  if (const int error = io_uring_queue_init(4, &ring, IORING_SETUP_R_DISABLED))
    return Refused("io_uring_setup", -error);
  absl::Status status = CheckOperations(&ring);
  io_uring_queue_exit(&ring);
  return status;
}

class UringLogDevice : public PosixLogDevice {
 public:
  UringLogDevice(const std::string& path, const LogDeviceOptions& options, EventLoops* loop)
      : PosixLogDevice(path, options),
        own_loop_(loop == nullptr ? std::make_unique<EventLoops>(1, "log_device") : nullptr),
        loop_(loop == nullptr ? *own_loop_ : *loop),
        strand_(loop_.NewStrand("log_device")),
        ended_(loop_.context(0)) {
    CHECK_EQ(loop_.size(), 1);
  }

  // The kernel ends what is in flight with the ring's thread, if that has gone before.
  ~UringLogDevice() override {
    loop_.RunOnEach([this](int) {
      if (OnItsLoop() && started_) Drain();
      std::error_code ignored;
      ended_.close(ignored);
    });
    loop_.RunOnEach([](int) {});  // what was queued has run: there was nothing left to do
    if (has_ring_) io_uring_queue_exit(&ring_);
    for (PendingWrite* write = incoming_.load(); write != nullptr;)
      delete std::exchange(write, write->next);
  }

  // Before any write. Why the kernel refuses, though it did not refuse the probe.
  absl::Status Start(unsigned ring_entries) {
    if (const int error = MakeRing(ring_entries)) return Refused("io_uring_setup", error);
    const int event_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event_fd < 0) return Refused("eventfd", errno);
    ended_.assign(event_fd);
    if (const int error = io_uring_register_eventfd(&ring_, event_fd))
      return Refused("io_uring_register", -error);
    started_ = true;
    return absl::OkStatus();
  }

  void Write(WriteRequest request) override {
    PendingWrite* write = Begin(std::move(request)).release();
    PendingWrite* before = incoming_.load(std::memory_order_relaxed);
    do {
      write->next = before;
    } while (!incoming_.compare_exchange_weak(before, write));
    // Whoever adds to a list that is not empty knows that a turn is coming.
    if (before == nullptr) strand_->Post([this] { Turn(); });
  }

  std::string method() const override {
    return shared_flush() ? "io_uring, O_DIRECT, one flush per disk"
                          : "io_uring, O_DIRECT, RWF_DSYNC per write";
  }

 private:
  bool OnItsLoop() const { return loop_.current_context() != nullptr; }

  // The ring will belong to the thread that enables it: newer kernels then spare themselves
  // interrupts.
  int MakeRing(unsigned entries) {
    constexpr unsigned kOneThread =
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
    for (const unsigned flags : {kOneThread, 0U}) {
      const int error = io_uring_queue_init(entries, &ring_, flags | IORING_SETUP_R_DISABLED);
      has_ring_ = error == 0;
      if (has_ring_) return 0;
      if (flags == 0) return -error;
    }
    return EINVAL;
  }

  io_uring_sqe* NextSqe() {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    // The ring is full: what is in it goes to the kernel first.
    while (sqe == nullptr) {
      io_uring_submit(&ring_);
      sqe = io_uring_get_sqe(&ring_);
    }
    return sqe;
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
    // A write that comes alone and finds nothing in flight has nobody to share a flush with:
    // carried by the write itself it saves a round trip through the ring.
    const bool is_alone = in_order != nullptr && in_order->next == nullptr && in_flight_.empty();
    while (in_order != nullptr) {
      PendingWrite* write = std::exchange(in_order, in_order->next);
      write->place = in_flight_.size();
      in_flight_.emplace_back(write);
      if (absl::Status refusal = Refusal(write->request); !refusal.ok()) {
        Complete(write, std::move(refusal));
        continue;
      }
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
    // Never two at a time: what completes while one runs is not covered by it, and waits for the
    // next.
    if (!flushing_.empty() || written_.empty()) return;
    const int64_t begin = pacing_.BeginAt(written_.size());
    if (begin == 0 || begin <= NowNanos()) return SubmitFlush();
    // A timer in the ring: it comes as a completion, and Turn then asks again.
    if (std::exchange(flush_waits_, true)) return;
    flush_waits_until_ = {.tv_sec = begin / 1'000'000'000, .tv_nsec = begin % 1'000'000'000};
    io_uring_sqe* sqe = NextSqe();
    io_uring_prep_timeout(sqe, &flush_waits_until_, 0, IORING_TIMEOUT_ABS);
    io_uring_sqe_set_data(sqe, &flush_waits_);
  }

  void SubmitFlush() {
    // What is in `written_` has completed, so this flush covers it (log_device/V1).
    flushing_.swap(written_);
    flush_begun_nanos_ = NowNanos();
    SubmitSharedSync();
  }

  void SubmitSharedSync() {
    io_uring_sqe* sqe = NextSqe();
    io_uring_prep_fsync(sqe, flush_fd(), IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_data(sqe, &flushing_);
  }

  // Nothing was done. Canceled is what found no thread of the kernel's, which makes them within the
  // limits of this process.
  static bool MayPass(int result) {
    if (result != -ECANCELED) return result == -EINTR || result == -EAGAIN;
    LOG_EVERY_T(WARNING, 10) << "log: the kernel can make no thread for a write or a flush, which "
                                "is tried again; raise LimitNPROC= or TasksMax= of the service, "
                                "or ulimit -u";
    return true;
  }

  void OnFlushed(int result) {
    if (MayPass(result)) return SubmitSharedSync();
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
      if (MayPass(result)) return SubmitOwnSync(write);
      CountSync(write->step_begun_nanos, 1, result >= 0);
      return Complete(write, result < 0 ? SyncFailed(file, -result) : absl::OkStatus());
    }
    if (MayPass(result)) return SubmitWrite(write);
    if (result < 0) return Complete(write, WriteFailed(*write, -result));
    // A part that ends within a page can't be continued with direct I/O. Others are written on.
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
    std::unique_ptr<PendingWrite>& last = in_flight_.back();
    last->place = write->place;
    // The last one takes its place, so that removing costs the same for any number in flight.
    std::swap(last, in_flight_[write->place]);
    std::unique_ptr<PendingWrite> completed = std::move(last);
    in_flight_.pop_back();
    Finish(std::move(completed), std::move(status));
  }

  // Starts what can be started, and ends what has ended.
  void Turn() {
    if (!enabled_) Enable();
    // Completions make room for what came in meanwhile, and may call for a flush.
    do {
      TakeIncoming();
      MaybeSubmitFlush();
      if (KernelIsOwedACall()) CheckEntered(io_uring_submit_and_get_events(&ring_));
    } while (TakeEnded());
    if (KernelIsOwedACall()) strand_->Post([this] { Turn(); });  // it was short of memory
  }

  // It has more completions than it hands out at a time, and says nothing of the rest by itself.
  bool KernelIsOwedACall() const {
    constexpr unsigned kMore = IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW;
    return io_uring_sq_ready(&ring_) > 0 ||
           (std::atomic_ref(*ring_.sq.kflags).load(std::memory_order_acquire) & kMore) != 0;
  }

  void Enable() {
    enabled_ = true;
    const int error = EnableRing(ring_);
    CHECK_EQ(error, 0) << "io_uring_register, which the probe was allowed";
    ListenForEnded();
  }

  void ListenForEnded() {
    ended_.async_read_some(asio::buffer(&ended_count_, sizeof(ended_count_)),
                           [this](const std::error_code& error, size_t) {
                             if (error || !OnItsLoop()) return;
                             ListenForEnded();
                             Turn();
                           });
  }

  static void CheckEntered(int result) {
    CHECK(result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY)
        << "io_uring: " << result;
  }

  // Whether there was anything.
  bool TakeEnded() {
    io_uring_cqe* cqe;
    unsigned head;
    completions_.clear();
    // Copied out first: handling one may submit others, and the ring must have room for their ends.
    io_uring_for_each_cqe(&ring_, head, cqe)
        completions_.emplace_back(io_uring_cqe_get_data(cqe), cqe->res);
    io_uring_cq_advance(&ring_, static_cast<unsigned>(completions_.size()));
    for (const auto& [data, result] : completions_) {
      if (data == &flushing_) {
        OnFlushed(result);
      } else if (data == &flush_waits_) {
        flush_waits_ = false;
      } else {
        OnCompletion(static_cast<PendingWrite*>(data), result);
      }
    }
    return !completions_.empty();
  }

  // The end: waits for all.
  void Drain() {
    if (!enabled_) Enable();
    TakeIncoming();
    // Without pacing: nobody will submit more.
    while (!in_flight_.empty()) {
      if (flushing_.empty() && !written_.empty()) SubmitFlush();
      CheckEntered(io_uring_submit_and_wait(&ring_, 1));
      TakeEnded();
    }
  }

  const std::unique_ptr<EventLoops> own_loop_;  // null: it is another's
  EventLoops& loop_;                            // of one thread
  const StrandPtr strand_;
  // Newest first; whoever finds it empty posts a turn.
  std::atomic<PendingWrite*> incoming_{nullptr};
  io_uring ring_;
  bool has_ring_ = false;
  bool started_ = false;  // set before the first write

  // On the loop only.
  asio::posix::stream_descriptor ended_;  // an eventfd: something in the ring did
  uint64_t ended_count_ = 0;
  bool enabled_ = false;
  std::vector<std::unique_ptr<PendingWrite>> in_flight_;  // each knows its place
  std::vector<PendingWrite*> written_;                    // completed, no flush submitted since
  std::vector<PendingWrite*> flushing_;                   // covered by the flush in flight
  int64_t flush_begun_nanos_ = 0;
  FlushPacing pacing_;
  bool flush_waits_ = false;  // the ring says when a flush has waited enough for more writes
  __kernel_timespec flush_waits_until_;
  std::vector<std::pair<void*, int>> completions_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LogDevice>> NewUringLogDevice(const std::string& path_on_device,
                                                             const LogDeviceOptions& options,
                                                             EventLoops* loop) {
  RETURN_IF_ERROR(ProbeUring());
  auto device = std::make_unique<UringLogDevice>(path_on_device, options, loop);
  RETURN_IF_ERROR(device->Start(options.ring_entries));
  return device;
}

}  // namespace arion
