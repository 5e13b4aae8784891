// What a server's /metrics says as JSON, under the names of older collectors: numbers by entity.
//
// Errors    As server_page.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace arion {

// One entity and its numbers by metric name.
struct MetricEntity {
  // "replica", "replica@1.0"
  std::string type, id;
  std::map<std::string, double> values;
};
// What one server said at one time.
struct MetricReading {
  int64_t unix_nanos = 0;
  std::vector<MetricEntity> entities;
};

// What is no number is left out. InvalidArgument: it is no such page.
absl::StatusOr<MetricReading> ParseEntities(std::string_view json);
// `arguments`: "types=replica&metrics=get_requests".
absl::StatusOr<MetricReading> FetchEntities(Endpoint server, std::string_view arguments);

}  // namespace arion
