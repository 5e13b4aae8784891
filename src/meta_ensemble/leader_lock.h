// LeaderLock: which of several meta servers leads, by the lock of Pegasus: each has an ephemeral
// node in one directory of ZooKeeper, and the smallest number leads.
//
// Shapes    <root>/dsn.meta.server.leader/LOCKNODE<ten digits>, its data the server's address as
//           text. A node's data are never set: each candidate of 2.5.0 that watches it would end.
// Errors    on_lost tells in words why this session can't lead any more; a new one may try. An
//           answer that did not come is no error: it is asked for again, or looked up.
// Threads   Strand-bound; events come on the strand.
// Lifetime  The session outlives it. Destroyed, it says nothing any more.
// Promises  leader_lock/L1  leads_until lies before the moment at which the ensemble could give the
//               lock to somebody else: less than the session's timeout after something was sent
//               that the ensemble carried out for the holder of the lock.
//           leader_lock/L2  on_granted comes once, before it leads; on_lost comes once, and after
//               it nothing.
// Sources   The lock protocol of Pegasus 2.5.0, with which it stands in one election.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "env/strand.h"

namespace arion {

class Clock;
class ZooKeeperSession;
struct Candidate;

// Of the lock; `root`: a path, or "/".
std::string LockDirectoryOf(const std::string& root);
// The number of a child of the lock's directory; nullopt: it is none of a candidate.
std::optional<int64_t> LockNumberOf(std::string_view name);

// One for a session, as long as it lives: a member of what owns both, which is held by a
// shared_ptr.
//
// `self`: the data of its node. A server's is its address; what is none leads nobody to it.
//
//   lock = std::make_shared<LeaderLock>(session, env.clock(), strand, "/pegasus/c/lock",
//                                       self.ToString(), events);
//   lock->Start();                       // once the session is connected
//   lock->OnConnected();                 // each time that it is connected again
class LeaderLock : public std::enable_shared_from_this<LeaderLock> {
 public:
  struct Events {
    // This server leads, by the lock node of that path, until leads_until.
    std::function<void(const std::string& node)> on_granted;
    // Who leads as far as is known; nullopt: nobody, or it can't be understood. Not while this
    // server does.
    std::function<void(std::optional<Endpoint> leader)> on_leader;
    std::function<void(const std::string& why)> on_lost;
  };

  LeaderLock(ZooKeeperSession& session, const Clock& clock, StrandPtr strand, std::string root,
             std::string self, Events events);
  ~LeaderLock();

  void Start();
  void OnConnected();
  // The past: it does not lead. It moves on as long as the ensemble answers.
  Instant leads_until() const { return leads_until_; }
  // Of one that leads: who would, were its lock free now. NotFound: no other server stands for
  // election. `done` comes never once this has lost, else once.
  using Next = absl::AnyInvocable<void(absl::StatusOr<Endpoint>)>;
  void FindNext(Next done);
  // The last proof that this server has the lock: when it was sent, and until when its answer was
  // waited for. nullopt: none was carried out.
  struct Proof {
    Instant sent, answered;
  };
  const std::optional<Proof>& last_proof() const { return last_proof_; }
  const std::string& directory() const { return directory_; }

 private:
  // What is to be done next; a step whose answer did not come is done again when the session is
  // connected.
  enum class Step { kDirectory, kFindOwn, kEnter, kLook, kWatch, kProve, kLead };

  void Do(Step step);
  void MakeDirectory();
  // Of an attempt whose answer was lost: the node is there, and has this session for its owner.
  void FindOwn();
  void LookAt(std::vector<std::string> names, size_t next);
  void Enter();
  void Look();
  void OnCandidates(const std::vector<std::string>& names);
  // The smallest one, which is another's, or was this server's in an earlier session.
  void WatchLeader(const std::string& name);
  // The own one, which is the smallest.
  void WatchOwn();
  void Prove();
  void OnProven(Instant sent, const absl::Status& proven);
  void OnOwnChanged();
  absl::StatusOr<Endpoint> NextOf(const std::vector<Candidate>& candidates) const;
  void TellLeader(std::optional<Endpoint> leader);
  // True: the answer did not come, and `step` will be done again.
  bool IsUnanswered(const absl::Status& status, Step step);
  void Lose(std::string why);
  // `run`, unless this is gone, or has lost.
  template <class Run>
  auto While(Run run);

  ZooKeeperSession& session_;
  const Clock& clock_;
  const StrandPtr strand_;
  const std::string directory_;
  const std::string address_;
  Events events_;

  Step step_ = Step::kDirectory;
  bool is_under_way_ = false;
  bool is_lost_ = false;
  bool is_granted_ = false;
  // Empty: none is known.
  std::string own_;
  std::optional<Endpoint> leader_;
  Instant leads_until_{0};
  std::optional<Proof> last_proof_;
  // Ends what an earlier watch would still say.
  uint64_t watch_ = 0;
};

}  // namespace arion
