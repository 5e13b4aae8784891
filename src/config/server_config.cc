// SPDX-License-Identifier: Apache-2.0
#include "config/server_config.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <thread>

#include "base/nearest_name.h"
#include "base/status.h"
#include "config/config_rules.h"
#include "config/config_value.h"
#include "config/ini_file.h"
#include "config/older_config_rules.h"

namespace arion {
namespace {

constexpr int32_t kPegasusPrepareListCapacity = 110;  // its default
constexpr char kGroup[] = "duplication_group";
constexpr char kOlderDuplicationGroup[] = "duplication-group";
constexpr char kOlderClusters[] = "pegasus.clusters";
constexpr char kOlderPrepareListCapacity[] = "max_mutation_count_in_prepare_list";

bool IsOurs(std::string_view section) {
  return section == "arion" || section.substr(0, 6) == "arion.";
}

// Unavailable is passed on, because the same value may do later: the caller tries again.
absl::Status ValueError(std::string_view where, const absl::Status& status) {
  const auto code =
      absl::IsUnavailable(status) ? status.code() : absl::StatusCode::kInvalidArgument;
  return absl::Status(code, absl::StrCat(Text(where), status.message()));
}

absl::Status ValueError(const std::string& origin, std::string_view what, std::string_view value,
                        const absl::Status& status) {
  return ValueError(absl::StrCat(origin, ": ", Text(what), " = \"", Text(value), "\": "), status);
}

absl::Status UnknownSection(const std::string& origin, std::string_view section) {
  return absl::InvalidArgumentError(absl::StrCat(
      origin, ": [", Text(section),
      "]: there is no such section; ours are [arion.server], [arion.meta], [arion.replica]"));
}

// The remedy is the nearest thing that could have been meant: the right section, or a similar key.
absl::Status UnknownKey(const std::string& origin, const IniEntry& entry) {
  std::vector<std::string_view> same_section;
  std::string_view elsewhere;
  for (const Rule& rule : Rules()) {
    if (rule.setting.section == entry.section) same_section.push_back(rule.setting.key);
    if (rule.setting.key == entry.key) elsewhere = rule.setting.section;
  }
  std::string remedy =
      absl::StrCat("remove it, or see --help for the keys of [", entry.section, "]");
  if (!elsewhere.empty()) {
    remedy = absl::StrCat("it belongs into [", Text(elsewhere), "]");
  } else if (std::string_view near = NearestName(entry.key, same_section); !near.empty()) {
    remedy = absl::StrCat("did you mean ", Text(near), "?");
  }
  return absl::InvalidArgumentError(absl::StrCat(origin, ": [", entry.section, "] ", entry.key,
                                                 " = \"", entry.value, "\": there is no such key; ",
                                                 remedy));
}

std::string OriginOf(const IniFile& file, const IniEntry& entry) {
  return absl::StrCat(file.name(), ":", entry.line);
}

absl::Status AddCluster(const std::string& cluster, std::string_view value, Draft& draft) {
  ASSIGN_OR_RETURN(std::vector<NamedAddress> addresses, ParseNamedAddresses(value));
  draft.config.meta.clusters[cluster] = std::move(addresses);
  return absl::OkStatus();
}

// Older sections first, so that each key of ours wins whatever its place in the file.
absl::Status ApplyOlder(ServerKind kind, const IniFile& file, Draft& draft) {
  std::string unused;
  for (const IniEntry& entry : file.entries()) {
    if (IsOurs(entry.section)) continue;
    std::string origin = OriginOf(file, entry);
    // Of these two sections the keys are clusters' names.
    if (entry.section == kOlderDuplicationGroup) {
      if (absl::Status status =
              AddClusterId(entry.key, entry.value, &draft.config.replica.duplication_group.ids);
          !status.ok())
        return ValueError(origin, absl::StrCat("[", entry.section, "] ", entry.key), entry.value,
                          status);
      draft.older_group_origin = origin;
      continue;
    }
    if (entry.section == kOlderClusters) {
      // 2.5.0 looks at it when a table is duplicated, and not before.
      if (const absl::Status status = AddCluster(entry.key, entry.value, draft); !status.ok())
        draft.config.warnings.push_back(absl::StrCat(
            origin, ": [", entry.section, "] ", entry.key, " = \"", entry.value,
            "\": ", status.message(), "; no table is duplicated to that cluster before"));
      continue;
    }
    const OlderRule* found = nullptr;
    // The last rule that fits counts: the rule with the kind's own section stands behind the common
    // ones.
    for (const OlderRule& rule : OlderRules(kind)) {
      if (rule.key == entry.key && (rule.section.empty() || rule.section == entry.section))
        found = &rule;
    }
    if (found == nullptr) {
      absl::StrAppend(&unused, unused.empty() ? "" : ", ", "[", entry.section, "] ", entry.key,
                      " (line ", entry.line, ")");
      continue;
    }
    // Not looked at: the same file often configures both kinds of server.
    if (found->only.value_or(kind) != kind) continue;
    if (absl::Status status = found->apply(draft, entry.value, origin); !status.ok()) {
      return ValueError(origin, absl::StrCat("[", entry.section, "] ", entry.key), entry.value,
                        status);
    }
    draft.config.given[entry.key] = {entry.section, entry.value, origin};
  }
  // One line for all of them: a file of an older version has dozens.
  if (!unused.empty()) {
    draft.config.warnings.push_back(
        absl::StrCat(file.name(), ": keys of another version without effect here: ", unused));
  }
  return absl::OkStatus();
}

void WarnOfFormerName(const std::string& written, std::string_view current, Draft& draft) {
  draft.config.warnings.push_back(
      absl::StrCat(written, " is called ", Text(current), " now; the former name still works"));
}

absl::Status ApplyOurs(const IniFile& file, Draft& draft,
                       std::map<std::string, std::string>* origins) {
  for (const IniEntry& written : file.entries()) {
    if (!IsOurs(written.section)) continue;
    // A copy with the present name: all that follows, messages included, uses that.
    IniEntry entry = written;
    entry.key = CurrentName(written.key);
    std::string origin = OriginOf(file, entry);
    if (entry.key != written.key)
      WarnOfFormerName(absl::StrCat(origin, ": [", written.section, "] ", written.key), entry.key,
                       draft);
    bool section_known = false;
    const Rule* found = nullptr;
    for (const Rule& rule : Rules()) {
      section_known |= rule.setting.section == entry.section;
      if (rule.setting.section == entry.section && rule.setting.key == entry.key) found = &rule;
    }
    if (!section_known) return UnknownSection(origin, entry.section);
    if (found == nullptr) return UnknownKey(origin, entry);
    // Two lines for one key: which one counts would depend on their order, so neither does.
    if (auto [before, is_new] = origins->emplace(entry.key, origin); !is_new) {
      return absl::InvalidArgumentError(absl::StrCat(origin, ": [", entry.section, "] ", entry.key,
                                                     " = \"", entry.value, "\": stands already at ",
                                                     before->second, "; remove one of them"));
    }
    if (absl::Status status = found->apply(draft, entry.value, origin); !status.ok()) {
      return ValueError(origin, absl::StrCat("[", entry.section, "] ", entry.key), entry.value,
                        status);
    }
    draft.config.given[entry.key] = {entry.section, entry.value, origin};
  }
  return absl::OkStatus();
}

absl::Status ApplyFlags(const std::map<std::string, std::string>& flags, Draft& draft,
                        std::map<std::string, std::string>* origins) {
  for (const auto& [written, value] : flags) {
    const std::string key(CurrentName(written));
    if (key != written) {
      // Two names of one key on one line: no order says which is meant.
      if (flags.contains(key))
        return absl::InvalidArgumentError(
            absl::StrCat("--", written, " and --", key, " are one setting; remove one of them"));
      WarnOfFormerName(absl::StrCat("--", written), key, draft);
    }
    // Flags are made from the same table, so each has its rule.
    for (const Rule& rule : Rules()) {
      if (rule.setting.key != key) continue;
      std::string origin = absl::StrCat("--", key);
      (*origins)[key] = origin;
      if (absl::Status status = rule.apply(draft, value, origin); !status.ok()) {
        return ValueError(absl::StrCat(origin, "=\"", value, "\": "), status);
      }
      draft.config.given[key] = {std::string(rule.setting.section), value, origin};
    }
  }
  return absl::OkStatus();
}

// An older file names only a port and perhaps a network interface.
// The first address of that interface; without a name, the first that is not loopback.
uint32_t OwnAddress(const std::string& interface) {
  uint32_t found = INADDR_LOOPBACK;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    bool wanted =
        interface.empty() ? (at->ifa_flags & IFF_LOOPBACK) == 0 : interface == at->ifa_name;
    if (!wanted) continue;
    found = ntohl(reinterpret_cast<sockaddr_in*>(at->ifa_addr)->sin_addr.s_addr);
    break;
  }
  freeifaddrs(all);
  return found;
}

void KeepOlderReserve(Draft& draft) {
  const uint64_t bytes = draft.older_reserve_bytes.value_or(0);
  const int64_t seconds = draft.older_reserve_seconds.value_or(0);
  // Only both together, as in older versions: one alone would keep nothing.
  if (bytes > 0 && seconds > 0)
    draft.config.replica.log_reserve = {.bytes_max = bytes, .age_max_seconds = seconds};
}

// All places where an older version with these directories may have left a shared log. Two that
// hold one are an error of the start, so looking too widely does no harm.
void CompleteSharedLogDirectories(Draft& draft) {
  std::vector<std::string>& directories = draft.config.replica.layout.shared_log_directories;
  // A directory that our own key names replaces the search.
  if (!directories.empty()) return;
  for (const std::string& home : draft.older_shared_log_homes)
    directories.push_back(absl::StrCat(home, "/replica/slog"));
  for (const ConfiguredDisk& disk : draft.config.disks)
    directories.push_back(absl::StrCat(disk.path, "/replica/slog"));
}

// Where keys were set.
struct Origins {
  const std::map<std::string, std::string>& known;
  // Of a key that is set nowhere.
  const std::string& otherwise;

