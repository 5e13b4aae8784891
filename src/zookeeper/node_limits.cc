// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/node_limits.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstddef>

#include "base/status.h"

namespace arion {
namespace {

// A server's jute.maxbuffer by default, less a kilobyte for what begins a request.
constexpr size_t kPacketBytesMax = (1 << 20) - 1024;
// What a step takes besides its path and data: 48 bytes for a node that is made, with its access
// list; less for others.
constexpr size_t kStepBytes = 48;

absl::Status Refused(std::string_view path, std::string_view why) {
  // What can't be shown is not.
  std::string shown(path.substr(0, 200));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return absl::InvalidArgumentError(
      absl::StrCat("node \"", shown, path.size() > 200 ? "..." : "", "\": ", Text(why)));
}

}  // namespace

absl::Status CheckNodePath(std::string_view path) {
  if (path.empty() || path.front() != '/') return Refused(path, "a path begins with /");
  if (path.size() == 1) return absl::OkStatus();
  for (const char c : path)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return Refused(path, "it has a control character");
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    if (name.empty()) return Refused(path, "it has an empty name, or a / at its end");
    if (name == "." || name == "..") return Refused(path, "ZooKeeper takes no . and no .. in it");
    begin = end + 1;
  }
  return absl::OkStatus();
}

absl::Status CheckNode(std::string_view path, std::string_view data) {
  RETURN_IF_ERROR(CheckNodePath(path));
  const size_t bytes = path.size() + data.size();
  if (bytes <= ZooKeeperSession::kNodeBytesMax) return absl::OkStatus();
  return Refused(path, absl::StrCat("path and data have ", bytes, " bytes, and at most ",
                                    ZooKeeperSession::kNodeBytesMax, " are sent to ZooKeeper"));
}

absl::Status CheckTransaction(const std::vector<ZooKeeperStep>& steps) {
  size_t bytes = 0;
  for (const ZooKeeperStep& step : steps) {
    RETURN_IF_ERROR(CheckNodePath(step.path));
    bytes += step.path.size() + step.data.size();
  }
  const size_t packet_bytes = bytes + kStepBytes * steps.size();
  if (bytes <= ZooKeeperSession::kTransactionBytesMax && packet_bytes <= kPacketBytesMax)
    return absl::OkStatus();
  return Refused(steps.front().path,
                 absl::StrCat("a transaction of ", steps.size(), " steps that begins there has ",
                              bytes, " bytes, and ", packet_bytes, " where it is sent: at most ",
                              ZooKeeperSession::kTransactionBytesMax, " and ", kPacketBytesMax,
                              " are sent to ZooKeeper"));
}

}  // namespace arion
