// What reads of several records answer (rpc/PROTOCOL.md 6), from a view of the
// engine; no threads, no replica.
//
// Errors    Of the engine: its status. Of the request: the answer's `error`.
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
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/instant.h"
#include "data_api/key_filter.h"
#include "engine/engine.h"
#include "env/clock.h"
#include "messages/client_messages.h"
#include "rpc/encoded_rows.h"

namespace arion {

struct ReadLimits {
  int64_t multi_get_records = 3000;  // examined in a turn: returned, expired or filtered out
  int64_t count_records = 10'000;    // the same, of one turn
  int64_t scan_records = 1000;       // the same, of one batch
  int64_t answer_bytes = 30 << 20;   // keys and values
  // BATCH_GET is never partial, so it gets more room, and an error beyond.
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
  std::string server;  // for the answer
  uint32_t now = 0;    // for expiry
  const Clock& clock;  // for `deadline`
  Instant deadline;    // of one call, one turn; a little late is fine
  ReadLimits limits;
  ReadTally* tally = nullptr;  // of walks; nullptr: nobody asks
};

// Where the next turn of a read goes on. A new one is the beginning.
struct ReadPlace {
  std::string key;                  // the first that was not examined; empty: none was
  size_t point = 0;                 // the same, of the request's sort keys
  int64_t count = 0;                // of the records before
  std::optional<Instant> deadline;  // of the whole count
};

// nullopt: the turn is over, call again with the same view, request and place; give others a turn
// before. Clients go on behind the last record that they got, so MultiGet is never incomplete
// without one.
// MultiGet's and NextBatch's `kvs` stay empty: what belongs there is added to `rows`.
absl::StatusOr<std::optional<MultiGetResponse>> MultiGet(const EngineView& view,
                                                         const MultiGetRequest& request,
                                                         const ReadTerms& terms, ReadTier tier,
                                                         EncodedRows* rows, ReadPlace* place);
absl::StatusOr<BatchGetResponse> BatchGet(const EngineView& view, const BatchGetRequest& request,
                                          const ReadTerms& terms, ReadTier tier);
// The count is -1 where its first turn's deadline passed before the end.
absl::StatusOr<std::optional<CountResponse>> CountSortKeys(const EngineView& view,
                                                           std::string_view hash_key,
                                                           const ReadTerms& terms,
                                                           ReadPlace* place);

// One scan of a partition, from batch to batch, on the view of its beginning. Between batches it
// holds that view, which pins no memtable, and no iterator, which would pin all of its time.
class ScanCursor {
 public:
  // Which keys belong to the partition.
  using Owns = std::function<bool(uint64_t partition_hash)>;

  // nullptr: the request can't be right (kInvalidArgument).
  static std::unique_ptr<ScanCursor> Make(std::shared_ptr<const EngineView> view,
                                          const GetScannerRequest& request, Owns owns);
  // The next batch. Its context_id is `next_id`, or kScanEnded when nothing is left.
  absl::StatusOr<ScanResponse> NextBatch(const ReadTerms& terms, int64_t next_id,
                                         EncodedRows* rows);
  size_t last_answer_bytes() const { return last_answer_bytes_; }
  bool ended() const { return ended_; }

 private:
  ScanCursor(std::shared_ptr<const EngineView> view, const GetScannerRequest& request,
             KeyFilter hash_filter, KeyFilter sort_filter, Owns owns);
  bool Passes(std::string_view raw_key) const;

  const std::shared_ptr<const EngineView> view_;
  KeyRange range_;  // what is left of it
  bool ended_ = false;
  size_t last_answer_bytes_ = 0;
  const int32_t batch_size_;
  const bool with_value_;
  const bool with_expiry_;
  const bool only_count_;
  const KeyFilter hash_filter_;
  const KeyFilter sort_filter_;
  const Owns owns_;  // null: not checked
};

}  // namespace arion
