// ServerFacts: what figures depend on and the servers know: which build they are, when they call a
// write durable, where their data lie. A display: servers that do not answer are left out, and
// which RocksDB they were built with is in their logs only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "tools/pages/server_page.h"

namespace arion::load {

// The replica servers that the first meta server to answer counts as alive.
std::vector<Endpoint> AliveServers(const std::vector<std::string>& meta_servers);

// "arion 0.1.0 (632a576), durability fsync, data ssd1:/data/1", by its /metrics and /configs.
std::string FactsText(const std::vector<MetricSample>& samples,
                      const std::vector<JsonRow>& settings);

// Lines for the head of a run: servers that say the same share one, under the first one's address.
std::vector<std::pair<std::string, std::string>> LinesOf(
    const std::map<Endpoint, std::string>& facts);

// Asks all living servers.
std::vector<std::pair<std::string, std::string>> ServerLines(
    const std::vector<std::string>& meta_servers);

}  // namespace arion::load
