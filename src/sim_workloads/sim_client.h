// SimClient: a user's client on a simulated node. It is what stands behind include/arion/client.h,
// over the node's environment and transport instead of threads: the same core, the same AsyncTable,
// the same administration.
//
// Threads  One: the world's. What is asked on the strand given begins at once; what is asked off it is
//          posted, as another thread of a program would.
// Lifetime Environment, transport and strand outlive it. When it goes, what is under way is dropped.
//          The client then calls back once more (include/arion/async_table.h); for a node that
//          died that is nobody's news, and callbacks made with Heard keep silent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "client/question.h"
#include "client/routed_table.h"
#include "env/strand.h"

namespace arion {
class ClientCore;
class ClientRuntime;
class Clock;
struct ClusterClientOptions;
class Environment;
class TableAdmin;
class Transport;
}  // namespace arion

namespace arion::sim {

// One for each life of a node that asks: its workload makes it, and drops it with the node.
class SimClient {
 public:
  SimClient(Environment& environment, Transport& transport, StrandPtr strand,
            const ClusterClientOptions& options);
  ~SimClient();

  // The table of this name, which may not exist. It lives as long as this.
  AsyncTable& table(const std::string& name);
  // As Client::OpenTable: what was known of its partitions is forgotten.
  void OpenTable(const std::string& name, Callback<absl::Status> done);
  // As ClusterClient::Ask: for questions that AsyncTable has no method for.
  void Ask(const std::string& table, Question question, Callback<absl::StatusOr<std::string>> done);
  // `start(admin)`, as AdminClient calls it.
  void Administer(absl::AnyInvocable<void(TableAdmin&)> start);
  // By which expiry times count.
  const Clock& clock() const;
  // `callback`, or nothing when this client is gone.
  template <class F>
  auto Heard(F callback) const {
    return [alive = std::weak_ptr<const bool>(alive_),
            callback = std::move(callback)](auto outcome) mutable {
      if (alive.lock() != nullptr) callback(std::move(outcome));
    };
  }

 private:
  ClientCore& core();

  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::shared_ptr<ClientRuntime> runtime_;
  std::map<std::string, std::unique_ptr<AsyncTable>> tables_;
};

}  // namespace arion::sim
