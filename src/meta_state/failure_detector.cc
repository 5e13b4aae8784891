// SPDX-License-Identifier: Apache-2.0
#include "meta_state/failure_detector.h"

#include <algorithm>

namespace arion {

namespace {
// So many former processes of a server are told from its present one.
constexpr size_t kFormerIds = 4;
}  // namespace

// Of one that was dead for a grace nothing of a former process is still on its way.
bool FailureDetector::IsFormer(const Record& record, const Process& process) {
  if (!record.alive || !process.id || process.id == record.process.id) return false;
  const std::deque<int64_t>& former = record.former_ids;
  return std::find(former.begin(), former.end(), *process.id) != former.end();
}

bool FailureDetector::IsAnother(const Record& record, const Process& process) {
  const Process& known = record.process;
  // An id is drawn anew for each process, whatever its clock says.
  if (process.id && known.id) return process.id != known.id;
  if (!process.start_time || !known.start_time) return false;
  // Of one that is dead for a grace nothing is late any more, so any other time is another process.
  return record.alive ? *process.start_time > *known.start_time
                      : *process.start_time != *known.start_time;
}

FailureDetector::Verdict FailureDetector::OnBeacon(Endpoint node, Process process, Instant now) {
  auto [entry, is_new] = records_.try_emplace(node);
  Record& record = entry->second;
  if (IsFormer(record, process)) return Verdict::kFormer;
  bool restarted = IsAnother(record, process);
  if (is_new) record.up_since = now;
  if (restarted) {
    bool was_stable = now - record.up_since >= options_.stable_running;
    // One long life is enough to begin the count anew.
    record.unstable_restarts = was_stable ? 0 : record.unstable_restarts + 1;
    record.up_since = now;
    // A lease of the former process counts from that beacon, not from the restart.
    record.former_service_end = record.last_beacon;
    if (record.process.id) record.former_ids.push_back(*record.process.id);
    if (record.former_ids.size() > kFormerIds) record.former_ids.pop_front();
  }
  // A server that the store named has no process yet (AssumeAlive): its first beacon brings it.
  if (restarted || !record.process.start_time) record.process = process;

  if (options_.max_successive_unstable_restarts > 0 &&
      record.unstable_restarts >= options_.max_successive_unstable_restarts) {
    if (now - record.up_since < options_.stable_running) return Verdict::kRefused;
    record.unstable_restarts = 0;
    // Its restart was never told to anyone.
    restarted = true;
  }
  bool was_alive = record.alive;
  record.alive = true;
  record.last_beacon = std::max(record.last_beacon, now);
  if (restarted) return Verdict::kRestarted;
  return was_alive ? Verdict::kAlive : Verdict::kCameAlive;
}

void FailureDetector::AssumeAlive(Endpoint node, Instant now) {
  Record& record = records_[node];
  record.alive = true;
  record.last_beacon = now;
  record.up_since = now;
}

std::vector<Endpoint> FailureDetector::Expire(Instant now) {
  std::vector<Endpoint> dead;
  for (auto& [node, record] : records_) {
    if (record.alive && now >= record.last_beacon + options_.grace) {
      record.alive = false;
      ++record.deaths;
      dead.push_back(node);
    }
  }
  return dead;
}

Instant FailureDetector::NextDeadline() const {
  Instant next = Instant::InfiniteFuture();
  for (const auto& [node, record] : records_) {
    if (record.alive) next = std::min(next, record.last_beacon + options_.grace);
  }
  return next;
}

int64_t FailureDetector::Deaths(Endpoint node) const {
  auto found = records_.find(node);
  return found == records_.end() ? 0 : found->second.deaths;
}

Instant FailureDetector::FormerServiceEnd(Endpoint node) const {
  auto found = records_.find(node);
  return found == records_.end() ? Instant() : found->second.former_service_end;
}

}  // namespace arion
