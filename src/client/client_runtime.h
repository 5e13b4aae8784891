// ClientRuntime: a client's threads, connections and cores: what client.cc and admin_client.cc
// wrap.
//
// Threads  Thread-safe, but for Stop: no callback thread. Work runs on the runtime's strand.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client/cluster_client.h"
#include "client/table_admin.h"
#include "env/posix_environment.h"
#include "rpc/asio_transport.h"

namespace arion {

class ClientRuntime {
 public:
  // InvalidArgument: a meta server's address is none, or there is none.
  static absl::StatusOr<std::vector<Endpoint>> ParseEndpoints(
      const std::vector<std::string>& texts);

  ClientRuntime(ClusterClientOptions options, int threads);
  ~ClientRuntime() { Stop(); }

  // Runs `work` on the strand; after Stop it is dropped.
  using Work = absl::AnyInvocable<void(ClusterClient&, TableAdmin&)>;
  void Post(Work work);
  // Joins the threads, then drops everything under way. Once.
  void Stop();

  // A callback that is called exactly once: by its operation, or with `unanswered` when it is
  // dropped.
  template <class T>
  static absl::AnyInvocable<void(T)> Once(T unanswered, std::function<void(T)> done) {
    struct Slot {
      Slot(T t, std::function<void(T)> f) : unanswered(std::move(t)), done(std::move(f)) {}
      Slot(const Slot&) = delete;
      ~Slot() {
        if (done) done(std::move(unanswered));
      }
      T unanswered;
      std::function<void(T)> done;
    };
    auto slot = std::make_shared<Slot>(std::move(unanswered), std::move(done));
    return [slot](T value) { std::exchange(slot->done, nullptr)(std::move(value)); };
  }
  static absl::Status Closed() {
    return absl::DeadlineExceededError(
        "the client was closed; a write may or may not have happened");
  }

  // Starts `start` on the strand and waits for its callback. FailedPrecondition on the strand
  // itself.
  template <class T>
  T RunAndWait(
      std::function<void(ClusterClient&, TableAdmin&, absl::AnyInvocable<void(T)>)> start) {
    if (IsOnStrand()) return absl::FailedPreconditionError("a callback must not wait");
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> future = promise->get_future();
    auto done = Once<T>(Closed(), [promise](T value) { promise->set_value(std::move(value)); });
    Post([start = std::move(start), done = std::move(done)](ClusterClient& client,
                                                            TableAdmin& admin) mutable {
      start(client, admin, std::move(done));
    });
    return future.get();
  }

 private:
  bool IsOnStrand() const;

  mutable std::mutex mutex_;  // guards what Stop takes away
  std::unique_ptr<PosixEnvironment> environment_;
  std::unique_ptr<AsioTransport> transport_;
  StrandPtr strand_;
  std::shared_ptr<ClusterClient> client_;
  std::shared_ptr<TableAdmin> admin_;
};

}  // namespace arion