  bool Has(const std::string& key) const { return known.contains(key); }
  const std::string& operator()(const std::string& key) const {
    const auto found = known.find(key);
    return found == known.end() ? otherwise : found->second;
  }
};

// How others know this server, and the cluster that it is of.
absl::Status CheckNames(const Origins& at, const ServerConfig& config) {
  if (!config.listen.IsValid() && !config.advertised.IsValid()) {
    return absl::InvalidArgumentError(absl::StrCat(
        at("listen"), ": listen = 0.0.0.0:", config.listen.port,
        " is every address of this machine, and others know a server by one of them; write it: "
        "advertise = ",
        Endpoint{OwnAddress(""), config.listen.port}.ToString()));
  }
  if (const std::string& joined = config.join_pegasus_cluster;
      !joined.empty() && joined != config.cluster_name) {
    return absl::InvalidArgumentError(absl::StrCat(
        at("join_pegasus_cluster"), ": join_pegasus_cluster = ", joined,
        " is not this server's cluster_name = ", config.cluster_name,
        ": they are one cluster, so both are the name that the Pegasus servers have in their "
        "[replication] cluster_name; write the same"));
  }
  if (const auto& ids = config.replica.duplication_group.ids;
      !ids.empty() && !ids.contains(config.cluster_name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        at(kGroup), ": this server's cluster_name = ", config.cluster_name,
        " is not in the duplication group, so its records could not be told from others'; add it "
        "to the group with an id of its own"));
  }
  return absl::OkStatus();
}

