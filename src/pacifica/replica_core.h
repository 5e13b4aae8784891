// ReplicaCore: one replica's part in PacificA, as a state machine. Events in, effects out; no
// thread, file, socket, clock or randomness. Commit needs every member of the configuration; a slow
// member is removed by the meta server instead.
//
// Shapes    Begins INACTIVE (transient) and disconnected, with what the disk held. `now` never
//           falls.
// Errors    A message that a correct peer would not send is refused and counted
//           (counters().odd_messages); faults of the own disk end in ERROR. Only our own mistakes
//           CHECK (invariants.h).
// Threads   Strand-bound to the replica's strand.
// Promises  replica_core/P1  A member acknowledges a mutation only after its log has it durable,
//               under the ballot it then has.
//           replica_core/P2  A client's kOk means: committed (every member of the configuration has
//               it logged) and applied here.
//           replica_core/P3  Committed decrees have no hole, their ballots never fall; they are
//               handed to the engine once each, in order.
//           replica_core/P4  Once a ballot was adopted, nothing of a smaller one is acknowledged.
//           replica_core/P5  Once its log or engine failed, it acknowledges nothing and takes no
//               role any more.
//           replica_core/P6  A learner acknowledges nothing before it took what lies below
//               (LT_CACHE).
//           replica_core/P7  A primary proposes nothing and answers no read in a term before every
//               member that stays has said what it holds, and none of them holds what this one may
//               lack.
// Parts     prepare_list.h what is in flight · primary.h · secondary.h · learner.h (receiving
//           state) · learner_sessions.h (giving it) · reconfiguration.h (meta server) ·
//           roll_call.h, reconciliation.h (taking office) · role_transition.h
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "pacifica/core_options.h"
#include "pacifica/effects.h"
#include "pacifica/events.h"
#include "pacifica/invariants.h"
#include "pacifica/role_transition.h"

namespace arion {

enum class ReadKind { kPrimaryOnly, kBackup };

class ReplicaCore {
 public:
  // `recovered.ballot` is durable already. Uncommitted mutations of the log count as logged.
  ReplicaCore(CoreOptions options, const RecoveredState& recovered, Instant now);
  ~ReplicaCore();

  Effects Step(const Event& event, Instant now);
  // When Tick is wanted; InfiniteFuture: only events move it.
  Instant NextWakeup() const;

  // ---- questions ----

  // Watermarks, role and ballot.
  Watermarks marks() const;
  PartitionStatus role() const;
  Ballot ballot() const;
  Inactivity inactivity() const;
  bool IsInitializing() const;  // until the first configuration after the start
  // An own update is in flight, or about to be asked for.
  bool IsReconfiguring() const;
  // Of the newest mutation prepared here, what meta compares (replica_info 1004); -1 while the
  // state is a learner's or has a hole: it may lack what the group committed, and must not be
  // chosen before a former member.
  Ballot last_mutation_ballot() const;
  // How often it was shown to hold less than its group had committed.
  int64_t TimesOlder() const;
  // That its disk is not older than it was (roll_call.h).
  bool IsProven() const;
  LastStop last_stop() const;  // of the former incarnation, until this one was a member again
  Endpoint primary() const;    // as known here; may be invalid
  const AppInfo& app() const;
  uint64_t app_serial() const;  // rises when app() changes
  // The primary's: members and ballot. Elsewhere the last full configuration seen, possibly old.
  const PartitionConfiguration& configuration() const;
  std::vector<Endpoint> learners() const;  // primary only
  LearnerStatus learner_status() const;

  // kOk, or the answer for a read. The driver checks its lease too, before and after reading. A
  // value read from the engine is what counts: it stands at last_applied.
  ErrorCode ReadGate(ReadKind kind) const;
  // kOk, or the answer a ClientWrite would get now.
  ErrorCode WriteGate() const;

  // For LearnReceived::log_coverage: the first decree this learner lacks.
  Decree LearnStart(const LearnRequest& request) const;
  // The private log may drop what lies below.
  Decree FirstLogDecreeNeeded() const;
  // Primary: what every member has logged and knows to be committed, one that left included until
  // the group is whole again: what comes after it a member that comes back may ask for. nullopt:
  // not primary, or there is no other member.
  std::optional<Decree> KnownToAllMembers() const;

  struct Counters {
    int64_t odd_messages = 0;    // refused: no correct peer sends them
    int64_t stale_messages = 0;  // of an old ballot, session or round
    int64_t duplicate_prepares = 0;
    int64_t lost_entries = 0;  // a decree that was committed with our ack is not in our log
    int64_t mutations_started = 0;
    int64_t client_updates_started = 0;
    int64_t reprepared = 0;
    int64_t holes_filled = 0;
    int64_t configuration_updates = 0;
    int64_t gave_way = 0;  // as a primary that nobody answered any more
    int64_t yielded = 0;   // as a primary that may hold less than a member
    int64_t learn_rounds = 0;
    int64_t prepares_resent = 0;
  };
  const Counters& counters() const;

  // The invariants over this state (invariants.h) and the shapes of its parts; CheckRise(before,
  // after) is the delta. All are cheap enough for every Step.
  void Check() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace arion
