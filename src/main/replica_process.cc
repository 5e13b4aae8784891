// SPDX-License-Identifier: Apache-2.0
#include "main/replica_process.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/access_control.h"
#include "admin/server_commands.h"
#include "admin/server_pages.h"
#include "base/cluster_identity.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"
#include "config/server_config.h"
#include "engine/rocksdb_engine.h"
#include "exposition/duplication_metrics.h"
#include "exposition/index_metrics.h"
#include "exposition/log_metrics.h"
#include "exposition/perf_counters.h"
#include "exposition/pool_metrics.h"
#include "exposition/process_metrics.h"
#include "exposition/recent_rows.h"
#include "exposition/replica_metrics.h"
#include "exposition/replica_sampler.h"
#include "exposition/request_metrics.h"
#include "exposition/server_log.h"
#include "indexes/indexed_engine.h"
#include "legacy/shared_log_stats.h"
#include "main/cluster_file.h"
#include "main/descriptor_limit.h"
#include "main/find_page.h"
#include "main/other_clusters.h"
#include "main/pegasus_join.h"
#include "main/server_process.h"
#include "membership/join_notes.h"
#include "messages/meta_messages.h"
#include "posix/descriptor_reserve.h"
#include "posix/name_book.h"
#include "posix/posix_environment.h"
#include "posix/posix_patience.h"
#include "posix/posix_watchdog.h"
#include "recovery/recovery_progress.h"
#include "recovery/recovery_text.h"
#include "replica_server/replica_server.h"
#include "rpc/asio_transport.h"
#include "rpc/older_servers.h"

