// ApplyQueue hands committed mutations to the engine, in decree order, and never makes the strand
// wait for it.
//
// Shapes    Urgency::kSoon: they are tried on the strand; one that would have to wait goes to the
//           disk's pool, and those behind it queue. kLater: the same, but only once many have
//           gathered, or kGatheredFor after the first, or when somebody needs the content
//           (CatchUp, a view). A secondary applies so: it answers no read but a backup request's,
//           and what many share costs each of them little. kLast: all that wait go to the bulk
//           pool in one job, so that what a learner is taught keeps no loop from those who read and
//           write.
//           Without space it is tried again in the pool, after pauses that double from kPauseMin to
//           kPauseMax, until it fits: no replica is lost to a full disk.
// Threads   Strand-bound; the hooks are called on the strand.
// Lifetime  Held by shared_ptr. After Abandon no hook is called; what was not applied is in the
//           log.
// Promises  apply_queue/E1  Decree order, each once; `on_applied` after the engine has it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/mutation.h"
#include "data_api/mutation_batch.h"
#include "engine/engine.h"
#include "env/strand.h"

namespace arion {

// One for each replica: Apply after each step that commits, Abandon at the end or before an engine
// is given up.
class ApplyQueue : public std::enable_shared_from_this<ApplyQueue> {
 public:
  static constexpr absl::Duration kPauseMin = absl::Milliseconds(250);
  static constexpr absl::Duration kPauseMax = absl::Seconds(2);

  // How long a secondary gathers, and how much. Either is far below what a failover takes.
  static constexpr absl::Duration kGatheredFor = absl::Seconds(1);
  static constexpr size_t kGatheredBytes = 64 << 10;

  enum class Urgency { kSoon, kLater, kLast };
  // Runs `work` in a pool, then `then` on the strand.
  using InPool = std::function<void(absl::AnyInvocable<absl::Status()> work,
                                    absl::AnyInvocable<void(absl::Status)> then)>;
  struct Hooks {
    InPool in_disk_pool;
    InPool in_bulk_pool;
    // Everything up to this decree is applied. Also called from within Apply.
    std::function<void(Decree)> on_applied;
    // The mutation could not be applied; nothing more is.
    std::function<void(Decree, const absl::Status&)> on_failed;
    std::function<void(const absl::Status&)> on_no_space;
  };
  ApplyQueue(StrandPtr strand, Hooks hooks);

  // `mutations` follow what was given before; all that wait are as urgent as these. The engine is
  // let go of when nothing waits for it.
  void Apply(std::shared_ptr<Engine> engine, const std::vector<MutationPtr>& mutations,
             Urgency urgency);
  // Applies what is gathered now, before the content is needed: for a read, in another role, before
  // maintenance. What a pool has stays there.
  void CatchUp();
  // Hands over the engine's content as it stands at `decree`, as soon as it does, from within Apply
  // or here; null: more is applied already. One at a time: an earlier wish is forgotten.
  using TakeView = std::function<void(std::shared_ptr<const EngineView>)>;
  void ViewAt(Decree decree, const std::shared_ptr<Engine>& engine, TakeView take);
  void ForgetView() { view_.take = nullptr; }
  // Drops what waits; no hook is called any more.
  void Abandon();

  // Whether every mutation that was given is applied.
  bool IsIdle() const { return waiting_.empty(); }
  // Encoded size of the mutations that wait.
  size_t waiting_bytes() const { return waiting_bytes_; }

 private:
  void Pump();
  bool MayGather() const;
  void ApplyLater();
  void ApplyHere();
  absl::Status ApplyBatchHere();
  void ApplyInPool(size_t count);
  void OnAppliedInPool(size_t applied, const absl::Status& status);
  void Pause();
  void PopFirst();
  void Fail(const absl::Status& status);
  void OfferView(Decree applied);

  const StrandPtr strand_;
  Hooks hooks_;
  std::shared_ptr<Engine> engine_;
  std::deque<MutationPtr> waiting_;
  size_t waiting_bytes_ = 0;
  Urgency urgency_ = Urgency::kSoon;
  // The first mutations are in a pool, or wait for a pause to end.
  bool is_held_ = false;
  bool is_abandoned_ = false;
  absl::Duration pause_ = kPauseMin;
  TimerId timer_ = kNoTimer;
  // Ends the gathering.
  TimerId later_ = kNoTimer;
  // Empty between calls.
  MutationBatch batch_;
  struct {
    Decree at;
    // Null: nobody wants one.
    TakeView take;
  } view_;
};

}  // namespace arion
