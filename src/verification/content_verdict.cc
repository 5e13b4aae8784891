// SPDX-License-Identifier: Apache-2.0
#include "verification/content_verdict.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace arion {
namespace {

using Range = ContentChecksum::Range;

// The first keys that the ranges of every member have in common. Members cut at the same keys, but
// joined theirs more or less often.
std::vector<std::string> CommonBeginnings(const std::vector<CountedContent>& counted) {
  std::vector<std::string> common;
  for (size_t i = 0; i < counted.size(); ++i) {
    std::vector<std::string> firsts, both;
    for (const Range& range : counted[i].ranges) firsts.push_back(range.first);
    if (i == 0) {
      common = std::move(firsts);
      continue;
    }
    std::set_intersection(common.begin(), common.end(), firsts.begin(), firsts.end(),
                          std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

// The ranges joined so that they begin at `beginnings` only.
std::vector<Range> Joined(const std::vector<Range>& ranges,
                          const std::vector<std::string>& beginnings) {
  std::vector<Range> joined;
  for (const std::string& first : beginnings) joined.push_back({.first = first});
  size_t at = 0;
  for (const Range& range : ranges) {
    // Both are ordered, so one pass is enough.
    while (at + 1 < joined.size() && joined[at + 1].first <= range.first) ++at;
    // The numbers come from a peer and may be anything: unsigned addition wraps, signed overflow
    // would be undefined.
    joined[at].records = static_cast<int64_t>(static_cast<uint64_t>(joined[at].records) +
                                              static_cast<uint64_t>(range.records));
    joined[at].sum += range.sum;
  }
  return joined;
}

}  // namespace

ContentVerdict JudgeContents(const std::vector<CountedContent>& counted, size_t members) {
  ContentVerdict verdict;
  const CountedContent* most = nullptr;
  size_t agreeing = 0;
  for (const CountedContent& one : counted) {
    // At most as many counts as there are members: quadratic is fine.
    const auto same = static_cast<size_t>(
        std::count_if(counted.begin(), counted.end(),
                      [&one](const CountedContent& other) { return one.IsEqualTo(other); }));
    if (same > agreeing) most = &one, agreeing = same;
  }
  if (most == nullptr) return verdict;
  const bool all_agree = agreeing == counted.size();
  // One copy has nothing to be compared with, and a member that was not counted may differ.
  if (all_agree && (members < 2 || agreeing < members)) return verdict;
  // Half is not enough: the members that were not counted may hold what the others hold.
  if (!all_agree && agreeing * 2 <= members) {
    verdict.kind = ContentVerdictKind::kUndecided;
    return verdict;
  }
  verdict.kind = all_agree ? ContentVerdictKind::kEqual : ContentVerdictKind::kMajority;
  verdict.records = most->records;
  verdict.sum = most->sum;
  for (const CountedContent& one : counted)
    if (!one.IsEqualTo(*most)) verdict.differing.push_back(one.member);
  return verdict;
}

std::vector<DifferingRange> RangesThatDiffer(const std::vector<CountedContent>& counted) {
  std::vector<DifferingRange> differing;
  if (counted.size() < 2) return differing;
  const std::vector<std::string> beginnings = CommonBeginnings(counted);
  if (beginnings.empty() || !beginnings.front().empty()) return differing;  // a peer's nonsense
  std::vector<std::vector<Range>> joined;
  for (const CountedContent& one : counted) joined.push_back(Joined(one.ranges, beginnings));
  for (size_t at = 0; at < beginnings.size(); ++at) {
    const Range& first = joined.front()[at];
    if (std::all_of(joined.begin(), joined.end(), [&](const std::vector<Range>& ranges) {
          return ranges[at].records == first.records && ranges[at].sum == first.sum;
        }))
      continue;
    DifferingRange range{.first = beginnings[at],
                         .end = at + 1 < beginnings.size() ? beginnings[at + 1] : std::string()};
    for (const std::vector<Range>& ranges : joined) range.records.push_back(ranges[at].records);
    differing.push_back(std::move(range));
  }
  return differing;
}

}  // namespace arion
