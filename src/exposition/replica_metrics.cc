// SPDX-License-Identifier: Apache-2.0
#include "exposition/replica_metrics.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "disks/disk_snapshot.h"
#include "engine/rocksdb_engine.h"
#include "exposition/recent_rows.h"
#include "exposition/recently.h"
#include "exposition/replica_sampler.h"
#include "membership/server_lease.h"
#include "replica_server/replica_server.h"
#include "verification/verification_book.h"

namespace arion {
namespace {

using Rows = std::vector<LabeledValue>;

// ---- what a replica is ----

struct ReplicaNow {
  std::string table;
  PartitionId pid;
  ReplicaFigures::Now now;
};
using RecentReplicas = Recently<std::vector<ReplicaNow>>;

// Read without a strand: the figures are atomics and a short lock (stats/replica_figures.h).
std::vector<ReplicaNow> AskReplicas(const RequestBook& book, Instant now) {
  std::vector<ReplicaNow> replicas;
  for (const RequestBook::Member& member : book.Members())
    replicas.push_back({member.table, member.pid, member.stats->figures().Read(now)});
  return replicas;
}

// The largest value over all replicas; 0 where there are none.
// Only the worst is shown: a row for each replica would be a series for each, and most of them say
// nothing.
MetricRegistry::Value LargestOf(std::shared_ptr<RecentReplicas> recent,
                                double (*of)(const ReplicaFigures::Now&)) {
  return [recent = std::move(recent), of] {
    double largest = 0;
    const auto replicas = recent->Read();
    for (const ReplicaNow& replica : *replicas) largest = std::max(largest, of(replica.now));
    return largest;
  };
}

MetricRegistry::Value NumberOf(std::shared_ptr<RecentReplicas> recent, PartitionStatus role) {
  return [recent = std::move(recent), role] {
    const auto replicas = recent->Read();
    return static_cast<double>(
        std::count_if(replicas->begin(), replicas->end(),
                      [role](const ReplicaNow& replica) { return replica.now.role == role; }));
  };
}

Rows ByDisk(RecentReplicas& recent, const ReplicaServer& server,
            int64_t ReplicaFigures::Now::*what) {
  // All disks, those without replicas included, so that no series ends.
  std::map<std::string, double> sums;
  for (const DiskSnapshot& disk : server.Disks())
    if (disk.tag != kLogHomeTag) sums[disk.tag];
  const auto replicas = recent.Read();
  for (const ReplicaNow& replica : *replicas)
    // A replica's log lies on its own disk, so its bytes count there.
    sums[replica.now.disk] += static_cast<double>(replica.now.*what);
  Rows rows;
  for (const auto& [tag, sum] : sums) rows.push_back({{{"disk", tag}}, sum});
  return rows;
}

// Older collectors have a family for each role.
constexpr std::array<std::pair<PartitionStatus, const char*>, 5> kRoles = {
    {{PartitionStatus::kPrimary, "primary_replicas"},
     {PartitionStatus::kSecondary, "secondary_replicas"},
     {PartitionStatus::kPotentialSecondary, "learning_replicas"},
     {PartitionStatus::kInactive, "inactive_replicas"},
     {PartitionStatus::kError, "error_replicas"}}};

Rows ByRole(RecentReplicas& recent) {
  // Those that are always there, also as 0.
  std::map<PartitionStatus, double> counts = {{PartitionStatus::kPrimary, 0},
                                              {PartitionStatus::kSecondary, 0},
                                              {PartitionStatus::kPotentialSecondary, 0}};
  const auto replicas = recent.Read();
  for (const ReplicaNow& replica : *replicas) ++counts[replica.now.role];
  Rows rows;
  for (const auto& [role, count] : counts)
    rows.push_back({{{"status", std::string(PartitionStatusName(role))}}, count});
  return rows;
}

// ---- what is counted of a replica, and of its engine ----

// One label of a family, and what it counts.
template <class What>
struct Counted {
  What what;
  const char* label = nullptr;  // its value; nullptr: the family has none of its own
};
// A family of counters of one row: by a label, or summed up.
template <class What>
struct CountFamily {
  MetricInfo info;
  const char* label = nullptr;
  std::vector<Counted<What>> counted;
  // A family that adds these up, under no label.
  bool is_sum = false;
};

// `counts_of` gives the row's array that `what` indexes. A label has its row even at 0: a rate
// needs the value before the first event.
template <class What, class CountsOf>
MetricRegistry::Registration Register(MetricRegistry& registry, CountFamily<What> family,
                                      std::shared_ptr<RecentRows> recent, CountsOf counts_of) {
  MetricInfo info = family.info;
  return registry.AddLevelTable(
      std::move(info), MetricKind::kCounter,
      // One closure for both levels; the registry says which is wanted.
      [family = std::move(family), recent = std::move(recent), counts_of](MetricLevel level) {
        Rows rows;
        const RecentRows::Rows read = recent->Read(level);
        for (const RequestBook::Row& row : *read) {
          const auto& counts = counts_of(row);
          uint64_t sum = 0;
          for (const Counted<What>& one : family.counted) {
            const uint64_t count = counts[static_cast<size_t>(one.what)];
            sum += count;
            if (!family.is_sum)
              rows.push_back({one.label == nullptr
                                  ? LabelsOf(row)
                                  : WithLabel(LabelsOf(row), family.label, one.label),
                              static_cast<double>(count)});
          }
          if (family.is_sum) rows.push_back({LabelsOf(row), static_cast<double>(sum)});
        }
        return rows;
      });
}

MetricInfo Info(const char* name, const char* help, const char* old = "") {
  return {.name = name, .help = help, .old = {.name = old}};
}

std::vector<CountFamily<ReplicaCount>> ReplicaFamilies() {
  using enum ReplicaCount;
  return {
      {Info("throttled_reads_total", "Reads that a table's throttle delayed or refused.",
            "throttling_{verdict}_read_requests"),
       "verdict",
       {{kDelayedReads, "delayed"}, {kRejectedReads, "rejected"}}},
      {Info("throttled_writes_total", "Writes that a table's throttle delayed or refused.",
            "throttling_{verdict}_write_requests"),
       "verdict",
       {{kDelayedWrites, "delayed"}, {kRejectedWrites, "rejected"}}},
      {Info("throttled_backups_total",
            "Reads of secondaries that a table's throttle delayed or dropped.",
            "throttling_{verdict}_backup_requests"),
       "verdict",
       {{kDelayedBackups, "delayed"}, {kRejectedBackups, "rejected"}}},
      {Info("read_skipped_records_total",
            "Records that walks over several met and left out, being expired or filtered out.",
            "read_{why}_values"),
       "why",
       {{kExpiredRecords, "expired"}, {kFilteredRecords, "filtered"}}},
      {Info("slow_requests_total", "Requests that took as long as those that /slow keeps.",
            "abnormal_{use}_requests"),
       "use",
       {{kSlowReads, "read"}, {kSlowWrites, "write"}}},
      {Info("oversized_writes_total", "Writes refused for their size (write_size_max).",
            "write_size_exceed_threshold_requests"),
       nullptr,
       {{kOversizedWrites}}},
      {Info("late_duplicates_total",
            "Writes of another cluster that were done here more than duplicate_lag_max after they "
            "were ordered there.",
            "dup_lagging_writes"),
       nullptr,
       {{kLateDuplicates}}},
      {Info("prepare_failures_total", "Prepares that another member refused or did not answer.",
            "prepare_failed_requests"),
       nullptr,
       {{kPreparesFailed}}},
      {Info("group_check_failures_total",
            "Group checks that another member refused or did not answer.",
            "group_check_failed_requests"),
       nullptr,
       {{kGroupChecksFailed}}},
      {Info("learn_begun_total", "Times that a replica here began to learn.", "learn_count"),
       nullptr,
       {{kLearnings}}},
      {Info("learn_ended_total", "How these ended.", "learn_{result}_count"),
       "result",
       {{kLearningsSucceeded, "successful"}, {kLearningsFailed, "failed"}}},
      {Info("learn_rounds_total", "Answers that learners here got from their primaries.",
            "learn_rounds"),
       nullptr,
       {{kLearnRounds}}},
      {Info("learn_answers_total",
            "These, by what the primary took them from: its memory, its log, its files.",
            "learn_lt_{from}_responses"),
       "from",
       {{kLearnedFromMemory, "cache"}, {kLearnedFromLog, "log"}, {kLearnedFromFiles, "app"}}},
      {Info("learn_resets_total",
            "Times that a learner here set its data aside: their history was lost to the others.",
            "learn_resets"),
       nullptr,
       {{kLearnResets}}},
      {Info("learn_copied_files_total", "Files of checkpoints copied to here.", "learn_copy_files"),
       nullptr,
       {{kCopiedFiles}}},
      {Info("learn_copied_bytes_total", "Bytes of these.", "learn_copy_file_bytes"),
       nullptr,
       {{kCopiedBytes}}},
      {Info("learn_copy_failures_total", "Copies of checkpoints that failed."),
       nullptr,
       {{kCopiesFailed}}},
      {Info("odd_messages_total",
            "Messages of other servers, and chunks of files, refused because no correct server "
            "sends them: impossible, contradictory or damaged."),
       nullptr,
       {{kOddMessages}}},
  };
}

// Lookups are the sums of hits and misses, as older collectors have them. Misses have no family of
// their own.
std::vector<CountFamily<EngineCount>> EngineFamilies() {
  using enum EngineCount;
  return {
      {Info("engine_cache_hits_total", "Blocks of files that the block cache had.",
            "rdb_block_cache_hit_count"),
       nullptr,
       {{kCacheHits}}},
      {Info("engine_cache_lookups_total", "Blocks of files that the block cache was asked for.",
            "rdb_block_cache_total_count"),
       nullptr,
       {{kCacheHits}, {kCacheMisses}},
       /*is_sum=*/true},
      {Info("engine_memory_hits_total", "Reads of one key answered by what is in no file yet.",
            "rdb_memtable_hit_count"),
       nullptr,
       {{kMemoryHits}}},
      {Info("engine_memory_lookups_total", "Reads of one key.", "rdb_memtable_total_count"),
       nullptr,
       {{kMemoryHits}, {kMemoryMisses}},
       /*is_sum=*/true},
      {Info("engine_file_hits_total", "Reads of one key answered by a file, by its level.",
            "rdb_{level}_hit_count"),
       "level",
       {{kLevel0Hits, "l0"}, {kLevel1Hits, "l1"}, {kDeeperHits, "l2_and_up"}}},
      {Info("engine_filter_lookups_total",
            "Files of which a filter was asked for one key: it spared the file, did not, and the "
            "key was there.",
            "rdb_bloom_filter_point_lookup_{result}"),
       "result",
       {{kFilterNegatives, "negatives"},
        {kFilterPositives, "positives"},
        {kFilterTruePositives, "true_positives"}}},
      {Info("engine_filter_seeks_total", "Files of which a filter was asked for a hash key.",
            "rdb_bloom_filter_seek_total"),
       nullptr,
       {{kSeekFilterChecks}}},
      {Info("engine_filter_seek_negatives_total", "Of these, those that it spared.",
            "rdb_bloom_filter_seek_negatives"),
       nullptr,
       {{kSeekFilterNegatives}}},
      {Info("engine_flushes_total", "Flushes of what was in memory to a file.",
            "rdb_flush_completed_count"),
       nullptr,
       {{kFlushes}}},
      {Info("engine_flushed_bytes_total", "Bytes of files that flushes wrote.",
            "rdb_flush_output_bytes"),
       nullptr,
       {{kFlushedBytes}}},
      {Info("engine_compactions_total", "Compactions.", "rdb_compaction_completed_count"),
       nullptr,
       {{kCompactions}}},
      {Info("engine_compaction_bytes_total", "Bytes that compactions read (input) and wrote.",
            "rdb_compaction_{direction}_bytes"),
       "direction",
       {{kCompactionReadBytes, "input"}, {kCompactionWrittenBytes, "output"}}},
      {Info("engine_write_stalls_total",
            "Times that an engine, behind with flushes or compactions, began to slow writes down "
            "(delayed) or to hold them up (stopped).",
            "rdb_changed_{kind}_writes"),
       "kind",
       {{kWriteDelays, "delayed"}, {kWriteStops, "stopped"}}},
  };
}

struct EngineGauge {
  MetricInfo info;
  uint64_t EngineFigures::*what;
};
std::vector<EngineGauge> EngineGauges() {
  MetricInfo size =
      Info("engine_file_bytes", "Size of the engines' files of records.", "rdb_total_sst_size_mb");
  // The older name counts MiB; the newer one stays with bytes, Prometheus' base unit.
  size.old.per_unit = 1 << 20;
  return {
      {Info("engine_files", "Files of records.", "rdb_total_sst_files"), &EngineFigures::files},
      // RocksDB slows writes down at 30 files of level 0, as engine/rocksdb_options.cc sets it.
      {Info("engine_level0_files", "Of these, those on level 0: at 30 writes are slowed down."),
       &EngineFigures::level0_files},
      {std::move(size), &EngineFigures::file_bytes},
      {Info("engine_keys", "Records, estimated: each write of a key counts until it is merged.",
            "rdb_estimated_keys"),
       &EngineFigures::keys},
      {Info("engine_memory_bytes", "Memory of records that are in no file yet.",
            "rdb_memtable_mem_usage_bytes"),
       &EngineFigures::memory_bytes},
      {Info("engine_reader_bytes", "Memory of the files' indexes and filters.",
            "rdb_index_and_filter_blocks_mem_usage_bytes"),
       &EngineFigures::reader_bytes},
      {Info("engine_uncompacted_bytes", "Bytes that compactions have yet to rewrite."),
       &EngineFigures::uncompacted_bytes},
  };
}

Rows GaugeRows(const ReplicaSampler::Sample& sample, MetricLevel level,
               uint64_t EngineFigures::*what) {
  Rows rows;
  // Summed by table, because a table's partitions may be many.
  std::map<std::string, double> tables;
  for (const ReplicaSampler::Row& row : sample.rows) {
    const auto value = static_cast<double>(row.engine.*what);
    if (level == MetricLevel::kTable)
      tables[row.table] += value;
    else
      rows.push_back({{{"table", row.table}, {"partition", row.pid.ToString()}}, value});
  }
  for (const auto& [table, sum] : tables) rows.push_back({{{"table", table}}, sum});
  return rows;
}

double Seconds(absl::Duration d) { return absl::ToDoubleSeconds(d); }

void RegisterLogs(MetricRegistry& registry, const ReplicaServer& server,
                  const std::shared_ptr<RecentReplicas>& replicas, MetricRegistrations* held) {
  held->push_back(registry.AddTable(
      {.name = "log_files", .help = "Files of the replicas' private logs."}, MetricKind::kGauge,
      [replicas, &server] { return ByDisk(*replicas, server, &ReplicaFigures::Now::log_files); }));
  held->push_back(registry.AddTable(
      {.name = "log_bytes", .help = "Bytes of the replicas' private logs."}, MetricKind::kGauge,
      [replicas, &server] { return ByDisk(*replicas, server, &ReplicaFigures::Now::log_bytes); }));
  held->push_back(registry.AddLevelTable(
      // Older versions have this of each replica and not of a table, so the level is not heeded.
      {.name = "private_log_size_mb",
       .help = "Size of a replica's private log.",
       .per_unit = 1 << 20,
       .is_json_only = true},
      MetricKind::kGauge, [replicas](MetricLevel) {
        Rows rows;
        const auto read = replicas->Read();
        for (const ReplicaNow& replica : *read)
          rows.push_back({{{"table", replica.table}, {"partition", replica.pid.ToString()}},
                          static_cast<double>(replica.now.log_bytes)});
        return rows;
      }));
}

void RegisterRoles(MetricRegistry& registry, const std::shared_ptr<RecentReplicas>& replicas,
                   MetricRegistrations* held) {
  const auto gauge = [&](MetricInfo info, MetricRegistry::Value value) {
    held->push_back(registry.Add(std::move(info), MetricKind::kGauge, {}, std::move(value)));
  };
  held->push_back(registry.AddTable(
      {.name = "replicas", .help = "Open replicas by what they are in their partition."},
      MetricKind::kGauge, [replicas] { return ByRole(*replicas); }));
  // By the same look as the family above: the two never disagree within one reading.
  for (const auto& [role, name] : kRoles)
    gauge({.name = name, .help = "Open replicas of that role.", .is_json_only = true},
          NumberOf(replicas, role));
  gauge({.name = "replicas_to_compact_after_split",
         .help = "Replicas whose files may hold keys of other partitions since a split: they are, "
                 "or will be, rewritten without them."},
        [replicas] {
          const auto read = replicas->Read();
          return static_cast<double>(
              std::count_if(read->begin(), read->end(),
                            [](const ReplicaNow& replica) { return replica.now.others_there; }));
        });
  gauge({.name = "total_replicas", .help = "Open replicas.", .is_json_only = true},
        [replicas] { return static_cast<double>(replicas->Read()->size()); });
}

void RegisterWorst(MetricRegistry& registry, const std::shared_ptr<RecentReplicas>& replicas,
                   MetricRegistrations* held) {
  const auto gauge = [&](MetricInfo info, MetricRegistry::Value value) {
    held->push_back(registry.Add(std::move(info), MetricKind::kGauge, {}, std::move(value)));
  };
  gauge(
      {.name = "replica_unapplied_mutations_max",
       .help = "Of the replica that is furthest behind: mutations committed, but not applied yet. "
               "A secondary gathers up to 64."},
      LargestOf(replicas,
                [](const ReplicaFigures::Now& now) { return static_cast<double>(now.unapplied); }));
  gauge(
      {.name = "replica_uncommitted_seconds_max",
       .help = "Of the replica where it is longest: since when nothing was committed, though "
               "something is prepared."},
      LargestOf(replicas, [](const ReplicaFigures::Now& now) { return Seconds(now.uncommitted); }));
  gauge({.name = "learn_seconds_max",
         .help = "Since when the replica learns that has learned longest.",
         .old = {.name = "learning_replicas_max_duration_ms", .per_unit = 1e-3}},
        LargestOf(replicas, [](const ReplicaFigures::Now& now) {
          return now.role == PartitionStatus::kPotentialSecondary ? Seconds(now.in_role) : 0;
        }));
}

void RegisterLease(MetricRegistry& registry, const ServerLease& lease, const Clock& clock,
                   MetricRegistrations* held) {
  held->push_back(registry.Add(
      {.name = "lease_remaining_seconds",
       .help = "How long the server may serve without another beacon's answer; 0: it may not."},
      MetricKind::kGauge, {}, [&lease, &clock] { return Seconds(lease.Left(clock.Now())); }));
  held->push_back(
      // Before the cluster has agreed on a time, AgreedWallMicros is this server's own: the offset
      // is 0.
      registry.Add({.name = "clock_offset_seconds",
                    .help = "This server's wall clock minus what most clocks of the cluster show."},
                   MetricKind::kGauge, {}, [&clock] {
                     return static_cast<double>(clock.WallMicros() - AgreedWallMicros(clock)) / 1e6;
                   }));
  held->push_back(registry.Add({.name = "beacon_failures_total",
                                .help = "Beacons that no meta server in charge acknowledged.",
                                .old = {.name = "beacon_failed_count"}},
                               {}, lease.failed_beacons()));
}

void RegisterVerifications(MetricRegistry& registry, const ReplicaServer& server,
                           MetricRegistrations* held) {
  static constexpr std::array<std::pair<ContentVerdictKind, const char*>, 4> kVerdicts = {
      {{ContentVerdictKind::kEqual, "equal"},
       {ContentVerdictKind::kMajority, "differing"},
       {ContentVerdictKind::kUndecided, "undecided"},
       {ContentVerdictKind::kUnverified, "unverified"}}};
  const VerificationBook& book = server.verifications();
  held->push_back(registry.AddTable(
      {.name = "verifications_total",
       .help = "Partitions whose copies were compared, their primary being here: all equal, some "
               "differing from the majority, differing without one, or not all counted."},
      MetricKind::kCounter, [&book] {
        Rows rows;
        // One look for all verdicts, so that they belong together.
        const VerificationBook::Counts counts = book.Now();
        for (const auto& [verdict, name] : kVerdicts)
          rows.push_back({{{"verdict", name}},
                          static_cast<double>(counts.ended[static_cast<size_t>(verdict)])});
        return rows;
      }));
  const auto add = [&](MetricInfo info, MetricKind kind, MetricRegistry::Value value) {
    held->push_back(registry.Add(std::move(info), kind, {}, std::move(value)));
  };
  add({.name = "undecided_partitions",
       .help = "Partitions whose primary is here and whose copies differ, no majority saying which "
               "is right."},
      MetricKind::kGauge, [&book] { return static_cast<double>(book.Now().undecided_now); });
  add({.name = "verification_last_timestamp_seconds",
       .help = "When copies were compared last, their primary being here, since 1970; 0: never."},
      MetricKind::kGauge, [&book] { return static_cast<double>(book.Now().last_ended_ms) / 1000; });
  add({.name = "replicas_differing_total",
       .help = "Replicas here that set themselves aside because they differed from the majority."},
      MetricKind::kCounter, [&book] { return static_cast<double>(book.Now().set_aside); });
  add({.name = "verified_bytes_total", .help = "Bytes of keys and values read to compare copies."},
      MetricKind::kCounter, [&server] { return static_cast<double>(server.verified_bytes()); });
}

}  // namespace

MetricRegistrations RegisterReplicas(MetricRegistry& registry, const ReplicaServer& server,
                                     const std::shared_ptr<RecentRows>& rows, const Clock& clock) {
  MetricRegistrations held;
  const RequestBook& book = server.requests();
  // One look at the replicas for all families of a reading.
  const auto replicas = std::make_shared<RecentReplicas>(
      clock, [&book, &clock] { return AskReplicas(book, clock.Now()); });
  RegisterLogs(registry, server, replicas, &held);
  RegisterRoles(registry, replicas, &held);
  RegisterWorst(registry, replicas, &held);
  RegisterLease(registry, server.lease(), clock, &held);
  RegisterVerifications(registry, server, &held);
  held.push_back(
      // Of the server's row, which keeps what tables counted that are gone: a counter must not
      // fall. That level always has exactly one row.
      registry.Add({.name = "nfs_client_copy_failed_requests",
                    .help = "As learn_copy_failures_total.",
                    .is_json_only = true},
                   MetricKind::kCounter, {}, [rows] {
                     const auto failed = static_cast<size_t>(ReplicaCount::kCopiesFailed);
                     return static_cast<double>(rows->ReadServer()->front().counts[failed]);
                   }));
  for (CountFamily<ReplicaCount>& family : ReplicaFamilies())
    held.push_back(Register(
        registry, std::move(family), rows,
        [](const RequestBook::Row& row) -> const auto& { return row.counts; }));
  return held;
}

MetricRegistrations RegisterEngines(MetricRegistry& registry, const RocksdbEngineFactory& engines,
                                    const ReplicaSampler& sampler,
                                    const std::shared_ptr<RecentRows>& rows, const Clock& clock) {
  MetricRegistrations held;
  // The sampler's own samples are up to five seconds old; counts are asked now.
  const auto sample = std::make_shared<Recently<ReplicaSampler::Sample>>(
      clock, [&sampler] { return sampler.Now(); });
  for (CountFamily<EngineCount>& family : EngineFamilies())
    held.push_back(Register(
        registry, std::move(family), rows,
        [](const RequestBook::Row& row) -> const auto& { return row.engine_counts; }));
  held.push_back(registry.AddLevelTable(
      {.name = "rdb_write_amplification",
       .help = "Bytes that flushes and compactions wrote, by those that flushes did.",
       .is_json_only = true},
      MetricKind::kGauge, [rows](MetricLevel level) {
        Rows amplifications;
        const RecentRows::Rows read = rows->Read(level);
        for (const RequestBook::Row& row : *read) {
          const auto count = [&row](EngineCount what) {
            return static_cast<double>(row.engine_counts[static_cast<size_t>(what)]);
          };
          const double flushed = count(EngineCount::kFlushedBytes);
          const double compacted = count(EngineCount::kCompactionWrittenBytes);
          // Nothing flushed yet amplifies nothing.
          amplifications.push_back({LabelsOf(row), flushed > 0 ? 1 + compacted / flushed : 1});
        }
        return amplifications;
      }));
  for (EngineGauge& gauge : EngineGauges())
    held.push_back(registry.AddLevelTable(std::move(gauge.info), MetricKind::kGauge,
                                          [sample, what = gauge.what](MetricLevel level) {
                                            return GaugeRows(*sample->Read(), level, what);
                                          }));
  // All engines share one block cache, so its families have no label.
  const auto cache = [&](MetricInfo info, uint64_t RocksdbEngineFactory::CacheUse::*what) {
    held.push_back(registry.Add(std::move(info), MetricKind::kGauge, {}, [&engines, what] {
      return static_cast<double>(engines.block_cache().*what);
    }));
  };
  using Use = RocksdbEngineFactory::CacheUse;
  cache(Info("engine_cache_bytes", "Memory of the block cache that all engines share.",
             "rdb_block_cache_mem_usage_bytes"),
        &Use::used_bytes);
  cache(Info("engine_cache_capacity_bytes", "How large it may grow."), &Use::capacity_bytes);
  cache(Info("engine_cache_pinned_bytes", "Of the block cache: what reads hold at the moment."),
        &Use::pinned_bytes);
  return held;
}

}  // namespace arion
