// SPDX-License-Identifier: Apache-2.0
#include "sim/data_checker.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "sim/data_model.h"

namespace arion::sim {
namespace {

constexpr size_t kOperationsMax = 512;
constexpr size_t kViolationsMax = 3;

struct Step {
  const DataOperation* operation = nullptr;
  WallWindow wall;
  bool is_decided = false;
  bool is_seen = false;  // somebody read a value that it wrote
};

class Search {
 public:
  Search(std::vector<Step> steps, int64_t limit) : all_(std::move(steps)), limit_(limit) {}

  enum class Result { kOrdered, kImpossible, kGaveUp };
  // What nobody decided need not have happened: an order without it is an order, and one with few of
  // those that nobody saw is found long before all have been tried.
  Result Run() {
    int left = 0, unseen = 0;
    for (const Step& step : all_) {
      left += step.is_decided;
      unseen += !step.is_decided && !step.is_seen;
    }
    for (int allowed = 0;; allowed = std::min(unseen, allowed == 0 ? 1 : 2 * allowed)) {
      taken_ = 0;
      seen_.clear();
      if (Visit(Done(), left, allowed, DataState())) return Result::kOrdered;
      if (allowed == unseen) return taken_ > limit_ ? Result::kGaveUp : Result::kImpossible;
    }
  }
  int64_t taken() const { return taken_; }
  // Of the deepest attempt: who could not be put into an order.
  const DataOperation* stuck() const { return stuck_; }

 private:
  using Done = std::bitset<kOperationsMax>;

  // The earliest end of what is decided and not done yet: nothing that begins later can be next.
  Instant Horizon(const Done& done) const {
    Instant horizon = Instant::InfiniteFuture();
    for (size_t i = 0; i < all_.size() && all_[i].operation->invoked <= horizon; ++i)
      if (!done[i]) horizon = std::min(horizon, all_[i].operation->returned);
    return horizon;
  }

  // A read that may be next and agrees can as well be next: it changes nothing.
  void TakeReads(const DataState& state, Done* done, int* left) const {
    for (bool again = true; again;) {
      again = false;
      const Instant horizon = Horizon(*done);
      for (size_t i = 0; i < all_.size() && all_[i].operation->invoked <= horizon; ++i) {
        if ((*done)[i] || !all_[i].operation->IsRead()) continue;
        if (!CanAnswer(state, *all_[i].operation, all_[i].wall)) continue;
        done->set(i);
        --*left;
        again = true;
      }
    }
  }

  void NoteStuck(const Done& done, int left) {
    if (stuck_ != nullptr && left >= least_left_) return;
    least_left_ = left;
    const Instant horizon = Horizon(done);
    for (size_t i = 0; i < all_.size(); ++i)
      if (!done[i] && all_[i].operation->returned == horizon) stuck_ = all_[i].operation;
  }

  // `allowed`: how many that are neither decided nor seen may still be put into the order.
  bool Visit(Done done, int left, int allowed, const DataState& state) {
    TakeReads(state, &done, &left);
    if (left == 0) return true;
    NoteStuck(done, left);
    if (!seen_.insert(std::hash<Done>()(done) * 31 + state.Hash()).second) return false;
    if (++taken_ > limit_) return false;
    const Instant horizon = Horizon(done);
    for (bool decided : {true, false}) {
      for (size_t i = 0; i < all_.size() && all_[i].operation->invoked <= horizon; ++i) {
        if (done[i] || all_[i].is_decided != decided || all_[i].operation->IsRead()) continue;
        const int cost = !decided && !all_[i].is_seen;
        if (cost > allowed) continue;
        done.set(i);
        for (const DataState& next : StatesAfter(state, *all_[i].operation, all_[i].wall)) {
          if (Visit(done, left - decided, allowed - cost, next)) return true;
          if (taken_ > limit_) return false;
        }
        done.reset(i);
      }
    }
    return false;
  }

  const std::vector<Step> all_;  // by begin
  const int64_t limit_;
  int64_t taken_ = 0;
  std::unordered_set<uint64_t> seen_;
  const DataOperation* stuck_ = nullptr;
  int least_left_ = 0;
};

bool SaysSomething(const DataOperation& operation) {
  if (operation.outcome == DataOperation::Outcome::kRefused) return false;
  return !operation.IsRead() || operation.outcome == DataOperation::Outcome::kAnswered;
}

int64_t WholeSeconds(Instant instant) { return instant.nanos() / 1000000000; }

std::string Describe(const std::string& key, const Search& search, const std::vector<Step>& steps) {
  std::string text = absl::StrCat("C4: key ", key, " is not linearizable");
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
    result->violations.push_back(
        absl::StrCat("C4: key ", key, " has too many operations to check: ", steps.size()));
    return;
  }
  MarkSeen(&steps);
  Search search(steps, options.steps_per_key);
  const Search::Result found = search.Run();
  result->steps = std::max(result->steps, search.taken());
  if (found == Search::Result::kImpossible)
    result->violations.push_back(Describe(key, search, steps));
  if (found != Search::Result::kGaveUp) return;
  ++result->undecided_keys;
  result->violations.push_back(absl::StrCat("C4: key ", key, " stayed undecided after ",
                                            search.taken(), " steps, ", steps.size(),
                                            " operations"));
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
