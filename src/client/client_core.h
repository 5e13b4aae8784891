// ClientCore: one strand of a client with its routes: ClusterClient and TableAdmin, and the door
// through which other threads hand them work. It runs over whatever environment and transport it is
// given: a thread's (client/client_threads.h) or the simulator's.
//
// Threads   Run, Start and IsMine are thread-safe. Close and Drop: by the owner. Work runs on the
//           strand. Where the caller is a callback of this core it runs at once, so that an
//           operation begun there costs no hop. Else it is posted, and what is posted in a burst
//           runs in one turn. It never waits.
// Lifetime  The owner calls Close, sees to it that the strand runs nothing more, and calls Drop.
//           After Close work is dropped where it is handed in, before the call returns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "client/cluster_client.h"

namespace arion {

class TableAdmin;
class Transport;

// Each core learns partitions by itself; cores share nothing.
class ClientCore {
 public:
  // Sends nothing. `environment` and `transport` live until Drop. `runs_here` says whether the
  // calling thread runs `strand` now. It may be asked on any thread and at any time, so it does not
  // look at the strand where that can go away.
  ClientCore(Environment& environment, Transport& transport, StrandPtr strand,
             const ClusterClientOptions& options, std::function<bool()> runs_here);
  ~ClientCore();

  // Whether the caller runs on this core. False after Drop.
  bool IsMine() const { return !is_dropped_.load() && runs_here_(); }

  // What runs on the core. The references are valid only during the call.
  using Work = absl::AnyInvocable<void(ClusterClient&, TableAdmin&)>;
  // Runs `work` on the core, or drops it after Close.
  void Run(Work work);
  // Starts a prepared operation; after Close it is dropped. `table` lives as long as this.
  void Start(const std::string& table, ClusterClient::OperationPtr operation);

  // Nothing comes in any more. False: it was closed before.
  bool Close();
  // Destroys what is under way: dropped callbacks may notice it in their destructors
  // (ClientRuntime::Once). A second call does nothing.
  void Drop();

 private:
  // Guards what Close takes away from threads that are not the core's.
  Mutex mutex_;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_dropped_ = false;
  const std::function<bool()> runs_here_;
  StrandPtr strand_;
  std::shared_ptr<ClusterClient> client_;
  std::shared_ptr<TableAdmin> admin_;
};

}  // namespace arion
