// Two logs of one replica are one history: the private log is what it knows, the shared log what it
// may lack. A record is taken if its decree is not known to be committed and no version of an equal
// or larger ballot is there. The last committed decrees are compared on the way, because files of
// another server look just as whole.
// SPDX-License-Identifier: Apache-2.0
#include "legacy/take_over_planner.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/crc.h"
#include "base/mutation.h"
#include "base/status.h"
#include "legacy/shared_log_catalog.h"

namespace arion {
namespace {

constexpr size_t kMarkedBytesMax = 256;  // of an update: what differs, differs early or in length

}  // namespace

uint64_t RecordMark(const Mutation& mutation) {
  uint32_t crc = 0;
  for (const Update& update : mutation.updates) {
    // Code and length first: they tell most records apart that begin alike.
    const uint64_t shape[] = {static_cast<uint64_t>(update.code), update.data.size()};
    crc = Crc32c({reinterpret_cast<const char*>(shape), sizeof shape}, crc);
    crc = Crc32c(std::string_view(update.data).substr(0, kMarkedBytesMax), crc);
  }
  const int64_t timestamp = mutation.timestamp_us;
  const uint32_t written = Crc32c({reinterpret_cast<const char*>(&timestamp), sizeof timestamp}, 0);
  // 0 says "not to be compared".
  return std::max<uint64_t>(uint64_t{written} << 32 | crc, 1);
}

void TakeOverPlanner::OnPrivate(Ballot ballot, Decree decree, Decree last_committed,
                                uint64_t mark) {
  max_ballot_ = std::max(max_ballot_, ballot);
  Note(ballot, decree, last_committed);
  // Before the shared log adds to it: only decrees that the private log itself calls committed can
  // be contradicted.
  private_committed_ = committed_;
  if (mark == 0) return;
  compared_[decree] = {ballot, mark};
  compared_.erase(compared_.begin(), compared_.lower_bound(Decree(committed_.value() - kCompared)));
}

TakeOverFilter TakeOverPlanner::Filter() const {
  Decree first = committed_ + 1;
  // Records that are only to be compared must reach OnShared as well.
  if (!compared_.empty()) first = std::min(first, compared_.begin()->first);
  return {max_ballot_, first, valid_start_offset_};
}

TakeOverPlanner::Verdict TakeOverPlanner::OnShared(Ballot ballot, Decree decree,
                                                   Decree last_committed, int64_t log_offset,
                                                   absl::FunctionRef<uint64_t()> mark) {
  if (contradiction_) return Verdict::kForeign;
  max_ballot_ = std::max(max_ballot_, ballot);
  if (log_offset < valid_start_offset_) return Verdict::kVoid;
  max_shared_ = std::max(max_shared_, decree);
  Compare(ballot, decree, log_offset, mark);
  const auto held = tail_.find(decree);
  const bool is_known = decree <= committed_ || (held != tail_.end() && held->second >= ballot);
  // A differing record alone may be one that was never committed. It contradicts once the shared
  // log calls its decree committed, or goes on with what this replica lacks.
  if (suspect_ && (!is_known || last_committed >= suspect_->decree)) {
    contradiction_ = suspect_;
    return Verdict::kForeign;
  }
  if (is_known) return Verdict::kKnown;
  Note(ballot, decree, last_committed);
  return Verdict::kTake;
}

void TakeOverPlanner::Compare(Ballot ballot, Decree decree, int64_t log_offset,
                              absl::FunctionRef<uint64_t()> mark) {
  // What was proposed anew under a larger ballot is what counts.
  if (suspect_ && suspect_->decree == decree && ballot > suspect_->ballot) suspect_.reset();
  if (suspect_ || decree > private_committed_) return;
  const auto ours = compared_.find(decree);
  if (ours == compared_.end() || ours->second.ballot != ballot || ours->second.mark == mark())
    return;
  suspect_ = {.ballot = ballot, .decree = decree, .log_offset = log_offset};
}

absl::Status ForeignSharedLog(const SharedLogCatalog& catalog, PartitionId pid,
                              const TakeOverPlanner::Contradiction& contradiction) {
  std::string path = catalog.directory;
  int64_t position = contradiction.log_offset;
  for (const SharedLogFile& file : catalog.files) {
    if (file.name.start_offset > contradiction.log_offset) break;
    path = catalog.PathOf(file);
    position = contradiction.log_offset - file.name.start_offset;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      path, " at ", position, ": decree ", contradiction.decree.value(), " of replica ",
      pid.ToString(), " under ballot ", contradiction.ballot.value(),
      " is another record than the committed one in the replica's private log: they are not of one"
      " server. Move away the shared log, or the replica's directory, whichever does not belong"
      " here"));
}

void TakeOverPlanner::Note(Ballot ballot, Decree decree, Decree last_committed) {
  if (decree > committed_) {
    Ballot& held = tail_[decree];
    held = std::max(held, ballot);
  }
  if (last_committed <= committed_) return;
  committed_ = last_committed;
  // Below the committed point ballots are no matter any more; so memory is bounded by what is in
  // flight.
  tail_.erase(tail_.begin(), tail_.upper_bound(committed_));
}

}  // namespace arion
