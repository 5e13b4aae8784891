// SPDX-License-Identifier: Apache-2.0
#include "copies/peer_pace.h"

#include <algorithm>

#include "base/log.h"

namespace arion {

void PeerPace::OnAck(Endpoint peer, absl::Duration took) {
  const MutexLock lock(mutex_);
  Peer& known = peers_[peer];
  ++known.acks[LatencyBuckets::BucketOf(
      static_cast<uint64_t>(std::max<int64_t>(absl::ToInt64Nanoseconds(took), 0)))];
  ++known.count;
}

// Takes the sample: the next one begins empty.
absl::Duration PeerPace::TakeP99(Peer& peer) {
  const uint64_t rank = peer.count - peer.count / 100;  // of the first that 99 % do not exceed
  uint64_t seen = 0;
  // The last bucket holds all that is beyond, so the loop stops there.
  size_t bucket = 0;
  while (bucket + 1 < peer.acks.size() && (seen += peer.acks[bucket]) < rank) ++bucket;
  peer.acks.fill(0);
  peer.count = 0;
  return absl::Nanoseconds(LatencyBuckets::LargestOf(bucket));
}

bool PeerPace::OnSecond(Instant now) {
  const MutexLock lock(mutex_);
  std::map<Endpoint, absl::Duration> p99s;
  const auto has_enough = [](const auto& entry) { return entry.second.count >= kAcksMin; };
  // Alone there is nothing to compare with: what came is kept for the next look.
  if (std::count_if(peers_.begin(), peers_.end(), has_enough) >= 2)
    for (auto& [endpoint, peer] : peers_)
      if (peer.count >= kAcksMin) p99s[endpoint] = TakeP99(peer);
  bool has_changed = false;
  for (auto& [endpoint, peer] : peers_) {
    if (const auto own = p99s.find(endpoint); own != p99s.end()) {
      // The median of the *others*: with the peer itself among them, a slow one of two would be its
      // own measure.
      std::vector<absl::Duration> others;
      for (const auto& [other, p99] : p99s)
        if (other != endpoint) others.push_back(p99);
      const auto middle = others.begin() + static_cast<ptrdiff_t>(others.size() / 2);
      std::nth_element(others.begin(), middle, others.end());
      has_changed |= Judge(endpoint, peer, own->second, *middle, now);
    }
    // Also without acknowledgements: a slow peer that lost its roles gets none, and must become
    // eligible again.
    if (!peer.is_slow || now - peer.late_at < peer.calm) continue;
    peer.is_slow = false;
    peer.lateness = 0;
    peer.calm_since = now;
    has_changed = true;
    LOG(INFO) << endpoint << " acknowledges as fast as others again, or may try";
  }
  return has_changed;
}

bool PeerPace::Judge(Endpoint endpoint, Peer& peer, absl::Duration p99, absl::Duration others,
                     Instant now) {
  // Late needs both bounds: far from the others, and long enough to matter. Between "late" and "in
  // order" lies a range that changes nothing, so that a peer on the border does not flap.
  const bool is_late = options_.ratio > 0 && p99 >= kNoticed && p99 >= options_.ratio * others;
  const bool is_in_order = p99 < kNoticed / 2 || p99 < options_.ratio / 2 * others;
  if (is_late) {
    peer.lateness = std::min(peer.lateness + 1, kLateSeconds);
    peer.late_at = now;
  } else if (is_in_order) {
    peer.lateness = std::max(peer.lateness - 1, 0);
    // Neither late nor in order: a slow peer stays slow, because its time of calm starts anew.
  } else if (peer.is_slow) {
    peer.late_at = now;
  }
  if (peer.is_slow || peer.lateness < kLateSeconds) return false;
  peer.is_slow = true;
  const bool is_relapse = peer.calm_since > Instant(0) && now - peer.calm_since < kRelapse;
  peer.calm = std::min(is_relapse ? 2 * peer.calm : kCalm, options_.calm_max);
  LOG(WARNING) << endpoint << " acknowledges far slower than others: p99 " << p99 << ", theirs "
               << others << "; the meta server hears of it";
  return true;
}

std::vector<Endpoint> PeerPace::Slow() const {
  const MutexLock lock(mutex_);
  std::vector<Endpoint> slow;
  for (const auto& [endpoint, peer] : peers_)
    if (peer.is_slow) slow.push_back(endpoint);
  return slow;
}

}  // namespace arion
