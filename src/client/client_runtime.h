// ClientRuntime: a client's cores, and which of them takes an operation. RoutedTable and
// AdminClient wrap it.
//
// Threads   Thread-safe, but for Stop: not on a callback's thread.
// Lifetime  RoutedTables share it, so it may outlive the Client, which stops it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "client/client_core.h"
#include "posix/posix_clock.h"

namespace arion {

// Makes `threads` cores and spreads the callers' threads over them. A core is a ClusterClient with
// a thread of its own (client/client_core.h).
//
//   ClientCore& core = runtime->NearestCore();
//   core.Run([](ClusterClient& client, TableAdmin& admin) { ... });
class ClientRuntime {
 public:
  // Reads "IPv4:port" texts. InvalidArgument: one of them is not an address, or there is none.
  static absl::StatusOr<std::vector<Endpoint>> ParseEndpoints(
      const std::vector<std::string>& texts);

  // Starts the cores. threads >= 1.
  ClientRuntime(const ClusterClientOptions& options, int threads);
  ~ClientRuntime() { Stop(); }

  // The core an operation of the calling thread goes to. On a callback's thread: the core it
  // belongs to. On any other thread: always the same core, chosen round robin as threads first
  // appear.
  ClientCore& NearestCore();
  // The wall clock that expiry times count by. Valid as long as this.
  const Clock& clock() const { return clock_; }
  // A copy of `text` that lives as long as this. The same text yields the same string. Names of
  // tables are kept, so that an operation can refer to its table without a copy.
  const std::string& Keep(std::string_view text);
  // Joins the threads, then drops everything under way. Work handed in later is dropped too.
  void Stop();

  // The outcome of an operation that was dropped.
  static absl::Status Closed() {
    return absl::DeadlineExceededError(
        "the client was closed; a write may or may not have happened");
  }
  // A callback that is called exactly once: by its operation, or with Closed() by the destructor
  // when the operation is dropped. An operation is dropped when its client stops before the answer,
  // so a user's callback is called even then. Where T is a vector, it then holds `count` times
  // Closed(). Move-only.
  template <class T>
  class Once {
   public:
    // `done` is not empty. `count`: how many outcomes a vector gets; unused where T is a status.
    explicit Once(absl::AnyInvocable<void(T)> done, size_t count = 0)
        : done_(std::move(done)), count_(count) {}
    // What was moved from calls nothing.
    Once(Once&& other) noexcept
        : done_(std::exchange(other.done_, nullptr)), count_(other.count_) {}
    Once& operator=(Once&&) = delete;
    ~Once() {
      if (!done_) return;
      if constexpr (std::is_constructible_v<T, absl::Status>) {
        done_(Closed());
      } else {
        done_(T(count_, Closed()));
      }
    }
    // The operation's outcome. At most once.
    void operator()(T value) { std::exchange(done_, nullptr)(std::move(value)); }

   private:
    absl::AnyInvocable<void(T)> done_;
    size_t count_;
  };

  // Starts `start` on a core and waits for its callback. `start` runs on the core's thread, and its
  // operation's timeout bounds the wait. FailedPrecondition on a callback's thread: waiting there
  // would stop the core that is to answer. Closed() when the client stops meanwhile.
  template <class T>
  T RunAndWait(
      std::function<void(ClusterClient&, TableAdmin&, absl::AnyInvocable<void(T)>)> start) {
    ClientCore& core = NearestCore();
    if (core.IsMine()) return absl::FailedPreconditionError("a callback must not wait");
    auto promise = std::make_shared<std::promise<T>>();
    std::future<T> future = promise->get_future();
    Once<T> done([promise](T value) { promise->set_value(std::move(value)); });
    core.Run([start = std::move(start), done = std::move(done)](ClusterClient& client,
                                                                TableAdmin& admin) mutable {
      start(client, admin, std::move(done));
    });
    return future.get();
  }

 private:
  const PosixClock clock_;
  // Fixed at construction, so that NearestCore needs no lock.
  std::vector<std::unique_ptr<ClientCore>> cores_;
  Mutex mutex_;
  // Guarded by mutex_. A set, because its strings stay where they are.
  std::set<std::string, std::less<>> kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
