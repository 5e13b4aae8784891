// A write to a log device, and when its answer comes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <memory>
#include <string_view>
#include <utility>

#include "env/log_device.h"

namespace arion {

// Of `bytes`; the answer comes on `strand`, with a buffer of their size.
inline std::future<absl::Status> WriteBytes(LogDevice& device, const StrandPtr& strand,
                                            std::shared_ptr<LogFile> file, uint64_t offset,
                                            std::string_view bytes, Coverage coverage,
                                            Durability durability) {
  auto answer = std::make_shared<std::promise<absl::Status>>();
  LogDevice::WriteRequest request;
  request.file = std::move(file);
  request.offset = offset;
  request.buffer.Resize(bytes.size());
  std::memcpy(request.buffer.data(), bytes.data(), bytes.size());
  request.coverage = coverage;
  request.durability = durability;
  request.reply_on = strand;
  request.done = [strand, answer, size = bytes.size()](absl::Status status, AlignedBuffer buffer) {
    EXPECT_TRUE(strand->IsCurrent());
    EXPECT_EQ(buffer.size(), size);
    answer->set_value(std::move(status));
  };
  device.Write(std::move(request));
  return answer->get_future();
}

}  // namespace arion
