// SPDX-License-Identifier: Apache-2.0
#include "admin/server_pages.h"

#include "admin/access_control.h"
#include "admin/access_metrics.h"
#include "admin/server_commands.h"
#include "base/version.h"
#include "exposition/pool_metrics.h"
#include "http/metrics_page.h"
#include "metrics/metrics_json.h"
#include "rpc/asio_transport.h"
#include "ui/ui_pages.h"

namespace arion {
namespace {

// Two are enough for people and collectors, and keep pages from taking the machine.
constexpr int kPageThreads = 2;

ServerIdentity IdentityOf(ServerKind kind, const ServerConfig& config) {
  const std::string address = config.advertised.ToString();
  return {.cluster = config.cluster_name,
          .role = kind == ServerKind::kMeta ? "meta" : "replica",
          .host = address.substr(0, address.rfind(':')),
          .port = config.advertised.port};
}

UiFacts FactsOf(ServerKind kind, const ServerConfig& config) {
  UiFacts facts{.role = kind == ServerKind::kMeta ? "meta" : "replica",
                .cluster = config.cluster_name,
                .address = config.advertised.ToString(),
                .version = std::string(kVersion),
                .commit = std::string(kCommit)};
  if (kind == ServerKind::kReplica)
    facts.durability = std::string(DurabilityName(config.replica.durability));
  for (const NamedAddress& meta : config.meta_servers)
    facts.meta_servers.push_back(meta.ToString());
  return facts;
}

}  // namespace

ServerPages::ServerPages(ServerKind kind, const ServerConfig& config, Environment& env,
                         AsioTransport& transport, AccessControl& access)
    // Members are made in this order: the registry first, since the others register in it.
    : held_(RegisterProcess(registry_)),
      threads_(std::make_unique<PosixDiskPool>(kPageThreads)),
      pages_(*threads_),
      settings_(kind, config),
      commands_(*threads_) {
  const int64_t started = absl::ToUnixSeconds(absl::Now());
  AddServerCommands(commands_, settings_, env.clock(),
                    kind == ServerKind::kMeta ? "meta" : "replica", started);
  AddServerPages(pages_, settings_, started);
  pages_.Add("/metrics", "numbers, as text for Prometheus or JSON for older collectors",
             // Looked up at each reading: BeforeReading comes after this constructor.
             MetricsPage(registry_, IdentityOf(kind, config), env.clock(), [this] {
               if (refresh_) refresh_();
             }));
  pages_.Add("/version", "which build this is", [](const HttpRequest&) {
    return HttpResponse{.content_type = "application/json",
                        .body = "{\"Version\":\"" + std::string(kVersion) + "\",\"GitCommit\":\"" +
                                std::string(kCommit) + "\"}"};
  });
  AddUi(pages_, FactsOf(kind, config));
  // All pages that change something ask it; the others need no permission.
  pages_.SetGuard([&access](const HttpRequest& request) { return access.RefuseHttp(request); });
  // Pages come in on the RPC port, so the transport hands on what is not RPC.
  transport.SetByteSessions(pages_.Sessions());
  for (auto& connections : RegisterConnections(registry_, transport))
    held_.push_back(std::move(connections));
  for (auto& refused : RegisterAccess(registry_, access)) held_.push_back(std::move(refused));
}

}  // namespace arion
