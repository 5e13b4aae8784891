// SPDX-License-Identifier: Apache-2.0
#include "duplication/duplication_sender.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace arion {

DuplicationSender::DuplicationSender(int8_t cluster_id, int64_t duplication_id,
                                     std::optional<Decree> confirmed, Hooks hooks)
    : cluster_id_(cluster_id),
      duplication_id_(duplication_id),
      hooks_(std::move(hooks)),
      confirmed_(confirmed),
      sent_(confirmed.value_or(hooks_.committed())) {}

void DuplicationSender::SetActive(bool is_active) {
  if (std::exchange(is_active_, is_active) == is_active) return;
  is_stopped_ = false;
  Proceed();
}

void DuplicationSender::SetFailMode(DuplicationFailMode mode) {
  if (std::exchange(mode_, mode) == mode || !is_stopped_) return;
  is_stopped_ = false;
  Proceed();
}

void DuplicationSender::Confirm(Decree decree) {
  // What a former one had sent is no reason to go on behind it: what was sent here since has set
  // records back that must come again, too.
  confirmed_ = std::max(confirmed_.value_or(decree), decree);
}

void DuplicationSender::Proceed() {
  NoteFigures();
  if (!MayGoOn() || is_busy_ || sent_ >= hooks_.committed()) return;
  is_busy_ = true;
  hooks_.after(is_far_behind_ ? absl::ZeroDuration() : kGather,
               [this, self = shared_from_this()] { Read(); });
}

void DuplicationSender::Read() {
  if (!MayGoOn()) {
    is_busy_ = false;
    return;
  }
  if (!batches_.empty()) return SendNext();  // it was paused, or failed
  const Decree through = hooks_.committed();
  hooks_.read_history(sent_ + 1, through,
                      [this, self = shared_from_this(),
                       through](absl::StatusOr<std::vector<MutationPtr>> read) mutable {
                        is_far_behind_ =
                            read.ok() && !read->empty() && read->back()->decree < through;
                        OnRead(std::move(read));
                      });
}

void DuplicationSender::OnRead(absl::StatusOr<std::vector<MutationPtr>> read) {
  if (is_closed_) return;
  if (absl::IsOutOfRange(read.status())) {
    const std::string why = absl::StrCat("the log no longer has what follows decree ",
                                         sent_.value(), ": ", read.status().message());
    if (!MayLeaveOut(why)) return;
    sent_ = hooks_.committed();
    is_busy_ = false;
    return Proceed();
  }
  if (!read.ok()) return TryLater(std::string(read.status().message()));
  CHECK(!read->empty()) << "a piece of the log without a mutation";
  DuplicateBatches made = MakeDuplicateBatches(*read, cluster_id_, duplication_id_);
  hooks_.totals->left_out += made.left_out;
  if (sent_end_ < 0) sent_end_ = read->front()->log_offset;
  read_end_ = read->back()->log_offset + static_cast<int64_t>(EncodedSize(*read->back()));
  LOG_IF(WARNING, made.left_out > 0)
      << hooks_.tag() << " " << made.left_out
      << " writes that can't be repeated elsewhere are not sent to the other cluster";
  read_through_ = read->back()->decree;
  CHECK(read_through_ > sent_) << "duplication_sender/D2: it would begin anew";
  batches_.assign(std::make_move_iterator(made.batches.begin()),
                  std::make_move_iterator(made.batches.end()));
  SendNext();
}

void DuplicationSender::SendNext() {
  if (batches_.empty()) {
    sent_ = read_through_;
    CHECK(sent_ <= hooks_.committed()) << "duplication_sender/D2";
    sent_end_ = read_end_;
    oldest_unsent_us_ = 0;
    is_busy_ = false;
    return Proceed();
  }
  if (!MayGoOn()) {
    is_busy_ = false;
    return;
  }
  oldest_unsent_us_ = batches_.front().timestamp_us;
  NoteFigures();
  hooks_.send(batches_.front(), [this, self = shared_from_this()](SendOutcome outcome) {
    OnSent(std::move(outcome));
  });
}

void DuplicationSender::OnSent(SendOutcome outcome) {
  if (is_closed_) return;
  switch (outcome.kind) {
    case SendOutcome::Kind::kAgain:
      return TryLater(outcome.text);
    case SendOutcome::Kind::kRefused:
      if (!MayLeaveOut(absl::StrCat("the other cluster refuses what ends at decree ",
                                    batches_.front().last.value(), ": ", outcome.text)))
        return;
      hooks_.totals->left_out += batches_.front().updates;
      break;
    case SendOutcome::Kind::kTaken:
      hooks_.totals->updates += batches_.front().updates;
      hooks_.totals->bytes += static_cast<int64_t>(batches_.front().body.size());
      trouble_.clear();
      break;
  }
  pause_ = kRetryMin;
  Advance();
  SendNext();
}

void DuplicationSender::Advance() {
  // The rest of its last mutation may be in the next one.
  sent_ = std::max(sent_, batches_.front().last - 1);
  batches_.pop_front();
}

void DuplicationSender::TryLater(const std::string& why) {
  if (trouble_ != why) LOG(WARNING) << hooks_.tag() << " duplication: " << why;
  trouble_ = why;
  ++hooks_.totals->retries;
  NoteFigures();
  hooks_.after(std::exchange(pause_, std::min(2 * pause_, kRetryMax)),
               [this, self = shared_from_this()] { Read(); });
}

bool DuplicationSender::MayLeaveOut(const std::string& why) {
  LOG(ERROR) << hooks_.tag() << " duplication "
             << (mode_ == DuplicationFailMode::kSkip ? "leaves writes out: " : "stops: ") << why;
  trouble_ = why;
  if (mode_ == DuplicationFailMode::kSkip) return true;
  is_stopped_ = true;
  is_busy_ = false;
  NoteFigures();
  return false;
}

void DuplicationSender::NoteFigures() {
  DuplicationFigures& figures = *hooks_.figures;
  const int64_t behind = hooks_.committed() - sent_;
  figures.decrees_behind = behind;
  figures.is_active = is_active_;
  figures.is_stopped = is_stopped_;
  if (behind == 0) {
    figures.behind_since_us = 0;
    figures.bytes_behind = 0;
    return;
  }
  if (oldest_unsent_us_ > 0)
    figures.behind_since_us = oldest_unsent_us_;
  else if (figures.behind_since_us == 0)
    figures.behind_since_us = hooks_.wall_micros();
  figures.bytes_behind = sent_end_ < 0 ? -1 : hooks_.log_end() - sent_end_;
}

}  // namespace arion
