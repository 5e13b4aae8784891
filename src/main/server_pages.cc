// SPDX-License-Identifier: Apache-2.0
#include "main/server_pages.h"

#include "http/metrics_page.h"
#include "main/pool_metrics.h"
#include "main/version.h"

namespace arion {
namespace {

constexpr int kPageThreads = 2;

ServerIdentity IdentityOf(ServerKind kind, const ServerConfig& config) {
  const std::string address = config.listen.ToString();
  return {.cluster = config.cluster_name,
          .role = kind == ServerKind::kMeta ? "meta" : "replica",
          .host = address.substr(0, address.rfind(':')),
          .port = config.listen.port};
}

}  // namespace

ServerPages::ServerPages(ServerKind kind, const ServerConfig& config, Environment& env,
                         AsioTransport& transport)
    : held_(RegisterProcess(registry_)),
      threads_(std::make_unique<PosixDiskPool>(kPageThreads)),
      pages_(*threads_) {
  pages_.Add("/metrics", "numbers, as text for Prometheus or JSON for older collectors",
             MetricsPage(registry_, IdentityOf(kind, config), env.clock(), [this] {
               if (refresh_) refresh_();
             }));
  pages_.Add("/version", "which build this is", [](const HttpRequest&) {
    return HttpResponse{.content_type = "application/json",
                        .body = "{\"Version\":\"" + std::string(kVersion) + "\",\"GitCommit\":\"" +
                                std::string(kCommit) + "\"}"};
  });
  transport.SetByteSessions(pages_.Sessions());
  for (auto& connections : RegisterConnections(registry_, transport))
    held_.push_back(std::move(connections));
}

}  // namespace arion
