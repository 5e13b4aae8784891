// Batches: many records of many hash keys, a bounded number of requests under way at a time.
//
// Shapes    Outcomes in the order of what was asked. Reads go partition by partition; writes each by
//           itself, because the servers join those that arrive together.
// Errors    As ClusterClient, for each record by itself. One deadline for the whole batch.
// Threads   As ClusterClient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "client/cluster_client.h"

namespace arion {

using BatchValues = std::vector<absl::StatusOr<std::string>>;

// Hash keys <= 65534 bytes.
void BatchGet(ClusterClient& client, const std::string& table, std::vector<FullKey> keys,
              const AskOptions& options, absl::AnyInvocable<void(BatchValues)> done);
// PUTs and REMOVEs.
void BatchWrite(ClusterClient& client, const std::string& table, std::vector<Question> writes,
                const AskOptions& options,
                absl::AnyInvocable<void(std::vector<absl::Status>)> done);

}  // namespace arion
