// SPDX-License-Identifier: Apache-2.0
#include "main/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/log.h"
#include "base/status.h"
#include "config/server_config.h"
#include "disks/replica_directory.h"
#include "posix/descriptor_reserve.h"

namespace arion {
namespace {

// An unlimited process may say any number; shares are computed in 64 bits, so a bound is enough.
constexpr rlim_t kMost = 1 << 30;

}  // namespace

int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  PCHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0) << "the limit of open files can't be read";
  // Without a right to raise it the process keeps what it has.
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit before = limit;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit = before;
  }
  return static_cast<int64_t>(std::min(limit.rlim_cur, kMost));
}

absl::Status CheckDescriptorLimit(int64_t limit, int64_t replicas) {
  const int64_t needed = OpenFilesToStart(replicas);
  if (limit >= needed) return absl::OkStatus();
  std::string whose;
  if (replicas > 0) whose = absl::StrCat(" with the ", replicas, " replicas here");
  return absl::ResourceExhaustedError(absl::StrCat(
      "the limit of open files is ", limit, ", at least ", needed, " are needed", whose,
      "; raise it: LimitNOFILE=65536 or more in the unit of the service, or ulimit -n 65536"));
}

absl::StatusOr<DescriptorLimit> TakeDescriptorLimit(FileSystem& files,
                                                    const std::vector<ConfiguredDisk>& disks) {
  DescriptorLimit taken{.limit = RaiseDescriptorLimit()};
  for (const ConfiguredDisk& disk : disks) {
    // A directory that can't be listed is reported when it is claimed.
    const auto names = files.List(JoinPath(disk.path, "replica/reps"));
    if (!names.ok()) continue;
    // By name only: the files must not be opened before the limit is judged.
    taken.replicas += std::count_if(names->begin(), names->end(), [](const std::string& name) {
      return ParseReplicaDirectoryName(name).has_value();
    });
  }
  RETURN_IF_ERROR(CheckDescriptorLimit(taken.limit, taken.replicas));
  const OpenFileShares shares = ShareOpenFiles(taken.limit, taken.replicas);
  LOG_IF(WARNING, taken.replicas > shares.replicas_max)
      << "open files: the limit of " << taken.limit << " carries " << shares.replicas_max
      << " replicas, " << taken.replicas
      << " are here: no new ones are taken; raise it: LimitNOFILE= of the service, or ulimit -n";
  return taken;
}

std::string DescribeShares(const OpenFileShares& shares) {
  return absl::StrCat("at most ", shares.limit, ", for ", shares.replicas_max, " replicas; now ",
                      shares.connections, " for connections, ",
                      shares.tables_per_engine < 0
                          ? "engines keep all tables open"
                          : absl::StrCat(shares.tables_per_engine, " tables an engine"));
}

// Refilled here, once a second, as soon as descriptors are free again.
OpenFileBudget::Look LookAtDescriptors(DescriptorReserve& reserve) {
  return [&reserve, wants = reserve.wants()]() mutable {
    if (!reserve.is_whole()) reserve.Refill();
    const int64_t before = std::exchange(wants, reserve.wants());
    // The limit may be changed from outside while the process runs.
    return OpenFileBudget::Sight{.limit = RaiseDescriptorLimit(),
                                 .is_met = wants > before || !reserve.is_whole()};
  };
}

}  // namespace arion
