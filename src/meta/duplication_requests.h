// DuplicationRequests: tables that are duplicated to other clusters. Tools add and change
// duplications, replica servers say how far they are, and the other cluster is asked for the table.
//
// Shapes    The checks are table_duplication.h's. What changes goes through TableChanges; progress
//           is stored by itself, all that is due of one request in one batch, each partition's at
//           most once in 5 s. Each request of a server is also a turn: where all checkpoints are
//           prepared the other cluster is asked to make the table (PREPARE to APP), and then
//           whether it serves (APP to LOG), at most once in kTurn for each duplication.
// Errors    As meta/STATE.md 10 lists them; the store's as StoreGuard::ErrorOf says. What the other
//           cluster refuses is shown with the duplication, and asked for again.
// Threads   Strand-bound; callbacks come on the strand, while the owner lives.
// Lifetime  All that it uses outlives it.
// Promises  duplication_requests/D1  A server hears of a decree, and a tool of a change, only when
//               it is stored (meta_server/M1).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/instant.h"
#include "env/strand.h"
#include "messages/duplication_messages.h"
#include "meta_state/cluster_state.h"
#include "rpc/transport.h"

namespace arion {

class Environment;
class MetaCaller;
class OwnerLife;
class RequestCodec;
class RequestHandlers;
class StoreGuard;
class TableChanges;
struct DuplicationJudgement;
struct MetaServerOptions;

// The meta server's part for duplications. A member of MetaServer::State, which calls AddTo before
// the first request.
class DuplicationRequests {
 public:
  // How often the other cluster is asked, and how long for one answer.
  static constexpr absl::Duration kTurn = absl::Seconds(3);
  static constexpr absl::Duration kRemotePatience = absl::Seconds(8);

  // What it works with. Everything here outlives it.
  struct Uses {
    ClusterState& state;
    StoreGuard& store;
    TableChanges& changes;
    const MetaServerOptions& options;
    const RequestCodec& codec;
    Environment& env;
    Transport& transport;
    StrandPtr strand;
    const OwnerLife& life;
  };
  explicit DuplicationRequests(Uses uses) : uses_(std::move(uses)) {}

  void AddTo(RequestHandlers& handlers);
  // Nobody is asked any more.
  void Stop() { turns_.clear(); }

 private:
  // One duplication, while the other cluster has no table that serves.
  struct Turn {
    Instant next;
    // While a question is under way.
    std::shared_ptr<MetaCaller> caller;
  };
  using Id = std::pair<int32_t, int32_t>;  // a table's, a duplication's

  void OnAdd(InboundRequest& request);
  void OnModify(InboundRequest& request);
  void OnQuery(InboundRequest& request);
  void OnList(InboundRequest& request);
  void OnSync(InboundRequest& request);
  // True: what was judged is not to be stored, or can't be, and the judgement says so.
  bool IsAnswered(DuplicationJudgement* judgement) const;
  // Stores what was judged; `done` hears of it.
  void Store(DuplicationJudgement judgement, std::function<void(ErrorCode)> done);

  // ---- the other cluster ----
  void TakeTurns(Endpoint node);
  void TakeTurn(Table& table, int32_t dupid, Duplication& duplication);
  // The question, while the duplication still is what it was then.
  template <class Response, class Request>
  void Ask(Id id, DuplicationStatus while_it_is, const char* name, const Request& request,
           std::function<void(const Table& table, const Response& answer)> done);
  void AskForTable(Id id);
  void OnTableAnswer(Id id, const CreateAppRequest& wanted, ErrorCode answer);
  void AskWhoseTable(Id id, const CreateAppRequest& wanted);
  void AskIfReady(Id id, const std::string& name);
  void GoOn(Id id, DuplicationStatus from, DuplicationStatus to);
  // Ends the turn. Empty: nothing is wrong.
  void End(Id id, std::string trouble);
  Duplication* Find(Id id) const;

  const Uses uses_;
  std::map<Id, Turn> turns_;
};

}  // namespace arion
