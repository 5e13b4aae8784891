// ClientRuntime: a client's cores, and which of them takes an operation. RoutedTable works over it,
// whoever runs the cores.
//
// Threads   Thread-safe.
// Lifetime  RoutedTables share it, so it may outlive whoever runs the cores. By then they are
//           dropped (client/client_core.h), and what is asked ends at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace arion {

class ClientCore;
class Clock;

// Spreads the callers' threads over the cores.
//
//   ClientCore& core = runtime->NearestCore();
//   core.Run([](ClusterClient& client, TableAdmin& admin) { ... });
class ClientRuntime {
 public:
  // `cores`: at least one. `clock` outlives it.
  ClientRuntime(const Clock& clock, std::vector<std::unique_ptr<ClientCore>> cores);
  ~ClientRuntime();

  // The core an operation of the calling thread goes to. On a callback's thread: the core it
  // belongs to. On any other thread: always the same core, chosen round robin as threads first
  // appear.
  ClientCore& NearestCore();
  // All of them, for whoever runs them.
  const std::vector<std::unique_ptr<ClientCore>>& cores() const { return cores_; }
  // The wall clock that expiry times count by. Valid as long as this.
  const Clock& clock() const { return clock_; }
  // A copy of `text` that lives as long as this. The same text yields the same string. Names of
  // tables are kept, so that an operation can refer to its table without a copy.
  const std::string& Keep(std::string_view text);

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

 private:
  const Clock& clock_;
  // Fixed at construction, so that NearestCore needs no lock.
  const std::vector<std::unique_ptr<ClientCore>> cores_;
  Mutex mutex_;
  // Guarded by mutex_. A set, because its strings stay where they are.
  std::set<std::string, std::less<>> kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
