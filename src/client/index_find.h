// Questions by an index: asked of the primaries of all partitions at a time, and merged.
//
// Shapes    Rows are in the order of their positions (messages/index_messages.h), each at most
//           once. A partition may answer with less than was asked for; what lies behind that is
//           held back until it has been asked on.
// Errors    As ClusterClient. NotFound: no partition knows the index. Unavailable also: it is being
//           built, with the smallest percentage of all partitions; or the table's partitions were
//           split again and again meanwhile. InvalidArgument: the servers call the question not
//           valid. Unimplemented: a server of an older version.
// Threads   As ClusterClient.
// Lifetime  They do not hold the client. When it is gone, `done` is dropped.
// Promises  index_find/F1  No row that comes later (by `next`) is before one that has come.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>
#include <arion/options.h>

#include <string>

#include "messages/index_messages.h"

namespace arion {

struct AskOptions;
class ClusterClient;

// The first `request.limit` rows behind `request.after`. 1 <= limit. One deadline for all of it.
void FindByIndex(ClusterClient& client, const std::string& table, FindRequest request,
                 const AskOptions& options,
                 absl::AnyInvocable<void(absl::StatusOr<FindResult>)> done);
// What the index is at, in all partitions together.
void DescribeIndex(ClusterClient& client, const std::string& table, std::string index,
                   const AskOptions& options,
                   absl::AnyInvocable<void(absl::StatusOr<IndexOverview>)> done);

}  // namespace arion
