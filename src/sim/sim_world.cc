// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_world.h"

#include <algorithm>
#include <utility>

#include "sim/sim_environment.h"

namespace arion::sim {
namespace {

// The unit in which events come near: those of one stretch are put in order together.
constexpr int kStretchBits = 24;  // of nanoseconds: 17 ms

}  // namespace

// Seeds are small and near each other; the factor spreads them over all bits.
SimWorld::SimWorld(uint64_t seed) : seed_(seed), random_(seed * 0x2545f4914f6cdd1du + 1) {}

SimWorld::~SimWorld() {
  // Tasks may hold the last reference to objects that touch their node: end the lives first.
  for (auto& node : nodes_) node->EndLife();
  for (auto& event : slots_) event.task = nullptr;
}

// Each value changes all that follow, so that two runs which differ once stay apart.
void SimWorld::FoldIntoTrace(uint64_t value) {
  trace_hash_ = (trace_hash_ ^ value) * 0x9fb21c651e98df25u;
  trace_hash_ ^= trace_hash_ >> 29;
}

SimNode& SimWorld::AddNode(std::string name) {
  // Numbered from 1: 0 is the world's own.
  nodes_.push_back(
      std::make_unique<SimNode>(*this, static_cast<uint32_t>(nodes_.size() + 1), std::move(name)));
  return *nodes_.back();
}

TimerId SimWorld::Schedule(Instant at, EventKind kind, SimNode* node, uint32_t life,
                           const Strand* strand, Task&& task) {
  uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Event& event = slots_[slot];
  event.task = std::move(task);
  event.strand = strand;
  event.loop = SimNode::LoopOf(strand);
  event.node = node;
  event.life = life;
  event.kind = kind;
  // The slot had another event before.
  event.has_lagged = event.is_paused = false;
  if (kind == EventKind::kTimer && node != nullptr) event.due = node->NowAt(std::max(at, now_));
  Enqueue(std::max(at, now_), slot);
  // The generation makes the id of an event that ran, or was cancelled, stale.
  return static_cast<uint64_t>(event.generation) << 32 | slot;
}

TimerId SimWorld::After(absl::Duration delay, EventKind kind, Task&& task) {
  return Schedule(now_ + delay, kind, nullptr, 0, nullptr, std::move(task));
}

void SimWorld::Cancel(TimerId id) {
  uint32_t slot = static_cast<uint32_t>(id);
  if (id == kNoTimer || slot >= slots_.size() || slots_[slot].generation != id >> 32) return;
  // The queue's entry stays and meets an empty task. The task may own objects that cancel in turn:
  // destroy it last.
  Task task = std::move(slots_[slot].task);
  slots_[slot].task = nullptr;
}

void SimWorld::DropTasksOf(const SimNode* node, uint32_t life) {
  for (size_t i = 0; i < slots_.size(); ++i) {  // by index: a task's destructor may schedule
    if (slots_[i].node != node || slots_[i].life != life) continue;
    Task task = std::move(slots_[i].task);
    slots_[i].task = nullptr;
  }
}

void SimWorld::WakeEarlier(const SimNode& node) {
  std::vector<uint32_t> slots;
  for (uint32_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].node == &node && slots_[slot].is_paused) slots.push_back(slot);
  // In the order in which they were scheduled, which the slots' numbers do not keep.
  std::sort(slots.begin(), slots.end(),
            [this](uint32_t a, uint32_t b) { return slots_[a].sequence < slots_[b].sequence; });
  // Their former entries are met later, and do not count.
  for (const uint32_t slot : slots) Enqueue(node.paused_until(), slot);
}

void SimWorld::Enqueue(Instant at, uint32_t slot) {
  slots_[slot].sequence = next_sequence_;
  Enqueue({at.nanos(), next_sequence_++, slot});
}

void SimWorld::Enqueue(const Entry& entry) {
  const int64_t stretch = entry.at >> kStretchBits;
  if (stretch <= near_stretch_) {
    near_.push(entry);
  } else if (stretch - near_stretch_ < kRingStretches) {
    RingAt(stretch).push_back(entry);
    ++ring_entries_;
  } else {
    far_[stretch].push_back(entry);
  }
}

// Of those that hold something; there is one.
int64_t SimWorld::NextStretch() {
  if (ring_entries_ == 0) return far_.begin()->first;
  int64_t next = near_stretch_ + 1;
  // Ends within one round, since the ring holds something.
  while (RingAt(next).empty()) ++next;
  return far_.empty() ? next : std::min(next, far_.begin()->first);
}

