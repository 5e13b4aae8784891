// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/c_errors.h"

#include <absl/strings/str_cat.h>
#include <zookeeper/zookeeper.h>

#include "base/status.h"

namespace arion {
namespace {

absl::StatusCode KindOf(int code) {
  switch (code) {
    case ZOK:
      return absl::StatusCode::kOk;
    case ZNONODE:
      return absl::StatusCode::kNotFound;
    case ZNODEEXISTS:
      return absl::StatusCode::kAlreadyExists;
    case ZBADVERSION:
    case ZNOTEMPTY:
      return absl::StatusCode::kFailedPrecondition;
    case ZNOAUTH:
      return absl::StatusCode::kPermissionDenied;
    case ZBADARGUMENTS:
      return absl::StatusCode::kInvalidArgument;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONMOVED:
    case ZTHROTTLEDOP:
    // Of a whole question, this is what those get that were under way when an answer came that
    // belongs to none: the client connects anew.
    case ZRUNTIMEINCONSISTENCY:
      return absl::StatusCode::kUnavailable;
    case ZSESSIONEXPIRED:
    case ZINVALIDSTATE:
    case ZAUTHFAILED:
    case ZCLOSING:
      return absl::StatusCode::kCancelled;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status StatusOfZooKeeper(int code, std::string_view what) {
  const absl::StatusCode kind = KindOf(code);
  if (kind == absl::StatusCode::kOk) return absl::OkStatus();
  return absl::Status(kind,
                      absl::StrCat("ZooKeeper, ", Text(what), ": ", zerror(code), " (", code, ")"));
}

bool IsOfTheSession(int code) {
  const absl::StatusCode kind = KindOf(code);
  return kind == absl::StatusCode::kUnavailable || kind == absl::StatusCode::kCancelled;
}

}  // namespace arion
