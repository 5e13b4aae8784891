// SPDX-License-Identifier: Apache-2.0
#include "exposition/pool_metrics.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "config/server_config.h"
#include "exposition/recently.h"
#include "posix/posix_disk_pool.h"
#include "posix/posix_environment.h"
#include "recovery/recovery_progress.h"
#include "rpc/asio_transport.h"

namespace arion {
namespace {

struct PoolKind {
  const char* name;
  const char* metric_prefix;
  const char* help;  // whose threads they are
};
// A disk's three pools are shown apart, because long work in one is no trouble for the others
// (env/environment.h).
constexpr PoolKind kDisk{"pool", "disk_pool_", "the disk's pool"};
constexpr PoolKind kBulk{"bulk pool", "bulk_pool_",
                         "the disk's pool for copies to and from other servers"};
constexpr PoolKind kFlush{"flush pool", "flush_pool_",
                          "the disk's pool for flushes and checkpoints"};

// A disk's pool, with the tags of its directories.
struct NamedPool {
  const PosixDiskPool* pool;
  std::string tags;
  const PoolKind& kind;
};

// Each disk's pools. Directories of one disk share its pools; each pool once, with their tags.
std::vector<NamedPool> PoolsOf(PosixEnvironment& env, const std::vector<ConfiguredDisk>& disks) {
  std::vector<NamedPool> pools;
  const auto add = [&pools](const PosixDiskPool* pool, const std::string& tag,
                            const PoolKind& kind) {
    const auto known = std::find_if(pools.begin(), pools.end(),
                                    [pool](const NamedPool& other) { return other.pool == pool; });
    if (known == pools.end())
      pools.push_back({pool, tag, kind});
    else
      known->tags += "," + tag;
  };
  for (const ConfiguredDisk& disk : disks) {
    add(&env.pool_of(disk.path), disk.tag, kDisk);
    add(&env.bulk_pool_of(disk.path), disk.tag, kBulk);
    add(&env.flush_pool_of(disk.path), disk.tag, kFlush);
  }
  return pools;
}

// Since the process began, for a person; collectors get the whole histogram.
std::string Quantiles(const Histogram& nanos) {
  const Histogram::Snapshot now = nanos.Read();
  return absl::StrFormat("p50 %.2f ms, p99 %.2f ms, worst %.2f ms", 1e-6 * now.Quantile(0.5),
                         1e-6 * now.Quantile(0.99), 1e-6 * now.max);
}

}  // namespace

std::string PoolsText(PosixEnvironment& env, const std::vector<ConfiguredDisk>& disks,
                      const PosixWatchdog& watchdog, const AsioTransport& transport) {
  std::string text = absl::StrCat(
      env.loops().size(), " event loops: lag ", Quantiles(watchdog.stats().loop_lag_nanos), "; ",
      transport.stats().connections.value(), " connections, ",
      transport.stats().backlog_bytes.value(), " bytes that slow clients do not take\n");
  for (const auto& [pool, tags, kind] : PoolsOf(env, disks)) {
    const PoolStats& stats = pool->stats();
    absl::StrAppend(&text, kind.name, " of ", tags, ": ", pool->threads(), " threads, ",
                    stats.busy.value(), " busy, ", stats.queued.value(), " queued; waited ",
                    Quantiles(stats.wait_nanos), "; worked ", Quantiles(stats.service_nanos), "\n");
  }
  return text;
}

MetricRegistrations RegisterPools(MetricRegistry& registry, PosixEnvironment& env,
                                  const std::vector<ConfiguredDisk>& disks,
                                  const PosixWatchdog& watchdog) {
  MetricRegistrations held;
  for (const NamedPool& named : PoolsOf(env, disks)) {
    const std::string prefix = named.kind.metric_prefix;
    const std::string whose = named.kind.help;
    const MetricLabels labels{{"disk", named.tags}};
    const auto add = [&](MetricInfo info, const auto& instrument) {
      held.push_back(registry.Add(std::move(info), labels, instrument));
    };
    held.push_back(registry.Add(
        {.name = prefix + "threads", .help = "Threads of " + whose + "."}, MetricKind::kGauge,
        labels, [pool = named.pool] { return static_cast<double>(pool->threads()); }));
    const PoolStats& stats = named.pool->stats();
    add({.name = prefix + "queued", .help = "Work that waits for a thread of " + whose + "."},
        stats.queued);
    // Older collectors know one queue only, the disk's.
    // There are only the three constants, so a kind's address is its name.
    if (&named.kind == &kDisk)
      held.push_back(registry.Add(
          {.name = "queue_length", .help = "As disk_pool_queued.", .is_json_only = true},
          {{"queue", "disk_pool_" + named.tags}}, stats.queued));
    add({.name = prefix + "busy", .help = "Threads of " + whose + " that work."}, stats.busy);
    add(LatencyInfo(prefix + "wait_seconds",
                    "Time that work waited for a thread of " + whose + "."),
        stats.wait_nanos);
    add(LatencyInfo(prefix + "service_seconds",
                    "Time that a thread of " + whose + " worked on it."),
        stats.service_nanos);
  }
  const WatchdogStats& watched = watchdog.stats();
  held.push_back(registry.Add(
      LatencyInfo("loop_lag_seconds", "Time from asking an event loop for a turn to that turn."),
      {}, watched.loop_lag_nanos));
  // The same instrument under its older name.
  MetricInfo queue_latency = LatencyInfo("profiler_queue_latency_ns", "As loop_lag_seconds.");
  queue_latency.is_json_only = true;
  held.push_back(
      registry.Add(std::move(queue_latency), {{"task", "event_loop"}}, watched.loop_lag_nanos));
  held.push_back(
      registry.Add({.name = "stuck", .help = "Event loops and works of pools that do not move."},
                   {}, watched.stuck_now));
  held.push_back(registry.Add({.name = "stuck_total", .help = "How many were found stuck."}, {},
                              watched.stuck));
  held.push_back(
      registry.Add({.name = "loop_blocking_calls_total",
                    .help = "File calls made on an event loop, where none belongs: an error."},
                   {}, BlockingCallsOnLoops()));
  return held;
}

MetricRegistrations RegisterConnections(MetricRegistry& registry, const AsioTransport& transport) {
  MetricRegistrations held;
  auto add = [&](MetricInfo info, const auto& instrument) {
    held.push_back(registry.Add(std::move(info), {}, instrument));
  };
  const TransportStats& stats = transport.stats();
  add({.name = "connections",
       .help = "Connections that are open, accepted and opened ones.",
       .old = {.name = "network_server_sessions"}},
      stats.connections);
  add({.name = "connection_backlog_bytes",
       .help = "Answers that slow clients did not take, above 64 KiB each."},
      stats.backlog_bytes);
  add({.name = "connection_half_frame_bytes",
       .help = "Of messages that are not whole yet, above 64 KiB each."},
      stats.half_frame_bytes);
  add({.name = "connection_pauses_total",
       .help = "Times that a client's requests were left unread until it took its answers."},
      stats.pauses);
  add({.name = "connections_closed_slow_total",
       .help = "Connections closed because they took too little for too long."},
      stats.closed_slow);
  add({.name = "accepted_connections_total", .help = "Connections accepted."}, stats.accepted);
  add({.name = "received_bytes_total", .help = "Bytes received on all connections."},
      stats.received_bytes);
  add({.name = "sent_bytes_total", .help = "Bytes sent on all connections."}, stats.sent_bytes);
  add({.name = "broken_frames_total",
       .help = "Connections closed because what came on them was no whole message."},
      stats.broken_frames);
  add({.name = "calls_total", .help = "Requests sent to other servers that want an answer."},
      stats.calls);
  add({.name = "calls_timed_out_total", .help = "Of these, those that were not answered in time."},
      stats.calls_timed_out);
  add({.name = "accept_stops_total",
       .help = "Times that accepting paused: too many connections, or out of descriptors."},
      stats.accept_stops);
  return held;
}

MetricRegistrations RegisterRecovery(MetricRegistry& registry, const ReplicaServer& server,
                                     const Clock& clock) {
  MetricRegistrations held;
  // One report for all families of a reading: it locks all tickets.
  const auto recent =
      std::make_shared<Recently<RecoveryReport>>(clock, [&server] { return server.RecoveryNow(); });
  using Rows = std::vector<LabeledValue>;
  auto add = [&](MetricInfo info, void (*rows_of)(const RecoveryReport::Disk&, Rows*)) {
    held.push_back(registry.AddTable(std::move(info), MetricKind::kGauge, [recent, rows_of] {
      Rows rows;
      const auto report = recent->Read();
      for (const RecoveryReport::Disk& disk : report->disks) rows_of(disk, &rows);
      return rows;
    }));
  };
  add({.name = "recovery_replicas", .help = "Replicas found at the start, by what became of them."},
      [](const RecoveryReport::Disk& disk, Rows* rows) {
        const auto row = [&](const char* state, size_t n) {
          rows->push_back({{{"disk", disk.tag}, {"state", state}}, static_cast<double>(n)});
        };
        row("served", disk.done);
        row("failed", disk.failed);
        row("under_way", disk.under_way);
        // The four states add up to what was found.
        row("waiting", disk.replicas - disk.done - disk.failed - disk.under_way);
      });
  add({.name = "recovery_log_bytes", .help = "Bytes of their logs, read and still to read."},
      [](const RecoveryReport::Disk& disk, Rows* rows) {
        const auto row = [&](const char* state, uint64_t n) {
          rows->push_back({{{"disk", disk.tag}, {"state", state}}, static_cast<double>(n)});
        };
        row("read", disk.bytes_done);
        row("unread", disk.bytes - disk.bytes_done);
      });
  auto gauge = [&](MetricInfo info, double (*of)(const RecoveryReport&)) {
    held.push_back(registry.Add(std::move(info), MetricKind::kGauge, {},
                                [recent, of] { return of(*recent->Read()); }));
  };
  gauge({.name = "recovery_seconds", .help = "How long the opening took, or takes so far."},
        [](const RecoveryReport& report) { return absl::ToDoubleSeconds(report.elapsed); });
  gauge({.name = "recovery_done", .help = "1 once every replica found is served or has failed."},
        [](const RecoveryReport& report) {
          return report.phase == RecoveryReport::Phase::kDone ? 1.0 : 0.0;
        });
  return held;
}

}  // namespace arion
