// TableScan: a scan of one hash key, or of a table (or a part of it) partition by partition.
//
// Shapes    A record comes at most once. Where a server forgot the scan (it moved, restarted,
//           waited too long), or its partition was split, the scan goes on behind the last record.
// Errors    As ClusterClient. Unavailable also: it was forgotten again and again (more than ten
//           times without a record between). Aborted: ScanPart::is_exact. After an error it is not
//           asked further.
// Threads   As ClusterClient.
// Lifetime  It does not hold the client. When the client is gone, calls are not answered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cluster_client.h"
#include "messages/client_messages.h"

namespace arion {

// Receives the outcome of one call.
template <class T>
using Answered = absl::AnyInvocable<void(absl::StatusOr<T>)>;

// The partitions whose index is `part` modulo `parts`. 0 <= part < parts.
struct ScanPart {
  int32_t part = 0;
  int32_t parts = 1;
  // Of a raw key, behind which each partition's reading begins; nullopt: at its first.
  std::optional<std::string> after;
  // It is just the partition of that index where there are `parts` of them. Where it is none, or
  // none any more, the scan ends in Aborted.
  bool is_exact = false;
};

// Create, then either Next until it yields no records, or Count once. Partitions are read from the
// last one down to the first.
class TableScan : public std::enable_shared_from_this<TableScan> {
 public:
  // `request` gives the bounds (raw keys), the filters, and what to return. Its start_key holds the
  // hash key. `options` count for each request by itself.
  static std::shared_ptr<TableScan> OfHashKey(const std::shared_ptr<ClusterClient>& client,
                                              std::string table, GetScannerRequest request,
                                              AskOptions options = {});
  // The bounds of `request` are ignored: each partition is read from its first to its last key.
  static std::shared_ptr<TableScan> OfTable(const std::shared_ptr<ClusterClient>& client,
                                            std::string table, GetScannerRequest request,
                                            AskOptions options = {}, ScanPart part = {});

  // The next records, at least one, in each partition by key. No records: the scan has ended. One
  // call at a time.
  void Next(Answered<std::vector<KeyValue>> done);
  // How many records the scan would return. Instead of Next, once. Unimplemented: the server can't
  // only count.
  void Count(Answered<int64_t> done);
  // Tells the server to forget the scan. A call under way is then not answered. Not needed after
  // the end.
  void Close();

 private:
  TableScan(const std::shared_ptr<ClusterClient>& client, std::string table,
            GetScannerRequest request, AskOptions options);
  // Moves on to the next partition. False: none is left.
  bool ChoosePartition();
  // Asks which partitions the table has, at the beginning and whenever they are others than those
  // that this scan knows.
  void Learn(Answered<std::vector<KeyValue>> done);
  void Divide(const std::vector<TableRouter::Share>& shares);
  // What is to be read yet is just the one partition that is_exact asks for.
  bool IsExact() const;
  // Those that make up the one under way go on where it was.
  void DivideAgain(const std::vector<TableRouter::Share>& shares);
  void Ask(Question question, Answered<std::vector<KeyValue>> done);
  // Opens the scan at request_.start_key.
  void Begin(Answered<std::vector<KeyValue>> done);
  void OnBatch(Answered<std::vector<KeyValue>> done, const absl::StatusOr<std::string>& body);
  // Opens it again behind the last record, unless this happens too often.
  void OnForgotten(Answered<std::vector<KeyValue>> done);

  static constexpr int64_t kNotBegun = -2;
  // How often in a row, without a record between.
  static constexpr int kForgottenMax = 10;

  const std::weak_ptr<ClusterClient> client_;
  const std::string table_;
  const AskOptions options_;
  // Its start_key moves on with each batch.
  GetScannerRequest request_;
  uint64_t partition_hash_ = 0;
  bool is_of_table_ = false;
  ScanPart part_;
  // OfTable. A partition, or what is left of one, and where to begin in it.
  struct Piece {
    TableRouter::Share share;
    std::string start_key;
    bool start_inclusive = true;
  };
  bool is_begun_ = false;
  // The one under way, and those that follow, the next one last.
  Piece piece_;
  std::vector<Piece> pieces_;
  // Of the table, when those were made.
  int32_t present_count_ = 0;
  int64_t scan_id_ = kNotBegun;
  int forgotten_ = 0;
  bool is_closed_ = false;
  // Records in the partitions that are through.
  int64_t counted_ = 0;
  // In the one under way. Lost when the server forgets the scan, which then counts anew.
  int64_t counted_in_partition_ = 0;
};

}  // namespace arion
