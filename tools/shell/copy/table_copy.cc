// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/table_copy.h"

#include <absl/time/clock.h>

#include <algorithm>
#include <utility>

#include "base/raw_key.h"
#include "base/status.h"
#include "tools/shell/words.h"

namespace arion::shell {
namespace {

constexpr int64_t kHeldBytesMax = 64 << 20;
// What an answer is taken to bring as long as none has come: half of what a server sends at most.
constexpr int64_t kAnswerBytesAtFirst = 16 << 20;
// As much as a duplication sends in one request (decision 60): far below the 1 MiB that a server
// takes, and one round trip for some hundred small records.
constexpr int64_t kTogetherBytesMax = 128 << 10;
// Records of a partition that wait to be written: while they are, the next ones are read.
constexpr size_t kHeldRecordsMax = 1000;
constexpr absl::Duration kTurn = absl::Milliseconds(100);

std::string RecordText(const Row& row) {
  return absl::StrCat("\"", Escape(row.hash_key), "\" \"", Escape(row.sort_key), "\"");
}

}  // namespace

TableCopy::TableCopy(Side source, Side target, CopyOptions options,
                     std::vector<CopyPosition> positions, CopyCounts counts)
    : source_(std::move(source)),
      target_(std::move(target)),
      options_(std::move(options)),
      patience_(options_.patience, absl::Now()),
      pace_(options_.rate),
      counts_(counts),
      answer_bytes_(kAnswerBytesAtFirst) {
  for (CopyPosition& position : positions) pieces_.push_back({.position = std::move(position)});
}

void TableCopy::Divide(const std::vector<Share>& shares) {
  std::vector<Piece> pieces;
  for (CopyPosition& position : DivideAgain(positions(), shares))
    pieces.push_back({.position = std::move(position)});
  pieces_ = std::move(pieces);
}

std::vector<CopyPosition> TableCopy::positions() const {
  std::vector<CopyPosition> positions;
  for (const Piece& piece : pieces_) positions.push_back(piece.position);
  return positions;
}

int64_t TableCopy::partitions_done() const {
  return std::count_if(pieces_.begin(), pieces_.end(),
                       [](const Piece& piece) { return piece.position.is_done; });
}

int64_t TableCopy::BytesOf(const Row& row) {
  return static_cast<int64_t>(row.hash_key.size() + row.sort_key.size() + row.value.size());
}

TableCopy::Held& TableCopy::HeldAt(size_t at, uint64_t number) {
  return pieces_[at].held[number - pieces_[at].first];
}

absl::StatusOr<TableCopy::End> TableCopy::Run(const std::function<bool()>& go_on) {
  TableScanOptions scan = options_.scan;
  scan.expiry_times = options_.expiry_times;
  scan.values = options_.written == Values::kOmit && options_.values.TakesAll() ? Values::kOmit
                                                                                : Values::kReturn;
  reader_ = std::make_unique<PartitionReader>(
      source_.table, source_.name, scan, positions(), turns_, &patience_,
      [this](size_t at, std::vector<Row> rows) { OnRows(at, std::move(rows)); });
  status_ = absl::OkStatus();
  is_stopping_ = false;
  patience_.Progressed(absl::Now());
  absl::Time next_look = absl::InfinitePast();
  for (;;) {
    const absl::Time now = absl::Now();
    if (now >= next_look) {
      if (!is_stopping_ && !go_on()) is_stopping_ = true;
      next_look = now + kTurn;
    }
    if (status_.ok()) status_ = reader_->status();
    if (IsStopping()) reader_->Stop();
    const absl::Time next = Pump(now);
    if (under_way_ == 0 && reader_->IsIdle() && (IsStopping() || partitions_done() == partitions()))
      break;
    turns_->RunFor(std::min(next, next_look) - absl::Now());
  }
  // What was read and never written is read again by whoever goes on.
  for (Piece& piece : pieces_) {
    piece.held.clear();
    piece.first = piece.next = 0;
    piece.is_read = false;
  }
  held_bytes_ = 0;
  again_.clear();
  RETURN_IF_ERROR(status_);
  if (is_stopping_) return absl::AbortedError("stopped");
  return reader_->IsDivided() ? End::kDivided : End::kAll;
}

bool TableCopy::MayAsk(size_t at) const {
  const int64_t asked_bytes = reader_->asked() * answer_bytes_;
  if (held_bytes_ + asked_bytes == 0) return true;
  return pieces_[at].held.size() < kHeldRecordsMax &&
         held_bytes_ + asked_bytes + answer_bytes_ <= kHeldBytesMax;
}

void TableCopy::OnRows(size_t at, std::vector<Row> rows) {
  int64_t bytes = 0;
  for (Row& row : rows) {
    bytes += BytesOf(row);
    pieces_[at].held.push_back({.row = std::move(row)});
  }
  held_bytes_ += bytes;
  // The next ones are taken to be like the largest of late.
  answer_bytes_ = std::max(bytes, answer_bytes_ - answer_bytes_ / 8);
}

absl::Time TableCopy::Pump(absl::Time now) {
  if (IsStopping()) return absl::InfiniteFuture();
  // A partition whose rows have all come is done with its last write.
  reader_->Pump(now, [this](size_t at) { return MayAsk(at); });
  const absl::Time again = Retry(now);
  const absl::Time begin = BeginNew(now);
  for (size_t at = 0; at < pieces_.size(); ++at) {
    if (!reader_->IsDone(at) || pieces_[at].is_read) continue;
    pieces_[at].is_read = true;
    Advance(at);
  }
  return std::min(again, begin);
}

absl::Time TableCopy::Retry(absl::Time now) {
  while (!again_.empty() && again_.begin()->first <= now && under_way_ < options_.at_once) {
    const Write write = again_.begin()->second;
    again_.erase(again_.begin());
    Begin(write, now);
  }
  return again_.empty() || under_way_ >= options_.at_once ? absl::InfiniteFuture()
                                                          : again_.begin()->first;
}

// Partitions in turn, so that writes of one of them, which may all go to one partition of the
// target, do not wait for each other while others could be written. A partition that can't be
// written now leaves the others room.
absl::Time TableCopy::BeginNew(absl::Time now) {
  const int each = std::max<int>(1, options_.at_once / (pieces_.size() > 1 ? 4 : 1));
  for (size_t idle = 0; idle < pieces_.size() && under_way_ < options_.at_once;) {
    if (pace_.next() > now) return pace_.next();
    const size_t at = turn_++ % pieces_.size();
    Write write;
    const bool is_begun = pieces_[at].under_way < each && TakeNext(at, now, &write);
    idle = is_begun ? 0 : idle + 1;
    if (is_begun) Begin(write, now);
  }
  return absl::InfiniteFuture();
}

bool TableCopy::TakeNext(size_t at, absl::Time now, Write* write) {
  Piece& piece = pieces_[at];
  while (piece.next < piece.first + piece.held.size()) {
    const uint64_t number = piece.next++;
    const Row& row = HeldAt(at, number).row;
    if (!options_.values.Passes(row.value) || (row.expires && *row.expires <= now)) {
      EndRecord(at, number, {.skipped = 1});
      continue;
    }
    // CHECK_AND_SET takes no empty hash key.
    if (options_.existing == CopyOptions::Existing::kKept && row.hash_key.empty()) {
      EndRecord(at, number, {.not_copied = 1});
      continue;
    }
    *write = {.at = at, .first = number};
    int64_t bytes = BytesOf(row);
    while (piece.next < piece.first + piece.held.size() &&
           write->count < static_cast<uint64_t>(options_.together)) {
      const Row& next = HeldAt(at, piece.next).row;
      bytes += BytesOf(next);
      if (bytes > kTogetherBytesMax || !MayJoin(row, next)) break;
      ++piece.next;
      ++write->count;
    }
    return true;
  }
  return false;
}

bool TableCopy::MayJoin(const Row& first, const Row& next) const {
  return !first.hash_key.empty() && first.hash_key == next.hash_key &&
         first.expires == next.expires && options_.values.Passes(next.value);
}

void TableCopy::Begin(const Write& write, absl::Time now) {
  const Row& row = HeldAt(write.at, write.first).row;
  if (row.expires && *row.expires <= now) {
    for (uint64_t i = 0; i < write.count; ++i) EndRecord(write.at, write.first + i, {.skipped = 1});
    return;
  }
  int64_t bytes = 0;
  for (uint64_t i = 0; i < write.count; ++i)
    bytes += BytesOf(HeldAt(write.at, write.first + i).row);
  pace_.Take(static_cast<int64_t>(write.count), bytes, now);
  ++under_way_;
  ++pieces_[write.at].under_way;
  const auto done = [turns = turns_, this, write](absl::StatusOr<Effect> effect) {
    turns->Post([this, write, effect = std::move(effect)] { OnWritten(write, effect); });
  };
  const auto put = [done](const absl::Status& written) {
    done(written.ok() ? absl::StatusOr<Effect>(Effect::kWritten) : written);
  };
  const bool is_empty = options_.written == Values::kOmit;
  const std::string_view value = is_empty ? std::string_view() : std::string_view(row.value);
  if (options_.existing == CopyOptions::Existing::kKept)
    return target_.table->CheckAndSet({.hash_key = row.hash_key,
                                       .check_sort_key = row.sort_key,
                                       .check = Check::NotExist(),
                                       .set_value = value,
                                       .timeout = options_.scan.timeout,
                                       .expires = row.expires},
                                      [done](const absl::StatusOr<CheckOutcome>& set) {
                                        if (!set.ok()) return done(set.status());
                                        done(set->is_passed ? Effect::kWritten : Effect::kSkipped);
                                      });
  const PutOptions options{.timeout = options_.scan.timeout, .expires = row.expires};
  if (write.count == 1) return target_.table->Put(row.hash_key, row.sort_key, value, options, put);
  std::vector<SortKeyValue> values;
  for (uint64_t i = 0; i < write.count; ++i) {
    const Row& one = HeldAt(write.at, write.first + i).row;
    values.push_back({one.sort_key, is_empty ? std::string_view() : std::string_view(one.value)});
  }
  target_.table->MultiPut(row.hash_key, values, options, put);
}

void TableCopy::OnWritten(Write write, const absl::StatusOr<Effect>& effect) {
  --under_way_;
  --pieces_[write.at].under_way;
  const absl::Time now = absl::Now();
  const Row& row = HeldAt(write.at, write.first).row;
  // It was refused because it has expired on the way; Begin leaves it out.
  const bool has_expired = row.expires && *row.expires <= now;
  if (!effect.ok() && has_expired) {
    again_.emplace(now, write);
    return;
  }
  if (!effect.ok()) {
    const absl::Status verdict =
        patience_.Judge(Annotate(effect.status(), absl::StrCat("record ", RecordText(row), " of ",
                                                               source_.name, " to ", target_.name)),
                        now);
    if (status_.ok()) status_ = verdict;
    again_.emplace(now + Patience::PauseAfter(++write.tries), write);
    return;
  }
  patience_.Progressed(now);
  for (uint64_t i = 0; i < write.count; ++i) {
    const uint64_t number = write.first + i;
    const CopyCounts written{.copied = 1, .bytes = BytesOf(HeldAt(write.at, number).row)};
    EndRecord(write.at, number, *effect == Effect::kWritten ? written : CopyCounts{.skipped = 1});
  }
}

void TableCopy::EndRecord(size_t at, uint64_t number, const CopyCounts& outcome) {
  Held& held = HeldAt(at, number);
  held.outcome = outcome;
  held.is_over = true;
  // Only the first one moves the position.
  if (number == pieces_[at].first) Advance(at);
}

void TableCopy::Advance(size_t at) {
  Piece& piece = pieces_[at];
  const Held* last = nullptr;
  size_t over = 0;
  while (over < piece.held.size() && piece.held[over].is_over) {
    last = &piece.held[over++];
    counts_ += last->outcome;
    held_bytes_ -= BytesOf(last->row);
  }
  if (last != nullptr) piece.position.after = JoinRawKey(last->row.hash_key, last->row.sort_key);
  piece.held.erase(piece.held.begin(), piece.held.begin() + static_cast<int64_t>(over));
  piece.first += over;
  if (piece.is_read && piece.held.empty()) piece.position.is_done = true;
}

}  // namespace arion::shell
