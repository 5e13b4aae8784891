// The log device for where io_uring is refused: a few threads, each writes and syncs one request at
// a time. SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "base/status.h"
#include "env/posix_disk_pool.h"
#include "env/posix_log_file.h"

namespace arion {
namespace {

class ThreadedLogDevice : public PosixLogDevice {
 public:
  ThreadedLogDevice(const std::string& path, int threads) : PosixLogDevice(path), pool_(threads) {}

  void Write(WriteRequest request) override {
    stats_.queued.Add(1);
    pool_.Submit([this, request = std::move(request), begun = NowNanos()]() mutable {
      absl::Status status = WriteNow(request);
      Finish(std::move(request), std::move(status), begun);
    });
  }
  std::string method() const override { return "pwrite + fdatasync, bounded threads"; }

 private:
  // A write that carries its own flush counts as that flush, too.
  absl::Status WriteNow(const WriteRequest& request) {
    RETURN_IF_ERROR(Refusal(request));
    PosixLogFile& file = FileOf(request);
    // Without a ring there is no flush to share: a direct overwrite carries its own, which is one
    // system call.
    const bool dsync = request.durability == Durability::kFsync &&
                       request.coverage == Coverage::kPrewritten && file.is_direct();
    const int64_t write_begun = NowNanos();
    size_t done = 0;
    while (done < request.buffer.size()) {
      const iovec part{const_cast<char*>(request.buffer.data()) + done,
                       request.buffer.size() - done};
      const ssize_t put = ::pwritev2(file.fd(), &part, 1, static_cast<off_t>(request.offset + done),
                                     dsync ? RWF_DSYNC : 0);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return WriteFailed(file, errno);
      if (put == 0 || static_cast<size_t>(put) % file.alignment() != 0)
        return WriteFailed(file, EIO);
      done += static_cast<size_t>(put);
    }
    if (dsync) CountSync(write_begun, 1, true);
    if (dsync || request.durability == Durability::kOs) return absl::OkStatus();
    const int64_t sync_begun = NowNanos();
    const int error = ::fdatasync(file.fd()) == 0 ? 0 : errno;
    CountSync(sync_begun, 1, error == 0);
    return error == 0 ? absl::OkStatus() : SyncFailed(file, error);
  }

  PosixDiskPool pool_;
};

}  // namespace

std::unique_ptr<LogDevice> NewThreadedLogDevice(const std::string& path_on_device, int threads) {
  return std::make_unique<ThreadedLogDevice>(path_on_device, threads);
}

}  // namespace arion
