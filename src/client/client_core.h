// ClientCore: one thread of a client with its connections and its routes: event loop, transport,
// ClusterClient.
//
// Threads   Thread-safe, but for Stop: not on a callback's thread, and by one thread. Work runs on
//           the core's strand. Where the caller is a callback of this core it runs at once, so that
//           an operation begun there costs no hop. Else it is posted, and what is posted in a burst
//           runs in one turn.
// Lifetime  After Stop work is dropped where it is handed in, before the call returns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "client/cluster_client.h"
#include "client/table_admin.h"
#include "posix/posix_environment.h"
#include "rpc/asio_transport.h"

namespace arion {

// Each core has its own connections and learns partitions by itself; cores share nothing.
class ClientCore {
 public:
  // Starts the thread. Sends nothing.
  explicit ClientCore(const ClusterClientOptions& options);
  ~ClientCore() { Stop(); }

  // Whether the calling thread is this core's. False after Stop.
  bool IsMine() const { return !is_stopped_.load() && std::this_thread::get_id() == thread_; }

  // What runs on the core. The references are valid only during the call.
  using Work = absl::AnyInvocable<void(ClusterClient&, TableAdmin&)>;
  // Runs `work` on the core, or drops it after Stop.
  void Run(Work work);
  // Starts a prepared operation; after Stop it is dropped. `table` lives as long as this.
  void Start(const std::string& table, ClusterClient::OperationPtr operation);

  // Joins the thread, then destroys what is under way: dropped callbacks may notice it in their
  // destructors (ClientRuntime::Once). A second call does nothing.
  void Stop();

 private:
  // Guards what Stop takes away from threads that are not the core's.
  Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_stopped_ = false;
  std::thread::id thread_;
  std::unique_ptr<PosixEnvironment> environment_;
  std::unique_ptr<AsioTransport> transport_;
  StrandPtr strand_;
  std::shared_ptr<ClusterClient> client_;
  std::shared_ptr<TableAdmin> admin_;
};

}  // namespace arion
