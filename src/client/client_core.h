// ClientCore: one thread of a client with its connections and its routes: event loop, transport,
// ClusterClient.
//
// Threads   Thread-safe, but for Stop: no callback thread, once. Work runs on the core's strand: at
//           once where the caller is a callback of this core, so that an operation begun there costs
//           no hop; else it is posted, and what is posted in a burst runs in one turn.
// Lifetime  After Stop work is dropped where it is handed in.
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

class ClientCore {
 public:
  explicit ClientCore(const ClusterClientOptions& options);
  ~ClientCore() { Stop(); }

  // Whether the calling thread is this core's.
  bool IsMine() const { return !is_stopped_.load() && std::this_thread::get_id() == thread_; }

  using Work = absl::AnyInvocable<void(ClusterClient&, TableAdmin&)>;
  void Run(Work work);
  // `table` lives as long as this.
  void Start(const std::string& table, ClusterClient::OperationPtr operation);

  // Joins the thread, then drops everything under way.
  void Stop();

 private:
  Mutex mutex_;  // guards what Stop takes away from threads that are not the core's
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
