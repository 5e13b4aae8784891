// The log device for where io_uring is refused: a few threads, each writes and syncs one request at
// a time.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "env/blocking_call.h"
#include "posix/posix_disk_pool.h"
#include "posix/posix_log_file.h"

namespace arion {
namespace {

class ThreadedLogDevice : public PosixLogDevice {
 public:
  ThreadedLogDevice(const std::string& path, const LogDeviceOptions& options, std::string_view why)
      : PosixLogDevice(path, options),
        method_(absl::StrCat("pwrite + fdatasync, bounded threads", why.empty() ? "" : "; ",
                             Text(why))),
        pool_(options.threads) {}

  void Write(WriteRequest request) override {
    pool_.Submit([this, write = Begin(std::move(request))]() mutable {
      absl::Status status = WriteNow(*write);
      Finish(std::move(write), std::move(status));
    });
  }
  std::string method() const override { return method_; }
  std::vector<StuckWork> Stuck(absl::Duration limit, const std::string& name) const override {
    return pool_.Stuck(limit, name);
  }

 private:
  // A write that carries its own flush counts as that flush, too.
  absl::Status WriteNow(PendingWrite& write) {
    const WriteRequest& request = write.request;
    RETURN_IF_ERROR(Refusal(request));
    PosixLogFile& file = FileOf(request);
    const BlockingCall call("write", file.path());
    // Without a ring there is no flush to share: a direct overwrite carries its own, which is one
    // system call.
    write.carries_flush = request.durability == Durability::kFsync &&
                          request.coverage == Coverage::kPrewritten && file.is_direct();
    const int64_t write_begun = NowNanos();
    size_t done = 0;
    while (done < request.buffer.size()) {
      const iovec part{const_cast<char*>(request.buffer.data()) + done,
                       request.buffer.size() - done};
      const ssize_t put = ::pwritev2(file.fd(), &part, 1, static_cast<off_t>(request.offset + done),
                                     write.carries_flush ? RWF_DSYNC : 0);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return WriteFailed(write, errno);
      // A part that ends within a page can't be continued with direct I/O.
      if (put == 0 || static_cast<size_t>(put) % file.alignment() != 0)
        return WriteFailed(write, EIO);
      done += static_cast<size_t>(put);
    }
    if (write.carries_flush) CountSync(write_begun, 1, true);
    if (write.carries_flush || request.durability == Durability::kOs) return absl::OkStatus();
    const int64_t sync_begun = NowNanos();
    const int error = ::fdatasync(file.fd()) == 0 ? 0 : errno;
    CountSync(sync_begun, 1, error == 0);
    return error == 0 ? absl::OkStatus() : SyncFailed(file, error);
  }

  const std::string method_;
  PosixDiskPool pool_;
};

}  // namespace

std::unique_ptr<LogDevice> NewThreadedLogDevice(const std::string& path_on_device,
                                                const LogDeviceOptions& options,
                                                std::string_view why) {
  return std::make_unique<ThreadedLogDevice>(path_on_device, options, why);
}

}  // namespace arion
