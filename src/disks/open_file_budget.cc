// SPDX-License-Identifier: Apache-2.0
#include "disks/open_file_budget.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/log.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr int64_t kServerFiles = 96;  // loops, rings, listeners, logs of its own; copies under way
constexpr int64_t kFilesPerReplica = 6;
constexpr int64_t kTablesMin = 10;  // RocksDB takes no less, and counts ten more
constexpr int64_t kCountedMore = 10;
constexpr int64_t kTablesEnough = 4096;
constexpr int64_t kReplicasAtLeast = 64;  // to be shared by: more may come
// With which a server starts, and does without spares and most connections.
constexpr int64_t kServerFilesMin = 80;
constexpr int64_t kConnectionsMin = 48;  // of these
constexpr int64_t kFilesPerReplicaMin = 5;
constexpr int64_t kToStart = 128;
constexpr absl::Duration kShortFor = absl::Seconds(30);  // after the limit was met last

// The sixteenth is for what grows with the limit: large servers have more of everything.
int64_t ServerFiles(int64_t limit) { return std::max(kServerFiles, limit / 16); }

int64_t ReplicasMax(int64_t limit) {
  // A quarter of the limit is reserved for connections.
  const int64_t left = limit - ServerFiles(limit) - limit / 4;
  return std::max<int64_t>(0, left / (kFilesPerReplica + kTablesMin));
}

}  // namespace

OpenFileShares ShareOpenFiles(int64_t limit, int64_t replicas) {
  OpenFileShares shares{.limit = limit, .replicas_max = ReplicasMax(limit)};
  // At least 64 share, so that tables need not give files back with each of the first replicas.
  const int64_t by =
      std::max({replicas, std::min(kReplicasAtLeast, shares.replicas_max), int64_t{1}});
  shares.has_spares = replicas <= shares.replicas_max;
  const int64_t rest = limit - ServerFiles(limit) - by * kFilesPerReplica;
  // Where there are more replicas than that, connections get what they leave.
  const int64_t left =
      kConnectionsMin + std::max(limit - kServerFilesMin - by * kFilesPerReplicaMin, int64_t{0});
  // Connections get nine sixteenths of the rest, unless tables would then have less than their
  // least; a quarter of the limit in any case, as long as the files last.
  shares.connections = std::max(std::min(rest / 16 * 9, rest - by * kTablesMin), limit / 4);
  shares.connections = std::min(shares.connections, left);
  const int64_t tables = std::max(kTablesMin, (rest - shares.connections) / by) + kCountedMore;
  // Rounded down to a power of two, so that engines do not get another limit with each new replica.
  if (tables < kTablesEnough)
    shares.tables_per_engine = static_cast<int>(std::max<uint64_t>(
        std::bit_floor(static_cast<uint64_t>(tables)), kTablesMin + kCountedMore));
  return shares;
}

int64_t OpenFilesToStart(int64_t replicas) {
  return std::max(kToStart, kServerFilesMin + replicas * kFilesPerReplicaMin);
}

OpenFileBudget::OpenFileBudget(Look look, int64_t found)
    : look_(std::move(look)), found_(found), replicas_(found) {
  const MutexLock lock(mutex_);
  // Look before anybody asks: shares() is valid from the start.
  limit_ = look_().limit;
  shares_ = SharesNow();
}

OpenFileShares OpenFileBudget::SharesNow() const {
  OpenFileShares shares = ShareOpenFiles(limit_, replicas_);
  // What was here at the start is kept, even where it is more than would be taken now.
  if (OpenFilesToStart(found_) <= limit_)
    shares.replicas_max = std::max(shares.replicas_max, found_);
  return shares;
}

void OpenFileBudget::OnChanged(std::function<void(const OpenFileShares&)> changed) {
  changed_ = std::move(changed);
}

void OpenFileBudget::SetReplicas(int64_t replicas) {
  const MutexLock lock(mutex_);
  replicas_ = replicas;
}

bool OpenFileBudget::OnSecond(Instant now) {
  const Sight sight = look_();
  MutexLock lock(mutex_);
  if (sight.limit != std::exchange(limit_, sight.limit))
    LOG(INFO) << "open files: the limit is " << limit_ << " now";
  if (sight.is_met) met_ = now;
  const bool is_short = met_ > Instant(0) && now - met_ < kShortFor;
  const bool was_short = std::exchange(is_short_, is_short);
  OpenFileShares next = SharesNow();
  if (is_short) {
    // The shares of as many replicas as there are files: the least that each user can get.
    next.tables_per_engine = ShareOpenFiles(limit_, limit_).tables_per_engine;
    next.has_spares = false;
  }
  // Upwards only in steps of a factor of two, so that a few replicas more or less change nothing.
  // Downwards at once: files are lacking then.
  if (!was_short && next.limit == shares_.limit &&
      next.tables_per_engine > shares_.tables_per_engine &&
      next.tables_per_engine < 2 * shares_.tables_per_engine)
    next.tables_per_engine = shares_.tables_per_engine;
  const bool is_other = next != shares_;
  shares_ = next;
  // While files are short, no replica is added, whatever the limit would allow.
  const int64_t max = is_short ? std::min(replicas_, next.replicas_max) : next.replicas_max;
  const bool tells = max != std::exchange(told_max_, max);
  const int64_t replicas = replicas_;
  // The callback and the log need no lock.
  lock.Unlock();
  if (is_short && !was_short)
    LOG(WARNING) << "open files: the limit of " << next.limit << " is reached, with " << replicas
                 << " replicas: caches of open files shrink, logs make no spares, new replicas go "
                    "elsewhere; raise it: LimitNOFILE= of the service, or ulimit -n";
  if (was_short && !is_short) LOG(INFO) << "open files: there are enough again";
  if (is_other && changed_) changed_(next);
  return tells;
}

OpenFileShares OpenFileBudget::shares() const {
  const MutexLock lock(mutex_);
  return shares_;
}

int64_t OpenFileBudget::replicas() const {
  const MutexLock lock(mutex_);
  return replicas_;
}

int64_t OpenFileBudget::replicas_max() const {
  const MutexLock lock(mutex_);
  return is_short_ ? std::min(replicas_, shares_.replicas_max) : shares_.replicas_max;
}

bool OpenFileBudget::is_short() const {
  const MutexLock lock(mutex_);
  return is_short_;
}

std::string OpenFileBudget::Refusal() const {
  const MutexLock lock(mutex_);
  return absl::StrCat("open files: the limit of ", limit_, " carries ", shares_.replicas_max,
                      " replicas, and ", replicas_,
                      " are here; raise it: LimitNOFILE= of the service, or ulimit -n");
}

}  // namespace arion
