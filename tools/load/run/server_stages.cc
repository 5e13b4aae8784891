// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/server_stages.h"

#include <algorithm>
#include <thread>

#include "tools/load/run/server_facts.h"

namespace arion::load {
namespace {

constexpr std::chrono::milliseconds kServersCountAnew(150);  // src/exposition/recently.h: 100

StageSum& SumOf(StageSums& sums, const std::string& stage) {
  const auto it = std::ranges::find(sums, stage, &StageSum::stage);
  return it != sums.end() ? *it : sums.emplace_back(StageSum{.stage = stage});
}

}  // namespace

StageSums StageSumsOf(const std::vector<MetricSample>& samples, const std::string& table) {
  StageSums sums;
  for (const MetricSample& sample : samples) {
    const auto of = sample.labels.find("table");
    const auto stage = sample.labels.find("stage");
    if (of == sample.labels.end() || of->second != table || stage == sample.labels.end()) continue;
    if (sample.name == "write_stage_seconds_count")
      SumOf(sums, stage->second).writes += sample.value;
    if (sample.name == "write_stage_seconds_sum")
      SumOf(sums, stage->second).seconds += sample.value;
  }
  return sums;
}

StageSums Between(const std::map<Endpoint, StageSums>& before,
                  const std::map<Endpoint, StageSums>& after) {
  StageSums between;
  for (const auto& [server, now] : after) {
    const auto then = before.find(server);
    // A server that was not asked before would count all that it ever did.
    if (then == before.end()) continue;
    for (const StageSum& sum : now) {
      const auto was = std::ranges::find(then->second, sum.stage, &StageSum::stage);
      const bool is_new = was == then->second.end();
      if (!is_new && sum.writes < was->writes) continue;  // restarted
      StageSum& all = SumOf(between, sum.stage);
      all.writes += sum.writes - (is_new ? 0 : was->writes);
      all.seconds += sum.seconds - (is_new ? 0 : was->seconds);
    }
  }
  std::erase_if(between, [](const StageSum& sum) { return sum.writes <= 0; });
  return between;
}

void ServerStages::Begin() {
  before_ = Look();
  looked_ = std::chrono::steady_clock::now();
}

StageSums ServerStages::End() const {
  std::this_thread::sleep_until(looked_ + kServersCountAnew);
  return Between(before_, Look());
}

std::map<Endpoint, StageSums> ServerStages::Look() const {
  std::map<Endpoint, StageSums> sums;
  for (Endpoint server : AliveServers(meta_servers_))
    if (const auto samples = FetchSamples(server); samples.ok())
      sums[server] = StageSumsOf(*samples, table_);
  return sums;
}

}  // namespace arion::load
