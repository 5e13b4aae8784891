// SPDX-License-Identifier: Apache-2.0
#include "main/ensemble_page.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "meta_ensemble/ensemble_json.h"
#include "meta_ensemble/meta_member.h"
#include "posix/tcp_question.h"
#include "zookeeper/server_report.h"

namespace arion {
namespace {

constexpr std::chrono::seconds kPatience{1};

HttpResponse Answer(MetaMember& member, ServerReports& reports) {
  // Shared, because the answer may come after the wait has ended.
  auto promise = std::make_shared<std::promise<EnsembleOverview>>();
  std::future<EnsembleOverview> ensemble = promise->get_future();
  member.Ensemble(
      [promise](EnsembleOverview overview) { promise->set_value(std::move(overview)); });
  // Meanwhile; it takes up to a second, too.
  const std::vector<ServerReports::Entry> servers = reports.Now();
  if (ensemble.wait_for(kPatience) != std::future_status::ready)
    return {.status = 503, .body = "the meta server does not answer now\n"};
  return {.content_type = "application/json", .body = EnsembleJson(ensemble.get(), servers)};
}

}  // namespace

void AddEnsemblePage(const AddPage& add, MetaMember& member, const Clock& clock,
                     std::function<std::vector<Endpoint>()> zookeeper) {
  auto reports = std::make_shared<ServerReports>(
      clock, std::move(zookeeper), [](const std::vector<Endpoint>& servers, std::string_view word) {
        return AskByTcp(servers, word);
      });
  add("/meta/ensemble", "the meta servers, who leads, and how ZooKeeper is; JSON",
      [&member, reports](const HttpRequest&) { return Answer(member, *reports); });
}

}  // namespace arion
