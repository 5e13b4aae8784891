// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/partition_reader.h"

#include <absl/time/clock.h>

#include <utility>

#include "base/raw_key.h"
#include "base/status.h"

namespace arion::shell {

PartitionReader::PartitionReader(AsyncTable* table, std::string what,
                                 const TableScanOptions& options,
                                 std::vector<CopyPosition> positions, std::shared_ptr<Turns> turns,
                                 Patience* patience, OnRows on_rows)
    : table_(table),
      what_(std::move(what)),
      options_(options),
      turns_(std::move(turns)),
      patience_(patience),
      on_rows_(std::move(on_rows)) {
  for (CopyPosition& position : positions) {
    if (!position.is_done) ++open_;
    pieces_.push_back({.position = std::move(position)});
  }
}

void PartitionReader::Pump(absl::Time now, const MayAsk& may_ask) {
  if (IsStopped()) return;
  int begun = 0;
  for (size_t at = 0; at < pieces_.size() && begun < kAtOnce; ++at) {
    Piece& piece = pieces_[at];
    if (piece.position.is_done) continue;
    ++begun;
    if (!piece.is_asked && piece.not_before <= now && may_ask(at)) Ask(at);
  }
}

void PartitionReader::Ask(size_t at) {
  Piece& piece = pieces_[at];
  if (piece.scan == nullptr) {
    TableScanOptions options = options_;
    options.part = piece.position.share.index;
    options.parts = piece.position.share.count;
    options.partitions = TableScanOptions::Partitions::kExact;
    if (piece.position.after) {
      const std::optional<KeyParts> key = SplitRawKey(*piece.position.after);
      options.after = {key->hash_key, key->sort_key};
    }
    piece.scan = table_->ScanTable(options);
  }
  piece.is_asked = true;
  ++asked_;
  piece.scan->Next([turns = turns_, this, at](absl::StatusOr<std::vector<Row>> batch) {
    turns->Post([this, at, batch = std::move(batch)]() mutable { OnBatch(at, std::move(batch)); });
  });
}

void PartitionReader::OnBatch(size_t at, absl::StatusOr<std::vector<Row>> batch) {
  Piece& piece = pieces_[at];
  piece.is_asked = false;
  --asked_;
  const absl::Time now = absl::Now();
  if (absl::IsAborted(batch.status())) {
    is_divided_ = true;
    return;
  }
  if (!batch.ok()) {
    // It is begun anew, behind the last record.
    piece.scan.reset();
    const absl::Status verdict = patience_->Judge(
        Annotate(batch.status(),
                 absl::StrCat("partition ", piece.position.share.index, " of ", what_)),
        now);
    if (status_.ok()) status_ = verdict;
    piece.not_before = now + Patience::PauseAfter(++piece.tries);
    return;
  }
  patience_->Progressed(now);
  piece.tries = 0;
  if (batch->empty()) {
    piece.position.is_done = true;
    piece.scan.reset();
    --open_;
    return;
  }
  piece.position.after = JoinRawKey(batch->back().hash_key, batch->back().sort_key);
  on_rows_(at, *std::move(batch));
}

std::vector<CopyPosition> PartitionReader::positions() const {
  std::vector<CopyPosition> positions;
  for (const Piece& piece : pieces_) positions.push_back(piece.position);
  return positions;
}

}  // namespace arion::shell
