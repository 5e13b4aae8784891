// The RPC-level and meta-level error names of the protocol (rpc/PROTOCOL.md 4.2). The wire carries
// names; a number, the position in the list, travels only in the answer to GET_FILE_SIZE.
//
// Shapes    Comments say what Arion uses a code for. The others are here for their names and
//           places: older servers may send them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>

namespace arion {

// In the order of the protocol's list: a number out of it is what GET_FILE_SIZE answers, so no row
// may move. The names are ERR_ and the words in capitals. client/retry_policy.h says which of them
// a client may try again.
enum class ErrorCode : int32_t {
  kOk = 0,
  kUnknown,
  kServiceNotFound,
  kServiceAlreadyRunning,
  kIoPending,
  // No answer in time. Of a write: its outcome is not known.
  kTimeout,
  // A meta server that is starting, or does not lead.
  kServiceNotActive,
  // Refused now: a throttle, a full queue, or requests that wait too long.
  kBusy,
  kNetworkInitFailed,
  // Ask another meta server; the answer names it.
  kForwardToOthers,
  // The replica, table or file is not here.
  kObjectNotFound,
  // The receiver does not know this RPC code.
  kHandlerNotFound,
  kLearnFileFailed,
  kGetLearnStateFailed,
  // A config sync without the number it should have.
  kInvalidVersion,
  // A request that can't be right.
  kInvalidParameters,
  kCapacityExceeded,
  // Not primary, not open yet, or no lease: clients ask for the configuration again.
  kInvalidState,
  kInactiveState,
  // Too few members for a write; it was not logged.
  kNotEnoughMember,
  kFileOperationFailed,
  // A piece of a file beyond what is served.
  kHandleEof,
  kWrongChecksum,
  // The body does not decode, or is too large.
  kInvalidData,
  kInvalidHandle,
  kIncompleteData,
  kVersionOutdated,
  kPathNotFound,
  kPathAlreadyExist,
  kAddressAlreadyUsed,
  // The meta server changes no members now.
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
  // The sender is of another cluster.
  kClusterNotFound,
  kClusterAlreadyExist,
  kServiceAlreadyExist,
  kInjected,
  kReplicationFailure,
  // A table of that name exists.
  kAppExist,
  kAppNotExist,
  kBusyCreating,
  kBusyDropping,
  // No connection, or it closed before the answer came. Made by the transport, never sent.
  kNetworkFailure,
  // A meta server that waits for `recover`.
  kUnderRecovery,
  kLearnerNotFound,
  // Arion does not have this operation.
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
  // A change from an address, or without a token, that is not allowed.
  kAclDeny,
  kSplitting,
  // The hash belongs to another partition: clients ask for the whole table again.
  kParentPartitionMisused,
  kChildNotReady,
  // The disk takes no writes, or the replica's quota is used up.
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
