// ClientReads: clients' reads of one partition, from the request, where the cache can't answer
// through the disk's pool, to the answer; and scans that are under way.
//
// Shapes    Reads of long ranges take turns in the pool, all on the view of the first. Where reads
//           wait for the pool for too long already, what arrives is answered kBusy.
// Threads   Strand-bound; reads run in the disk's pool.
// Lifetime  A part of a replica, beside its ServedPartition and its Admission.
// Promises  client_reads/D1  No read is answered kOk unless the office allowed it before it was
//               read and allows it when it is answered.
//           client_reads/D2  After EndScans no scan holds a view of the engine, but those in the
//               pool.
//           client_reads/D3  A read that was begun before a split is not answered after it. But a
//               scan goes on, on its view, with the keys that were the partition's when it began:
//               its client does not know of the other half.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client_requests/admission.h"
#include "client_requests/client_request.h"
#include "client_requests/hot_reads.h"
#include "client_requests/served_partition.h"
#include "data_api/queue_time.h"
#include "data_api/scanner_table.h"
#include "env/environment.h"
#include "messages/client_messages.h"
#include "pacifica/replica_core.h"

namespace arion {

// The reads that clients send.
enum class ReadCode { kGet, kTtl, kMultiGet, kBatchGet, kSortKeyCount, kGetScanner, kScan, kFind };

// One for each replica: Read for each request, EndScans before the engine is exchanged, Close at
// the end.
class ClientReads {
 public:
  ClientReads(const ServedPartition& partition, Admission& admission, Random& random)
      : partition_(partition), admission_(admission), random_(random) {}

  // Answers the request at once, from the pool, or after a pause.
  void Read(ReadCode code, InboundRequest request, RequestTimes times);
  // Ends the scan that the request names. Clients expect no answer.
  void ClearScanner(const InboundRequest& request);
  // Drops all scans with their views. Their clients begin anew.
  void EndScans() { scans_.Clear(); }
  // Whether a scan is under way that was begun while other keys were the partition's than now.
  bool HasFormerScans();
  // A sample of what was read last.
  std::vector<std::string> HotKeys() const { return hot_reads_.Keys(); }
  void Close();

 private:
  struct Call {
    ReadCode code = ReadCode::kGet;
    ReadKind kind = ReadKind::kPrimaryOnly;
    ClientAnswer responder;
    Instant deadline;
    // When it came.
    KeyOwnership owned;
  };
  enum class Throttles : uint8_t { kToBeAsked, kPassed };
  // One turn of a read. nullopt: others get theirs, then it is called again (read_operations.h). It
  // is destroyed with its last turn, in the pool.
  using Work = absl::AnyInvocable<absl::StatusOr<std::optional<std::string>>(const ReadTerms&)>;
  void Read(ReadCode code, ClientRequest request, Instant deadline, Throttles throttles);
  void ReadOne(Call call, const std::string& body);
  void AnswerOne(Call call, absl::StatusOr<Record> record, uint32_t now);
  void ReadSeveral(Call call, std::string body);
  // Answers by `operate`: here, where the request is short and its points are all in the cache.
  // `points_of`: how many keys it names; 0: a range.
  template <class Request, class PointsOf, class Operate>
  void ReadPoints(Call call, std::string body, PointsOf points_of, Operate operate);
  KeyOwnership Owned() { return admission_.Settings().KeysOf(partition_.pid.index); }
  ReadTerms TermsOf(uint32_t now, const TableSettings& settings, const Call& call) const;
  // Whether the pool's queue waits too long already; then the request was answered kBusy.
  bool IsPoolLate(ClientAnswer& responder);
  void ReadInPool(Call call, Work work, absl::AnyInvocable<void()> then);
  void ReadInPoolUnlessLate(Call call, Work work);
  // `body` holds one.
  void AnswerSeveral(Call call, absl::StatusOr<std::optional<std::string>> body);
  void Answer(Call call, std::string body);
  void OpenScan(Call call, const GetScannerRequest& request);
  std::shared_ptr<const KeyOwnership> OwnedByScan();
  void ContinueScan(Call call, std::unique_ptr<ScanCursor> cursor);
  void ScheduleScanSweep();

  const ServedPartition& partition_;
  Admission& admission_;
  Random& random_;
  HotReads hot_reads_;
  QueueTime in_pool_;
  ScannerTable scans_;
  // By which scans under way were begun; each holds its own.
  std::vector<std::weak_ptr<const KeyOwnership>> owned_by_scans_;
  TimerId scan_timer_ = kNoTimer;
};

}  // namespace arion
