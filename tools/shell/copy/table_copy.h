// TableCopy: copies the records of one table into another: many partitions are read and many
// writes are under way at a time, so that the slower side sets the speed.
//
// Shapes    A record's expiry time stays what it is, to the second. One that has expired by the
//           time it would be written is left out.
// Errors    What Patience gives up for: with the partition, or with the record's key. Aborted: the
//           caller wanted no more.
// Memory    Some 64 MiB of records, or one answer of a server where that is more.
// Promises  table_copy/C1  A position is never ahead of what is written: every record up to it that
//               was read is acknowledged by the target, or was left out for a reason that is
//               counted.
// Threads   One thread. The tables' callbacks may come on any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <arion/async_table.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/shell/copy/copy_position.h"
#include "tools/shell/copy/copy_rate.h"
#include "tools/shell/copy/partition_reader.h"
#include "tools/shell/copy/patience.h"
#include "tools/shell/copy/resume_file.h"
#include "tools/shell/copy/value_filter.h"

namespace arion::shell {

struct CopyOptions {
  // What to read; what its views point to outlives the copy.
  TableScanOptions scan;
  ValueFilter values;
  // What becomes of records that the target has.
  enum class Existing { kOverwritten, kKept };
  Existing existing = Existing::kOverwritten;
  // kOmit: records without expiry times.
  ExpiryTimes expiry_times = ExpiryTimes::kReturn;
  // kOmit: empty values are written.
  Values written = Values::kReturn;
  // At most so many records of one hash key in a write (MULTI_PUT); 1: each by itself.
  int32_t together = 1;
  // Writes under way.
  int at_once = 256;
  CopyRate rate;
  // How long errors that may pass are borne while nothing comes through.
  absl::Duration patience = absl::Minutes(10);
};

class TableCopy {
 public:
  // `source` and `target` outlive it. The names are for errors.
  struct Side {
    AsyncTable* table;
    std::string name;
  };
  TableCopy(Side source, Side target, CopyOptions options, std::vector<CopyPosition> positions,
            CopyCounts counts);
  TableCopy(const TableCopy&) = delete;

  // kDivided: source partitions were split. Nothing is under way; Divide, then Run again.
  enum class End { kAll, kDivided };
  // `go_on` is asked some ten times a second; it may look at this. No: Aborted. Whatever it
  // returns, nothing is under way any more.
  absl::StatusOr<End> Run(const std::function<bool()>& go_on);
  void Divide(const std::vector<Share>& shares);

  // table_copy/C1, and what became of the records up to them.
  std::vector<CopyPosition> positions() const;
  const CopyCounts& counts() const { return counts_; }
  int64_t partitions() const { return static_cast<int64_t>(pieces_.size()); }
  int64_t partitions_done() const;
  int64_t errors() const { return patience_.errors(); }
  const std::string& last_error() const { return patience_.last_error(); }

 private:
  // A record that was read, until it and all before it are written.
  struct Held {
    Row row;
    CopyCounts outcome;
    bool is_over = false;
  };
  struct Piece {
    CopyPosition position;
    // In the order of keys; the first has the number `first`.
    std::deque<Held> held;
    uint64_t first = 0;
    // The number of the next one to be written for the first time.
    uint64_t next = 0;
    int under_way = 0;
    // All of it is read.
    bool is_read = false;
  };
  // One request: `count` records of a piece from number `first` on.
  struct Write {
    size_t at = 0;
    uint64_t first = 0;
    uint64_t count = 1;
    int tries = 0;
  };
  enum class Effect { kWritten, kSkipped };

  static int64_t BytesOf(const Row& row);
  Held& HeldAt(size_t at, uint64_t number);
  bool MayAsk(size_t at) const;
  void OnRows(size_t at, std::vector<Row> rows);
  // Begins what may begin now. Returns when there is more to do without an answer.
  absl::Time Pump(absl::Time now);
  absl::Time Retry(absl::Time now);
  absl::Time BeginNew(absl::Time now);
  // The next write of the piece, or none; records that are not to be written are over at once.
  bool TakeNext(size_t at, absl::Time now, Write* write);
  bool MayJoin(const Row& first, const Row& next) const;
  void Begin(const Write& write, absl::Time now);
  void OnWritten(Write write, const absl::StatusOr<Effect>& effect);
  void EndRecord(size_t at, uint64_t number, const CopyCounts& outcome);
  // Over at the front: the position moves on.
  void Advance(size_t at);
  bool IsStopping() const { return is_stopping_ || !status_.ok() || reader_->IsDivided(); }

  const Side source_, target_;
  const CopyOptions options_;
  const std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();
  Patience patience_;
  CopyPace pace_;
  std::vector<Piece> pieces_;
  CopyCounts counts_;
  std::unique_ptr<PartitionReader> reader_;
  // By when they are tried again.
  std::multimap<absl::Time, Write> again_;
  int under_way_ = 0;
  // Of what is held, and what an answer of the source may bring.
  int64_t held_bytes_ = 0;
  int64_t answer_bytes_;
  size_t turn_ = 0;
  bool is_stopping_ = false;
  absl::Status status_;
};

}  // namespace arion::shell
