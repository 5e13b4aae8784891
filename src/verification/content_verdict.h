// What follows from the counts of a partition's copies at one decree. Pure.
//
// Shapes    Equal: every member was counted, there are two at least, and all agree. Majority: more
//           than half of *all* members agree (those that could not be counted might be with the
//           others), and some differ: these, and never the majority, are to be set aside.
//           Undecided: some differ, and no such majority says which is right: nobody is set aside.
//           Unverified: else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "messages/verification_messages.h"
#include "verification/content_checksum.h"

namespace arion {

// One member's count.
struct CountedContent {
  Endpoint member;
  int64_t records = 0;
  uint64_t sum = 0;
  std::vector<ContentChecksum::Range> ranges;
  // Ranges are not compared: they only help to find a difference.
  bool IsEqualTo(const CountedContent& other) const {
    return records == other.records && sum == other.sum;
  }
};

// What is to be told to the members.
struct ContentVerdict {
  ContentVerdictKind kind = ContentVerdictKind::kUnverified;
  // What most have. Meaningful for kEqual and kMajority.
  int64_t records = 0;
  uint64_t sum = 0;
  // Members whose content is another; of kMajority.
  std::vector<Endpoint> differing;
};

// `counted`: those members that were counted. `members`: how many the partition has, them included.
ContentVerdict JudgeContents(const std::vector<CountedContent>& counted, size_t members);

// Where the copies differ, in the order of keys, by the ranges that all of them have in common. The
// numbers of records are in the order of `counted`. Empty where the ranges are of no use.
std::vector<DifferingRange> RangesThatDiffer(const std::vector<CountedContent>& counted);

}  // namespace arion