void SimWorld::BringNearer() {
  while (near_.empty() && (ring_entries_ > 0 || !far_.empty())) {
    near_stretch_ = NextStretch();
    if (auto far = far_.begin(); far != far_.end() && far->first == near_stretch_) {
      BringNearer(far->second);
      far_.erase(far);
    }
    std::vector<Entry>& entries = RingAt(near_stretch_);
    BringNearer(entries);
    ring_entries_ -= entries.size();
    entries.clear();
  }
}

void SimWorld::BringNearer(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (slots_[entry.slot].sequence != entry.sequence) continue;
    if (slots_[entry.slot].task) {
      near_.push(entry);
    } else {
      Free(entry.slot);
    }
  }
}

void SimWorld::Free(uint32_t slot) {
  Event& event = slots_[slot];
  if (event.task) event.task = nullptr;
  event.node = nullptr;
  ++event.generation;
  free_slots_.push_back(slot);
}

absl::Duration SimWorld::LeftOf(const Event& event, Instant now) {
  // The way through two clock rates may lose a part of a microsecond.
  constexpr absl::Duration kRounding = absl::Microseconds(1);
  if (event.kind != EventKind::kTimer || event.node == nullptr || !event.node->has_stood_still())
    return absl::ZeroDuration();
  const absl::Duration left = event.due - event.node->NowAt(now);
  return left <= kRounding ? absl::ZeroDuration() : event.node->ToWorld(left);
}

bool SimWorld::RunOne() {
  for (BringNearer(); !near_.empty(); BringNearer()) {
    const Entry entry = near_.top();
    near_.pop();
    Event& event = slots_[entry.slot];
    // An entry that WakeEarlier replaced.
    if (event.sequence != entry.sequence) continue;
    SimNode* node = event.node;
    // Cancelled, or of a life that has ended.
    if (!event.task || (node != nullptr && !node->IsLife(event.life))) {
      Task dropped = std::move(event.task);
      Free(entry.slot);
      continue;
    }
    if (node != nullptr && node->paused_until().nanos() > entry.at) {
      // Popped in order of time: a fresh sequence number keeps that order when the pause ends.
      event.is_paused = true;
      Enqueue(node->paused_until(), entry.slot);
      continue;
    }
    event.is_paused = false;
    // Its node's clock stood still: what was left of the timer then is still left.
    if (const absl::Duration left = LeftOf(event, Instant(entry.at)); left > absl::ZeroDuration()) {
      Enqueue(Instant(entry.at) + left, entry.slot);
      continue;
    }
    if (node != nullptr && node->Lags(Instant(entry.at)) &&
        !std::exchange(event.has_lagged, true)) {
      const Instant later = node->WhenReached(Instant(entry.at), event.kind, event.loop);
      Enqueue(later, entry.slot);
      continue;
    }
    now_ = Instant(entry.at);
    FoldIntoTrace(static_cast<uint64_t>(entry.at));
    FoldIntoTrace((node == nullptr ? 0 : node->index()) | static_cast<uint64_t>(event.life) << 8 |
                  static_cast<uint64_t>(event.kind) << 40);
    ++events_run_;
    {
      const Strand* strand = event.strand;
      Task task = std::move(event.task);
      current_strand_ = strand;
      current_node_ = node;
      Free(entry.slot);
      task();
    }
    current_strand_ = nullptr;
    current_node_ = nullptr;
    return true;
  }
  return false;
}

void SimWorld::RunFor(absl::Duration duration) {
  bool reached = false;
  Schedule(now_ + duration, EventKind::kCheck, nullptr, 0, nullptr, [&reached] { reached = true; });
  // The mark is an event itself, so there is always one more to run.
  while (!reached) RunOne();
}

bool SimWorld::RunUntil(absl::FunctionRef<bool()> done, absl::Duration limit) {
  // Without running anything: the condition may hold already.
  if (done()) return true;
  bool late = false;
  // The limit is an event, so that time reaches it also where nothing else happens.
  TimerId mark =
      Schedule(now_ + limit, EventKind::kCheck, nullptr, 0, nullptr, [&late] { late = true; });
  while (!late) {
    RunOne();
    if (done()) {
      Cancel(mark);
      return true;
    }
  }
  return false;
}

}  // namespace arion::sim
