// PartitionDuplications: all duplications of one partition, at one replica of it: which of them
// send, how far each has come, and what of the log they need.
//
// Shapes    What is to be sent where comes from the meta server by a duplication sync, which also
//           takes how far it has come. Only the primary sends. What its group checks say is how far
//           all of them have come; a secondary remembers it, and drops no log behind it.
// Threads   Strand-bound to its replica.
// Lifetime  A part of a replica, beside its core, which outlives it.
// Promises  partition_duplications/K1  The log is kept behind the least that the meta server has
//               stored of any duplication; all of it, where that is not known for each.
//           partition_duplications/K2  Nothing is sent without the lease, nor by a replica that has
//               ceased to lead: by then another may have sent more, and what comes late would set
//               records back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "duplication/duplication_book.h"
#include "duplication/duplication_sender.h"
#include "duplication/remote_cluster.h"
#include "messages/meta_messages.h"

namespace arion {

class ReplicaCore;

// The clusters that this server sends to, and the id of its own. Thread-safe.
class DuplicationTargets {
 public:
  using MetaServersOf = std::function<std::vector<Endpoint>(const std::string& cluster)>;
  // `meta_servers_of`: null: none is known. The others outlive it.
  DuplicationTargets(Environment& environment, Transport& transport, int8_t own_id,
                     MetaServersOf meta_servers_of)
      : environment_(environment),
        transport_(transport),
        own_id_(own_id),
        meta_servers_of_(std::move(meta_servers_of)) {}

  // 0: this cluster is of no group, so nothing is sent.
  int8_t own_id() const { return own_id_; }
  std::shared_ptr<RemoteCluster> Of(const std::string& cluster);
  const std::shared_ptr<DuplicationBook>& book() const { return book_; }

 private:
  Environment& environment_;
  Transport& transport_;
  const int8_t own_id_;
  const MetaServersOf meta_servers_of_;
  const std::shared_ptr<DuplicationBook> book_ = std::make_shared<DuplicationBook>();
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<RemoteCluster>> clusters_ ABSL_GUARDED_BY(mutex_);
};

// One for each replica.
class PartitionDuplications {
 public:
  struct Hooks {
    std::function<void(Decree first, Decree through, DuplicationSender::OnMutations then)>
        read_history;
    std::function<void(absl::Duration delay, absl::AnyInvocable<void()> task)> after;
    // Tells, on any thread and for longer than this lives, whether the lease that holds now still
    // does.
    std::function<std::function<bool()>()> lease;
    // Makes what is applied durable soon.
    std::function<void()> make_checkpoint;
    std::function<int64_t()> wall_micros;
    std::function<int64_t()> log_end;
    std::function<std::string()> tag;
  };
  PartitionDuplications(StrandPtr strand, PartitionId pid, const ReplicaCore& core,
                        std::shared_ptr<DuplicationTargets> targets, Hooks hooks)
      : strand_(std::move(strand)),
        pid_(pid),
        core_(core),
        targets_(std::move(targets)),
        hooks_(std::move(hooks)) {}
  ~PartitionDuplications() { Close(); }

  // What the meta server answered: the duplications of its table. Counts only while it leads.
  void OnSynced(const std::map<int32_t, DuplicationEntry>& entries);
  // For the next sync; empty: nothing is to be said.
  std::vector<DuplicationConfirmEntry> Confirms() const;
  // To be called when something was committed, or its role changed. Cheap where nothing is sent.
  void Proceed();
  bool IsActive() const { return !senders_.empty(); }
  // Up to which decree all of them are stored as sent, of a primary, or as its primary said;
  // nullopt: that is not known of each, or there is none.
  std::optional<Decree> Confirmed() const;
  // The first decree that one of them may lack; nullopt: that is not known, or there is none. A new
  // primary goes by what the former one said until it has heard of each.
  std::optional<Decree> FirstLacking() const;
  // What a checkpoint must hold that another cluster begins with, for what is sent begins behind
  // it; 0: nothing in particular; nullopt: the meta server has not said yet. Of a primary.
  std::optional<Decree> NeededOfCheckpoints() const;
  // What the primary's group check said, -1: it does not know.
  void NoteTold(std::optional<int64_t> confirmed);
  void Close();

 private:
  std::shared_ptr<DuplicationSender> MakeSender(const DuplicationEntry& entry,
                                                std::optional<Decree> confirmed);

  const StrandPtr strand_;
  const PartitionId pid_;
  const ReplicaCore& core_;
  const std::shared_ptr<DuplicationTargets> targets_;
  const Hooks hooks_;
  // By id; of a primary.
  std::map<int32_t, std::shared_ptr<DuplicationSender>> senders_;
  // Of all of them; false for ever once they are closed.
  std::shared_ptr<std::atomic<bool>> is_leading_ = std::make_shared<std::atomic<bool>>(true);
  // Those for which a checkpoint is to hold all before their start; and, these included, those whose
  // other cluster has yet to fetch it.
  std::set<int32_t> preparing_, awaited_;
  // Of a secondary.
  std::optional<Decree> told_;
};

}  // namespace arion
