// ZooKeeperMetaStore keeps the meta server's state in ZooKeeper while this server leads: each batch
// is one transaction that holds only as long as its lock does.
//
// Shapes    Transaction: a check of the own lock node; the batch (state_tree.h); and
//           <root>/arion/commit, set to "<lock node's name> <n>", n from 1. By the last one it is
//           found out, after an answer that did not come, whether a batch was carried out. Batches
//           that arrive while one is under way share the next. One that is too large for a
//           transaction is written by several in the order of keys, tables before their partitions:
//           what an interruption leaves is a table that lacks some, which the next leader makes
//           again.
// Errors    InvalidArgument: a value is larger than a node may be; nothing of the batch is stored.
//           Cancelled: this server does not lead any more; on_lost said so before. An answer that
//           does not come is waited for, or the question is asked again, as long as the session
//           lives.
// Threads   Load, Commit, Look: on the owner's strand. All else on the session's strand.
// Lifetime  May outlive the session, once End was called.
// Promises  Those of MetaStore; and
//           zookeeper_meta_store/Z1  Nothing is stored once another server has the lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "meta_ensemble/state_tree.h"
#include "meta_state/meta_store.h"

namespace arion {

class Clock;
class ZooKeeperSession;

// One for each time that this server leads.
class ZooKeeperMetaStore : public MetaStore {
 public:
  // `lock`: the path of the own lock node. `on_lost`: on the session's strand, once: what is stored
  // is not known any more, or another server stores; this one must not lead.
  ZooKeeperMetaStore(ZooKeeperSession& session, const Clock& clock, StrandPtr strand,
                     std::string root, std::string lock, StoredTree tree,
                     std::function<void(const std::string& why)> on_lost);
  ~ZooKeeperMetaStore() override;

  // What was read before this was made; does not wait.
  absl::StatusOr<std::map<std::string, std::string>> Load() override;
  void Commit(std::vector<Change> batch, StoreNeed need, StrandPtr reply_on,
              absl::AnyInvocable<void(const absl::Status&)> done) override;
  // There is no disk of this server's to look at.
  void Look(StrandPtr reply_on, absl::AnyInvocable<void(const StoreRoom&)> done) override;
  bool MayStoreInPart() const override { return true; }
  std::string WayBack() const override;

  // The session is connected again.
  void OnConnected();
  // `done` comes on the session's strand once all that was given here before is stored and told;
  // at once where it is so already. Never, once End was called.
  enum class Was { kIdle, kBusy };
  void WhenIdle(absl::AnyInvocable<void(Was)> done);
  // Nothing is stored any more: who waits hears Cancelled.
  void End();
  // The last transaction that was carried out: when it was sent first, and when that was known.
  // nullopt: none was.
  struct Write {
    Instant sent, known;
  };
  std::optional<Write> last_write() const;

 private:
  class Queue;
  std::shared_ptr<Queue> queue_;
  std::map<std::string, std::string> entries_;
  const std::string root_;
};

}  // namespace arion
