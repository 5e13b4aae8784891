// Operations on several records, operations that the server decides, and scans: typed, over
// ClusterClient::Ask.
//
// Shapes    Requests and answers are the protocol's (messages/client_messages.h), expiry times
//           absolute. Answers tell storage errors by their `error` only where named here.
// Errors    As ClusterClient. InvalidArgument also: what the server calls that (an empty list, no
//           number to add to, an unknown check), nothing was written.
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
#include "messages/client_messages.h"

namespace arion {

template <class T>
using Answered = absl::AnyInvocable<void(absl::StatusOr<T>)>;

void MultiPut(ClusterClient& client, const std::string& table, const MultiPutRequest& request,
              ClusterClient::StatusCallback done);
void MultiRemove(ClusterClient& client, const std::string& table, const MultiRemoveRequest& request,
                 ClusterClient::StatusCallback done);
// The new value.
void Incr(ClusterClient& client, const std::string& table, const IncrRequest& request,
          Answered<int64_t> done);
// `error` kTryAgain: the check did not pass, nothing was written.
void CheckAndSet(ClusterClient& client, const std::string& table, const CheckAndSetRequest& request,
                 Answered<CheckResponse> done);
void CheckAndMutate(ClusterClient& client, const std::string& table,
                    const CheckAndMutateRequest& request, Answered<CheckResponse> done);
// `error` kIncomplete: there is more.
void MultiGet(ClusterClient& client, const std::string& table, const MultiGetRequest& request,
              Answered<MultiGetResponse> done);
void CountSortKeys(ClusterClient& client, const std::string& table, std::string_view hash_key,
                   Answered<int64_t> done);

// A scan of one hash key, or of a whole table partition by partition. Where a server forgot it, it
// goes on behind the last record.
class TableScan : public std::enable_shared_from_this<TableScan> {
 public:
  // `request`: its bounds (of raw keys), filters, and what to return. Of one hash key: start_key
  // holds it. `client` outlives what is asked of this.
  static std::shared_ptr<TableScan> OfHashKey(std::shared_ptr<ClusterClient> client,
                                              std::string table, GetScannerRequest request);
  static std::shared_ptr<TableScan> OfTable(std::shared_ptr<ClusterClient> client,
                                            std::string table, GetScannerRequest request);

  // The next records, in each partition by key; none: the scan has ended. One call at a time.
  void Next(Answered<std::vector<KeyValue>> done);
  // The server may forget it; not needed after the end.
  void Close();

 private:
  TableScan(std::shared_ptr<ClusterClient> client, std::string table, GetScannerRequest request);
  void Begin(Answered<std::vector<KeyValue>> done);
  void OnBatch(Answered<std::vector<KeyValue>> done, absl::StatusOr<std::string> body);

  const std::shared_ptr<ClusterClient> client_;
  const std::string table_;
  GetScannerRequest request_;  // start_key moves on
  uint64_t partition_hash_ = 0;
  bool is_of_table_ = false;
  int32_t partitions_left_ = 0;  // OfTable: behind this one
  int64_t scan_id_ = kNotBegun;

  static constexpr int64_t kNotBegun = -2;
};

}  // namespace arion