namespace arion {
namespace {

RocksdbEngineOptions EngineOptions(const ServerConfig& config, const OpenFileShares& files) {
  RocksdbEngineOptions options;
  // -1: as many as the engine has tables.
  options.open_files_max = files.tables_per_engine;
  if (config.block_cache_bytes != 0) options.block_cache_bytes = config.block_cache_bytes;
  if (config.write_buffer_bytes != 0) options.write_buffer_bytes = config.write_buffer_bytes;
  if (config.replica.duplication_group.IsSet())
    options.cluster_id = config.replica.duplication_group.own_id;
  return options;
}

// Beside those that recovery may take, and one for a flush, two for the replicas that serve
// already.
int DiskThreads(const ServerConfig& config) {
  return std::max(4, config.replica.recovery.threads_per_disk + 3);
}

BannerLines Banner(const ServerConfig& config, Environment& env, const EngineFactory& engines,
                   const OpenFileShares& files) {
  BannerLines lines = {{"engine", engines.description()},
                       {"file descriptors", DescribeShares(files)},
                       {"durability", std::string(DurabilityName(config.replica.durability))}};
  for (const ConfiguredDisk& disk : config.disks) {
    lines.emplace_back("disk " + disk.tag,
                       disk.path + ", log: " + env.log_device(disk.path).method());
  }
  if (const std::string& home = config.replica.layout.log_home_directory; !home.empty())
    lines.emplace_back("log home", home + ", log: " + env.log_device(home).method());
  for (const NamedAddress& meta : config.meta_servers)
    lines.emplace_back("meta server", meta.ToString());
  return lines;
}

// What turns out only after the start, and stops the process as a signal would.
class LateRefusal {
 public:
  // Registered before Start, because the refusal may come at any time after it.
  explicit LateRefusal(ReplicaServer& server) {
    server.OnRefused([this](const absl::Status& status) {
      {
        const MutexLock lock(mutex_);
        status_ = status;
      }
      // The same way out as for a person's stop: the replicas close cleanly.
      kill(getpid(), SIGTERM);
    });
  }
  absl::Status status() const {
    const MutexLock lock(mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

HttpResponse AnswerCheckpoint(ReplicaServer& server, const HttpRequest& request) {
  if (request.method != "POST") return {.status = 405, .body = "use POST\n"};
  std::optional<PartitionId> only;
  for (const auto& [name, value] : request.arguments) {
    PartitionId pid;
    const std::vector<std::string> parts = absl::StrSplit(value, '.');
    if (name != "partition" || parts.size() != 2 || !absl::SimpleAtoi(parts[0], &pid.app_id) ||
        !absl::SimpleAtoi(parts[1], &pid.index))
      return {.status = 400, .body = "write ?partition=2.1, or nothing for all\n"};
    only = pid;
  }
  server.AskForCheckpoints(only);
  return {.body = "triggered\n"};
}

// As /metrics does: text for who accepts no JSON.
HttpResponse AnswerRecovery(const ReplicaServer& server, const HttpRequest& request) {
  const RecoveryReport report = server.RecoveryNow();
  const std::string_view accept = request.Header("accept");
  if (!accept.empty() && accept.find("json") == std::string_view::npos)
    return {.body = RecoveryText(report)};
  return {.content_type = "application/json", .body = RecoveryJson(report)};
}

HttpResponse AnswerStuck(const PosixWatchdog& watchdog) {
  const std::vector<StuckWork> stuck = watchdog.Stuck();
  HttpResponse response;
  if (stuck.empty()) response.body = "nothing is stuck\n";
  for (const StuckWork& work : stuck)
    absl::StrAppend(&response.body, work.where, ": ", work.what, ", for ",
                    absl::FormatDuration(work.age), "\n", work.stack);
  return response;
}

void AddProcessPages(ServerPages& pages, ReplicaServer& server, const Clock& clock,
                     const PosixWatchdog& watchdog, std::function<std::string()> pools_text) {
  pages.Add("/slow", "the last slow requests, and what a write's time went into; JSON",
            [&server](const HttpRequest& request) {
              return AnswerSlow(server.slow_requests(), request);
            });
  pages.Add("/hotkeys", "the keys asked for most in the last minute; JSON",
            [&server, &clock](const HttpRequest& request) {
              return AnswerHotKeys(server.requests(), clock.Now(), request);
            });
  pages.Add("/checkpoint", "POST: replicas make checkpoints now; ?partition=2.1: one does",
            [&server](const HttpRequest& request) { return AnswerCheckpoint(server, request); });
  pages.Add("/recovery", "how far the opening of the replicas is; text, or JSON",
            [&server](const HttpRequest& request) { return AnswerRecovery(server, request); });
  pages.Add("/shared_log", "what is left of an older version's shared log, and who holds it back",
            [&server](const HttpRequest&) {
              return HttpResponse{.body = SharedLogText(server.shared_log())};
            });
  pages.Add("/join", "whether it joins an older version's cluster, and what is in the way",
            [&server](const HttpRequest&) { return HttpResponse{.body = server.join().Text()}; });
  pages.Add("/stuck", "event loops and disk jobs that are stuck: for how long, in which call",
            [&watchdog](const HttpRequest&) { return AnswerStuck(watchdog); });
  pages.Add("/pools", "event loops and disks' pools: sizes, queues, times; connections",
            [pools_text = std::move(pools_text)](const HttpRequest&) {
              return HttpResponse{.body = pools_text()};
            });
}

// What the server asks of its process. Commands and `meta_servers` outlive it.
void ConnectToProcess(ServerConfig& config, RemoteCommands& commands, NameBook& meta_servers) {
  // At the start only: each disk gets disk_answer_max to answer.
  config.replica.layout.ask_disks = [patience = config.disk_answer_max](auto jobs) {
    return RunWithPatience(std::move(jobs), patience);
  };
  config.replica.other_requests = [&commands](InboundRequest& request) {
    return commands.Handle(request);
  };
  config.replica.on_meta_unanswered = [&meta_servers] { meta_servers.LookUpSoon(); };
}

// Three users share the limit of open files. The engines' limit goes through a pool, since setting
// it may wait. All but `files` outlive the pools.
void ShareOpenFiles(OpenFileBudget& files, AsioTransport& transport, PosixEnvironment& env,
                    const std::string& home, RocksdbEngineFactory& engines) {
  files.OnChanged([&transport, &env, home, &engines](const OpenFileShares& shares) {
    transport.LimitConnections(shares.connections);
    env.descriptors().SetScarce(!shares.has_spares);
    // The flush pool of the first disk: any pool that may wait does.
    env.flush_pool(home).Submit(
        [limit = engines.OpenFilesLimiter(), max = shares.tables_per_engine] { limit(max); });
  });
}

// What /metrics says of disks, files and other servers, while it lives.
struct DiskMetrics {
  DiskMetrics(MetricRegistry& registry, Environment& env, const ServerConfig& config,
              RocksdbEngineFactory& engines, const ReplicaServer& server)
      : replay(RegisterReplay(registry, server)),
        devices(RegisterLogDevices(registry, env, config.disks,
                                   config.replica.layout.log_home_directory)),
        engine_files(RegisterEngineFiles(registry, env, engines, config.disks)),
        open_files(RegisterOpenFiles(registry, *config.replica.open_files)),
        disks(RegisterDisks(registry, server)),
        older_servers(RegisterOlderServers(registry, *config.replica.older_servers)),
        join(RegisterJoin(registry, server)) {}

  const MetricRegistrations replay, devices, engine_files, open_files, disks, older_servers, join;
};

// And of the process, the requests and the replicas.
struct LoadMetrics {
  LoadMetrics(MetricRegistry& registry, PosixEnvironment& env, const ServerConfig& config,
              const PosixWatchdog& watchdog, const RocksdbEngineFactory& engines,
              const ReplicaServer& server)
      : pools(RegisterPools(registry, env, config.disks, watchdog)),
        recovery(RegisterRecovery(registry, server, env.clock())),
        shared_log(RegisterSharedLog(registry, server)),
        rows(std::make_shared<RecentRows>(server.requests(), env.clock())),
        requests(RegisterRequests(registry, rows)),
        sampler(server.requests(), env.clock()),
        replicas(RegisterReplicas(registry, server, rows, env.clock())),
        engine_figures(RegisterEngines(registry, engines, sampler, rows, env.clock())),
        indexes(RegisterIndexes(registry, server.indexes())),
        duplications(RegisterDuplications(registry, server.duplications(), env.clock(),
                                          config.replica.log_for_other_cluster.bytes_max)) {}

  const MetricRegistrations pools, recovery, shared_log;
  // One asking of the book serves all families of a reading.
  const std::shared_ptr<RecentRows> rows;
  const MetricRegistrations requests;
  const ReplicaSampler sampler;
  const MetricRegistrations replicas, engine_figures, indexes, duplications;
};

int Serve(const ServerConfig& config, ReplicaServer& server, AsioTransport& transport,
          NameBook& meta_servers, OlderServers& older) {
  const LateRefusal refusal(server);
  // First: pages answer while the server starts, and requests are told that it does.
  if (absl::Status status = transport.Listen(); !status.ok()) return FailedToStart(status);
  if (absl::Status status = server.Start(); !status.ok()) {
    return FailedToStart(WithOrigin(status, config));
  }
  // After Start: the server must exist for the addresses to be told.
  meta_servers.Start([&server, &older](const std::vector<Endpoint>& now) {
    older.SetMetaServers(now);
    server.SetMetaServers(now);
  });
  JoinReminder reminder(older, config.cluster_name);
  const int exit_code = RunUntilStopped(
      "arion_replica", config.stop_time_max, [&] { reminder.OnMinute(); },
      [&](StopDone done) { server.Stop(std::move(done)); });
  // No more lookups: their callback uses the server.
  meta_servers.Stop();
  const absl::Status refused = refusal.status();
  return refused.ok() ? exit_code : FailedToStart(refused);
}

}  // namespace

int RunReplicaServer(int argc, char** argv, const ReplicaVariant& variant) {
  PrepareProcess();
  ServerConfig config = ConfigureServerOrExit(ServerKind::kReplica, &argc, &argv);
  ClusterIdentity cluster(config.cluster_name);
  // BOOTTIME goes on while the machine sleeps, so a lease ends then, too.
  PosixEnvironment env({.event_loop_threads = EventLoopThreads(config),
                        .disk_threads_per_device = DiskThreads(config),
                        .log_device = config.log_device,
                        .descriptors_held = kDescriptorsHeld,
                        .clock = CLOCK_BOOTTIME});
  Environment& world = variant.disks ? variant.disks(env, config) : env;
  config.replica.open_log = variant.open_log;
  // Before the first other file is opened: with too few descriptors nothing else can be trusted.
  const absl::StatusOr<DescriptorLimit> limit = TakeDescriptorLimit(env.files(), config.disks);
  if (!limit.ok()) return FailedToStart(limit.status());
  const auto files =
      std::make_shared<OpenFileBudget>(LookAtDescriptors(env.descriptors()), limit->replicas);
  config.replica.open_files = files;
  env.descriptors().SetScarce(!files->shares().has_spares);
  std::vector<std::string> homes;
  for (const ConfiguredDisk& disk : config.disks) homes.push_back(disk.path);
  if (absl::Status status = TakeClusterId(env.files(), homes, &cluster); !status.ok())
    return FailedToStart(status);
  const auto remember = [&](uint32_t) { RememberClusterIdLater(env, homes, cluster); };
  if (cluster.id() != 0) remember(cluster.id());  // where a directory is new
  AccessControl access(config.access, cluster, absl::StrCat(kRpcBeacon, "_ACK"), remember);
  const auto older =
      std::make_shared<OlderServers>(OlderServersPolicy(config.join_pegasus_cluster), env.clock());
  access.LetIn(*older, AccessControl::Introduce::kNobody);
  config.replica.older_servers = older;
  AsioTransport transport(&env.loops(), {.listen = config.listen,
                                         .advertised = config.advertised,
                                         .gate = &access,
                                         .connections_max = files->shares().connections});
  // Without a gate and a name: to another cluster's servers this one is a client.
  AsioTransport other_clusters(&env.loops(), {});
  config.replica.other_clusters = &other_clusters;
  OtherClusters clusters(config.meta.clusters);
  config.replica.meta_servers_of = [&clusters](const std::string& name) {
    return clusters.MetaServersOf(name);
  };
  ServerPages pages(ServerKind::kReplica, config, env, transport, access);
  RocksdbEngineFactory engines(world, EngineOptions(config, files->shares()));
  LogBanner("arion_replica", config, Banner(config, world, engines, files->shares()));
  ShareOpenFiles(*files, transport, env, homes.front(), engines);
  NameBook meta_servers("meta_servers", config.meta_servers, LookUp);
  ConnectToProcess(config, pages.commands(), meta_servers);
  IndexedEngineFactory indexed(world, engines);
  ReplicaServer server(world, transport, variant.engines ? variant.engines(indexed) : indexed,
                       config.replica);
  // Settings that change while it runs; the rest of the configuration is fixed.
  pages.settings().OnChange([&server, &older = *older](const ServerConfig& changed) {
    SetLogLevel(changed.log_level);
    older.SetPolicy(OlderServersPolicy(changed.join_pegasus_cluster));
    server.Reconfigure(changed.replica);
  });
  const DiskMetrics disk_metrics(pages.registry(), world, config, engines, server);
  PosixWatchdog watchdog(env, config.stuck_after);
  const LoadMetrics load_metrics(pages.registry(), env, config, watchdog, engines, server);
  const auto pools_text = [&] { return PoolsText(env, config.disks, watchdog, transport); };
  AddProcessPages(pages, server, env.clock(), watchdog, pools_text);
  const PerfCounters counters(server, engines, load_metrics.sampler);
  AddReplicaCommands(pages.commands(), pages.settings(), server, config.advertised, counters,
                     pools_text);
  AddReplicaPages(
      [&pages](std::string path, std::string help, Page page) {
        pages.Add(std::move(path), std::move(help), std::move(page));
      },
      server);
  AddFindPage([&pages](std::string path, std::string help,
                       Page page) { pages.Add(std::move(path), std::move(help), std::move(page)); },
              [&config] {
                std::vector<std::string> found;
                for (const NamedAddress& name : config.meta_servers)
                  for (Endpoint server : LookUp(name).value_or(std::vector<Endpoint>()))
                    found.push_back(server.ToString());
                return found;
              });
  int exit_code = Serve(config, server, transport, meta_servers, *older);
  // Pages stop before what they read is destroyed.
  transport.Stop();
  other_clusters.Stop();
  pages.Stop();
  env.StopLoops();
  return exit_code;
}

}  // namespace arion
