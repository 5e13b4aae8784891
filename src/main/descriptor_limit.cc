// SPDX-License-Identifier: Apache-2.0
#include "main/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/log.h"
#include "base/status.h"
#include "replica/replica_directory.h"

namespace arion {
namespace {

constexpr int64_t kLimitMin = 128;           // below it not even a few replicas and clients fit
constexpr int64_t kReplicasAtLeast = 64;     // more may come than there are at the start
constexpr int64_t kTablesPerEngineMin = 20;  // RocksDB takes no less
constexpr int64_t kTablesPerEngineEnough = 4096;
constexpr int64_t kOthersPerReplica = 8;  // its log, and what its engine has open besides tables

}  // namespace

absl::StatusOr<DescriptorShares> SharesOf(int64_t limit, int64_t replicas) {
  if (limit < kLimitMin)
    return absl::ResourceExhaustedError(
        absl::StrCat("the limit of open files is ", limit, ", at least ", kLimitMin,
                     " are needed; raise it: ulimit -n 65536, or LimitNOFILE= of the service"));
  DescriptorShares shares{.limit = limit, .connections = limit / 16 * 9};
  const int64_t each = limit / 8 * 3 / std::max(replicas, kReplicasAtLeast);
  if (each < kTablesPerEngineEnough)
    shares.tables_per_engine = static_cast<int>(std::max(each, kTablesPerEngineMin));
  shares.description = absl::StrCat(
      "at most ", limit, ", of them ", shares.connections, " for connections, ",
      shares.tables_per_engine < 0 ? "engines keep all tables open"
                                   : absl::StrCat(shares.tables_per_engine, " tables an engine"));
  return shares;
}

absl::StatusOr<DescriptorShares> ShareDescriptors(FileSystem& files,
                                                  const std::vector<ConfiguredDisk>& disks) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return absl::InternalError("the limit of open files can't be read");
  const rlimit before = limit;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit = before;
  int64_t replicas = 0;
  for (const ConfiguredDisk& disk : disks) {
    // One that can't be listed is reported by who claims it.
    const auto names = files.List(JoinPath(disk.path, "replica/reps"));
    if (!names.ok()) continue;
    replicas += std::count_if(names->begin(), names->end(), [](const std::string& name) {
      return ParseReplicaDirectoryName(name).has_value();
    });
  }
  const auto count = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, 1 << 30));
  ASSIGN_OR_RETURN(const DescriptorShares shares, SharesOf(count, replicas));
  const int64_t wanted = replicas * (kOthersPerReplica + kTablesPerEngineMin) + kLimitMin;
  LOG_IF(WARNING, count < wanted) << "the limit of open files, " << count << ", is low for "
                                  << replicas << " replicas: some may not open; raise it to "
                                  << wanted
                                  << " or more: ulimit -n, or LimitNOFILE= of the service";
  return shares;
}

}  // namespace arion