absl::Status CheckLeases(ServerKind kind, const Origins& at, const ServerConfig& config) {
  absl::Duration lease = config.replica.lease;
  absl::Duration beacon = config.replica.beacon_interval;
  // Decides safety: a lease that outlives the grace lets two primaries serve.
  if (config.meta.grace <= lease) {
    const std::string& where = at.Has("grace") ? at("grace") : at("lease");
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": grace = ", absl::FormatDuration(config.meta.grace),
                     " is not longer than lease = ", absl::FormatDuration(lease),
                     ": two servers could serve one partition; make grace longer than lease"));
  }
  if (kind == ServerKind::kReplica && beacon >= lease) {
    return absl::InvalidArgumentError(
        absl::StrCat(at("beacon_interval"), ": beacon_interval = ", absl::FormatDuration(beacon),
                     " is not shorter than lease = ", absl::FormatDuration(lease),
                     ": no lease would last; take a third of the lease"));
  }
  return absl::OkStatus();
}

// What members keep of mutations, and how many members there are.
absl::Status CheckMutations(const Origins& at, const ServerConfig& config) {
  if (config.replica.prepare_list_capacity <= config.replica.max_mutations_in_flight) {
    return absl::InvalidArgumentError(absl::StrCat(
        at("prepare_list_capacity"),
        ": prepare_list_capacity = ", config.replica.prepare_list_capacity,
        " is not above mutations_in_flight_max = ", config.replica.max_mutations_in_flight,
        "; raise it"));
  }
  // A member of version 2.5 ends its process if a mutation lies further behind than that from what
  // it knows to be committed. A capacity that comes from that version's own key is the cluster's.
  if (!config.join_pegasus_cluster.empty() && !config.given.contains(kOlderPrepareListCapacity) &&
      config.replica.prepare_list_capacity > kPegasusPrepareListCapacity) {
    return absl::InvalidArgumentError(absl::StrCat(
        at("prepare_list_capacity"), ": prepare_list_capacity = ",
        config.replica.prepare_list_capacity, " is above ", kPegasusPrepareListCapacity,
        ", what the servers of the cluster that join_pegasus_cluster names can take; lower it "
        "(their "
        "own key, ",
        kOlderPrepareListCapacity, ", may stand in this file instead)"));
  }
  if (config.meta.min_allowed_replica_count > config.meta.max_allowed_replica_count) {
    return absl::InvalidArgumentError(absl::StrCat(
        at("replica_count_min"), ": replica_count_min = ", config.meta.min_allowed_replica_count,
        " is above replica_count_max = ", config.meta.max_allowed_replica_count, "; lower it"));
  }
  return absl::OkStatus();
}

