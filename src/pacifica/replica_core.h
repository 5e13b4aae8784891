// ReplicaCore: one replica's part in PacificA, as a state machine. Events in, effects out; no
// thread, file, socket, clock or randomness. Commit needs every member of the configuration; a slow
// member is removed by the meta server instead.
//
// Shapes    Begins INACTIVE (transient) and disconnected, with what the disk held. `now` never
//           falls. One process has one core for a replica at a time; a new process begins a new
//           one.
// Errors    A message that a correct peer would not send is refused and counted
//           (counters().odd_messages). Faults of the own disk end in ERROR. Only mistakes of this
//           code, or of its driver, are CHECK failures (invariants.h).
// Threads   Strand-bound to the replica's strand. It takes no lock.
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
//           roll_call.h, reconciliation.h (taking office) · group_answers.h (members that fail) ·
//           role_keeper.h, role_transition.h
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "pacifica/core_options.h"
#include "pacifica/events.h"
#include "pacifica/role_transition.h"

namespace arion {

// ReplicaCore::app_serial of a description that nobody has told in this life.
inline constexpr uint64_t kAppRemembered = 1;

struct Effects;
struct Watermarks;

// kPrimaryOnly: linearizable, answered by the primary. kBackup: may be stale, a secondary answers
// it as well.
enum class ReadKind { kPrimaryOnly, kBackup };

// The driver owns it, steps it, and carries out what each step asks for before or while it takes
// the next:
//
//   ReplicaCore core(options, recovered, clock.Now());
//   Effects effects = core.Step(Connected{}, clock.Now());
//   ...                                               // carry out `effects` (effects.h)
//   effects = core.Step(PrepareReceived{token, request}, clock.Now());
//   log.Append(effects.append[0].mutation, ...);      // nothing is acknowledged yet
//   effects = core.Step(Logged{effects.append[0].sequence}, clock.Now());
//   Send(effects.replies);                            // now it is
//   timer.At(core.NextWakeup(), Tick{});
//
// A core that is dropped answers nothing: the driver drops the tokens with it.
class ReplicaCore {
 public:
  // `recovered.ballot` is durable already. The log's uncommitted mutations count as logged. What
  // the log proves committed is handed to the engine by the first Step. If there is any,
  // NextWakeup() is `now` until then.
  ReplicaCore(CoreOptions options, const RecoveredState& recovered, Instant now);
  ~ReplicaCore();

  // Takes one event and returns what the driver is to do. `now` is not before the `now` of the last
  // step. After a step the invariants hold: they are checked, in release too.
  Effects Step(const Event& event, Instant now);
  // When a Tick is wanted at the latest. InfiniteFuture: only events move the core.
  Instant NextWakeup() const;

  // ---- questions; each answers for the time between two steps ----

  // Watermarks, role and ballot.
  Watermarks marks() const;
  PartitionStatus role() const;
  Ballot ballot() const;
  // Has a meaning only while the role is INACTIVE.
  Inactivity inactivity() const;
  // No configuration was heard of since the core began.
  bool IsInitializing() const;
  // An own update is in flight, or is about to be asked for.
  bool IsReconfiguring() const;
  // SplitTurn::kHold is in force: the primary takes no new writes.
  bool IsHeldForSplit() const;
  // Of a primary: no client's write waits, and all that was prepared is committed.
  bool IsQuiet() const;
  // The ballot of the newest mutation prepared here, which the meta server compares (replica_info
  // 1004). -1 while the state is a learner's or has a hole: it may lack what the group committed,
  // and must not be chosen before a former member. 0: not known.
  Ballot last_mutation_ballot() const;
  // How often the replica was shown to hold less than its group had committed.
  int64_t TimesOlder() const;
  // Whether it was shown that the disk is not older than it was (roll_call.h).
  bool IsProven() const;
  // How the former process ended; kClean once this one has become a member.
  LastStop last_stop() const;
  // As known here; may be invalid.
  Endpoint primary() const;
  // The table's description, and a number that rises when it changes, and when it is told for the
  // first time.
  const AppInfo& app() const;
  uint64_t app_serial() const;
  // At a primary its members and ballot. Elsewhere the last full configuration seen, possibly an
  // old one.
  const PartitionConfiguration& configuration() const;
  // The nodes with a session here. Empty unless the replica is PRIMARY, or INACTIVE for a while.
  std::vector<Endpoint> learners() const;
  // kInvalid unless the replica learns.
  LearnerStatus learner_status() const;

  // kOk, or what a read is answered. The driver also asks for its lease, before it reads and again
  // before it answers. A value that was read from the engine counts: it stands at last_applied or
  // behind it.
  ErrorCode ReadGate(ReadKind kind) const;
  // kOk, or what a ClientWrite would be answered now.
  ErrorCode WriteGate() const;

  // The first decree that the learner lacks, for LearnReceived::log_coverage.
  Decree LearnStart(const LearnRequest& request) const;
  // The private log may drop what lies below, exclusive.
  Decree FirstLogDecreeNeeded() const;
  // What every member has logged and knows to be committed, inclusive. A member that has left
  // counts until the group is whole again, because it may come back and ask for what follows.
  // nullopt: this replica is not the primary of its configuration, or the table has one replica.
  std::optional<Decree> KnownToAllMembers() const;

  // Since the core began; they only rise.
  struct Counters {
    // Refused: no correct peer sends them.
    int64_t odd_messages = 0;
    // Of an old ballot, session or round.
    int64_t stale_messages = 0;
    // Prepares of what is here already.
    int64_t duplicate_prepares = 0;
    // Times that the own log lacked a decree that was committed with this replica's
    // acknowledgement.
    int64_t lost_entries = 0;
    int64_t mutations_started = 0;
    // The updates in those mutations.
    int64_t client_updates_started = 0;
    // Mutations that a new term proposed again, and how many of them filled a hole.
    int64_t reprepared = 0;
    int64_t holes_filled = 0;
    int64_t configuration_updates = 0;
    // Times that it gave way as a primary whom nobody answered, and that it yielded as one that may
    // hold less than a member.
    int64_t gave_way = 0;
    int64_t yielded = 0;
    int64_t learn_rounds = 0;
    int64_t prepares_resent = 0;
  };
  const Counters& counters() const;

  // CHECKs the invariants of this state (invariants.h), the shapes of its parts, and what must only
  // rise since the last call. Cheap enough for every Step, which calls it.
  void Check() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace arion
