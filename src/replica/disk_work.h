// DiskWork: what one replica has the pools of its disk do, and when nothing of that is under way.
//
// Shapes    A job runs in a pool, its `then` on the strand. Maintenance (flush, checkpoint,
//           shipping) runs one at a time, each on the engine of the moment it begins. Who waits for
//           quiet goes first: nothing of maintenance begins before it.
// Errors    What the system refuses for want of space is told to the disk's watch and, where that
//           is asked for, tried again after kNoSpacePause.
// Threads   Strand-bound; `work` runs in a pool.
// Lifetime  A part of a replica, whose owner each job holds: it does not go while the disk works
//           for it. What waits for time does not hold it.
// Promises  disk_work/J1  What WhenQuiet was given runs while no job is under way and the hook
//               `is_quiet` agrees.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "env/strand.h"
#include "pacifica/effects.h"

namespace arion {

class DiskPool;
class Engine;
struct ReplicaHost;

// One for each replica; all of its parts share it.
class DiskWork {
 public:
  // After a want of space; then the work is tried again.
  static constexpr absl::Duration kNoSpacePause = absl::Milliseconds(500);

  using PoolWork = absl::AnyInvocable<absl::Status()>;
  using EngineWork = absl::AnyInvocable<absl::Status(Engine&)>;
  using Then = absl::AnyInvocable<void(absl::Status)>;

  struct Hooks {
    std::function<std::weak_ptr<void>()> owner;
    // Beside the pools.
    std::function<bool()> is_quiet;
    // Whose jobs are long may cut them short.
    std::function<void()> on_quiet_wish;
    // Applies what a secondary has gathered: maintenance, or quiet, was asked for.
    std::function<void()> catch_up;
    // Names the replica in the log.
    std::function<std::string()> tag;
  };
  // `disk`: of the data. `engine`: the owner's; null while it is exchanged.
  DiskWork(std::shared_ptr<const ReplicaHost> host, StrandPtr strand, std::string directory,
           size_t disk, const std::shared_ptr<Engine>& engine, Hooks hooks);

  // In the disk's pool, and in its pool for long work beside clients.
  void InPool(PoolWork work, Then then);
  void InBulkPool(PoolWork work, Then then);
  // Work that may be repeated: again, after a pause, while the disk is full. Given up by Close,
  // without `then`.
  void InPoolOnceThereIsRoom(std::shared_ptr<PoolWork> work, Then then);
  void OnNoSpace(std::string_view what, const absl::Status& status);
  // Runs `task` on the strand after the delay, unless Close comes first.
  void After(absl::Duration delay, absl::AnyInvocable<void()> task);

  // Maintenance in the flush pool, or in the bulk pool.
  void Maintain(EngineWork work, Then then);
  void MaintainInBulkPool(EngineWork work, Then then);

  // Runs `then` once no job is under way and `is_quiet` holds; perhaps within this call.
  void WhenQuiet(absl::AnyInvocable<void()> then);
  bool IsQuietAwaited() const { return !when_quiet_.empty(); }
  // Whatever `is_quiet` looks at has changed.
  void CheckQuiet();
  // What waits is dropped. Jobs and WhenQuiet go on.
  void Close();

 private:
  struct Maintenance {
    DiskPool& pool;
    EngineWork work;
    Then then;
  };
  void RunIn(DiskPool& pool, PoolWork work, Then then);
  void MaintainIn(DiskPool& pool, EngineWork work, Then then);
  void StartMaintenance();

  const std::shared_ptr<const ReplicaHost> host_;
  const StrandPtr strand_;
  const std::string directory_;
  const size_t disk_;
  const std::shared_ptr<Engine>& engine_;
  const Hooks hooks_;
  bool is_closed_ = false;
  int64_t jobs_ = 0;
  std::deque<Maintenance> maintenance_;
  bool is_maintaining_ = false;
  std::deque<absl::AnyInvocable<void()>> when_quiet_;
};

}  // namespace arion
