// arion_meta: one meta server. Composition only.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "admin/access_control.h"
#include "admin/meta_pages.h"
#include "admin/server_commands.h"
#include "admin/server_pages.h"
#include "base/cluster_identity.h"
#include "base/log.h"
#include "base/status.h"
#include "config/server_config.h"
#include "exposition/meta_metrics.h"
#include "exposition/server_log.h"
#include "main/cluster_file.h"
#include "main/descriptor_limit.h"
#include "main/knocking_servers.h"
#include "main/meta_process.h"
#include "main/other_clusters.h"
#include "main/pegasus_join.h"
#include "main/server_process.h"
#include "main/state_move_command.h"
#include "messages/tool_messages.h"
#include "meta_overview/overview_json.h"
#include "posix/posix_environment.h"
#include "rpc/asio_transport.h"
#include "rpc/older_servers.h"

namespace arion {
namespace {

HttpResponse AnswerCluster(MetaMetrics& metrics, const Clock& clock) {
  const std::shared_ptr<const ClusterOverview> overview = metrics.Refresh();
  if (overview == nullptr) return {.status = 503, .body = "the meta server does not answer now\n"};
  return {.content_type = "application/json",
          .body = OverviewJson(*overview, clock.WallMicros() / 1000)};
}

// Each reading of the pages asks the meta server anew. All outlive the pages.
void AddClusterPage(ServerPages& pages, MetaMetrics& metrics, const Clock& clock) {
  pages.BeforeReading([&metrics] { metrics.Refresh(); });
  pages.Add("/ui/cluster.json", "what the dashboard shows of the cluster, as JSON",
            [&metrics, &clock](const HttpRequest&) { return AnswerCluster(metrics, clock); });
}

BannerLines Banner(const ServerConfig& config, int64_t open_files_max, int64_t connections_max,
                   const ClusterIdentity& cluster) {
  return {{"file descriptors", absl::StrCat("at most ", open_files_max, ", of them ",
                                            connections_max, " for connections")},
          {"cluster", cluster.ToString()},
          {"state", MetaProcess::WhereStateIs(config)},
          {"grace", absl::FormatDuration(config.meta.grace)}};
}

// What is known of servers that are kept out, or let in, beside the meta server.
void AddWarnings(const KnockingServers& knocking, const ClusterIdentity& cluster,
                 const OlderServers& older, Instant now, ClusterOverview* overview) {
  const auto tables =
      overview->tables.empty() ? KnockingServers::Tables::kNone : KnockingServers::Tables::kSome;
  if (auto warning = knocking.Warning(cluster, tables, now))
    overview->warnings.push_back(*std::move(warning));
  if (auto notice = OlderServersNotice(older, *overview, cluster.name()))
    overview->warnings.push_back(*std::move(notice));
}

int Serve(const ServerConfig& config, MetaProcess& meta, AsioTransport& transport,
          const OlderServers& older) {
  // Tables and configurations first: the first request must find them.
  if (absl::Status status = meta.Start(); !status.ok()) return FailedToStart(status);
  if (absl::Status status = transport.Listen(); !status.ok()) return FailedToStart(status);
  JoinReminder reminder(older, config.cluster_name);
  return RunUntilStopped(
      "arion_meta", config.stop_time_max, [&] { reminder.OnMinute(); },
      [&](const StopDone& done) { meta.Stop([done] { done(absl::OkStatus()); }); });
}

int Main(int argc, char** argv) {
  // Before any thread and any file.
  PrepareProcess();
  ServerConfig config = ConfigureServerOrExit(ServerKind::kMeta, &argc, &argv);
  ClusterIdentity cluster(config.cluster_name);
  PosixEnvironment env(
      {.event_loop_threads = EventLoopThreads(config), .descriptors_held = kDescriptorsHeld});
  const absl::StatusOr<DescriptorLimit> limit = TakeDescriptorLimit(env.files(), {});
  if (!limit.ok()) return FailedToStart(limit.status());
  // Half of what a start needs is the server's own; the rest of the limit is for connections.
  const int64_t connections = limit->limit - OpenFilesToStart(0) / 2;
  const auto without_id =
      // Told to recover, it must not make an id: it takes the one that the replica servers know.
      // One of several takes that of ZooKeeper.
      config.meta.recover_from_replica_servers ||
              config.meta_state == ServerConfig::MetaState::kZooKeeper
          ? NewCluster::kLearn
          : NewCluster::kMake;
  if (absl::Status status =
          TakeOrMakeClusterId(env, config.meta_data_directory, without_id, &cluster);
      !status.ok())
    return FailedToStart(status);
  MetaProcess* process = nullptr;  // once there is one
  // Only answers of replica servers to the question of a recovery teach the id.
  AccessControl access(config.access, cluster, absl::StrCat(kRpcQueryReplicaInfo, "_ACK"),
                       [&](uint32_t id) {
                         ReplaceClusterIdLater(env, config.meta_data_directory, cluster);
                         if (process != nullptr) process->StoreClusterId(id);
                       });
  OlderServers older(OlderServersPolicy(config.join_pegasus_cluster), env.clock());
  // A meta server meets older servers by their beacons.
  access.LetIn(older, AccessControl::Introduce::kByBeacon);
  KnockingServers knocking;
  access.OnRefusedServer([&](Endpoint server, uint64_t tag) {
    knocking.Note(cluster, server, tag, env.clock().Now());
  });
  config.meta.vets_older_servers = true;
  // Asked before the state is learned: the servers that it is learned from may have another id.
  config.meta.before_recovery = [&](const std::set<Endpoint>& servers, size_t alive) {
    return knocking.LearnFrom(servers, alive, env.clock().Now(), &cluster);
  };
  AsioTransport transport(&env.loops(), {.listen = config.listen,
                                         .advertised = config.advertised,
                                         .gate = &access,
                                         .connections_max = connections});
  ServerPages pages(ServerKind::kMeta, config, env, transport, access);
  LogBanner("arion_meta", config, Banner(config, limit->limit, connections, cluster));
  config.meta.other_requests = [&commands = pages.commands()](InboundRequest& request) {
    return commands.Handle(request);
  };
  OtherClusters clusters(config.meta.clusters);
  config.meta.meta_servers_of = [&clusters](const std::string& cluster) {
    return clusters.MetaServersOf(cluster);
  };
  // As a client of theirs.
  AsioTransport to_other_clusters(&env.loops(), {});
  config.meta.to_other_clusters = &to_other_clusters;
  const absl::StatusOr<std::unique_ptr<MetaProcess>> made =
      MetaProcess::Make(config, env, transport, cluster);
  if (!made.ok()) return FailedToStart(made.status());
  MetaProcess& meta = **made;
  process = &meta;
  transport.SetHandler(meta.Handler());
  MetaService& server = meta.service();
  // On a page's or command's thread; each of the three is thread-safe.
  pages.settings().OnChange([&server, &older](const ServerConfig& changed) {
    SetLogLevel(changed.log_level);
    older.SetPolicy(OlderServersPolicy(changed.join_pegasus_cluster));
    server.Reconfigure(changed.meta);
  });
  AddMetaCommands(pages.commands(), pages.settings(), server);
  const AddPage add_page = [&pages](std::string path, std::string help, Page page) {
    pages.Add(std::move(path), std::move(help), std::move(page));
  };
  AddMetaPages(add_page, server);
  meta.AddPages(add_page, env.clock());
  MetaMetrics metrics(pages.registry(), server, env.clock(), [&](ClusterOverview* overview) {
    AddWarnings(knocking, cluster, older, env.clock().Now(), overview);
  });
  const MetricRegistrations older_servers = RegisterOlderServers(pages.registry(), older);
  AddClusterPage(pages, metrics, env.clock());
  int exit_code = Serve(config, meta, transport, older);
  // No request arrives any more; then the pages end, which still read the server; then the loops.
  transport.Stop();
  to_other_clusters.Stop();
  pages.Stop();
  env.StopLoops();
  return exit_code;
}

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  return arion::IsStateMove(argc, argv) ? arion::RunStateMove(argc, argv) : arion::Main(argc, argv);
}
