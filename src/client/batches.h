// Batches: many records of many hash keys, a bounded number of requests under way at a time.
//
// Shapes    Outcomes in the order of what was asked. Reads go partition by partition, up to 1000
//           keys a request. Writes go each by itself, because the servers join those that arrive
//           together. At most 256 requests of a batch are under way.
// Errors    As ClusterClient, for each record by itself. One deadline for the whole batch.
// Threads   As ClusterClient.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "client/question.h"

namespace arion {

struct AskOptions;
class ClusterClient;

// One outcome for each key. NotFound: there is no such record.
using BatchValues = std::vector<absl::StatusOr<std::string>>;

// Reads `keys`. Hash keys <= 65534 bytes. Where the table's partition count can't be learned, that
// status is every key's outcome. `done` is called once, on the client's strand, unless the client
// is destroyed first.
void BatchGet(ClusterClient& client, const std::string& table, std::vector<FullKey> keys,
              const AskOptions& options, absl::AnyInvocable<void(BatchValues)> done);
// Sends `writes`, which are PUTs and REMOVEs. `done` as for BatchGet.
void BatchWrite(ClusterClient& client, const std::string& table, std::vector<Question> writes,
                const AskOptions& options,
                absl::AnyInvocable<void(std::vector<absl::Status>)> done);

}  // namespace arion
