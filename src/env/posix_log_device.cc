// SPDX-License-Identifier: Apache-2.0
#include "env/posix_log_device.h"

#include "env/posix_log_file.h"

namespace arion {

std::unique_ptr<LogDevice> NewPosixLogDevice(const std::string& path_on_device,
                                             LogDeviceOptions options, EventLoops* loop) {
  if (options.method == LogDeviceOptions::Method::kBest)
    if (auto device = NewUringLogDevice(path_on_device, options, loop)) return device;
  return NewThreadedLogDevice(path_on_device, options);
}

}  // namespace arion
