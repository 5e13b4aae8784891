// SPDX-License-Identifier: Apache-2.0
#include "exposition/meta_metrics.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "env/clock.h"
#include "meta_overview/meta_queries.h"

namespace arion {
namespace {

// How long a reading waits for the meta server's strand. After that it shows the last figures with
// their age: a server that hangs must still answer its pages.
constexpr std::chrono::seconds kRefreshMax{1};

const char* HelpOf(PartitionHealth health) {
  switch (health) {
    case PartitionHealth::kDead:
      return "Partitions without any member.";
    case PartitionHealth::kUnreadable:
      return "Partitions without a primary.";
    case PartitionHealth::kUnwritable:
      return "Partitions with too few members for a write.";
    case PartitionHealth::kWritableIll:
      return "Partitions that serve with fewer members than the table's replica count.";
    case PartitionHealth::kHealthy:
      return "Partitions with all their members.";
  }
  return "";
}

}  // namespace

MetaMetrics::MetaMetrics(MetricRegistry& registry, MetaService& server, const Clock& clock,
                         AddWarnings add_warnings)
    : server_(server),
      clock_(clock),
      add_warnings_(std::move(add_warnings)),
      // An empty overview until the first one comes, so that readers need no check for null.
      latest_(std::make_shared<const ClusterOverview>()),
      latest_at_(clock.Now()) {
  AddServers(registry);
  AddPartitions(registry);
  AddClocks(registry);
  AddDisk(registry);
  AddConcerns(registry);
  AddActs(registry);
}

template <class Of>
void MetaMetrics::AddGauge(MetricRegistry& registry, MetricInfo info, Of of) {
  held_.push_back(registry.Add(std::move(info), MetricKind::kGauge, {},
                               [this, of] { return static_cast<double>(of(*Latest())); }));
}

void MetaMetrics::AddServers(MetricRegistry& registry) {
  AddGauge(registry,
           {.name = "alive_replica_servers", .help = "Replica servers whose beacons arrive."},
           [](const ClusterOverview& overview) { return overview.alive_servers; });
  AddGauge(registry,
           {.name = "unalive_replica_servers", .help = "Known replica servers that are silent."},
           [](const ClusterOverview& overview) { return overview.dead_servers; });
  AddGauge(
      registry,
      {.name = "meta_leads",
       .help = "1: this meta server leads. 0: another one does, and the figures of the cluster "
               "are there."},
      [](const ClusterOverview& overview) { return overview.leadership.is_leader ? 1 : 0; });
  AddGauge(registry,
           {.name = "configuration_steps_under_way",
            .help = "Partitions of which a member is being made, moved or removed."},
           [](const ClusterOverview& overview) { return overview.work.size(); });
  held_.push_back(registry.Add(
      {.name = "cluster_figures_age_seconds",
       .help = "Since the figures of servers, partitions and tables were made; it grows where the "
               "meta server does not answer."},
      // Grows while the meta server does not answer: the numbers beside it are as old.
      MetricKind::kGauge, {}, [this] {
        const MutexLock lock(mutex_);
        return absl::ToDoubleSeconds(clock_.Now() - latest_at_);
      }));
}

void MetaMetrics::AddPartitions(MetricRegistry& registry) {
  for (size_t i = 0; i < kPartitionHealths; ++i) {
    const auto health = static_cast<PartitionHealth>(i);
    // A family for each health, as older versions have them. Their JSON names a table by its id,
    // which Prometheus does not get.
    held_.push_back(registry.AddTable(
        {.name = std::string(PartitionHealthName(health)) + "_partitions",
         .help = HelpOf(health),
         .old = {.name = std::string(PartitionHealthName(health)) + "_partitions",
                 .labels = {"table_id"}}},
        MetricKind::kGauge, [this, i] {
          std::vector<LabeledValue> rows;
          // A table that is dropped ends its series with it.
          for (const auto overview = Latest(); const TableOverview& table : overview->tables)
            rows.push_back({{{"table", table.name}, {"table_id", std::to_string(table.app_id)}},
                            static_cast<double>(table.partitions[i])});
          return rows;
        }));
  }
  held_.push_back(registry.AddTable(
      {.name = "partitions_to_split",
       .help =
           "Partitions that are still to be split, those that are paused among them. 0: no split "
           "is under way."},
      MetricKind::kGauge, [this] {
        std::vector<LabeledValue> rows;
        for (const auto overview = Latest(); const TableOverview& table : overview->tables) {
          const auto& split = table.split;
          rows.push_back(
              {{{"table", table.name}}, split ? split->to - split->from - split->registered : 0.0});
        }
        return rows;
      }));
}

void MetaMetrics::AddClocks(MetricRegistry& registry) {
  held_.push_back(registry.AddTable(
      {.name = "server_clock_offset_seconds",
       .help = "A server's wall clock minus what most wall clocks of the cluster show."},
      MetricKind::kGauge, [this] {
        std::vector<LabeledValue> rows;
        for (const auto overview = Latest(); const ServerOverview& server : overview->servers)
          // A server whose clock is not known has no row: a 0 would say that it is right.
          if (server.clock_offset_ms)
            rows.push_back({{{"server", server.address.ToString()}},
                            static_cast<double>(*server.clock_offset_ms) / 1000});
        return rows;
      }));
  held_.push_back(registry.AddTable(
      {.name = "server_clock_wrong",
       .help = "1: the server's wall clock is further from most others' than clock_offset_max."},
      MetricKind::kGauge, [this] {
        std::vector<LabeledValue> rows;
        for (const auto overview = Latest(); const ServerOverview& server : overview->servers)
          rows.push_back(
              {{{"server", server.address.ToString()}}, server.has_wrong_clock ? 1.0 : 0.0});
        return rows;
      }));
  AddGauge(
      registry,
      {.name = "meta_clock_offset_seconds",
       .help = "The meta server's wall clock minus what most wall clocks of the cluster show."},
      [](const ClusterOverview& overview) {
        return absl::ToDoubleSeconds(overview.clocks.our_offset.value_or(absl::ZeroDuration()));
      });
  AddGauge(registry, {.name = "meta_clock_wrong", .help = "1: that is more than clock_offset_max."},
           [](const ClusterOverview& overview) { return overview.clocks.is_ours_wrong ? 1 : 0; });
  AddGauge(registry,
           {.name = "clocks_disagree",
            .help = "1: most wall clocks of the cluster do not agree; nothing is removed by time."},
           [](const ClusterOverview& overview) { return overview.clocks.agree ? 0 : 1; });
}

void MetaMetrics::AddDisk(MetricRegistry& registry) {
  AddGauge(
      registry,
      {.name = "meta_disk_full",
       .help = "1: the meta server's disk is full; changes of tables are refused, failovers go on "
               "while its reserve lasts."},
      [](const ClusterOverview& overview) { return overview.store.is_short ? 1 : 0; });
  AddGauge(
      registry,
      {.name = "meta_disk_available_bytes", .help = "Where the meta server's state is stored."},
      [](const ClusterOverview& overview) { return overview.store.available_bytes; });
  AddGauge(registry,
           {.name = "meta_disk_reserve_bytes",
            .help = "Size of the reserve file there, which a full disk gives up."},
           [](const ClusterOverview& overview) { return overview.store.reserve_bytes; });
  AddGauge(registry, {.name = "meta_disk_reserve_wanted_bytes", .help = "What it shall be."},
           [](const ClusterOverview& overview) { return overview.store.reserve_bytes_wanted; });
}

void MetaMetrics::AddConcerns(MetricRegistry& registry) {
  held_.push_back(registry.AddTable(
      {.name = "older_copies",
       .help =
           "Copies that a server came back with within a day and that lacked what their groups had "
           "committed: a disk or directory was put back. They have learned, or do."},
      MetricKind::kGauge, [this] {
        std::vector<LabeledValue> rows;
        for (const auto overview = Latest(); const ServerOverview& server : overview->servers)
          rows.push_back({{{"server", server.address.ToString()}},
                          static_cast<double>(server.older_copies_recently)});
        return rows;
      }));
  held_.push_back(registry.AddTable(
      {.name = "cluster_warnings",
       .help = "What needs an administrator, by kind; status in the shell says what, and the way "
               "forward. Servers or tables that are concerned."},
      MetricKind::kGauge, [this] {
        std::vector<LabeledValue> rows;
        for (const auto overview = Latest(); const ClusterWarning& warning : overview->warnings)
          rows.push_back({{{"kind", warning.kind}}, static_cast<double>(warning.count)});
        return rows;
      }));
  held_.push_back(registry.AddTable(
      {.name = "differing_partitions",
       .help = "Partitions whose copies differ, no majority saying which is right."},
      MetricKind::kGauge, [this] {
        std::vector<LabeledValue> rows;
        for (const auto overview = Latest(); const TableOverview& table : overview->tables)
          rows.push_back({{{"table", table.name}}, static_cast<double>(table.undecided)});
        return rows;
      }));
}

void MetaMetrics::AddActs(MetricRegistry& registry) {
  held_.push_back(
      registry.AddTable({.name = "meta_function_level", .help = "1 for the level that holds."},
                        MetricKind::kGauge, [this] {
                          return std::vector<LabeledValue>{
                              {{{"level", std::string(FunctionLevelName(Latest()->level))}}, 1.0}};
                        }));
  // These are counted where they happen, and are read without the strand.
  held_.push_back(registry.Add({.name = "partition_configuration_changes_total",
                                .help = "Configurations of partitions stored since the start.",
                                .old = {.name = "partition_configuration_changes"}},
                               {}, server_.stats().configuration_changes));
  held_.push_back(registry.Add(
      {.name = "primary_choice_failures_total",
       .help = "Looks at a partition without a primary that found nobody who may be made "
               "one; ddd_diagnose in the shell says why.",
       .old = {.name = "choose_primary_failed_operations"}},
      {}, server_.stats().primary_choice_failures));
  held_.push_back(registry.Add({.name = "replica_server_disconnections_total",
                                .help = "Replica servers declared dead since the start.",
                                .old = {.name = "replica_server_disconnections"}},
                               {}, server_.stats().server_deaths));
}

std::shared_ptr<const ClusterOverview> MetaMetrics::Refresh() {
  // The overview is made on the server's strand; a page waits for it here, with a bound.
  using Answer = std::shared_ptr<const ClusterOverview>;
  auto answer = std::make_shared<std::promise<Answer>>();
  std::future<Answer> arrived = answer->get_future();
  // Shared, because the answer may come after the wait has ended.
  server_.Overview([answer, add_warnings = add_warnings_](ClusterOverview overview) {
    add_warnings(&overview);
    answer->set_value(std::make_shared<const ClusterOverview>(std::move(overview)));
  });
  // What comes later is dropped with the promise; the next reading asks anew.
  if (arrived.wait_for(kRefreshMax) != std::future_status::ready) return nullptr;
  const MutexLock lock(mutex_);
  latest_ = arrived.get();
  latest_at_ = clock_.Now();
  return latest_;
}

std::shared_ptr<const ClusterOverview> MetaMetrics::Latest() const {
  const MutexLock lock(mutex_);
  return latest_;
}

}  // namespace arion
