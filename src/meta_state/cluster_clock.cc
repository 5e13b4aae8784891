// SPDX-License-Identifier: Apache-2.0
#include "meta_state/cluster_clock.h"

#include <algorithm>
#include <vector>

namespace arion {

absl::Duration ClusterClock::Record::shown() const {
  // Until there are three, the newest: a median of two would be a guess.
  if (count < last.size()) return last[count - 1];
  std::array<absl::Duration, 3> sorted = last;
  std::sort(sorted.begin(), sorted.end());
  return sorted[1];
}

void ClusterClock::Note(Endpoint node, absl::Duration shown, absl::Duration ours, size_t living) {
  Record& record = records_[node];
  if (record.count < record.last.size()) {
    record.last[record.count++] = shown;
  } else {
    std::rotate(record.last.begin(), record.last.begin() + 1, record.last.end());
    record.last.back() = shown;
  }
  Note(ours, living);
}

void ClusterClock::Note(absl::Duration ours, size_t living) {
  ours_ = ours;
  living_ = living;
  Judge();
}

void ClusterClock::ForgetAll() {
  records_.clear();
  Judge();
}

void ClusterClock::Forget(Endpoint node) {
  if (records_.erase(node) > 0) Judge();
}

void ClusterClock::Judge() {
  std::vector<absl::Duration> shown = {ours_};
  for (const auto& [node, record] : records_) shown.push_back(record.shown());
  std::sort(shown.begin(), shown.end());
  spread_ = shown.back() - shown.front();
  const size_t half = shown.size() / 2;
  // A clock that is far off moves it no more than one that is a little off.
  const absl::Duration median =
      shown.size() % 2 == 1 ? shown[half] : shown[half - 1] + (shown[half] - shown[half - 1]) / 2;
  // A majority of all that live, this meta server included, not only of those that were heard.
  const auto near = std::count_if(shown.begin(), shown.end(), [&](absl::Duration one) {
    return absl::AbsDuration(one - median) <= bound_;
  });
  agreed_.reset();
  if (2 * static_cast<size_t>(near) > std::max(shown.size(), living_ + 1)) agreed_ = median;
  for (auto& [node, record] : records_) record.is_wrong = JudgeOne(record.shown(), record.is_wrong);
  are_we_wrong_ = JudgeOne(ours_, are_we_wrong_);
}

bool ClusterClock::JudgeOne(absl::Duration shown, bool was_wrong) const {
  if (!agreed_) return false;
  // Two bounds, so that a clock at the limit does not flicker.
  return absl::AbsDuration(shown - *agreed_) > (was_wrong ? bound_ / 2 : bound_);
}

std::optional<absl::Duration> ClusterClock::OffsetOf(Endpoint node) const {
  const auto found = records_.find(node);
  if (found == records_.end() || !agreed_) return std::nullopt;
  return found->second.shown() - *agreed_;
}

std::optional<absl::Duration> ClusterClock::OurOffset() const {
  if (!agreed_) return std::nullopt;
  return ours_ - *agreed_;
}

bool ClusterClock::IsWrong(Endpoint node) const {
  const auto found = records_.find(node);
  return found != records_.end() && found->second.is_wrong;
}

}  // namespace arion
