// Succession: which server may lead a partition that has no primary, so that nothing acknowledged
// is lost (meta/STATE.md 6.2 to 6.4). It only names servers; the guardian proposes them. Pure.
//
// Shapes    For one look of the guardian. What it waits for moves *next_look, when waiting ends.
//           The first of these grounds that there is:
//           - Intact: secondaries known to hold everything acknowledged. Any of them may lead.
//           - OfSecondaries: the rest of them, whose processes began after an unclean stop, or of
//             whom nothing is known. The one that has most.
//           - OfLastDrops: nobody is a member any more ("DDD"). One of the last two that left.
// Lifetime  The state and *next_look outlive it.
// Promises  succession/P1  Of secondaries none of which is intact nobody is chosen before every
//               alive member has reported or one grace has passed; then the one with the largest
//               (ballot of the last mutation, last prepared). The former primary wins ties. Where
//               that one's disk may be an earlier copy of itself, the dead among them are waited
//               for too, and so is the former primary. It leads where it holds more, even though it
//               is no member any more: it is made a secondary again first, and asks the others
//               before it serves.
//           succession/P2  Where logs are durable nobody is chosen by itself whose copy ends before
//               what is stored to be committed: every member went back, and an administrator must
//               know.
//           succession/P3  No copy takes the place of the one that left last by itself unless that
//               one reported a copy too: what was under way when an earlier one left, and all that
//               followed, may have been acknowledged without it. The same goes for a partition that
//               is forsaken (IsForsaken); an administrator names a leader.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "meta_state/cluster_state.h"

namespace arion {

// Made for one look of the guardian.
class Succession {
 public:
  Succession(const ClusterState& state, absl::Duration grace, Instant now, Instant* next_look)
      : state_(state), grace_(grace), now_(now), next_look_(*next_look) {}

  // Whether this is an alive secondary that holds everything acknowledged for certain.
  bool IsIntact(const Partition& partition, Endpoint node) const;
  // All of them.
  std::vector<Endpoint> Intact(const Partition& partition) const;
  // Whether what an alive member holds can't change the choice any more.
  bool HaveAliveMembersReported(const Partition& partition) const;

  // Who is to lead, or why nobody is.
  struct Choice {
    // Invalid: nobody now.
    Endpoint leader;
    // Why nobody, for people; empty while reports are waited for.
    const char* reason = "";
  };
  // For a partition none of whose secondaries is intact. The leader is one of them, or the former
  // primary.
  Choice OfSecondaries(const Partition& partition);
  // For a partition that has no members, and last_drops.
  Choice OfLastDrops(const Partition& partition);

 private:
  // One of the last two that left, and what it says it has.
  struct Candidate {
    Endpoint endpoint;
    // It is alive, and has said what it has.
    bool is_known = false;
    bool has_replica = false;
    bool is_durable = false;
    bool is_unclean = false;
    // It tells the ballot of its last mutation; else `mutation_ballot` is its own.
    bool tells_ballot = false;
    Ballot ballot{-1}, mutation_ballot{-1};
    Decree committed{-1}, prepared{-1};
  };
  Candidate CandidateOf(PartitionId pid, Endpoint endpoint) const;
  // Invalid: nobody.
  Endpoint LongestSecondary(const Partition& partition) const;
  bool MayBeOlder(const Partition& partition, Endpoint node) const;
  bool MayAnotherComeBack(const Partition& partition) const;
  bool HoldsMore(const Partition& partition, Endpoint former, Endpoint longest) const;
  // What a living server says of its copy; nullptr: nothing yet, or it has none.
  const ReplicaInfo* LoadedOf(const Partition& partition, Endpoint endpoint) const;
  Endpoint LastOne(const Partition& partition);
  Endpoint LongestDurable(const Partition& partition, const Candidate& earlier,
                          const Candidate& last);
  const char* WhyNobody(const Partition& partition) const;
  // Whether a grace after it lost its primary is not over; moves *next_look there.
  bool IsStillTime(const Partition& partition);

  const ClusterState& state_;
  const absl::Duration grace_;
  const Instant now_;
  Instant& next_look_;
};

// Whether the primary's process is new, and nothing shows yet that its copy is not older than it
// was. It has written nothing since, and can't before an update of its is accepted.
bool IsUnprovenPrimary(const ClusterState& state, const Partition& partition);

// Of a partition with such a primary as its only member: what copies elsewhere hold.
struct OutsideCopies {
  // Every server, living or awaited, has said what it has.
  bool have_all_told = false;
  // The server that holds a later mutation than the member; invalid: none does.
  Endpoint more;
  bool more_is_committed = false;
};
OutsideCopies OutsideCopiesOf(const ClusterState& state, const PartitionConfiguration& config);

// Whether nobody leads it, and every copy that is there, of its secondaries or of the one that left
// last, ends before what is known to be committed.
bool IsOlderEverywhere(const ClusterState& state, const Partition& partition);

// Whether the partition has no primary, and no secondary that may come to be one: each is dead,
// shows no copy, or a short one.
bool IsForsaken(const ClusterState& state, const Partition& partition);

}  // namespace arion
