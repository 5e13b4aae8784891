// What reads of several records answer (rpc/PROTOCOL.md 6), from a view of the engine; no threads,
// no replica.
//
//   std::optional<MultiGetResponse> answer;
//   for (ReadPlace place; !answer;)  // each turn in a task of its own, so that others get theirs
//     ASSIGN_OR_RETURN(answer, MultiGet(view, request, terms, ReadTier::kAll, &rows, &place));
//
// Errors    Of the engine: its status. Of the request: the answer's `error`. OutOfRange: it names a
//           key of another partition; nothing was read.
// Threads   A view, a cursor: one thread at a time. They wait for the disk, but for MultiGet and
//           BatchGet with ReadTier::kCacheOnly (Unavailable: ask again with kAll, in the pool).
// Promises  Each call ends after its limits of records, bytes and time; nothing holds more memory
//           than one answer's. There is always a way forward: a call that met its limits before it
//           found anything is no answer but a turn (nullopt), however many dead records it passed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/instant.h"
#include "base/key_ownership.h"
#include "data_api/key_filter.h"
#include "engine/engine.h"
#include "messages/client_messages.h"

namespace arion {

class Clock;
class EncodedRows;

// The most that one call may do. A client's own limits count where they are smaller.
struct ReadLimits {
  // Records that MultiGet examines in a turn: returned, expired or filtered out.
  int64_t multi_get_records = 3000;
  // The same, of one turn of CountSortKeys, and of a scan that only returns a sum.
  int64_t count_records = 10'000;
  // The same, of one batch of a scan.
  int64_t scan_records = 1000;
  // Bytes of keys and values in an answer. The record that crosses the limit is still returned.
  int64_t answer_bytes = 30 << 20;
  // BATCH_GET is never partial, so it gets more room; beyond that its `error` is kIncomplete.
  int64_t batch_get_bytes = 256 << 20;
};

// Records that a walk met and left out.
struct ReadTally {
  uint64_t expired = 0;
  uint64_t filtered = 0;
};

// What holds for one read.
struct ReadTerms {
  PartitionId pid;
  // This server's address, for the answer.
  std::string server;
  // The time by which records expire, in seconds since 2016.
  uint32_t now = 0;
  // For `deadline`.
  const Clock& clock;
  // Of one call, that is one turn. It may be passed by a little.
  Instant deadline;
  ReadLimits limits;
  // Counts what walks leave out. nullptr: nobody asks.
  ReadTally* tally = nullptr;
  // Other keys are not read.
  KeyOwnership owned;
};

// Where the next turn of a read goes on. A new one is the beginning.
struct ReadPlace {
  // The first key that was not examined; empty: none was.
  std::string key;
  // The same as a position among the request's sort keys.
  size_t point = 0;
  // Records that earlier turns counted.
  int64_t count = 0;
  // Of the whole count: the deadline of its first turn.
  std::optional<Instant> deadline;
};

// Reads several records of one hash key: a range, or the sort keys that the request names.
//
// nullopt: the turn is over. Give others a turn, then call again with the same view, request and
// place. Clients go on behind the last record that they got, so an answer is never incomplete
// without one. The answer's `kvs` stays empty: what belongs there is added to `rows`.
absl::StatusOr<std::optional<MultiGetResponse>> MultiGet(const EngineView& view,
                                                         const MultiGetRequest& request,
                                                         const ReadTerms& terms, ReadTier tier,
                                                         EncodedRows* rows, ReadPlace* place);
// Reads the records that exist among the request's keys, in their order; all of them or none.
absl::StatusOr<BatchGetResponse> BatchGet(const EngineView& view, const BatchGetRequest& request,
                                          const ReadTerms& terms, ReadTier tier);
// Counts the records of a hash key. nullopt as MultiGet. The count is -1 where its first turn's
// deadline passed before the end.
absl::StatusOr<std::optional<CountResponse>> CountSortKeys(const EngineView& view,
                                                           std::string_view hash_key,
                                                           const ReadTerms& terms,
                                                           ReadPlace* place);

// One scan of a partition, from batch to batch, on the view of its beginning. Between batches it
// holds that view, which pins no memtable, and no iterator, which would pin all of its time.
class ScanCursor {
 public:
  // nullptr: the request can't be right (kInvalidArgument). `owned`: the partition's keys, for as
  // long as the scan goes on, whether the request wants that checked or not; null: all are. Whoever
  // knows it weakly can tell when the scan has ended.
  static std::unique_ptr<ScanCursor> Make(std::shared_ptr<const EngineView> view,
                                          const GetScannerRequest& request,
                                          std::shared_ptr<const KeyOwnership> owned);
  // Whether all that the scan is about are records of one hash key, which is another partition's.
  bool IsElsewhere() const;
  // The next batch; its records are added to `rows`, in the order of raw keys. Its context_id is
  // `next_id`, or kScanEnded when nothing is left, or only its sum was asked for. A batch may be
  // empty before the end.
  absl::StatusOr<ScanResponse> NextBatch(const ReadTerms& terms, int64_t next_id,
                                         EncodedRows* rows);
  // Of the last batch.
  size_t last_answer_bytes() const { return last_answer_bytes_; }
  bool ended() const { return ended_; }

 private:
  ScanCursor(std::shared_ptr<const EngineView> view, const GetScannerRequest& request,
             KeyFilter hash_filter, KeyFilter sort_filter,
             std::shared_ptr<const KeyOwnership> owned);
  bool Passes(std::string_view raw_key) const;

  const std::shared_ptr<const EngineView> view_;
  // What is left to read.
  KeyRange range_;
  bool ended_ = false;
  size_t last_answer_bytes_ = 0;
  const int32_t batch_size_;
  const bool with_value_;
  const bool with_expiry_;
  const bool only_count_;
  const bool only_sum_;
  const KeyFilter hash_filter_;
  const KeyFilter sort_filter_;
  // Null: not checked.
  const std::shared_ptr<const KeyOwnership> owned_;
};

}  // namespace arion
