// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/convergence_checker.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "base/value_schema.h"

namespace arion::sim {
namespace {

constexpr size_t kMost = 20;

}  // namespace

void ConvergenceChecker::Applied(int side, PartitionId pid, Decree decree, int64_t timestamp_us,
                                 absl::Span<const WriteOp> ops) {
  const auto here = static_cast<size_t>(side);
  Partition& partition = partitions_[pid];
  if (decree <= partition.applied[here]) return;  // by another member
  partition.applied[here] = decree;
  for (const WriteOp& op : ops) {
    const bool is_own = op.time_tag == 0;
    const TimeTag tag =
        is_own ? TimeTag{.timestamp_us = timestamp_us, .cluster_id = ids_[here], .deleted = false}
               : TimeTag::FromPacked(op.time_tag);
    Record& record = partition.records[std::string(op.key)];
    State now{.tag = tag.packed() >> 1, .made = StateOf(op, tag.timestamp_us)};
    absl::StrAppend(&now.made.text, " by ", int{tag.cluster_id});
    State& before = record.at[here];
    if (now.tag < before.tag && violations_.size() < kMost)
      violations_.push_back(absl::StrCat("convergence_checker/V1: cluster ", int{ids_[here]},
                                         " makes ", now.made.text, " of ",
                                         NameOfRecord(pid, op.key), " as decree ", decree.value(),
                                         ", and had ", before.made.text));
    if (is_own) {
      record.is_written_by[here] = true;
      if (now.tag < record.latest.tag) ++overtaken_;
      if (now.tag >= record.latest.tag) record.latest = now;
    }
    before = now;
  }
}

Violations ConvergenceChecker::JudgeEnd() const {
  Violations violations;
  for (const auto& [pid, partition] : partitions_) {
    for (const auto& [key, record] : partition.records) {
      for (size_t side = 0; side < ids_.size(); ++side) {
        if (record.at[side].made.fingerprint == record.latest.made.fingerprint) continue;
        violations.push_back(absl::StrCat(
            "convergence_checker/V2: cluster ", int{ids_[side]}, " ends with ",
            record.at[side].tag == 0 ? "nothing written" : record.at[side].made.text, " of ",
            NameOfRecord(pid, key), ", and the latest is ", record.latest.made.text));
        if (violations.size() >= kMost) return violations;
      }
    }
  }
  return violations;
}

int64_t ConvergenceChecker::CountContended() const {
  int64_t count = 0;
  for (const auto& [pid, partition] : partitions_)
    count += std::count_if(partition.records.begin(), partition.records.end(), [](const auto& one) {
      return one.second.is_written_by[0] && one.second.is_written_by[1];
    });
  return count;
}

}  // namespace arion::sim
