// SPDX-License-Identifier: Apache-2.0
#include "client/retry_policy.h"

#include <algorithm>

#include "base/log.h"
#include "base/status.h"
#include "env/environment.h"

namespace arion {

AttemptVerdict JudgeAttempt(ErrorCode error) {
  using enum AttemptVerdict::Next;
  using enum AttemptVerdict::Routes;
  using enum AttemptVerdict::Effect;
  switch (error) {
    // The server asked is not the one (any more), or not yet.
    case ErrorCode::kObjectNotFound:
    case ErrorCode::kInvalidState:
    case ErrorCode::kInactiveState:
    case ErrorCode::kServiceNotActive:
      return {.next = kRetry, .routes = kForgetPartition};
    case ErrorCode::kParentPartitionMisused:
      // The partition was split: the table's partition count itself is out of date.
      return {.next = kRetry, .routes = kForgetTable};
    // The right server can't take it now.
    case ErrorCode::kNotEnoughMember:
    case ErrorCode::kCapacityExceeded:
      return {.next = kRetry};
    case ErrorCode::kBusy:
    case ErrorCode::kSplitting:
    case ErrorCode::kDiskInsufficient:
      // The server is overloaded, splits or is full. Repeating would add to its load, so that is
      // for the caller to decide.
      return {.next = kGiveUp, .refusal = absl::StatusCode::kResourceExhausted};
    case ErrorCode::kOperationDisabled:
      return {.next = kGiveUp, .refusal = absl::StatusCode::kFailedPrecondition};
    case ErrorCode::kHandlerNotFound:
      return {.next = kGiveUp, .refusal = absl::StatusCode::kUnimplemented};
    case ErrorCode::kAclDeny:
    case ErrorCode::kUnauthenticated:
      return {.next = kGiveUp, .refusal = absl::StatusCode::kPermissionDenied};
    case ErrorCode::kInvalidParameters:
      return {.next = kGiveUp, .refusal = absl::StatusCode::kInvalidArgument};
    // From the server: larger than it takes. From our transport: an answer that can't be read.
    case ErrorCode::kInvalidData:
      return {.next = kGiveUp,
              .effect = kMayHaveHappened,
              .refusal = absl::StatusCode::kInvalidArgument};
    default:  // no answer, a lost connection, and everything that says nothing of what was done
      return {.next = kRetry, .routes = kForgetPartition, .effect = kMayHaveHappened};
  }
}

absl::Duration PauseAfter(int attempts, const RetryPause& pause, Random& random) {
  CHECK_GE(attempts, 1);
  constexpr int kDoublingsMax = 20;
  const absl::Duration whole =
      // Bounded before the shift, which is undefined from 64 on; `most` is reached long before.
      std::min(pause.most, pause.first * (int64_t{1} << std::min(attempts - 1, kDoublingsMax)));
  // Half of it is certain, so that a server is spared; the other half is drawn, so that clients
  // that were refused together come back one by one.
  const auto half_nanos = static_cast<uint64_t>(absl::ToInt64Nanoseconds(whole / 2));
  return whole - absl::Nanoseconds(static_cast<int64_t>(random.Below(half_nanos + 1)));
}

absl::Status StatusOfMetaError(ErrorCode error, std::string_view what) {
  const std::string text = absl::StrCat(Text(what), ": ", Text(ErrorCodeName(error)));
  switch (error) {
    case ErrorCode::kOk:
      return absl::OkStatus();
    case ErrorCode::kObjectNotFound:
    case ErrorCode::kAppNotExist:
    case ErrorCode::kAppDropped:
      return absl::NotFoundError(text);
    case ErrorCode::kAppExist:
      return absl::AlreadyExistsError(text);
    case ErrorCode::kInvalidParameters:
      return absl::InvalidArgumentError(text);
    case ErrorCode::kInvalidState:
    case ErrorCode::kSplitting:
    case ErrorCode::kChildRegistered:
      return absl::FailedPreconditionError(text);
    case ErrorCode::kAclDeny:
      return absl::PermissionDeniedError(
          absl::StrCat(text,
                       ": servers here take changes only from their admin_addresses, or with "
                       "their token (--token_file of the shell)"));
    case ErrorCode::kHandlerNotFound:
      return absl::UnimplementedError(text);
    case ErrorCode::kTimeout:
      return absl::DeadlineExceededError(text);
    case ErrorCode::kDiskInsufficient:
      return absl::UnavailableError(absl::StrCat(
          text, ": the meta server's disk is full, it changes no table until there is room"));
    default:
      return absl::UnavailableError(text);
  }
}

}  // namespace arion
