// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/older_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace arion::shell {
namespace {

// The older tools' long options, with the short ones that stand for them here. Sorted, as Find
// needs it.
constexpr std::pair<std::string_view, std::string_view> kLongNames[] = {
    {"--action_type", "-p"},
    {"--address", "-d"},
    {"--all", "-a"},
    {"--app_id", "-a"},
    {"--app_name", "-a"},
    {"--app_name_pattern", "-p"},
    {"--check_operand", "-o"},
    {"--check_sort_key", "-c"},
    {"--check_type", "-t"},
    {"--detailed", "-d"},
    {"--detect_action", "-c"},
    {"--envs", "-e"},
    {"--fail_if_exist", "-f"},
    {"--force", "-f"},
    {"--from", "-f"},
    {"--geo_data", "-g"},
    {"--gpid", "-g"},
    {"--hash_key_filter_pattern", "-x"},
    {"--hash_key_filter_type", "-h"},
    {"--hotkey_type", "-t"},
    {"--json", "-j"},
    {"--match_type", "-m"},
    {"--max_batch_count", "-b"},
    {"--max_count", "-n"},
    {"--max_multi_set_concurrency", "-m"},
    {"--newPartitionCount", "-p"},
    {"--no_overwrite", "-n"},
    {"--no_ttl", "-e"},
    {"--no_value", "-i"},
    {"--node", "-n"},
    {"--node_list", "-l"},
    {"--node_type", "-t"},
    {"--oldPartitionCount", "-p"},
    {"--only_qps", "-q"},
    {"--only_usage", "-u"},
    {"--output", "-o"},
    {"--parentPidx", "-i"},
    {"--partition", "-p"},
    {"--partition_count", "-p"},
    {"--partition_index", "-p"},
    {"--precise", "-c"},
    {"--qps", "-q"},
    {"--replica_count", "-r"},
    {"--reserve_seconds", "-r"},
    {"--resolve_ip", "-r"},
    {"--resource_usage", "-u"},
    {"--return_check_value", "-r"},
    {"--reverse", "-r"},
    {"--sample_interval_ms", "-i"},
    {"--scan_option_batch_size", "-o"},
    {"--set_sort_key", "-s"},
    {"--set_value", "-v"},
    {"--set_value_ttl_seconds", "-l"},
    {"--sort_key_filter_pattern", "-y"},
    {"--sort_key_filter_type", "-s"},
    {"--start_inclusive", "-a"},
    {"--status", "-s"},
    {"--stop_inclusive", "-b"},
    {"--tableName", "-a"},
    {"--target", "-t"},
    {"--target_app_name", "-a"},
    {"--target_cluster_name", "-c"},
    {"--timeout_ms", "-t"},
    {"--to", "-t"},
    {"--type", "-p"},
    {"--use_multi_set", "-u"},
    {"--value_filter_pattern", "-z"},
    {"--value_filter_type", "-v"},
};

constexpr std::string_view kDuplication =
    "duplicate TABLE to CLUSTER sets one up; add_dup, query_dup, pause_dup, start_dup and "
    "remove_dup "
    "are its parts, duplication verify compares both sides";
constexpr std::string_view kBulkLoad = "Arion does not have bulk load";
constexpr std::string_view kBackup = "Arion does not have backup and restore";
constexpr std::string_view kOfflineSplit =
    "Arion splits no stopped replica; split start splits a table while it serves";
constexpr std::string_view kDisks =
    "Arion does not move replicas between a server's disks; a new data directory is one of "
    "data_dirs at its next start";
constexpr std::string_view kFiles = "arion_log looks at local files";

constexpr std::pair<std::string_view, std::string_view> kAbsent[] = {
    {"add-compaction-operation",
     "Arion does not have user_specified_compaction; manual-compaction merges a table's files"},
    {"add-disk", kDisks},
    {"add_backup_policy", kBackup},
    {"backup", kBackup},
    {"bulk-load", kBulkLoad},
    {"cancel_bulk_load", kBulkLoad},
    {"clear_bulk_load", kBulkLoad},
    {"disable_backup_policy", kBackup},
    {"disk-balance", kDisks},
    {"disk-migrate", kDisks},
    {"dup", kDuplication},
    {"dups", kDuplication},
    {"enable_backup_policy", kBackup},
    {"local_get", kFiles},
    {"local_partition_split", kOfflineSplit},
    {"ls_backup_policy", kBackup},
    {"mlog_dump", kFiles},
    {"modify_backup_policy", kBackup},
    {"nodes-balancer", "the meta server balances by itself; balance moves one replica"},
    {"nodes-migrator", "drain moves what a server has to the others"},
    {"pause_bulk_load", kBulkLoad},
    {"query-backup-status", kBackup},
    {"query_backup_policy", kBackup},
    {"query_bulk_load_status", kBulkLoad},
    {"query_restore_status", kBackup},
    {"restart_bulk_load", kBulkLoad},
    {"restore", kBackup},
    {"restore_app", kBackup},
    {"sst_dump", kFiles},
    {"start_bulk_load", kBulkLoad},
    {"table-migrator",
     "duplicate TABLE to CLUSTER makes a table's duplicate in another cluster; copy_data copies "
     "its "
     "records"},
};

// What stands beside `name`; empty: nothing.
template <size_t n>
std::string_view Find(const std::pair<std::string_view, std::string_view> (&sorted)[n],
                      std::string_view name) {
  const auto* const found = std::lower_bound(
      std::begin(sorted), std::end(sorted), name,
      [](const auto& known, std::string_view wanted) { return known.first < wanted; });
  return found != std::end(sorted) && found->first == name ? found->second : std::string_view();
}

static_assert(std::is_sorted(std::begin(kLongNames), std::end(kLongNames)));
static_assert(std::is_sorted(std::begin(kAbsent), std::end(kAbsent)));

}  // namespace

std::string_view ShortOption(std::string_view word) {
  const std::string_view found = Find(kLongNames, word);
  return found.empty() ? word : found;
}

std::string_view WhyAbsent(std::string_view command) { return Find(kAbsent, command); }

}  // namespace arion::shell
