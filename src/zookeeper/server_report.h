// What ZooKeeper's servers say of themselves in answer to the four-letter word `srvr`, which every
// server since 3.3 allows unless somebody has forbidden it.
//
// Errors    Of a server: Unavailable or DeadlineExceeded, it does not answer; FailedPrecondition,
//           it answers that it may not say or that it does not serve, in its words.
// Threads   ParseServerReport: pure. ServerReports: thread-safe; Now waits up to a second, so it is
//           not for a loop's thread.
// Promises  server_report/W1  Servers are asked only while somebody wants to know, and at most once
//               in two seconds, whoever else wants to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "base/mutex.h"

namespace arion {

class Clock;

struct ServerReport {
  // standalone, leader, follower, observer.
  std::string mode;
  // "3.8.0-..."
  std::string version;
  // The last transaction that it has seen: "0x1f".
  std::string zxid;
  // Requests that it has taken and not answered.
  int64_t outstanding = 0;
  // Since it started, or since somebody reset them.
  double latency_min_ms = 0, latency_avg_ms = 0, latency_max_ms = 0;
  int64_t connections = 0;
  int64_t nodes = 0;
};

absl::StatusOr<ServerReport> ParseServerReport(std::string_view text);

// One for an ensemble.
class ServerReports {
 public:
  struct Entry {
    Endpoint server;
    absl::StatusOr<ServerReport> report;
  };
  using Servers = std::function<std::vector<Endpoint>()>;
  using Ask = std::function<std::vector<absl::StatusOr<std::string>>(
      const std::vector<Endpoint>& servers, std::string_view word)>;

  // `servers`: those whose addresses are known. `ask`: over the network, as AskByTcp; tests have
  // one of their own.
  ServerReports(const Clock& clock, Servers servers, Ask ask);

  // As of the last two seconds. While another thread asks: what was known before.
  std::vector<Entry> Now();

 private:
  const Clock& clock_;
  const Servers servers_;
  const Ask ask_;
  Mutex mutex_;
  bool is_asking_ ABSL_GUARDED_BY(mutex_) = false;
  Instant ask_after_ ABSL_GUARDED_BY(mutex_){0};
  std::vector<Entry> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
