// What io_uring refuses is found out once, when the device is made: a device that has begun never
// changes its method.
// SPDX-License-Identifier: Apache-2.0
#include "posix/posix_log_device.h"

#include <string>
#include <utility>

#include "base/log.h"
#include "posix/posix_log_file.h"

namespace arion {

std::unique_ptr<LogDevice> NewPosixLogDevice(const std::string& path_on_device,
                                             LogDeviceOptions options, EventLoops* loop) {
  if (options.method == LogDeviceOptions::Method::kThreads)
    return NewThreadedLogDevice(path_on_device, options);
  absl::StatusOr<std::unique_ptr<LogDevice>> device =
      NewUringLogDevice(path_on_device, options, loop);
  if (device.ok()) return *std::move(device);
  LOG(WARNING) << path_on_device << ": " << device.status().message()
               << "; the logs there are written by threads";
  return NewThreadedLogDevice(path_on_device, options, std::string(device.status().message()));
}

}  // namespace arion
