// What a server does: by two looks at its /metrics, a moment apart.
//
// Errors    As tools/pages/server_page.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "tools/pages/server_page.h"
#include "tools/shell/answer.h"
#include "tools/shell/arguments.h"

namespace arion::shell {

// One reading.
struct ServerLook {
  absl::Time at;
  std::vector<MetricSample> samples;
};

// What happened between two readings. `name` is a family of /metrics (src/metrics). A label limits
// a sum to the samples that have it with that value.
class ServerLoad {
 public:
  ServerLoad(ServerLook before, ServerLook now)
      : before_(std::move(before)), now_(std::move(now)) {}

  // Sums, over all values of the other labels. Now: of a gauge, as the later reading says it.
  // PerSecond: by how much a counter rose; 0 where it fell, because the server was restarted.
  double Now(std::string_view name, std::string_view label = {}, std::string_view value = {}) const;
  double PerSecond(std::string_view name, std::string_view label = {},
                   std::string_view value = {}) const;
  // 99 of 100 of these requests took no longer; 0: there was none.
  double P99Micros(std::string_view operation) const;
  // What is available on the disk with the least.
  int64_t FullestDiskPercentLeft() const;

 private:
  ServerLook before_, now_;
};

// One for each server, in their order. All are looked at before the pause and after it. It takes
// `pause` and the readings' time. A server that can't be read has its error and does not fail the
// others.
std::vector<absl::StatusOr<ServerLoad>> LookAt(const std::vector<Endpoint>& servers,
                                               absl::Duration pause);
// -i: milliseconds between two looks, 10 to 60000; 1000 by default.
absl::StatusOr<absl::Duration> PauseOf(const Arguments& arguments);

// A column of a list, and its cells.
struct LoadColumn {
  std::string name;
  std::function<int64_t(const ServerLoad& load)> cell;
};
// Memory, disks.
std::vector<LoadColumn> ResourceColumns();
// Requests a second by operation, and their 99th percentile.
std::vector<LoadColumn> RequestColumns();

}  // namespace arion::shell
