// ServerStages: what the servers' time for logged writes went into between two looks at all of
// them, by their own /metrics. A display: servers that do not answer, or that were restarted in
// between, are left out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "tools/pages/server_page.h"

namespace arion::load {

// Of one stage: writes of the table that went through it, and their seconds in sum.
struct StageSum {
  std::string stage;
  double writes = 0;
  double seconds = 0;
};
// In the order of the server's page, which is that of a write.
using StageSums = std::vector<StageSum>;
// What one server's samples say of the table.
StageSums StageSumsOf(const std::vector<MetricSample>& samples, const std::string& table);

// What lies between the two looks, over the servers that are in both and have not begun anew.
StageSums Between(const std::map<Endpoint, StageSums>& before,
                  const std::map<Endpoint, StageSums>& after);

// Begin before a phase, End after it.
class ServerStages {
 public:
  ServerStages(std::vector<std::string> meta_servers, std::string table)
      : meta_servers_(std::move(meta_servers)), table_(std::move(table)) {}
  // The first look.
  void Begin();
  // The second look. It waits until a server counts anew: all that ask within a tenth of a second
  // get the same counts, and a short run would have none.
  StageSums End() const;

 private:
  std::map<Endpoint, StageSums> Look() const;

  const std::vector<std::string> meta_servers_;
  const std::string table_;
  std::map<Endpoint, StageSums> before_;
  std::chrono::steady_clock::time_point looked_;
};

}  // namespace arion::load
