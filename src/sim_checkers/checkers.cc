// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/checkers.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>

#include "base/status.h"
#include "messages/split_messages.h"

namespace arion::sim {

void CommitChecker::Applied(std::string_view server, PartitionId pid, Decree decree,
                            uint64_t checksum) {
  ++applications_;
  // 0 stands for: nobody applied it.
  checksum = std::max<uint64_t>(checksum, 1);
  Partition& partition = partitions_[pid];
  partition.is_applied_to = true;
  std::vector<uint64_t>& contents = partition.contents;
  const auto index = static_cast<size_t>(std::max<int64_t>(decree.value() - 1, 0));
  if (contents.size() <= index) contents.resize(index + 1);
  // The first application is taken for the truth; whoever differs later is the violation. Either
  // may be wrong.
  if (contents[index] == 0) contents[index] = checksum;
  if (contents[index] != checksum) {
    violations_.push_back(absl::StrCat("checkers/C1, checkers/C3, checkers/C5: ", Text(server),
                                       " applied to ", pid.ToString(), " decree ", decree.value(),
                                       " other content than a member before it"));
  }
  auto standing_at = partition.standing.find(server);
  if (standing_at == partition.standing.end())
    standing_at = partition.standing.emplace(server, Decree(0)).first;
  Decree& standing = standing_at->second;
  if (decree != standing + 1) {
    violations_.push_back(absl::StrCat("checkers/C1: ", Text(server), " applied to ",
                                       pid.ToString(), " decree ", decree.value(), " after ",
                                       standing.value()));
  }
  // Goes on from here, so that one hole is one violation.
  standing = decree;
  partition.max_applied = std::max(partition.max_applied, decree);
}

void CommitChecker::InheritUpTo(PartitionId child, Decree decree) {
  if (child.index <= 0) return;
  const auto parent = partitions_.find(ParentOf(child));
  Partition& partition = partitions_[child];
  if (partition.is_stored || parent == partitions_.end() || parent->second.max_applied < decree)
    return;
  const std::vector<uint64_t>& contents = parent->second.contents;
  partition.contents.resize(
      std::max(partition.contents.size(), static_cast<size_t>(decree.value())));
  for (int64_t i = 0; i < decree.value(); ++i)
    if (partition.contents[i] == 0) partition.contents[i] = contents[i];
  partition.max_applied = decree;
}

void CommitChecker::Opened(std::string_view server, PartitionId pid, Decree decree) {
  Partition& partition = partitions_[pid];
  if (decree > partition.max_applied) InheritUpTo(pid, decree);
  if (!partition.is_applied_to && copied_.contains(pid.app_id))
    partition.max_applied = std::max(partition.max_applied, decree);
  // A life begins, or a checkpoint took the content's place: it may stand lower than before.
  partition.standing.insert_or_assign(std::string(server), decree);
  if (decree > partition.max_applied) {
    violations_.push_back(absl::StrCat("checkers/C6: ", Text(server), " opened ", pid.ToString(),
                                       " at decree ", decree.value(), ", which nobody applied"));
  }
}

Decree CommitChecker::max_applied(PartitionId pid) const {
  const auto it = partitions_.find(pid);
  return it == partitions_.end() ? Decree(0) : it->second.max_applied;
}

void PrimaryChecker::Prepared(PartitionId pid, Ballot ballot, Endpoint sender) {
  auto [it, is_first] = senders_.emplace(std::pair(pid, ballot), sender);
  if (!is_first && it->second != sender) {
    violations_.push_back(absl::StrCat("checkers/C2: ", pid.ToString(), " ballot ", ballot.value(),
                                       " was used by ", it->second.ToString(), " and by ",
                                       sender.ToString()));
    // One violation for each change of the sender, not for each message.
    it->second = sender;
  }
}

void PrimaryChecker::Stored(PartitionId pid, Endpoint primary) {
  primaries_[pid] = primary;
  ever_primaries_.insert({pid, primary});
}

void PrimaryChecker::Answered(PartitionId pid, Endpoint server, Asked what, Instant now) {
  auto it = primaries_.find(pid);
  // While nobody is stored as primary the former one may serve until its lease ends.
  if (it == primaries_.end() || !it->second.IsValid() || it->second == server) return;
  if (what == Asked::kWrite && ever_primaries_.contains({pid, server})) return;
  if (!reported_.insert({pid, server}).second) return;
  violations_.push_back(absl::StrFormat(
      "checkers/C2: %s answered a client of %s at %.6f s, though %s was stored as primary",
      server.ToString(), pid.ToString(), static_cast<double>(now.nanos()) / 1e9,
      it->second.ToString()));
}

void BallotChecker::Stored(PartitionId pid, Ballot ballot) {
  auto [it, is_first] = stored_.emplace(pid, ballot);
  // The same ballot again is no change of the members, for example a load at a start.
  if (!is_first && ballot < it->second) {
    violations_.push_back(absl::StrCat("checkers/C7: the ballot of ", pid.ToString(), " fell from ",
                                       it->second.value(), " to ", ballot.value()));
  } else if (!is_first && ballot > it->second + 1) {
    violations_.push_back(absl::StrCat("checkers/C7: the ballot of ", pid.ToString(),
                                       " leapt from ", it->second.value(), " to ", ballot.value()));
  }
  it->second = ballot;
}

void BallotChecker::Used(PartitionId pid, Ballot ballot) {
  auto it = stored_.find(pid);
  // A smaller one is of a primary that does not know yet; others refuse it.
  if (it != stored_.end() && ballot <= it->second) return;
  if (!reported_.insert({pid, ballot}).second) return;
  violations_.push_back(absl::StrCat("checkers/C7: ", pid.ToString(), " ballot ", ballot.value(),
                                     " was used before it was durable"));
}

namespace {

struct Value {
  const Operation* write = nullptr;  // null: the value before the first write
  Instant first_end = Instant::InfiniteFuture();
  Instant last_begin{INT64_MIN};
  bool was_read = false;

