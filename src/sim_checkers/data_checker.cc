// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/data_checker.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "sim_checkers/data_history.h"
#include "sim_checkers/data_model.h"

namespace arion::sim {
namespace {

// Of one hash key. The search keeps a bit set of this size for each place.
constexpr size_t kOperationsMax = 512;
constexpr size_t kViolationsMax = 3;

struct Step {
  const DataOperation* operation = nullptr;
  WallWindow wall;
  bool is_decided = false;
  bool is_seen = false;  // somebody read a value that it wrote
};

// Goes through the operations in the order of their answers, depth first. Before each answer
// everything that was under way may have happened, in any order, but only as far as that answer
// asks for it: what is left is decided by later answers.
class Search {
 public:
  Search(std::vector<Step> steps, int64_t limit) : all_(std::move(steps)), limit_(limit) {
    for (size_t i = 0; i < all_.size(); ++i) {
      decided_[i] = all_[i].is_decided;
      if (all_[i].is_decided) by_answer_.push_back(i);
    }
    std::stable_sort(by_answer_.begin(), by_answer_.end(), [this](size_t a, size_t b) {
      return all_[a].operation->returned < all_[b].operation->returned;
    });
  }

  enum class Result { kOrdered, kImpossible, kGaveUp };
  // What nobody decided need not have happened: an order without it is an order, and one with few
  // of those that nobody saw is found long before all have been tried.
  Result Run() {
    const auto unseen = static_cast<size_t>(
        std::count_if(all_.begin(), all_.end(), [](const Step& s) { return IsUnseen(s); }));
    // 0, 1, 2, 4 ... of them: an order with few unseen writes is the likely one, and its search the
    // shortest.
    for (size_t allowed = 0;; allowed = std::min(unseen, allowed == 0 ? 1 : 2 * allowed)) {
      taken_ = 0;
      allowed_ = allowed;
      seen_.clear();
      if (OrderAll()) return Result::kOrdered;
      if (allowed == unseen) return taken_ > limit_ ? Result::kGaveUp : Result::kImpossible;
    }
  }
  int64_t taken() const { return taken_; }
  // Of the longest attempt: whose answer had no explanation.
  const DataOperation* stuck() const { return stuck_; }

 private:
  using Done = std::bitset<kOperationsMax>;
  struct Place {
    size_t answers = 0;  // how many are explained
    Done done;           // all those, and what else happened by then
    DataState state;
  };

  static bool IsUnseen(const Step& step) { return !step.is_decided && !step.is_seen; }

  // Whether it is in vain to be here: one was here before, and spent nothing that is not spent now.
  bool IsOld(const Place& place) {
    const Done spent = place.done & ~decided_;
    // By a hash of what is decided and of the state. A collision only makes the search skip a
    // place: so unlikely with 64 bits that it is accepted.
    std::vector<Done>& before =
        seen_[std::hash<Done>()(place.done & decided_) * 31 + place.state.Hash()];
    for (const Done& other : before)
      if ((other & ~spent).none()) return true;
    std::erase_if(before, [&spent](const Done& other) { return (spent & ~other).none(); });
    before.push_back(spent);
    return false;
  }

  // A read under way that agrees can as well be now: it changes nothing.
  void TakeReads(Instant now, Place* place) const {
    for (size_t i = 0; i < all_.size() && all_[i].operation->invoked <= now; ++i) {
      if (place->done[i] || !all_[i].operation->IsRead()) continue;
      if (CanAnswer(place->state, *all_[i].operation, all_[i].wall)) place->done.set(i);
    }
  }

  // Whether somebody under way looks at what is there. If nobody does, one who wrote a single
  // record and was never answered need not have been here yet: whatever comes would only write over
  // it. Who was not answered either counts as well where it may write elsewhere for what it saw.
  bool AnyoneLooks(Instant now, const Done& done) const {
    for (size_t i = 0; i < all_.size() && all_[i].operation->invoked <= now; ++i) {
      const DataOperation& other = *all_[i].operation;
      if (!done[i] && !other.IsBlind() && (all_[i].is_decided || !other.IsOfOneRecord()))
        return true;
    }
    return false;
  }

  bool OrderAll() {
    // A stack of its own instead of recursion: histories are deeper than a thread's stack.
    std::vector<Place> stack = {Place()};
    while (!stack.empty()) {
      Place at = std::move(stack.back());
      stack.pop_back();
      while (at.answers < by_answer_.size()) {
        TakeReads(NextAnswer(at), &at);
        if (!at.done[by_answer_[at.answers]]) break;
        ++at.answers;
      }
      // What is left then was never answered: it may have happened later, or never.
      if (at.answers == by_answer_.size()) return true;
      NoteStuck(at);
      if (IsOld(at)) continue;
      if (++taken_ > limit_) return false;
      PushSuccessors(at, &stack);
    }
    return false;
  }

  Instant NextAnswer(const Place& place) const {
    return all_[by_answer_[place.answers]].operation->returned;
  }

  void NoteStuck(const Place& at) {
    if (stuck_ != nullptr && at.answers <= most_explained_) return;
    most_explained_ = at.answers;
    stuck_ = all_[by_answer_[at.answers]].operation;
  }

