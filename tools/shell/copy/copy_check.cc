// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/copy_check.h"

#include <absl/time/clock.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/crc.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "tools/shell/copy/partition_reader.h"

namespace arion::shell {
namespace {

constexpr absl::Duration kCheckTurn = absl::Milliseconds(100);
// How far ahead expiry times are left out, and how often longer.
constexpr absl::Duration kFirstHorizon = absl::Minutes(10);
constexpr int kLonger = 4;

uint64_t HashOf(const Row& row, const CopyCheckOptions& options) {
  const bool has_expiry = options.expiry_times == ExpiryTimes::kReturn && row.expires &&
                          *row.expires < absl::InfiniteFuture();
  return RecordHash(JoinRawKey(row.hash_key, row.sort_key),
                    options.compared == Values::kReturn ? row.value : std::string_view(),
                    has_expiry ? static_cast<uint32_t>(absl::ToUnixSeconds(*row.expires)) : 0);
}

// One side's reading.
class SideReading {
 public:
  SideReading(const CheckedSide& side, const CopyCheckOptions& options, const ShareIndex& index,
              absl::Time horizon, std::vector<RecordSum>* sums)
      : side_(side),
        options_(options),
        index_(index),
        horizon_(horizon),
        sums_(sums),
        patience_(options.patience, absl::Now()) {}

  // Where it has begun, what is left goes on in the partitions that there are now.
  absl::Status Begin(const std::shared_ptr<Turns>& turns, std::optional<std::vector<Share>> of) {
    absl::StatusOr<std::vector<Share>> shares = side_.shares();
    if (!shares.ok()) return Annotate(shares.status(), side_.name);
    std::vector<CopyPosition> positions = reader_ != nullptr
                                              ? DivideAgain(reader_->positions(), *shares)
                                          : of ? DivideAgain(AtTheBeginning(*of), *shares)
                                               : AtTheBeginning(*shares);
    TableScanOptions scan = options_.scan;
    // Always: of what expires soon nothing is compared.
    scan.expiry_times = ExpiryTimes::kReturn;
    scan.values = options_.compared == Values::kReturn || !options_.values.TakesAll()
                      ? Values::kReturn
                      : Values::kOmit;
    reader_ = std::make_unique<PartitionReader>(
        side_.table, side_.name, scan, std::move(positions), turns, &patience_,
        [this](size_t, const std::vector<Row>& rows) { Add(rows); });
    return absl::OkStatus();
  }
  PartitionReader& reader() { return *reader_; }
  int64_t read() const { return read_; }
  int64_t left_out() const { return left_out_; }

 private:
  void Add(const std::vector<Row>& rows) {
    read_ += static_cast<int64_t>(rows.size());
    for (const Row& row : rows) {
      const std::optional<size_t> at = index_.Find(PartitionHash(row.hash_key, row.sort_key));
      if (!at || !options_.values.Passes(row.value)) continue;
      if (row.expires && *row.expires <= horizon_) {
        ++left_out_;
        continue;
      }
      RecordSum& sum = (*sums_)[*at];
      ++sum.records;
      sum.checksum += HashOf(row, options_);
    }
  }

  const CheckedSide& side_;
  const CopyCheckOptions& options_;
  const ShareIndex& index_;
  const absl::Time horizon_;
  std::vector<RecordSum>* const sums_;
  Patience patience_;
  std::unique_ptr<PartitionReader> reader_;
  int64_t read_ = 0, left_out_ = 0;
};

absl::StatusOr<CopyCheckResult> CheckOnce(const CheckedSide& source, const CheckedSide& target,
                                          const CopyCheckOptions& options,
                                          const std::vector<Share>& of, absl::Time horizon,
                                          const std::function<bool(int64_t records)>& go_on) {
  const ShareIndex index(of);
  CopyCheckResult result{.source = std::vector<RecordSum>(of.size()),
                         .target = std::vector<RecordSum>(of.size())};
  const auto turns = std::make_shared<Turns>();
  SideReading here(source, options, index, horizon, &result.source);
  SideReading there(target, options, index, horizon, &result.target);
  RETURN_IF_ERROR(here.Begin(turns, of));
  RETURN_IF_ERROR(there.Begin(turns, std::nullopt));
  absl::Status status;
  // Rows are summed up at once, so answers are all that is held: few at a time.
  const auto may_ask = [](PartitionReader& reader) {
    return [&reader](size_t) { return reader.asked() < 4; };
  };
  absl::Time next_look = absl::InfinitePast();
  for (;;) {
    const absl::Time now = absl::Now();
    if (now >= next_look) {
      if (status.ok() && !go_on(here.read() + there.read())) status = absl::AbortedError("stopped");
      next_look = now + kCheckTurn;
    }
    bool is_idle = true;
    for (SideReading* side : {&here, &there}) {
      if (status.ok()) status = side->reader().status();
      if (!status.ok()) side->reader().Stop();
      if (status.ok() && side->reader().IsDivided() && side->reader().IsIdle())
        status = side->Begin(turns, std::nullopt);
      if (status.ok()) side->reader().Pump(now, may_ask(side->reader()));
      is_idle = is_idle && side->reader().IsIdle() && (!status.ok() || !side->reader().IsDivided());
    }
    // A stop that the second side gave reaches the first one in the next round.
    if (is_idle) break;
    turns->RunFor(next_look - absl::Now());
  }
  RETURN_IF_ERROR(status);
  result.left_out = here.left_out() + there.left_out();
  return result;
}

}  // namespace

absl::StatusOr<CopyCheckResult> CheckCopy(const CheckedSide& source, const CheckedSide& target,
                                          const CopyCheckOptions& options,
                                          const std::vector<Share>& of,
                                          const std::function<bool(int64_t records)>& go_on) {
  for (absl::Duration ahead = kFirstHorizon;; ahead *= kLonger) {
    const absl::Time horizon = absl::Now() + ahead;
    absl::StatusOr<CopyCheckResult> result = CheckOnce(source, target, options, of, horizon, go_on);
    // Equal is equal. Else what expired meanwhile may be the whole difference: once more, with a
    // bound that is far enough.
    if (!result.ok() || result->IsEqual() || absl::Now() < horizon) return result;
  }
}

}  // namespace arion::shell
