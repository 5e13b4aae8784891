// What servers of 2.5.0 asked each other, as captured (decision 31), to be asked of ours.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "messages/meta_messages.h"
#include "rpc/frame.h"
#include "rpc/thrift_codec.h"
#include "tests/rpc/fixtures.h"

namespace arion {

enum class AskedOf { kMetaServer, kReplicaServer };
inline std::vector<Frame> CapturedRequests(AskedOf whom) {
  std::vector<Frame> requests;
  for (const auto& [file, expected] : GoodFrames()) {
    if (!file.starts_with("captured-2.5.0/") || file.ends_with("_ack.hex")) continue;
    FrameParser parser(FrameParser::Expect::kAny);
    parser.Feed(ReadFrame(file));
    Frame frame;
    EXPECT_EQ(parser.Next(&frame), FrameParser::Result::kFrame) << file;
    const std::string& name = frame.header.name;
    const bool is_for_meta = name.starts_with("RPC_CM_") || name == kRpcBeacon;
    if (is_for_meta == (whom == AskedOf::kMetaServer)) requests.push_back(std::move(frame));
  }
  return requests;
}

// Whether the bytes are a T as it is encoded.
template <class T>
bool IsEncoded(const std::string& body) {
  const absl::StatusOr<T> value = DecodeWrapped<T>(body);
  return value.ok() && EncodeWrapped(*value) == body;
}

}  // namespace arion
