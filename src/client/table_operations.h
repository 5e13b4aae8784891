// Operations on several records and operations that the server decides: typed, over
// ClusterClient::Ask. The simulator and tests use them; users have Table.
//
// Shapes    Requests and answers are the protocol's (messages/client_messages.h), expiry times
//           absolute. Answers tell storage errors by their `error` only where named here.
// Errors    As ClusterClient. InvalidArgument also: what the server calls not valid (an empty list,
//           no number to add to, an unknown check), nothing was written; a hash key over 65534
//           bytes, nothing was sent.
// Threads   As ClusterClient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/cluster_client.h"
#include "client/table_scan.h"
#include "messages/client_messages.h"

namespace arion {

// Writes all records of the request, or none.
void MultiPut(ClusterClient& client, const std::string& table, const MultiPutRequest& request,
              ClusterClient::StatusCallback done);
// Removes all of them, or none.
void MultiRemove(ClusterClient& client, const std::string& table, const MultiRemoveRequest& request,
                 ClusterClient::StatusCallback done);
// `done` receives the new value.
void Incr(ClusterClient& client, const std::string& table, const IncrRequest& request,
          Answered<int64_t> done);
// In the answer `error` kTryAgain says: the check did not pass, nothing was written.
void CheckAndSet(ClusterClient& client, const std::string& table, const CheckAndSetRequest& request,
                 Answered<CheckResponse> done);
void CheckAndMutate(ClusterClient& client, const std::string& table,
                    const CheckAndMutateRequest& request, Answered<CheckResponse> done);
// In the answer `error` kIncomplete says: there is more.
void MultiGet(ClusterClient& client, const std::string& table, const MultiGetRequest& request,
              Answered<MultiGetResponse> done);
// How many records the hash key has. DeadlineExceeded also: the server gave up counting.
void CountSortKeys(ClusterClient& client, const std::string& table, std::string_view hash_key,
                   Answered<int64_t> done);

}  // namespace arion
