// SPDX-License-Identifier: Apache-2.0
// The keys of [arion.server]: what both kinds of server have.
#include <absl/strings/str_split.h>

#include "config/config_rules.h"
#include "config/rule_setters.h"
#include "env/secret_file.h"

namespace arion {
namespace {

absl::Status SetListen(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.listen, ParseListenAddress(value));
  return absl::OkStatus();
}

absl::Status SetAdvertise(Draft& draft, std::string_view value, const std::string&) {
  // Empty takes back what an earlier source has set: then the address of `listen` counts.
  draft.config.advertised = Endpoint{};
  if (value.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(draft.config.advertised, ParseAddress(value));
  return absl::OkStatus();
}

absl::Status SetJoinPegasusCluster(Draft& draft, std::string_view value,
                                   const std::string& origin) {
  // A replica server examines a cluster before it joins it, which it does at its start only.
  if (origin == kInOperation && !value.empty())
    return absl::InvalidArgumentError(
        "it can only be ended in operation; write it into the file and restart");
  draft.config.join_pegasus_cluster = value;
  return absl::OkStatus();
}

absl::Status SetAdminAddresses(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.access.admin_addresses, ParseAddressRanges(value));
  return absl::OkStatus();
}

absl::Status SetAdminTokenFile(Draft& draft, std::string_view value, const std::string&) {
  std::string& token = draft.config.access.admin_token;
  token.clear();
  if (value.empty()) return absl::OkStatus();
  // The file is read here, at the start only: the key is not changeable in operation.
  ASSIGN_OR_RETURN(token, ReadSecretFile(std::string(value)));
  return absl::OkStatus();
}

absl::Status SetTextLogDirectory(Draft& draft, std::string_view value, const std::string&) {
  draft.config.log_directory = value;
  return absl::OkStatus();
}

absl::Status SetTextLogFileSize(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(uint64_t bytes, ParseSize(value));
  // The log library counts in megabytes.
  uint64_t megabytes = bytes >> 20;
  if (megabytes < 1 || megabytes > 4096)
    return absl::InvalidArgumentError("out of range; write 1 MiB to 4 GiB");
  draft.config.log_file_size_mb = static_cast<int32_t>(megabytes);
  return absl::OkStatus();
}

absl::Status SetTextLogLevel(Draft& draft, std::string_view value, const std::string&) {
  using Level = ServerConfig::LogLevel;
  if (value != "info" && value != "warning" && value != "error")
    return absl::InvalidArgumentError("unknown; write info, warning or error");
  draft.config.log_level = value == "info"      ? Level::kInfo
                           : value == "warning" ? Level::kWarning
                                                : Level::kError;
  return absl::OkStatus();
}

absl::Status SetPeerGeneration(Draft& draft, std::string_view value, const std::string&) {
  if (value != "25" && value != "26") return absl::InvalidArgumentError("unknown; write 25 or 26");
  PeerGeneration generation = value == "25" ? PeerGeneration::k25 : PeerGeneration::k26;
  // Both kinds of server talk to the same peers.
  draft.config.meta.peer_generation = generation;
  draft.config.replica.peer_generation = generation;
  return absl::OkStatus();
}

absl::Status SetMinReplicaCountFrom(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(int64_t number, ParseInteger(value, 0, kReplicaCountMax));
  SetMinReplicaCount(draft, number);
  return absl::OkStatus();
}

absl::Status SetDuplicationGroup(Draft& draft, std::string_view value, const std::string&) {
  auto& ids = draft.config.replica.duplication_group.ids;
  // It replaces what an older section says, as a whole.
  ids.clear();
  if (value.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(ids, ParseClusterIds(value));
  return absl::OkStatus();
}

constexpr uint8_t kChangeable = Setting::kChangeable, kAdvanced = Setting::kAdvanced;
using C = ServerConfig;

constexpr Rule kRules[] = {
    {{"arion.server", "cluster_name",
      "name of the cluster, shown to clients and tools; servers of a cluster with another name are "
      "refused",
      "onebox"},
     SetClusterName},
    {{"arion.server", "duplication_group",
      "the clusters that duplicate tables to each other, and their ids (1 to 127): here:1,there:2; "
      "the same at each of them, and this cluster's name is one; empty: none does",
      ""},
     SetDuplicationGroup},
    {{"arion.server", "listen", "address to listen at; 0.0.0.0 means every address of this machine",
      "127.0.0.1:34601 (meta), 127.0.0.1:34801 (replica)"},
     SetListen},
    {{"arion.server", "advertise",
      "address by which clients and servers reach this server, if it is not the one it listens at "
      "(a "
      "container's host, one of two networks)",
      "(the address of listen)"},
     SetAdvertise},
    {{"arion.server", "meta_servers",
      "addresses or names of the meta servers, separated by commas; a name is looked up until it "
      "has an "
      "address, and again when a connection fails",
      "127.0.0.1:34601"},
     SetMetaServers},
    {{"arion.server", "join_pegasus_cluster",
      "name of the Apache Pegasus cluster that this server joins, or whose servers join it: "
      "Pegasus servers "
      "can't say which cluster they belong to and are let in all the same; empty: no such server "
      "is let in",
      "", kChangeable},
     SetJoinPegasusCluster},
    {{"arion.server", "admin_addresses",
      "addresses from which tables, servers and settings may be changed, for example 10.1.0.0/16, "
      "127.0.0.1; "
      "empty: every address",
      ""},
     SetAdminAddresses},
    {{"arion.server", "admin_token_file",
      "file with the token that such changes must carry (mode 600 or 640); empty: no token is "
      "asked for",
      ""},
     SetAdminTokenFile},
    {{"arion.server", "threads", "event-loop threads; 0: one per core, at most 8", "0"},
     SetNumber<kServer, &C::threads, 0, 256>},
    {{"arion.server", "text_log_directory",
      "directory of the text log's files; empty: standard error", ""},
     SetTextLogDirectory},
    {{"arion.server", "text_log_file_size", "size at which a new text log file is begun", "64 MiB"},
     SetTextLogFileSize},
    {{"arion.server", "text_log_files_max",
      "text log files kept of each severity (info, warning, error); older ones are removed", "16"},
     SetNumber<kServer, &C::log_files_max, 2, 100000>},
    {{"arion.server", "text_log_level",
      "lowest severity written to the text log: info, warning, error", "info", kChangeable},
     SetTextLogLevel},
    {{"arion.server", "stop_time_max",
      "longest time of a clean stop; after it the server ends, and the next start replays what was "
      "not closed",
      "2m"},
     SetInterval<kServer, &C::stop_time_max>},
    {{"arion.server", "disk_answer_max",
      "longest wait for a disk at the start; a disk that does not answer is left out until the "
      "next start",
      "10s", kAdvanced},
     SetInterval<kServer, &C::disk_answer_max>},
    {{"arion.server", "stuck_after",
      "an event loop, or a disk's work, that makes no progress for so long is reported as stuck",
      "10s", kAdvanced},
     SetInterval<kServer, &C::stuck_after>},
    {{"arion.server", "peer_generation",
      "25: servers and clients of Pegasus 2.5 or older may be present; 26: only newer ones", "25",
      kAdvanced},
     SetPeerGeneration},
    // Both kinds read both keys: whichever server it is, it refuses a grace that is not longer than
    // the lease.
    {{"arion.server", "lease",
      "how long a server serves after it sent its last acknowledged beacon", "9s", kAdvanced},
     SetInterval<kReplica, &ReplicaServerOptions::lease>},
    {{"arion.server", "grace",
      "silence after which the meta server takes a server for dead; must be longer than lease",
      "10s", kAdvanced},
     SetInterval<kMeta, &MetaServerOptions::grace>},
    {{"arion.server", "write_members_min",
      "members that a partition needs to accept writes, at most the table's replica count; 0: a "
      "majority",
      "2"},
     SetMinReplicaCountFrom},
};

}  // namespace

absl::Span<const Rule> ServerRules() { return kRules; }

absl::Status SetClusterName(Draft& draft, std::string_view value, const std::string&) {
  if (value.empty()) return absl::InvalidArgumentError("empty; write the cluster's name");
  draft.config.cluster_name = value;
  return absl::OkStatus();
}

absl::Status SetMetaServers(Draft& draft, std::string_view value, const std::string&) {
  ASSIGN_OR_RETURN(draft.config.meta_servers, ParseNamedAddresses(value));
  return absl::OkStatus();
}

// A primary goes by it, and the meta server shows it (messages/write_members.h).
void SetMinReplicaCount(Draft& draft, int64_t number) {
  draft.config.meta.mutation_2pc_min_replica_count = static_cast<int32_t>(number);
  draft.config.replica.mutation_2pc_min_replica_count = static_cast<int32_t>(number);
}

}  // namespace arion
