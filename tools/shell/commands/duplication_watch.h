// A table's duplication to another cluster: which it is, where the other cluster's meta servers
// are, and when it has what is committed here.
//
// Errors    As Cluster. FailedPrecondition: what an operator has to do first; the text says it.
//           Aborted: Ctrl-C.
// Threads   One.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "messages/duplication_messages.h"
#include "tools/shell/cluster.h"

namespace arion::shell {

// What the meta server says of the table's duplications.
struct KnownDuplications {
  QueryDuplicationResponse answer;

  // Null: there is none to that cluster. Valid as long as this.
  const DuplicationEntry* To(const std::string& cluster) const;
  // Where the meta servers of that cluster are, by this cluster's configuration.
  absl::StatusOr<std::vector<Endpoint>> MetaServersOf(const std::string& cluster) const;
};
absl::StatusOr<KnownDuplications> DuplicationsOf(Cluster& cluster, const std::string& table);

// How many partitions the table has. NotFound, FailedPrecondition: it is not there, or being split.
// `where`: for people: "" or " of cluster c2".
absl::StatusOr<int32_t> PartitionsOf(Cluster& cluster, const std::string& table,
                                     const std::string& where);

// For people: "DS_PAUSE: start_dup t 17 lets it go on"; empty: it sends.
std::string WhyNotSending(const std::string& table, const DuplicationEntry& entry);
// What stops the duplication or one of its partitions, the first; empty: nothing.
std::string TroubleText(const DuplicationEntry& entry);

// Waits for one duplication.
class DuplicationWatch {
 public:
  // How long nothing may get on.
  static constexpr absl::Duration kPatience = absl::Seconds(60);

  // `cluster` outlives it.
  DuplicationWatch(Cluster& cluster, std::string table, std::string remote)
      : cluster_(cluster), table_(std::move(table)), remote_(std::move(remote)) {}

  // Until writes are sent from every partition. `show` hears of each change.
  absl::Status AwaitSending(const std::function<void(const std::string& text)>& show);
  // Until the other cluster has what is committed in these partitions now. `show` hears how many
  // are that far.
  absl::Status AwaitCaughtUp(const std::set<int32_t>& partitions,
                             const std::function<void(int64_t done)>& show);

 private:
  absl::StatusOr<DuplicationEntry> Entry();
  // Adds where the partitions are that have none yet. An error may pass.
  absl::Status AskCommitted(const std::set<int32_t>& partitions,
                            std::map<int32_t, int64_t>* committed);

  Cluster& cluster_;
  const std::string table_;
  const std::string remote_;
};

}  // namespace arion::shell
