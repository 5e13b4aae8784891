// SPDX-License-Identifier: Apache-2.0
#include "bench/wal/raw_log.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/crc.h"
#include "base/log.h"
#include "wal/log_format.h"

namespace arion {
namespace {

constexpr size_t kPage = AlignedBuffer::kAlignment;
size_t RoundUpToPage(size_t n) { return (n + kPage - 1) / kPage * kPage; }

bool IsDirect(RawMethod method) {
  return method == RawMethod::kDirectDsync || method == RawMethod::kRingDsync ||
         method == RawMethod::kRingSharedFlush;
}

}  // namespace

const char* RawMethodName(RawMethod method) {
  switch (method) {
    case RawMethod::kPageCache:
      return "page cache, not synced, thread per log";
    case RawMethod::kAppend:
      return "append + fdatasync, thread per log";
    case RawMethod::kDirectDsync:
      return "pre-written, O_DIRECT + O_DSYNC, thread per log";
    case RawMethod::kRingDsync:
      return "pre-written, O_DIRECT + RWF_DSYNC, io_uring";
    case RawMethod::kRingSharedFlush:
      return "pre-written, O_DIRECT, one flush per disk, io_uring";
  }
  return "";
}

// ---- one file ----

RawLog::RawLog(const std::string& path, uint64_t file_bytes, RawMethod method)
    : file_bytes_(file_bytes), method_(method), packed_(IsDirect(method)) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (packed_ ? O_DIRECT : 0), 0644);
  PCHECK(fd_ >= 0) << path;
  if (method == RawMethod::kAppend) return;
  AlignedBuffer zeros;
  zeros.Resize(1 << 20);
  for (uint64_t at = 0; at < file_bytes_; at += zeros.size())
    PCHECK(::pwrite(fd_, zeros.data(), zeros.size(), static_cast<off_t>(at)) ==
           static_cast<ssize_t>(zeros.size()));
  PCHECK(::fdatasync(fd_) == 0);
}

RawLog::~RawLog() { ::close(fd_); }

void RawLog::Compose(const Mutation& record, size_t record_bytes, size_t count) {
  const size_t block_bytes = kBlockHeaderBytes + count * record_bytes;
  if (method_ != RawMethod::kAppend && position_ + block_bytes + kPage > file_bytes_) {
    position_ = 0;
    crc_ = 0;
  }
  const size_t prefix = packed_ ? position_ % kPage : 0;
  const size_t end = prefix + block_bytes;
  write_bytes_ = packed_ ? RoundUpToPage(end) : end;
  write_offset_ = position_ - prefix;
  if (buffer_.size() < write_bytes_) buffer_.Resize(write_bytes_);
  char* const block = buffer_.data() + prefix;
  std::memcpy(buffer_.data(), last_page_, prefix);
  for (size_t i = 0; i < count; ++i) {
    const size_t at = kBlockHeaderBytes + i * record_bytes;
    StoreMutation(record, static_cast<int64_t>(position_ + at), block + at);
  }
  crc_ = Crc32c({block + kBlockHeaderBytes, block_bytes - kBlockHeaderBytes}, crc_);
  StoreBlockHeader({.length = static_cast<int32_t>(block_bytes - kBlockHeaderBytes),
                    .body_crc = crc_,
                    .position = static_cast<uint32_t>(position_)},
                   block);
  if (packed_) {
    std::memset(buffer_.data() + end, 0, write_bytes_ - end);
    const size_t last = end / kPage * kPage;
    std::memcpy(last_page_, buffer_.data() + last, end - last);
  }
  position_ += block_bytes;
}

void RawLog::WriteNow() {
  const iovec part{const_cast<char*>(data()), size()};
  const int flags = method_ == RawMethod::kDirectDsync ? RWF_DSYNC : 0;
  PCHECK(::pwritev2(fd_, &part, 1, static_cast<off_t>(offset()), flags) ==
         static_cast<ssize_t>(size()));
  if (method_ == RawMethod::kAppend) PCHECK(::fdatasync(fd_) == 0);
}

// ---- a thread per log ----

RawThreads::RawThreads(const std::string& directory, int logs, size_t record_bytes,
                       RawMethod method)
    : record_(BenchRecord(record_bytes)) {
  for (int i = 0; i < logs; ++i)
    logs_.push_back(
        std::make_unique<RawLog>(absl::StrCat(directory, "/raw", i), RawFileBytes(logs), method));
}

