// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/patience.h"

#include <algorithm>

#include "base/status.h"

namespace arion::shell {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(50), kLongestPause = absl::Seconds(5);

// A failover, a throttle, a full disk, a server that reads badly: somebody else's, or soon over.
// Anything else would be answered the same again.
bool MayPass(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::Status Patience::Judge(const absl::Status& error, absl::Time now) {
  ++errors_;
  last_error_ = std::string(error.message());
  if (!MayPass(error)) return error;
  if (now - last_ < most_) return absl::OkStatus();
  return absl::Status(
      error.code(), absl::StrCat(error.message(), "; nothing came through for ",
                                 absl::FormatDuration(absl::Trunc(now - last_, absl::Seconds(1)))));
}

absl::Duration Patience::PauseAfter(int tries) {
  return std::min(kLongestPause, kFirstPause * (int64_t{1} << std::clamp(tries - 1, 0, 10)));
}

}  // namespace arion::shell
