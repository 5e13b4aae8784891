// TableNews: what a table is like now goes to every server, again and again until it has answered.
//
// Shapes    Who has not heard is in Table::untold, and when they are told again in Table::tell_at.
//           The dead hear of it by the config sync of their return, and so do servers of an older
//           version, which don't know the message. Of a table that is being split the news has the
//           former count.
// Threads   Strand-bound.
// Lifetime  All that it uses outlives it.
// Promises  table_news/N1  A server leaves Table::untold only when it has answered for the table's
//               version of now, or is dead.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "env/clock.h"
#include "env/strand.h"
#include "rpc/transport.h"

namespace arion {

struct ClusterState;
class OwnerLife;
class RequestCodec;
struct Table;

// A member of MetaServer::State, which calls Begin for each stored change and TellWhenDue in each
// plan.
class TableNews {
 public:
  // Also how long an answer is waited for.
  static constexpr absl::Duration kTellAgain = absl::Milliseconds(300);

  struct Uses {
    ClusterState& state;
    Transport& transport;
    const RequestCodec& codec;
    const Clock& clock;
    StrandPtr strand;
    const OwnerLife& life;
  };
  explicit TableNews(Uses uses) : uses_(std::move(uses)) {}

  // It has changed: nobody has heard of that.
  void Begin(Table& table) const;
  // Says when it is due next; InfiniteFuture: all have heard.
  Instant TellWhenDue(Table& table, Instant now) const;

 private:
  const Uses uses_;
};

}  // namespace arion
