// TableRouter: which partition of a table holds a key, and who its primary is. Pure.
//
// Shapes    Partition = CRC-64 of the hash key (of the sort key when that is empty) mod the
//           partition count (engine/FORMAT.md 5.1).
//           While a table is split, the half that a partition is about to give away is served by it
//           until the other partition is there (its ballot is negative until then).
// Promises  table_router/K1  A partition's configuration is replaced only by one of an equal or
//               higher ballot, unless it was forgotten: an answer of a lagging meta server never
//               leads back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace arion {

struct QueryConfigResponse;

// The routes of one table. It starts empty; Update fills it, Forget and ForgetAll drop what turned
// out to be wrong.
class TableRouter {
 public:
  // Where a key's requests go.
  struct Route {
    PartitionId pid;
    // Invalid: not known; ask the meta server.
    Endpoint primary;
  };

  // Takes over a meta server's answer whose err is kOk. InvalidArgument: it contradicts itself;
  // nothing is changed. Another table id or partition count replaces everything.
  absl::Status Update(const QueryConfigResponse& answer);
  // Whether the table's partition count is known. Single partitions may still have no primary.
  bool IsKnown() const { return !partitions_.empty(); }
  int32_t app_id() const { return app_id_; }
  int32_t partition_count() const { return static_cast<int32_t>(partitions_.size()); }
  // How many of them are there. While that is the same, every key's partition is.
  int32_t present_count() const { return partition_count() - planned_; }
  // The hashes that are `index` modulo `count` are those of one partition.
  struct Share {
    int32_t index = 0;
    int32_t count = 0;
    bool operator==(const Share&) const = default;
  };
  // Of all partitions that are there, by index: together every hash, each once.
  std::vector<Share> Shares() const;

  // One of its hashes: not the index itself, but one that becomes another partition's when this one
  // is split. A server that checks hashes then says so.
  static uint64_t HashOf(Share share) {
    return static_cast<uint64_t>(share.index) + static_cast<uint64_t>(share.count);
  }

  // The partition that the hash falls into. IsKnown() holds.
  Route Find(uint64_t partition_hash) const;
  // The partition's secondaries; empty where they are not known. 0 <= partition_index <
  // partition_count(). Valid until the next change.
  const std::vector<Endpoint>& Secondaries(int32_t partition_index) const {
    return partitions_[partition_index].secondaries;
  }
  // Drops a partition's configuration because its primary turned out to be wrong. The next answer's
  // configuration is taken whatever its ballot. An index that does not exist is ignored.
  void Forget(int32_t partition_index);
  // Drops every route. The table is no longer known.
  void ForgetAll() {
    partitions_.clear();
    planned_ = 0;
  }

 private:
  struct Partition {
    Ballot ballot = kInvalidBallot;
    Endpoint primary;
    std::vector<Endpoint> secondaries;
    // A split is about to make it.
    bool is_planned = false;
  };
  int32_t IndexOf(uint64_t partition_hash) const;

  int32_t app_id_ = 0;
  int32_t planned_ = 0;
  std::vector<Partition> partitions_;
};

}  // namespace arion
