// ComparedTable: a table of one cluster, whose partitions are compared. Arion's servers count and
// add up a range by themselves (rpc/PROTOCOL.md 6.5); of others the records come, and are added up
// here.
//
// Errors    Of Create: InvalidArgument: no address. Of Learn: NotFound: there is no such table.
//           Unimplemented: a server that does not say when records expire.
// Threads   Thread-safe, but for Learn.
// Lifetime  It outlives its partitions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/cluster_client.h"
#include "client/table_router.h"
#include "messages/client_messages.h"
#include "tools/compare/compared_partition.h"

namespace arion {
class ClientThreads;
}

namespace arion::compare {

// Whether records that expire at other times are others.
enum class Expiries { kCompared, kNotCompared };

// Create, Learn, then Partition for each.
class ComparedTable {
 public:
  struct Options {
    // "127.0.0.1:34601"
    std::vector<std::string> meta_servers;
    std::string table;
    Expiries expiries = Expiries::kCompared;
    // Of one question.
    absl::Duration timeout = absl::Seconds(30);
  };
  static absl::StatusOr<std::unique_ptr<ComparedTable>> Create(const Options& options);
  ~ComparedTable();

  // Asks which partitions it has. Returns how many.
  absl::StatusOr<int32_t> Learn();
  // 0 <= index < what Learn returned.
  std::unique_ptr<ComparedPartition> Partition(int32_t index);
  // Records that came here to be added up, because a server could not.
  int64_t fetched() const { return fetched_.load(); }

 private:
  class OnePartition;
  ComparedTable(Options options, std::unique_ptr<ClientThreads> threads);
  absl::StatusOr<std::string> Ask(Question question);
  void Forget(int64_t scan, uint64_t partition_hash);

  const Options options_;
  const std::unique_ptr<ClientThreads> threads_;
  std::vector<TableRouter::Share> shares_;
  std::atomic<int64_t> fetched_ = 0;
};

}  // namespace arion::compare
