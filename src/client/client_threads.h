// ClientThreads: a client's threads: each has an event loop, its connections and a core. Here are
// the real network, the real clock and all waiting; nothing below knows of them. Client and
// AdminClient wrap it.
//
// Threads   Thread-safe, but for Stop: not on a callback's thread, and by one thread.
// Lifetime  Its runtime may outlive it, in tables. After Stop all that is asked is dropped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/client_core.h"
#include "client/client_runtime.h"
#include "client/table_admin.h"

namespace arion {

class AsioTransport;
class PosixEnvironment;

// Owns the threads and runs one core on each.
class ClientThreads {
 public:
  // Reads "IPv4:port" texts. InvalidArgument: one of them is not an address, or there is none.
  static absl::StatusOr<std::vector<Endpoint>> ParseEndpoints(
      const std::vector<std::string>& texts);

  // Starts the threads. Sends nothing. threads >= 1.
  ClientThreads(const ClusterClientOptions& options, int threads);
  ~ClientThreads();

  const std::shared_ptr<ClientRuntime>& runtime() const { return runtime_; }
  // Joins the threads, then drops everything under way. Work handed in later is dropped too.
  void Stop();

  // Starts `start` on a core and waits for its callback. `start` runs on the core's thread, and its
  // operation's timeout bounds the wait. FailedPrecondition on a callback's thread: waiting there
  // would stop the core that is to answer. ClientRuntime::Closed() when the client stops meanwhile.
  template <class T>
  T RunAndWait(
      std::function<void(ClusterClient&, TableAdmin&, absl::AnyInvocable<void(T)>)> start) {
    ClientCore& core = runtime_->NearestCore();
    if (core.IsMine()) return absl::FailedPreconditionError("a callback must not wait");
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> future = promise->get_future();
    ClientRuntime::Once<T> done([promise](T value) { promise->set_value(std::move(value)); });
    core.Run([start = std::move(start), done = std::move(done)](ClusterClient& client,
                                                                TableAdmin& admin) mutable {
      start(client, admin, std::move(done));
    });
    return future.get();
  }

 private:
  struct Thread {
    std::unique_ptr<PosixEnvironment> environment;
    std::unique_ptr<AsioTransport> transport;
  };
  // In the order of the runtime's cores.
  std::vector<Thread> threads_;
  std::shared_ptr<ClientRuntime> runtime_;
};

}  // namespace arion
