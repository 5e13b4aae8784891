// PartitionReader: reads a table's partitions, many at a time, each from its position on, and goes
// on behind the last record after whatever may pass.
//
// Shapes    Rows come in each partition by raw key, each once.
// Errors    What Patience gives up for, with the partition. Where partitions were split, IsDivided:
//           it asks no more, and whoever owns it makes another one for the new partitions.
// Threads   One thread, that which runs the turns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/time/time.h>
#include <arion/async_table.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/shell/copy/copy_position.h"
#include "tools/shell/copy/patience.h"
#include "tools/shell/copy/turns.h"

namespace arion::shell {

class PartitionReader {
 public:
  // Of the partition at `at` in the positions: at least one row.
  using OnRows = std::function<void(size_t at, std::vector<Row> rows)>;
  // Whether the partition's next batch may be asked for now.
  using MayAsk = std::function<bool(size_t at)>;

  // `what`: for errors, "t of 10.0.0.1:34601". `table`, `patience` and what `options` point to
  // outlive it. `part`, `parts`, `after` and `partitions` of `options` have no meaning here.
  PartitionReader(AsyncTable* table, std::string what, const TableScanOptions& options,
                  std::vector<CopyPosition> positions, std::shared_ptr<Turns> turns,
                  Patience* patience, OnRows on_rows);
  PartitionReader(const PartitionReader&) = delete;

  // Asks for what may be asked for, in at most kAtOnce partitions at a time.
  void Pump(absl::Time now, const MayAsk& may_ask);
  // No row comes any more: all are through, or none is asked, because it was divided or failed.
  bool IsIdle() const { return asked_ == 0 && (IsStopped() || open_ == 0); }
  bool IsDivided() const { return is_divided_; }
  const absl::Status& status() const { return status_; }
  // How many are through, those that were at the beginning included.
  int64_t done() const { return static_cast<int64_t>(pieces_.size()) - open_; }
  // All rows of that one have come.
  bool IsDone(size_t at) const { return pieces_[at].position.is_done; }
  // How many answers are waited for.
  int asked() const { return asked_; }
  // Of what was read, for a reader that takes the place of this one.
  std::vector<CopyPosition> positions() const;
  // Nothing is asked any more.
  void Stop() { is_stopped_ = true; }

  static constexpr int kAtOnce = 20;

 private:
  struct Piece {
    CopyPosition position;
    std::unique_ptr<AsyncScan> scan;
    bool is_asked = false;
    int tries = 0;
    absl::Time not_before = absl::InfinitePast();
  };
  bool IsStopped() const { return is_stopped_ || is_divided_ || !status_.ok(); }
  void Ask(size_t at);
  void OnBatch(size_t at, absl::StatusOr<std::vector<Row>> batch);

  AsyncTable* const table_;
  const std::string what_;
  const TableScanOptions options_;
  const std::shared_ptr<Turns> turns_;
  Patience* const patience_;
  const OnRows on_rows_;
  std::vector<Piece> pieces_;
  int64_t open_ = 0;
  int asked_ = 0;
  bool is_stopped_ = false, is_divided_ = false;
  absl::Status status_;
};

}  // namespace arion::shell
