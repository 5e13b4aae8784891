// SPDX-License-Identifier: Apache-2.0
#include "client/table_router.h"

#include "base/log.h"
#include "base/status.h"
#include "messages/meta_messages.h"

namespace arion {
namespace {

// A damaged answer must not make the client take gigabytes for its routes.
constexpr int32_t kPartitionCountMax = 1 << 20;

}  // namespace

absl::Status TableRouter::Update(const QueryConfigResponse& answer) {
  if (answer.app_id <= 0 || answer.partition_count <= 0 ||
      answer.partition_count > kPartitionCountMax) {
    return absl::InvalidArgumentError(absl::StrCat("a table with id ", answer.app_id, " and ",
                                                   answer.partition_count, " partitions"));
  }
  for (const PartitionConfiguration& partition : answer.partitions) {
    // All is checked before anything is changed: half an answer must not count.
    if (partition.pid.app_id != answer.app_id || partition.pid.index < 0 ||
        partition.pid.index >= answer.partition_count) {
      return absl::InvalidArgumentError(absl::StrCat("partition ", partition.pid.ToString(),
                                                     " in table ", answer.app_id, " of ",
                                                     answer.partition_count));
    }
  }
  // Another table of that name: nothing that was known holds.
  if (answer.app_id != app_id_ || answer.partition_count != partition_count()) {
    app_id_ = answer.app_id;
    partitions_.assign(answer.partition_count, Partition());
    planned_ = 0;
  }
  for (const PartitionConfiguration& partition : answer.partitions) {
    Partition& known = partitions_[partition.pid.index];
    // table_router/K1
    if (partition.ballot < known.ballot) continue;
    const bool is_planned = partition.ballot < Ballot(0) &&
                            partition.pid.index >= answer.partition_count / 2 &&
                            answer.partition_count % 2 == 0;
    planned_ += static_cast<int32_t>(is_planned) - static_cast<int32_t>(known.is_planned);
    known = {.ballot = partition.ballot,
             .primary = partition.primary,
             .secondaries = partition.secondaries,
             .is_planned = is_planned};
  }
  return absl::OkStatus();
}

// Of the one that is there.
int32_t TableRouter::IndexOf(uint64_t partition_hash) const {
  const auto index = static_cast<int32_t>(partition_hash % partitions_.size());
  return partitions_[index].is_planned ? index - partition_count() / 2 : index;
}

std::vector<TableRouter::Share> TableRouter::Shares() const {
  std::vector<Share> shares;
  const int32_t half = partition_count() / 2;
  for (int32_t index = 0; index < partition_count(); ++index) {
    if (partitions_[index].is_planned) continue;
    const bool has_both =
        index < half && index + half < partition_count() && partitions_[index + half].is_planned;
    shares.push_back({index, has_both ? half : partition_count()});
  }
  return shares;
}

TableRouter::Route TableRouter::Find(uint64_t partition_hash) const {
  CHECK(IsKnown());
  const int32_t index = IndexOf(partition_hash);
  return {.pid = {.app_id = app_id_, .index = index}, .primary = partitions_[index].primary};
}

void TableRouter::Forget(int32_t partition_index) {
  if (partition_index < 0 || partition_index >= partition_count()) return;
  // With its ballot: the next answer counts even where it is of a lower one (table_router/K1).
  planned_ -= static_cast<int32_t>(partitions_[partition_index].is_planned);
  partitions_[partition_index] = Partition();
}

}  // namespace arion