int64_t RawThreads::RunClosed(int outstanding, int64_t run_nanos, Histogram& latency) {
  const size_t batch =
      static_cast<size_t>(std::max(1, outstanding / static_cast<int>(logs_.size())));
  const size_t record_bytes = EncodedSize(*record_);
  const int64_t end = BenchNanos() + run_nanos;
  std::atomic<int64_t> records{0};
  std::vector<std::thread> threads;
  for (auto& log : logs_)
    threads.emplace_back([&, &log = *log] {
      for (int64_t begun = BenchNanos(); begun < end;) {
        log.Compose(*record_, record_bytes, batch);
        log.WriteNow();
        const int64_t now = BenchNanos();
        for (size_t i = 0; i < batch; ++i) latency.Record(static_cast<uint64_t>(now - begun));
        records.fetch_add(static_cast<int64_t>(batch), std::memory_order_relaxed);
        begun = now;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return records;
}

// ---- one io_uring ----

RawRing::RawRing(const std::string& directory, int logs, size_t record_bytes, RawMethod method)
    : method_(method),
      record_(BenchRecord(record_bytes)),
      record_bytes_(EncodedSize(*record_)),
      ring_(std::make_unique<io_uring>()),
      logs_(static_cast<size_t>(logs)) {
  CHECK_EQ(io_uring_queue_init(256, ring_.get(), 0), 0) << "io_uring is refused";
  for (size_t i = 0; i < logs_.size(); ++i)
    logs_[i].log =
        std::make_unique<RawLog>(absl::StrCat(directory, "/raw", i), RawFileBytes(logs), method);
}

RawRing::~RawRing() { io_uring_queue_exit(ring_.get()); }

void RawRing::Submit(One& one) {
  one.in_write.swap(one.queued);
  one.log->Compose(*record_, record_bytes_, one.in_write.size());
  io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());
  CHECK(sqe != nullptr);
  io_uring_prep_write(sqe, one.log->fd(), one.log->data(), static_cast<unsigned>(one.log->size()),
                      one.log->offset());
  if (method_ == RawMethod::kRingDsync) sqe->rw_flags = RWF_DSYNC;
  io_uring_sqe_set_data(sqe, &one);
  ++in_flight_;
  ++writes_;
  records_ += static_cast<int64_t>(one.in_write.size());
}

void RawRing::SubmitFlush() {
  if (!flushing_.empty() || written_.empty()) return;
  flushing_.swap(written_);
  io_uring_sqe* sqe = io_uring_get_sqe(ring_.get());
  CHECK(sqe != nullptr);
  io_uring_prep_fsync(sqe, flushing_.front()->log->fd(), IORING_FSYNC_DATASYNC);
  io_uring_sqe_set_data(sqe, &flushing_);
}

template <class F>
void RawRing::Reap(F durable) {
  unsigned head;
  io_uring_cqe* cqe;
  completions_.clear();
  io_uring_for_each_cqe(ring_.get(), head, cqe)
      completions_.emplace_back(io_uring_cqe_get_data(cqe), cqe->res);
  io_uring_cq_advance(ring_.get(), static_cast<unsigned>(completions_.size()));
  for (const auto& [data, result] : completions_) {
    if (data == &flushing_) {
      CHECK_EQ(result, 0);
      for (One* one : flushing_) durable(*one);
      flushing_.clear();
      continue;
    }
    One& one = *static_cast<One*>(data);
    CHECK_EQ(result, static_cast<int>(one.log->size()));
    if (method_ == RawMethod::kRingSharedFlush) {
      written_.push_back(&one);
    } else {
      durable(one);
    }
  }
}

void RawRing::Report(One& one, Histogram& latency) {
  --in_flight_;
  const int64_t now = BenchNanos();
  for (const int64_t begun : one.in_write) latency.Record(static_cast<uint64_t>(now - begun));
  one.in_write.clear();
}

int64_t RawRing::RunClosed(int outstanding, int64_t run_nanos, Histogram& latency) {
  const size_t batch =
      static_cast<size_t>(std::max(1, outstanding / static_cast<int>(logs_.size())));
  const int64_t begun = BenchNanos();
  int64_t records = 0;
  for (One& one : logs_) {
    one.queued.assign(batch, begun);
    Submit(one);
  }
  while (in_flight_ > 0) {
    SubmitFlush();
    CHECK_GE(io_uring_submit_and_wait(ring_.get(), 1), 0);
    Reap([&](One& one) {
      records += static_cast<int64_t>(one.in_write.size());
      Report(one, latency);
      const int64_t now = BenchNanos();
      if (now >= begun + run_nanos) return;
      one.queued.assign(batch, now);
      Submit(one);
    });
  }
  return records;
}

void RawRing::RunOpen(const Arrivals& arrivals, Histogram& latency) {
  struct Arrival {
    int64_t at;
    One* one;
  };
  std::vector<Arrival> due;
  for (size_t i = 0; i < logs_.size(); ++i)
    for (const int64_t at : arrivals[i]) due.push_back({at, &logs_[i]});
  std::sort(due.begin(), due.end(), [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  const int64_t begun = BenchNanos();
  size_t next = 0;
  while (next < due.size() || in_flight_ > 0) {
    const int64_t now = BenchNanos();
    for (; next < due.size() && begun + due[next].at <= now; ++next)
      due[next].one->queued.push_back(begun + due[next].at);
    for (One& one : logs_)
      if (one.in_write.empty() && !one.queued.empty()) Submit(one);
    SubmitFlush();
    const int64_t wait = next < due.size() ? begun + due[next].at - BenchNanos() : 1'000'000'000;
    __kernel_timespec timeout{.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
    io_uring_cqe* cqe;
    const int result =
        wait <= 0 ? io_uring_submit(ring_.get())
                  : io_uring_submit_and_wait_timeout(ring_.get(), &cqe, 1, &timeout, nullptr);
    CHECK(result >= 0 || result == -ETIME || result == -EINTR) << result;
    Reap([&](One& one) { Report(one, latency); });
  }
}

}  // namespace arion
