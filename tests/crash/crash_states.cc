// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/crash_states.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "sim/sim_random.h"

namespace arion::crash {
namespace {

class States {
 public:
  States(const CrashModel& model, const StateVolume& volume, uint64_t seed,
         absl::FunctionRef<void(StateKind, const Choice&)> visit)
      : volume_(volume), random_(seed), visit_(visit) {
    for (const Change& change : model.changes()) {
      spans_.push_back({atoms_, atoms_ + change.atoms(), change.object(),
                        change.op.kind == OpKind::kWrite && change.extends});
      atoms_ += change.atoms();
    }
  }

  void Run() {
    Prefixes();
    TornPrefixes();
    Objects();
    if (atoms_ <= volume_.exhaustive_atoms) {
      AllSubsets();
    } else {
      Singles();
      RandomSubsets();
    }
  }

 private:
  struct Span {
    size_t begin = 0;
    size_t end = 0;
    uint64_t object = 0;
    bool has_sizes = false;
  };

  void Try(StateKind kind, const Choice& choice) {
    if (seen_.insert(std::hash<Choice>()(choice)).second) visit_(kind, choice);
  }
  static void Keep(const Span& span, Choice* choice) {
    std::fill(choice->begin() + static_cast<ptrdiff_t>(span.begin),
              choice->begin() + static_cast<ptrdiff_t>(span.end), true);
  }

  // The first changes, the others not.
  void Prefixes() {
    Choice choice(atoms_);
    Try(StateKind::kPrefix, choice);
    for (const Span& span : spans_) {
      Keep(span, &choice);
      Try(StateKind::kPrefix, choice);
    }
  }

  // The same, the last one up to some sector: with the size of that, with the whole size, or with
  // the old one.
  void TornPrefixes() {
    Choice choice(atoms_);
    for (const Span& span : spans_) {
      const size_t sectors = span.end - span.begin - (span.has_sizes ? 2 : 0);
      const size_t step = std::max<size_t>(1, sectors / volume_.torn_max);
      Choice torn = choice;
      for (size_t i = 0; i < sectors; ++i) {
        torn[span.begin + i] = true;
        if (i % step != 0 && i + 1 != sectors && i != 1) continue;
        Try(StateKind::kTorn, torn);
        if (!span.has_sizes) continue;
        Choice sized = torn;
        sized[span.end - 2] = true;
        Try(StateKind::kTorn, sized);
        sized[span.end - 1] = true;
        Try(StateKind::kTorn, sized);
      }
      Keep(span, &choice);
    }
  }

  // Files and directories were written back in some other order: all of some, nothing of others.
  void Objects() {
    std::vector<uint64_t> objects;
    for (const Span& span : spans_)
      if (std::find(objects.begin(), objects.end(), span.object) == objects.end())
        objects.push_back(span.object);
    const size_t n = std::min<size_t>(objects.size(), 5);
    for (uint64_t mask = 1; mask < uint64_t{1} << n; ++mask) {
      Choice choice(atoms_);
      for (const Span& span : spans_) {
        const auto at = static_cast<size_t>(std::find(objects.begin(), objects.end(), span.object) -
                                            objects.begin());
        if (at >= n || (mask >> at & 1) != 0) Keep(span, &choice);
      }
      Try(StateKind::kReordered, choice);
    }
  }

  void AllSubsets() {
    for (uint64_t mask = 0; mask < uint64_t{1} << atoms_; ++mask) {
      Choice choice(atoms_);
      for (size_t i = 0; i < atoms_; ++i) choice[i] = (mask >> i & 1) != 0;
      Try(StateKind::kSubset, choice);
    }
  }

  // Each change alone, and all but each.
  void Singles() {
    for (const Span& span : spans_) {
      Choice only(atoms_);
      Keep(span, &only);
      Try(StateKind::kSubset, only);
      only.flip();
      Try(StateKind::kSubset, only);
    }
  }

  void RandomSubsets() {
    for (size_t round = 0; round < volume_.random_subsets; ++round) {
      Choice choice(atoms_);
      const bool is_dense = random_.Coin();
      for (const Span& span : spans_) {
        const uint64_t how = random_.Below(4);
        for (size_t i = span.begin; i < span.end; ++i)
          choice[i] = how == 0 ? false : how == 1 ? true : random_.Percent(is_dense ? 95 : 50);
      }
      Try(StateKind::kSubset, choice);
    }
  }

  const StateVolume& volume_;
  sim::SimRandom random_;
  const absl::FunctionRef<void(StateKind, const Choice&)> visit_;
  std::vector<Span> spans_;
  size_t atoms_ = 0;
  std::unordered_set<size_t> seen_;
};

}  // namespace

void ForEachState(const CrashModel& model, const StateVolume& volume, uint64_t seed,
                  absl::FunctionRef<void(StateKind, const Choice&)> visit) {
  States(model, volume, seed, visit).Run();
}

}  // namespace arion::crash