  // The last on the stack is tried first: whose answer comes next, then others that were answered,
  // by their answers, since one server gave them in the order of what happened; then those that
  // were not.
  void PushSuccessors(const Place& at, std::vector<Place>* stack) const {
    const Instant now = NextAnswer(at);
    size_t unseen = 0, known = 0;
    for (; known < all_.size() && all_[known].operation->invoked <= now; ++known)
      unseen += at.done[known] && IsUnseen(all_[known]);
    const bool anyone_looks = AnyoneLooks(now, at.done);
    for (size_t i = known; i-- > 0;) {
      const Step& step = all_[i];
      if (step.is_decided || at.done[i] || step.operation->IsRead()) continue;
      if (IsUnseen(step) && unseen >= allowed_) continue;
      if (!anyone_looks && step.operation->IsOfOneRecord()) continue;
      Push(at, i, stack);
    }
    for (size_t answer = by_answer_.size(); answer-- > at.answers;) {
      const size_t i = by_answer_[answer];
      if (i < known && !at.done[i] && !all_[i].operation->IsRead()) Push(at, i, stack);
    }
  }

  void Push(const Place& at, size_t i, std::vector<Place>* stack) const {
    // Several states where a record may have expired or not.
    for (DataState& state : StatesAfter(at.state, *all_[i].operation, all_[i].wall)) {
      stack->push_back({at.answers, at.done, std::move(state)});
      stack->back().done.set(i);
    }
  }

  const std::vector<Step> all_;    // by begin
  std::vector<size_t> by_answer_;  // those that have one
  Done decided_;
  const int64_t limit_;
  size_t allowed_ = 0;  // how many that are neither decided nor seen may be in the order
  int64_t taken_ = 0;
  // Of each set of decided operations and state: the undecided ones spent, none a part of another.
  std::unordered_map<uint64_t, std::vector<Done>> seen_;
  const DataOperation* stuck_ = nullptr;
  size_t most_explained_ = 0;
};

bool SaysSomething(const DataOperation& operation) {
  if (operation.outcome == DataOperation::Outcome::kRefused) return false;
  return !operation.IsRead() || operation.outcome == DataOperation::Outcome::kAnswered;
}

int64_t WholeSeconds(Instant instant) { return instant.nanos() / 1000000000; }

std::string Describe(const std::string& key, const std::string& what, const Search& search,
                     const std::vector<Step>& steps) {
  const bool is_find =
      search.stuck() != nullptr && search.stuck()->kind == DataOperation::Kind::kFind;
  std::string text =
      absl::StrCat(is_find ? "checkers/C9" : "checkers/C4", ": key ", key, " ", what);
  if (search.stuck() != nullptr) absl::StrAppend(&text, ": ", search.stuck()->ToString());
  absl::StrAppend(&text, "; its history:");
  for (const Step& step : steps) absl::StrAppend(&text, "\n    ", step.operation->ToString());
  return text;
}

// Marks the operations of which somebody read a value.
void MarkSeen(std::vector<Step>* steps) {
  std::set<std::string> values;
  for (const Step& step : *steps) {
    if (step.operation->value) values.insert(*step.operation->value);
    for (const auto& [sort_key, value] : step.operation->rows) values.insert(value);
  }
  for (Step& step : *steps) {
    const std::vector<DataOperation::Write>& writes = step.operation->writes;
    step.is_seen =
        std::any_of(writes.begin(), writes.end(), [&values](const DataOperation::Write& write) {
          return write.value && !write.value->empty() && values.contains(*write.value);
        });
  }
}

void CheckHashKey(const std::string& key, std::vector<Step> steps, const DataCheckOptions& options,
                  DataCheckResult* result) {
  ++result->keys;
  if (steps.size() > kOperationsMax) {
    ++result->undecided_keys;
    result->violations.push_back(absl::StrCat("checkers/C4: key ", key,
                                              " has too many operations to check: ", steps.size()));
    return;
  }
  MarkSeen(&steps);
  Search search(steps, options.steps_per_key);
  const Search::Result found = search.Run();
  result->steps = std::max(result->steps, search.taken());
  if (found == Search::Result::kImpossible)
    result->violations.push_back(Describe(key, "is not linearizable", search, steps));
  if (found != Search::Result::kGaveUp) return;
  ++result->undecided_keys;
  result->violations.push_back(Describe(
      key, absl::StrCat("stayed undecided after ", search.taken(), " steps"), search, steps));
}

}  // namespace

DataCheckResult CheckData(const DataHistory& history, const DataCheckOptions& options) {
  std::map<std::string, std::vector<Step>> keys;
  for (const DataOperation& operation : history.operations()) {
    if (!SaysSomething(operation)) continue;
    Step step{.operation = &operation};
    step.is_decided = operation.outcome == DataOperation::Outcome::kAnswered;
    step.wall.earliest =
        options.wall_zero + WholeSeconds(operation.invoked) - options.wall_error_seconds;
    // A write without an answer may take effect at any time: no upper end.
    if (step.is_decided)
      step.wall.latest =
          options.wall_zero + WholeSeconds(operation.returned) + 1 + options.wall_error_seconds;
    keys[operation.hash_key].push_back(step);
  }
  DataCheckResult result;
  for (auto& [key, steps] : keys) {
    // Each that has no order costs a whole search: some tell enough.
    if (result.violations.size() >= kViolationsMax) break;
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
      return a.operation->invoked < b.operation->invoked;
    });
    CheckHashKey(key, std::move(steps), options, &result);
  }
  return result;
}

}  // namespace arion::sim
