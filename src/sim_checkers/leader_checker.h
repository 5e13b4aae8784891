// LeaderChecker: what must hold of several meta servers, of which one leads at a time.
//
// Shapes    Who has the lock, and what the stored state is, ZooKeeper says: sim_metas/ tells it as
//           it happens there. A reign begins when a server that has the lock has loaded the state.
// Threads   One: the world's. Lifetime: outlives the stores that it watches.
// Demands   leader_checker/L1  Once a server has lost the lock, no beacon that is sent later is
//               answered by it as a leader answers: what it says of leases counts for nothing then.
//           leader_checker/L2  What a leader has loaded contains all that was acknowledged before;
//               where an answer was lost, what was asked for or not.
//           leader_checker/L3  Only the session that has the lock changes what is stored. (That no
//               configuration goes back then, checkers/C7 says of each.)
//           leader_checker/L4  60 s after all faults have ended exactly one leads, and all others
//               name it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "meta_state/meta_store.h"
#include "sim_checkers/checkers.h"

namespace arion::sim {

// One for a run. Who can ask the servers judges leader_checker/L4: sim_metas/meta_group.h.
class LeaderChecker {
 public:
  struct Holder {
    int64_t session = 0;
    Endpoint server;
    bool operator==(const Holder&) const = default;
  };
  // How the lock was lost. By a person who removed it: the holder is not fenced in time, and has so
  // long to notice.
  struct Loss {
    absl::Duration notice;
  };

  // From `now` on the lock is this one's; nullopt: nobody's.
  void LockIs(std::optional<Holder> holder, Instant now, Loss loss = {});
  const std::optional<Holder>& holder() const { return holder_; }
  // The session changed what is stored.
  void Changed(int64_t session, const std::string& key);
  // A beacon that was sent then, in the world's time, has been answered as a leader answers.
  void AnsweredAsLeader(Endpoint server, Instant sent);

  // `store`, of a server that is about to lead, with what it loads and stores seen. `led` runs when
  // its reign begins.
  std::shared_ptr<MetaStore> Watch(Endpoint server, std::shared_ptr<MetaStore> store,
                                   std::function<void()> led);
  // How often a leader has loaded the state.
  int64_t reigns() const { return static_cast<int64_t>(reigns_.size()); }
  // Of these, by another server than the one before.
  int64_t takeovers() const { return takeovers_; }

  void Violate(std::string what) { violations_.push_back(std::move(what)); }
  const Violations& violations() const { return violations_; }

 private:
  class Store;
  using Value = std::optional<std::string>;
  // One key since the state was loaded: its values in the order in which they were asked for, the
  // first one as it was loaded, and up to which they were acknowledged.
  struct Story {
    std::vector<Value> values;
    size_t acknowledged = 0;
  };
  struct Reign {
    Endpoint server;
    std::map<std::string, Story> stories;
  };
  using ReignPtr = std::shared_ptr<Reign>;

  static Story& StoryOf(Reign& reign, const std::string& key);
  // One that is in reigns_, unless the server has lost the lock already.
  ReignPtr Loaded(Endpoint server, const std::map<std::string, std::string>& entries);
  // What `next` began with contains what `reign` had acknowledged of this key.
  void CheckContains(const Reign& reign, const std::string& key, Reign& next);
  void Acknowledged(const ReignPtr& reign, const std::map<std::string, size_t>& at);

  std::optional<Holder> holder_;
  // Until when a server that has lost the lock may have answered.
  std::map<Endpoint, Instant> lost_;
  std::deque<ReignPtr> reigns_;
  int64_t takeovers_ = 0;
  Violations violations_;
};

}  // namespace arion::sim
