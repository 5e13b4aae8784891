// What follows from the counts of a partition's copies at one decree. Pure.
//
// Shapes    Equal: every member was counted, and all agree. Majority: more than half of *all*
//           members agree (those that could not be counted might be with the others), and some
//           differ: these, and never the majority, are to be set aside. Undecided: some differ, and
//           no such majority says which is right: nobody is set aside. Unverified: else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "messages/verification_messages.h"
#include "verification/content_checksum.h"

namespace arion {

struct CountedContent {
  Endpoint member;
  int64_t records = 0;
  uint64_t sum = 0;
  std::vector<ContentChecksum::Range> ranges;
  bool IsEqualTo(const CountedContent& other) const {
    return records == other.records && sum == other.sum;
  }
};

struct ContentVerdict {
  ContentVerdictKind kind = ContentVerdictKind::kUnverified;
  int64_t records = 0;  // what most have; of kEqual and kMajority
  uint64_t sum = 0;
  std::vector<Endpoint> differing;  // from these; of kMajority
};

// `members`: how many the partition has, the counted included.
ContentVerdict JudgeContents(const std::vector<CountedContent>& counted, size_t members);

// Where the copies differ, in the order of keys, by the ranges that all of them have in common;
// the numbers of records in the order of `counted`.
std::vector<DifferingRange> RangesThatDiffer(const std::vector<CountedContent>& counted);

}  // namespace arion
