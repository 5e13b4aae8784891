// SPDX-License-Identifier: Apache-2.0
#include "sim_zookeeper/zookeeper_request.h"

#include <algorithm>
#include <string_view>

#include "base/status.h"

namespace arion::sim {
namespace {

absl::Status BadPath(std::string_view path, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("path \"", Text(path), "\": ", Text(why)));
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

absl::Status CheckPath(std::string_view path) {
  if (path.empty() || path.front() != '/') return BadPath(path, "it does not begin with '/'");
  if (path == "/") return absl::OkStatus();
  for (const char c : path)
    if (IsControl(c)) return BadPath(path, "it has a control character");
  for (size_t at = 1; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view name = path.substr(at, end - at);
    if (name.empty()) return BadPath(path, "a name in it is empty");
    if (name == "." || name == "..") return BadPath(path, "a name in it is relative");
    at = end + 1;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRequest(const ZooKeeperRequest& request) {
  if (!request.Changes()) return CheckPath(request.path);
  size_t bytes = 0;
  for (const ZooKeeperStep& step : request.steps) {
    RETURN_IF_ERROR(CheckPath(step.path));
    if (step.data.size() > ZooKeeperSession::kNodeBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(step.path, ": ", step.data.size(),
                                                     " bytes of data; at most ",
                                                     ZooKeeperSession::kNodeBytesMax, " may be"));
    }
    bytes += step.path.size() + step.data.size();
  }
  if (request.kind == ZooKeeperRequest::Kind::kCommit &&
      bytes > ZooKeeperSession::kTransactionBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a transaction of ", request.steps.size(), " steps has ", bytes,
                     " bytes; at most ", ZooKeeperSession::kTransactionBytesMax, " may be"));
  }
  return absl::OkStatus();
}

}  // namespace arion::sim
