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

struct ServerLook {
  absl::Time at;
  std::vector<MetricSample> samples;
};

class ServerLoad {
 public:
  ServerLoad(ServerLook before, ServerLook now)
      : before_(std::move(before)), now_(std::move(now)) {}

  // Sums, over all values of the other labels.
  double Now(std::string_view name, std::string_view label = {}, std::string_view value = {}) const;
  double PerSecond(std::string_view name, std::string_view label = {},
                   std::string_view value = {}) const;
  // 99 of 100 of these requests took no longer; 0: there was none.
  double P99Micros(std::string_view operation) const;
  int64_t FullestDiskPercentLeft() const;

 private:
  ServerLook before_, now_;
};

// One of each server, in their order; all are looked at before the pause and behind it.
std::vector<absl::StatusOr<ServerLoad>> LookAt(const std::vector<Endpoint>& servers,
                                               absl::Duration pause);
// -i: milliseconds between two looks; 1000 by default.
absl::StatusOr<absl::Duration> PauseOf(const Arguments& arguments);

// Columns of a list, and the cells for them.
struct LoadColumn {
  std::string name;
  std::function<int64_t(const ServerLoad& load)> cell;
};
std::vector<LoadColumn> ResourceColumns();  // memory, disks
std::vector<LoadColumn> RequestColumns();   // requests a second by operation, their 99th percentile

}  // namespace arion::shell