absl::Status CheckDirectories(ServerKind kind, const Origins& at, const ServerConfig& config) {
  const bool is_home = config.log_placement == ServerConfig::LogPlacement::kHome;
  if (is_home && config.replica.layout.log_home_directory.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        at("log_placement"),
        ": log_placement = home, but no log_home_directory; write one into [arion.replica]"));
  }
  // A directory that would be ignored is refused: its owner believes that logs lie there.
  if (!is_home && !config.replica.layout.log_home_directory.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        at("log_home_directory"),
        ": log_home_directory = ", config.replica.layout.log_home_directory,
        " has no effect with log_placement = data; remove it or write log_placement = home"));
  }
  if (kind == ServerKind::kReplica && config.disks.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        at.otherwise,
        ": no data directory; write data_dirs = ssd1:/path/to/directory into [arion.replica]"));
  }
  for (const std::string& tag : config.replica.layout.new_data_directories) {
    const bool is_known = std::any_of(config.disks.begin(), config.disks.end(),
                                      [&](const ConfiguredDisk& disk) { return disk.tag == tag; });
    if (kind == ServerKind::kReplica && !is_known)
      return absl::InvalidArgumentError(
          absl::StrCat(at("new_data_directories"), ": new_data_directories names ", tag,
                       ", which is no tag of data_dirs; write one of these"));
  }
  if (kind == ServerKind::kMeta && config.meta_state == ServerConfig::MetaState::kZooKeeper &&
      config.zookeeper.hosts.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        at("state"),
        ": the state is in ZooKeeper, and nothing says where that is; write zookeeper_hosts = "
        "HOST:PORT,... into [arion.meta]"));
  }
  if (kind == ServerKind::kMeta && config.meta_data_directory.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        at.otherwise,
        ": no data directory; write meta_data_dir = /path/to/directory into [arion.meta]"));
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = [] {
    std::vector<Setting> all;
    for (const Rule& rule : Rules()) all.push_back(rule.setting);
    return all;
  }();
  return settings;
}

