// SPDX-License-Identifier: Apache-2.0
#include "meta/wall_clocks.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "meta_state/cluster_state.h"

namespace arion {
namespace {

constexpr int64_t kWallMillisMax = INT64_MAX / 2000;  // microseconds of it are numbers, too
constexpr absl::Duration kWentApart = absl::Seconds(1);
constexpr absl::Duration kWaitedAtMost = absl::Milliseconds(100);

}  // namespace

WallClocks::WallClocks(const Clock& clock, ClusterState& state, absl::Duration offset_max,
                       std::function<void()> on_judged)
    : clock_(clock), state_(state), on_judged_(std::move(on_judged)), cluster_clock_(offset_max) {}

void WallClocks::Note(Endpoint from, std::optional<int64_t> wall_ms, Instant counts_from) {
  const Instant now = clock_.Now();
  const int64_t monotonic_ms = now.nanos() / 1'000'000;
  const absl::Duration ours = absl::Milliseconds(clock_.WallMicros() / 1000 - monotonic_ms);
  if (ours_before_ && absl::AbsDuration(ours - *ours_before_) > kWentApart) {
    cluster_clock_.ForgetAll();
    // Beacons that waited while this machine stood still arrive in a burst.
    counts_from_ = now + kWaitedAtMost;
  }
  ours_before_ = ours;
  // A beacon that waited carries the time of when it was sent.
  if (now < std::max(counts_from_, counts_from)) wall_ms = std::nullopt;
  if (wall_ms && *wall_ms >= 0 && *wall_ms <= kWallMillisMax)
    cluster_clock_.Note(from, absl::Milliseconds(*wall_ms - monotonic_ms), ours,
                        state_.AliveCount());
  else
    cluster_clock_.Note(ours, state_.AliveCount());
  if (const std::optional<int64_t> agreed = AgreedMillis())
    // This process serves by the agreed time itself: dropped tables expire by it.
    clock_.agreed().Agree(*agreed * 1000, now);
  Show();
}

void WallClocks::ForgetDeadServer(Endpoint server) {
  cluster_clock_.Forget(server);
  Show();
}

std::optional<int64_t> WallClocks::AgreedMillis() const {
  const std::optional<absl::Duration> agreed = cluster_clock_.agreed();
  if (!agreed) return std::nullopt;
  return clock_.Now().nanos() / 1'000'000 + absl::ToInt64Milliseconds(*agreed);
}

// A change is said once.
void WallClocks::Show() {
  Clocks& clocks = state_.clocks;
  const bool agree = !cluster_clock_.DoDiffer();
  if (clocks.agree != agree)
    LOG(WARNING) << (agree ? "meta: the wall clocks differ no more"
                           : absl::StrCat("meta: the wall clocks of this cluster do not agree, and "
                                          "nobody can tell which is right: they lie ",
                                          absl::FormatDuration(cluster_clock_.Spread()),
                                          " apart. Nothing is removed by time; set them right "
                                          "(NTP)"));
  clocks.agree = agree;
  clocks.spread = cluster_clock_.Spread();
  clocks.our_offset = cluster_clock_.OurOffset();
  if (clocks.is_ours_wrong != cluster_clock_.AreWeWrong())
    LOG(WARNING) << "meta: the wall clock of this meta server is "
                 << (cluster_clock_.AreWeWrong()
                         ? absl::StrCat(absl::FormatDuration(*clocks.our_offset),
                                        " off what most others show: set it right (NTP)")
                         : "right again");
  clocks.is_ours_wrong = cluster_clock_.AreWeWrong();
  for (auto& [endpoint, node] : state_.nodes) {
    node.clock_offset = cluster_clock_.OffsetOf(endpoint);
    const bool is_wrong = cluster_clock_.IsWrong(endpoint);
    if (is_wrong == node.has_wrong_clock) continue;
    node.has_wrong_clock = is_wrong;
    LOG(WARNING) << "meta: the wall clock of " << endpoint << " is "
                 << (is_wrong ? absl::StrCat(absl::FormatDuration(*node.clock_offset),
                                             " off what most others show: it leads nothing that "
                                             "another can lead; set it right (NTP)")
                              : "right again");
    on_judged_();
  }
}

}  // namespace arion
