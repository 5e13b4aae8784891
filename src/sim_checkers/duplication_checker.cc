// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/duplication_checker.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <algorithm>

namespace arion::sim {
namespace {

// duplication_checker/D2
constexpr absl::Duration kToldAfterMax = absl::Seconds(60);
// As senders say it (duplication/duplication_sender.cc).
constexpr char kLogIsGone[] = "the log no longer has";

}  // namespace

void DuplicationChecker::AtSource(PartitionId pid, Decree decree, int64_t timestamp_us, Ops ops) {
  Partition& partition = partitions_[pid];
  if (decree <= partition.at_source) return;  // by another member
  partition.at_source = decree;
  ++moment_;
  for (const WriteOp& op : ops) {
    if (op.time_tag != 0) continue;  // another cluster's: it goes no farther
    partition.records[std::string(op.key)].source.push_back({StateOf(op, timestamp_us), decree});
  }
}

void DuplicationChecker::AtReceiver(PartitionId pid, Decree decree, Ops ops, Instant now) {
  Partition& partition = partitions_[pid];
  if (decree <= partition.at_receiver) return;
  // It goes on behind the checkpoint's decree.
  if (partition.copied == kInvalidDecree) partition.copied = decree - 1;
  partition.at_receiver = decree;
  ++moment_;
  auto& since = partition.confirmed_since;
  while (since.size() > 1 && since[1].first <= now - kToldAfterMax) since.pop_front();
  const bool is_any = !since.empty() && since.front().first <= now - kToldAfterMax;
  const Decree confirmed = is_any ? since.front().second : kInvalidDecree;
  for (const WriteOp& op : ops) {
    const TimeTag tag = TimeTag::FromPacked(op.time_tag);
    if (tag.cluster_id != source_id_)
      violations_.push_back(absl::StrCat(
          "duplication_checker/D1: decree ", decree.value(), " of the receiver writes ",
          NameOfRecord(pid, std::string(op.key)), " as cluster ", int{tag.cluster_id}));
    ++received_;
    partition.records[std::string(op.key)].receiver.push_back(
        {StateOf(op, tag.timestamp_us), confirmed, moment_});
  }
}

void DuplicationChecker::Said(PartitionId pid, const DuplicationConfirmEntry& entry) {
  ++moment_;
  std::vector<Claim>& claims = partitions_[pid].claims;
  const Decree decree(entry.confirmed_decree);
  if (claims.empty() || decree > claims.back().decree) claims.push_back({decree, moment_});
  if (!absl::StrContains(entry.trouble.value_or(""), kLogIsGone)) {
    stopped_.erase(pid);
    return;
  }
  if (!stopped_.insert(pid).second) return;
  violations_.push_back(
      absl::StrCat("duplication_checker/D5: [", pid.ToString(), "] stops: ", *entry.trouble));
}

void DuplicationChecker::Stored(PartitionId pid, Decree confirmed, Instant now) {
  Partition& partition = partitions_[pid];
  if (confirmed < partition.confirmed)
    violations_.push_back(absl::StrCat("duplication_checker/D2: of [", pid.ToString(), "] decree ",
                                       confirmed.value(), " is confirmed, and ",
                                       partition.confirmed.value(), " was before"));
  if (confirmed > partition.confirmed) partition.confirmed_since.emplace_back(now, confirmed);
  partition.confirmed = confirmed;
}

void DuplicationChecker::Looked(const std::string& server, PartitionId pid,
                                std::optional<Ballot> member_under, Decree log_begins) {
  const Partition& partition = partitions_[pid];
  if (!member_under || partition.confirmed < Decree(0)) return;
  if (log_begins <= partition.confirmed + 1) return;
  violations_.push_back(absl::StrCat("duplication_checker/D4: the log of [", pid.ToString(),
                                     "] at ", server, " begins at decree ", log_begins.value(),
                                     ", and ", partition.confirmed.value(), " is confirmed"));
}

// Up to there the receiver had everything before it was sent anything, or need not have it.
Decree DuplicationChecker::BeginOf(const Partition& partition) {
  const Decree claimed = partition.claims.empty() ? Decree(0) : partition.claims.front().decree;
  return std::max(claimed, partition.copied);
}

DuplicationChecker::Course DuplicationChecker::Follow(const Partition& partition,
                                                      const Record& record) {
  const std::vector<State>& source = record.source;
  const Decree begin = BeginOf(partition);
  Course course;
  course.first.assign(source.size(), -1);
  // The index of the state that the receiver has; at first the last one before the duplication.
  auto at = static_cast<int64_t>(
                std::count_if(source.begin(), source.end(),
                              [begin](const State& state) { return state.decree <= begin; })) -
            1;
  Decree confirmed = kInvalidDecree;
  for (const Received& received : record.receiver) {
    int64_t next = std::min(at + 1, static_cast<int64_t>(source.size()) - 1);
    while (next >= 0 &&
           source[static_cast<size_t>(next)].made.fingerprint != received.made.fingerprint)
      --next;
    const auto text = [&source](int64_t index) {
      return index < 0 ? std::string("the beginning")
                       : absl::StrCat(source[static_cast<size_t>(index)].made.text, " (decree ",
                                      source[static_cast<size_t>(index)].decree.value(), ")");
    };
    if (next < 0) {
      course.violation = absl::StrCat(
          "duplication_checker/D1: %s becomes ", received.made.text, " behind ", text(at),
          at + 1 < static_cast<int64_t>(source.size()) ? absl::StrCat(", and not ", text(at + 1))
                                                       : std::string(", the last there is"));
      return course;
    }
    if (next < at && source[static_cast<size_t>(next)].decree <= confirmed) {
      course.violation =
          absl::StrCat("duplication_checker/D2: %s goes back from ", text(at), " to ", text(next),
                       ", and ", confirmed.value(), " was confirmed long ago");
      return course;
    }
    confirmed = received.confirmed;
    int64_t& first = course.first[static_cast<size_t>(next)];
    if (first < 0)
      first = received.moment;
    else
      ++course.again;
    at = next;
  }
  return course;
}

std::string DuplicationChecker::FalseClaim(const Partition& partition, const Record& record,
                                           const Course& course) {
  for (size_t i = 0; i < record.source.size(); ++i) {
    const State& state = record.source[i];
    if (partition.claims.empty() || state.decree <= BeginOf(partition)) continue;
    const auto claim =
        std::lower_bound(partition.claims.begin(), partition.claims.end(), state.decree,
                         [](const Claim& one, Decree decree) { return one.decree < decree; });
    if (claim == partition.claims.end()) return "";
    if (course.first[i] < 0 || course.first[i] > claim->moment)
      return absl::StrCat("duplication_checker/D3: decree ", claim->decree.value(),
                          " was said to be received before %s became ", state.made.text,
                          " (decree ", state.decree.value(), ")",
                          course.first[i] < 0 ? ", which it never did" : "");
  }
  return "";
}

Violations DuplicationChecker::Judge() const {
  constexpr size_t kMost = 20;
  Violations violations = violations_;
  for (const auto& [pid, partition] : partitions_) {
    if (begins_with_checkpoints_ && partition.copied != kInvalidDecree &&
        !partition.claims.empty() && partition.copied < partition.claims.front().decree)
      violations.push_back(absl::StrCat("duplication_checker/D6: the receiver's [", pid.ToString(),
                                        "] began with decree ", partition.copied.value(),
                                        ", and what follows ",
                                        partition.claims.front().decree.value(), " was sent"));
    for (const auto& [key, record] : partition.records) {
      const Course course = Follow(partition, record);
      std::string what = course.violation;
      if (what.empty()) what = FalseClaim(partition, record, course);
      if (what.empty()) continue;
      violations.push_back(what.replace(what.find("%s"), 2, NameOfRecord(pid, key)));
      if (violations.size() >= kMost) return violations;
    }
  }
  return violations;
}

int64_t DuplicationChecker::CountAgain() const {
  int64_t again = 0;
  for (const auto& [pid, partition] : partitions_)
    for (const auto& [key, record] : partition.records) again += Follow(partition, record).again;
  return again;
}

}  // namespace arion::sim
