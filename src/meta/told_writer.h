// ToldWriter stores, now and then, what servers told and is worth to be known by a meta server that
// starts anew: what primaries said to be committed, so that it knows of older copies, and which
// servers there are, so that it waits for them.
//
// Errors    What can't be stored is tried again when it is due next.
// Threads   Strand-bound; callbacks come on the strand, while the owner lives.
// Lifetime  The state, the store and the options outlive it.
// Promises  told_writer/T1  Once in a guardian_interval at most.
//           told_writer/T2  ClusterState::listed is what the store has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "meta_state/cluster_state.h"

namespace arion {

struct MetaServerOptions;
class StoreGuard;

// A member of MetaServer::State, which calls StoreWhenDue in each plan while there is room.
class ToldWriter {
 public:
  ToldWriter(ClusterState& state, StoreGuard& store, const MetaServerOptions& options)
      : state_(state), store_(store), options_(options) {}

  void StoreWhenDue(Instant now);

 private:
  ClusterState& state_;
  StoreGuard& store_;
  const MetaServerOptions& options_;
  Instant due_at_{0};
};

}  // namespace arion
