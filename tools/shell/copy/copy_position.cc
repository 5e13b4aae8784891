// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/copy_position.h"

#include <algorithm>

namespace arion::shell {
namespace {

// Whether some hash is in both. Counts of one table only double; others are taken as overlapping,
// which copies too much and not too little.
bool Overlap(Share one, Share other) {
  const Share& fine = one.count >= other.count ? one : other;
  const Share& coarse = one.count >= other.count ? other : one;
  if (coarse.count <= 0 || fine.count % coarse.count != 0) return true;
  return fine.index % coarse.count == coarse.index;
}

}  // namespace

std::vector<CopyPosition> AtTheBeginning(const std::vector<Share>& shares) {
  std::vector<CopyPosition> positions;
  for (const Share share : shares) positions.push_back({.share = share});
  return positions;
}

std::vector<CopyPosition> DivideAgain(const std::vector<CopyPosition>& positions,
                                      const std::vector<Share>& shares) {
  std::vector<CopyPosition> divided;
  for (const Share share : shares) {
    CopyPosition position{.share = share, .is_done = true};
    bool is_covered = false;
    for (const CopyPosition& known : positions) {
      if (!Overlap(known.share, share)) continue;
      is_covered = true;
      if (known.is_done) continue;
      // nullopt is the lowest.
      position.after = position.is_done ? known.after : std::min(position.after, known.after);
      position.is_done = false;
    }
    if (is_covered) divided.push_back(std::move(position));
  }
  return divided;
}

ShareIndex::ShareIndex(const std::vector<Share>& shares) {
  int32_t most = 1;
  for (const Share share : shares) most = std::max(most, share.count);
  by_remainder_.resize(static_cast<size_t>(most));
  for (size_t i = 0; i < shares.size(); ++i)
    for (int32_t at = shares[i].index; at < most; at += shares[i].count)
      by_remainder_[static_cast<size_t>(at)] = i;
}

std::optional<size_t> ShareIndex::Find(uint64_t hash) const {
  return by_remainder_[hash % by_remainder_.size()];
}

bool ShareIndex::IsWhole() const {
  return std::all_of(by_remainder_.begin(), by_remainder_.end(),
                     [](const std::optional<size_t>& share) { return share.has_value(); });
}

}  // namespace arion::shell
