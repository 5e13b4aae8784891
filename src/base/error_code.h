// The RPC-level and meta-level error names of the protocol (rpc/PROTOCOL.md 4.2). The wire
// carries names; a number, the position in the list, travels only in the answer to GET_FILE_SIZE.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>

namespace arion {

// In the order of the protocol's list; the names are ERR_ and the words in capitals. Which of them
// a client may try again is client/retry_policy.h's to say.
enum class ErrorCode : int32_t {
  kOk = 0,
  kUnknown,
  kServiceNotFound,
  kServiceAlreadyRunning,
  kIoPending,
  kTimeout,
  kServiceNotActive,
  kBusy,
  kNetworkInitFailed,
  kForwardToOthers,
  kObjectNotFound,
  kHandlerNotFound,
  kLearnFileFailed,
  kGetLearnStateFailed,
  kInvalidVersion,
  kInvalidParameters,
  kCapacityExceeded,
  kInvalidState,
  kInactiveState,
  kNotEnoughMember,
  kFileOperationFailed,
  kHandleEof,
  kWrongChecksum,
  kInvalidData,
  kInvalidHandle,
  kIncompleteData,
  kVersionOutdated,
  kPathNotFound,
  kPathAlreadyExist,
  kAddressAlreadyUsed,
  kStateFreezed,
  kLocalAppFailure,
  kBindIocpFailed,
  kNetworkStartFailed,
  kNotImplemented,
  kCheckpointFailed,
  kWrongTiming,
  kNoNeedOperate,
  kCorruption,
  kTryAgain,
  kClusterNotFound,
  kClusterAlreadyExist,
  kServiceAlreadyExist,
  kInjected,
  kReplicationFailure,
  kAppExist,
  kAppNotExist,
  kBusyCreating,
  kBusyDropping,
  kNetworkFailure,
  kUnderRecovery,
  kLearnerNotFound,
  kOperationDisabled,
  kExpired,
  kLockAlreadyExist,
  kHoldByOthers,
  kRecursiveLock,
  kNoOwner,
  kNodeAlreadyExist,
  kInconsistentState,
  kArrayIndexOutOfRange,
  kDirNotEmpty,
  kFsInternal,
  kIgnoreBadData,
  kAppDropped,
  kMockInternal,
  kZookeeperOperation,
  kChildRegistered,
  kIngestionFailed,
  kUnauthenticated,
  kKrb5Internal,
  kSaslInternal,
  kSaslIncomplete,
  kAclDeny,
  kSplitting,
  kParentPartitionMisused,
  kChildNotReady,
  kDiskInsufficient,
  kRetryExhausted,
  kSyncRangerPoliciesFailed,
  kRangerParseAcl,
  kRangerPoliciesNoNeedUpdate,
  kRdbCorruption,
  kDiskIoError,
  kCurlFailed,
  kDupExist,
  kHttpError,
  kNotMatched,
};
constexpr int kErrorCodeCount = static_cast<int>(ErrorCode::kNotMatched) + 1;
static_assert(kErrorCodeCount == 88);

// "ERR_OK"; "ERR_UNKNOWN" for a number out of the list.
std::string_view ErrorCodeName(ErrorCode code);
// Unknown names: kUnknown.
ErrorCode ErrorCodeFromName(std::string_view name);
// The nearest name that every THFT client knows: 0..77 without 51, 61, 62, 63, 65
// (rpc/PROTOCOL.md 4.3).
ErrorCode SafeForThriftClients(ErrorCode code);
std::ostream& operator<<(std::ostream& out, ErrorCode code);

// Storage status integers inside data responses (rpc/PROTOCOL.md 4.5). They are answers of the
// engine; the call itself succeeded.
enum class StorageError : int32_t {
  kOk = 0,
  kNotFound = 1,
  kCorruption = 2,
  kNotSupported = 3,
  kInvalidArgument = 4,
  kIOError = 5,
  kIncomplete = 7,
  kTryAgain = 13,
};

}  // namespace arion
