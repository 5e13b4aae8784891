// SPDX-License-Identifier: Apache-2.0
#include "config/config_rules.h"

namespace arion {
namespace {

// What a key was called in versions before 0.2 -> what it is called now.
constexpr struct {
  std::string_view former, current;
} kRenamed[] = {
    {"log_directory", "text_log_directory"},
    {"log_file_size", "text_log_file_size"},
    {"log_files_max", "text_log_files_max"},
    {"log_level", "text_log_level"},
    {"mutation_2pc_min_replica_count", "write_members_min"},
    {"min_live_node_count_for_unfreeze", "live_servers_min"},
    {"node_live_percentage_threshold_for_update", "live_servers_percent_min"},
    {"replica_assign_delay_for_dropouts", "lost_member_wait"},
    {"stable_running", "stable_after"},
    {"max_successive_unstable_restarts", "unstable_restarts_max"},
    {"min_allowed_replica_count", "replica_count_min"},
    {"max_allowed_replica_count", "replica_count_max"},
    {"hold_dropped_app", "keep_dropped_tables"},
    {"meta_function_level_on_start", "meta_level_on_start"},
    {"closed_replica_linger", "keep_closed_replicas"},
    {"max_mutations_in_flight", "mutations_in_flight_max"},
    {"max_allowed_write_size", "write_size_max"},
    {"max_concurrent_copies", "copies_max"},
};

}  // namespace

const std::vector<Rule>& Rules() {
  // In the order of --help.
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (const absl::Span<const Rule> section : {ServerRules(), MetaRules(), ReplicaRules()})
      all.insert(all.end(), section.begin(), section.end());
    return all;
  }();
  return rules;
}

std::string_view CurrentName(std::string_view key) {
  // A linear search: it runs once a key, at the start.
  for (const auto& renamed : kRenamed)
    if (renamed.former == key) return renamed.current;
  return key;
}

std::vector<std::string_view> FormerNames() {
  std::vector<std::string_view> names;
  for (const auto& renamed : kRenamed) names.push_back(renamed.former);
  return names;
}

}  // namespace arion