// Each check names the key that the reader most likely wants to change, and where it was set.
absl::Status CheckTogether(ServerKind kind, const std::string& otherwise,
                           const std::map<std::string, std::string>& origins,
                           const ServerConfig& config) {
  const Origins at{.known = origins, .otherwise = otherwise};
  RETURN_IF_ERROR(CheckNames(at, config));
  RETURN_IF_ERROR(CheckLeases(kind, at, config));
  RETURN_IF_ERROR(CheckMutations(at, config));
  return CheckDirectories(kind, at, config);
}

absl::StatusOr<ServerConfig> MakeServerConfig(ServerKind kind, const IniFile& file,
                                              const std::map<std::string, std::string>& flags) {
  // Defaults that are not those of the struct: they depend on the kind of server or the machine.
  Draft draft;
  ServerConfig& config = draft.config;
  config.replica.recovery.threads_per_disk = 0;
  config.listen = {INADDR_LOOPBACK,
                   static_cast<uint16_t>(kind == ServerKind::kMeta ? 34601 : 34801)};
  config.meta_servers = {{"127.0.0.1", 34601}};

  std::map<std::string, std::string> origins;  // key of ours -> where it was set
  RETURN_IF_ERROR(ApplyOlder(kind, file, draft));
  KeepOlderReserve(draft);
  // Version 2.5.0 uses ./data when neither data_dirs nor data_dir names a directory.
  if (config.disks.empty() && !draft.older_no_disks_origin.empty())
    config.disks.push_back({"default", "./data", draft.older_no_disks_origin});
  // Before our keys, which override it.
  if (draft.older_port) config.listen = {OwnAddress(draft.older_interface), *draft.older_port};
  RETURN_IF_ERROR(ApplyOurs(file, draft, &origins));
  RETURN_IF_ERROR(ApplyFlags(flags, draft, &origins));
  if (!draft.older_group_origin.empty()) origins.emplace(kGroup, draft.older_group_origin);
  RETURN_IF_ERROR(CheckTogether(kind, file.name(), origins, config));
  if (const auto& ids = config.replica.duplication_group.ids; !ids.empty())
    config.replica.duplication_group.own_id = ids.at(config.cluster_name);
  for (const auto& [name, id] : config.replica.duplication_group.ids)
    config.meta.cluster_ids[name] = id;
  if (!config.advertised.IsValid()) config.advertised = config.listen;
  ServerConfig::ZooKeeperPlace& place = config.zookeeper;
  // A tick of ZooKeeper's, the next leader's start, and a server's next beacons to it.
  constexpr absl::Duration kFailoverBesides = absl::Seconds(3);
  if (kind == ServerKind::kMeta && config.meta_state == ServerConfig::MetaState::kZooKeeper &&
      place.session_timeout + kFailoverBesides > config.replica.lease)
    config.warnings.push_back(absl::StrCat(
        "ZooKeeper waits ", absl::FormatDuration(place.session_timeout),
        " for a meta server that died, and replica servers serve for ",
        absl::FormatDuration(config.replica.lease),
        " (lease) without one: reads and writes stop until the next one leads. They would go on "
        "with a zookeeper_session_timeout that is 3s below the lease"));
  if (place.root.empty()) place.root = absl::StrCat("/pegasus/", config.cluster_name);
  if (place.lock_root.empty())
    place.lock_root = place.root == "/" ? "/lock" : absl::StrCat(place.root, "/lock");

  CompleteSharedLogDirectories(draft);
  config.meta.cluster_name = config.cluster_name;
  config.replica.cluster_name = config.cluster_name;
  // Recovery waits for disks and CPU: two at least, so that one disk is never idle between
  // replicas.
  if (config.replica.recovery.threads_per_disk == 0)
    config.replica.recovery.threads_per_disk =
        std::clamp(static_cast<int32_t>(std::thread::hardware_concurrency() /
                                        std::max<size_t>(1, config.disks.size())),
                   2, 8);
  for (const ConfiguredDisk& disk : config.disks) {
    config.replica.layout.data_directories.push_back(
        {disk.tag, absl::StrCat(disk.path, "/replica/reps")});
  }
  return config;
}

}  // namespace arion
