// IndexUpkeep: has one replica's indexes be what the table's environments say, and builds what is
// missing of them, step by step in its disk's bulk pool, while clients read and write.
//
// Shapes    All that are missing are built in one walk over the data. A change of the environments
//           ends a build, and one of all that are missing then begins. A learner's are not built:
//           its content is about to be replaced. Builds rest as copies do while clients wait
//           longer than without them (copies/copy_throttle.h). Where entries of former fields take much room, all
//           are built anew.
// Errors    A refusal: the same again after a second. Any other error: all indexes anew after
//           kLookAgain.
// Threads   Strand-bound; builds run in the pool.
// Lifetime  A part of a replica, beside what it is given.
// Promises  index_upkeep/U1  After EndBuild no build holds a view of the engine but in the pool,
//               and none is begun before the disk's work is quiet where that is awaited.
//           index_upkeep/U2  What was built before a restart is kept until the environments are
//               told.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "messages/index_definition.h"

namespace arion {

class IndexBuild;
class IndexSet;

// How much a server does for indexes at a time. Thread-safe.
class IndexSlots : public std::enable_shared_from_this<IndexSlots> {
 public:
  explicit IndexSlots(int builders) : builders_(builders) {}
  // Held while it builds; null: not now.
  std::shared_ptr<void> TryBuild() { return TryTake(builders_); }
  // Held while it defines: what is made then is synced some times, and clients' writes meet that on
  // the disk where all replicas of a server do it at once, as at a start without indexes.
  std::shared_ptr<void> TryDefine() { return TryTake(definers_); }

 private:
  std::shared_ptr<void> TryTake(std::atomic<int>& left);

  std::atomic<int> builders_;
  std::atomic<int> definers_{2};
};

// One for each replica. Consider at the start, when the environments changed, and when the engine
// is another.
class IndexUpkeep {
 public:
  static constexpr absl::Duration kLookAgain = absl::Seconds(5);
  static constexpr absl::Duration kTryAgain = absl::Seconds(1);
  static constexpr absl::Duration kDefineAgain = absl::Milliseconds(50);

  struct Hooks {
    // Runs `work` in the disk's bulk pool, then `then` on the strand.
    std::function<void(absl::AnyInvocable<absl::Status()> work,
                       absl::AnyInvocable<void(absl::Status)> then)>
        in_bulk_pool;
    // Not after Close.
    std::function<void(absl::Duration, absl::AnyInvocable<void()>)> after;
    // So many bytes of the data were read by a build: how long it rests, for the sake of those who
    // read and write.
    std::function<absl::Duration(uint64_t bytes)> pace;
    // What the table's environments say.
    std::function<const std::vector<NamedIndex>&()> wanted;
    // Somebody has told them in this life. Before that they are what the directory remembers, which
    // may be older than what is built.
    std::function<bool()> is_told;
    // For displays: these are the replica's indexes, and what is wanted has changed.
    std::function<void(const std::shared_ptr<IndexSet>&)> note;
    // Somebody waits for the disk's work to be quiet: no job is begun before that.
    std::function<bool()> is_quiet_awaited;
    // Primary or secondary.
    std::function<bool()> is_member;
    // Names the replica in the log.
    std::function<std::string()> tag;
  };
  // `engine`: the owner's; null while it is exchanged.
  IndexUpkeep(std::shared_ptr<IndexSlots> slots, const std::shared_ptr<Engine>& engine,
              Hooks hooks);
  ~IndexUpkeep();

  void Consider();
  // The engine is about to go.
  void EndBuild();
  void Close();

 private:
  void ConsiderAfter(absl::Duration delay);
  void RenewLater(absl::Duration delay);
  void RenewIfOutgrown();
  void Define(std::shared_ptr<Engine> engine);
  void Begin(std::shared_ptr<Engine> engine);
  void Step();
  void StepOn();
  void Returned(std::unique_ptr<IndexBuild> build, const absl::Status& status);

  const std::shared_ptr<IndexSlots> slots_;
  const std::shared_ptr<Engine>& engine_;
  const Hooks hooks_;
  bool is_closed_ = false;
  // A job is in the pool.
  bool is_busy_ = false;
  // Asked to end while it was in the pool.
  bool is_ending_ = false;
  // A timer will look again.
  bool is_looked_for_ = false;
  // A timer will look whether they are outgrown.
  bool is_renewed_later_ = false;
  // What displays were told of.
  std::weak_ptr<IndexSet> noted_;
  std::unique_ptr<IndexBuild> build_;
  // Of its bytes: what it has rested for.
  uint64_t paced_bytes_ = 0;
  std::shared_ptr<void> slot_;
};

}  // namespace arion