  bool IsForward() const { return first_end < last_begin; }
};

double Seconds(Instant instant) { return static_cast<double>(instant.nanos()) / 1e9; }

std::string Quote(const std::string& value) {  // without its padding
  return absl::StrCat("\"", value.substr(0, value.find('~')), "\"");
}

std::string Describe(const Value& value) {
  return value.write == nullptr ? std::string("the initial value") : Quote(value.write->value);
}

using Values = std::map<std::string_view, Value>;

// When each value was there, as the operations show it. A read of what can't be is a violation.
Values ValuesOf(std::string_view key, const std::vector<const Operation*>& operations,
                Violations* violations) {
  Values values;
  // Reads that found nothing read this value.
  Value& initial = values[""];
  initial.first_end = Instant(INT64_MIN);
  for (const Operation* operation : operations) {
    // All writes first: reads may come before the write's record.
    if (operation->kind != Operation::Kind::kWrite) continue;
    Value& value = values[operation->value];
    value.write = operation;
    value.last_begin = operation->invoked;
    value.first_end = operation->returned;
  }
  for (const Operation* operation : operations) {
    if (operation->kind != Operation::Kind::kRead || operation->outcome != Operation::Outcome::kOk)
      continue;
    auto it = values.find(operation->value);
    if (it == values.end()) {
      violations->push_back(absl::StrCat("checkers/C4: key ", Text(key), " read ",
                                         Quote(operation->value), ", which nobody wrote"));
      continue;
    }
    Value& value = it->second;
    if (value.write != nullptr && value.write->outcome == Operation::Outcome::kRefused &&
        !value.was_read) {
      violations->push_back(absl::StrCat("checkers/C4: key ", Text(key), " read ", Describe(value),
                                         ", whose write was refused"));
    }
    if (value.write != nullptr && operation->returned < value.write->invoked) {
      violations->push_back(absl::StrCat("checkers/C4: key ", Text(key), " read ", Describe(value),
                                         " before it was written"));
    }
    value.was_read = true;
    value.first_end = std::min(value.first_end, operation->returned);
    value.last_begin = std::max(value.last_begin, operation->invoked);
  }
  return values;
}

// Two values at one time are a violation.
void FindClashes(std::string_view key, const Values& values, Violations* violations) {
  // A value that was in place for a span (first end before last begin) is forward; one whose
  // operations all overlap is backward, and may be placed at a point.
  std::vector<const Value*> forward, backward;
  for (const auto& [text, value] : values) {
    // A write without an answer that nobody read need not have happened.
    bool happened =
        value.was_read || value.write == nullptr || value.write->outcome == Operation::Outcome::kOk;
    if (happened) (value.IsForward() ? forward : backward).push_back(&value);
  }
  auto clash = [&](const Value& a, const Value& b) {
    violations->push_back(absl::StrFormat(
        "checkers/C4: key %s is not linearizable: %s was there from %.6f s to %.6f s, %s "
        "from %.6f s to %.6f s",
        Text(key), Describe(a), Seconds(a.first_end), Seconds(a.last_begin), Describe(b),
        Seconds(b.first_end), Seconds(b.last_begin)));
  };
  std::sort(forward.begin(), forward.end(),
            [](const Value* a, const Value* b) { return a->first_end < b->first_end; });
  const Value* longest = nullptr;  // of those begun, the one that lasts longest
  for (const Value* value : forward) {
    if (longest != nullptr && value->first_end < longest->last_begin &&
        longest->first_end < value->last_begin) {
      clash(*longest, *value);
    }
    if (longest == nullptr || longest->last_begin < value->last_begin) longest = value;
  }
  // A backward span [last_begin, first_end] inside a forward one: its operations all fall between,
  // yet within that value.
  for (const Value* value : backward) {
    auto it = std::partition_point(forward.begin(), forward.end(), [&](const Value* f) {
      return f->first_end < value->last_begin;
    });
    for (auto candidate = forward.begin(); candidate != it; ++candidate) {
      if (value->first_end < (*candidate)->last_begin) clash(**candidate, *value);
    }
  }
}

void CheckKey(std::string_view key, const std::vector<const Operation*>& operations,
              Violations* violations) {
  FindClashes(key, ValuesOf(key, operations, violations), violations);
}

}  // namespace

Violations CheckLinearizable(const History& history) {
  std::map<std::string_view, std::vector<const Operation*>> keys;
  for (const Operation& operation : history.operations())
    if (operation.kind != Operation::Kind::kIncrement) keys[operation.key].push_back(&operation);
  Violations violations;
  for (const auto& [key, operations] : keys) CheckKey(key, operations, &violations);
  return violations;
}

}  // namespace arion::sim
