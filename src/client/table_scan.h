// TableScan: a scan of one hash key, or of a table (or a part of it) partition by partition.
//
// Shapes    A record at most once. Where a server forgot the scan (it moved, restarted, waited too
//           long), it goes on behind the last record.
// Errors    As ClusterClient. Unavailable also: it was forgotten again and again. After an error it
//           is not asked further.
// Threads   As ClusterClient. Lifetime: does not hold the client; without it nothing is answered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/cluster_client.h"
#include "messages/client_messages.h"

namespace arion {

template <class T>
using Answered = absl::AnyInvocable<void(absl::StatusOr<T>)>;

// The partitions whose index is `part` modulo `parts`.
struct ScanPart {
  int32_t part = 0;
  int32_t parts = 1;
};

class TableScan : public std::enable_shared_from_this<TableScan> {
 public:
  // `request`: its bounds (of raw keys), filters, and what to return. Of one hash key: start_key
  // holds it.
  static std::shared_ptr<TableScan> OfHashKey(const std::shared_ptr<ClusterClient>& client,
                                              std::string table, GetScannerRequest request,
                                              AskOptions options = {});
  static std::shared_ptr<TableScan> OfTable(const std::shared_ptr<ClusterClient>& client,
                                            std::string table, GetScannerRequest request,
                                            AskOptions options = {}, ScanPart part = {});

  // The next records, in each partition by key; none: the scan has ended. One call at a time.
  void Next(Answered<std::vector<KeyValue>> done);
  // How many records there are, to the end, without their bytes. Instead of Next.
  void Count(Answered<int64_t> done);
  // The server may forget it, and a call under way is not answered. Not needed after the end.
  void Close();

 private:
  TableScan(const std::shared_ptr<ClusterClient>& client, std::string table,
            GetScannerRequest request, AskOptions options);
  bool ChoosePartition(int32_t count);  // false: there is none left
  void Learn(Answered<std::vector<KeyValue>> done);
  void Ask(Question question, Answered<std::vector<KeyValue>> done);
  void Begin(Answered<std::vector<KeyValue>> done);
  void OnBatch(Answered<std::vector<KeyValue>> done, const absl::StatusOr<std::string>& body);
  void OnForgotten(Answered<std::vector<KeyValue>> done);

  static constexpr int64_t kNotBegun = -2;
  static constexpr int kForgottenMax = 10;  // without a record between

  const std::weak_ptr<ClusterClient> client_;
  const std::string table_;
  const AskOptions options_;
  GetScannerRequest request_;  // start_key moves on
  uint64_t partition_hash_ = 0;
  bool is_of_table_ = false;
  ScanPart part_;
  int32_t partition_ = -1;  // OfTable: the one under way; those of lower index follow
  int64_t scan_id_ = kNotBegun;
  int forgotten_ = 0;
  bool is_closed_ = false;
  int64_t counted_ = 0;               // in partitions that are through
  int64_t counted_in_partition_ = 0;  // so far
};

}  // namespace arion
