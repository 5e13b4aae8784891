// SPDX-License-Identifier: Apache-2.0
#include "recovery/recovery_progress.h"

#include <algorithm>

namespace arion {
namespace {

using Phase = RecoveryReport::Phase;

constexpr size_t At(RecoveryStep step) { return static_cast<size_t>(step); }

bool IsUnderWay(RecoveryStep step) {
  return step == RecoveryStep::kEngine || step == RecoveryStep::kReplay ||
         step == RecoveryStep::kCheckpoint;
}

bool IsEnded(RecoveryStep step) {
  return step == RecoveryStep::kServing || step == RecoveryStep::kFailed;
}

void Count(RecoveryStep step, uint64_t bytes, uint64_t bytes_done, RecoveryReport::Totals* totals) {
  ++totals->replicas;
  totals->done += step == RecoveryStep::kServing ? 1 : 0;
  totals->failed += step == RecoveryStep::kFailed ? 1 : 0;
  totals->under_way += IsUnderWay(step) ? 1 : 0;
  totals->bytes += bytes;
  totals->bytes_done += bytes_done;
}

// Of those under way the one that has been so for longest, else the one that ended last.
void ChooseSlowest(const RecoveryReport::Replica& replica, RecoveryReport* report) {
  const auto rank = [](const RecoveryReport::Replica& r) {
    const bool is_ended = IsEnded(r.step);
    // Under way ranks above ended; within each the longer, or later, one.
    return std::pair(is_ended ? 0 : 1, is_ended ? r.ended_after : r.took() + r.step_for);
  };
  if (replica.step == RecoveryStep::kWaiting) return;
  if (!report->slowest || rank(replica) > rank(*report->slowest)) report->slowest = replica;
}

}  // namespace

void RecoveryTicket::Enter(RecoveryStep step, Instant now) {
  const int64_t since = since_nanos_.exchange(now.nanos());
  const RecoveryStep before = step_.exchange(step);
  // Waiting is not work: its time is in no sum.
  if (before != RecoveryStep::kWaiting) nanos_[At(before)].fetch_add(now.nanos() - since);
}

void RecoveryProgress::Begin(std::vector<std::string> disk_tags, Instant now) {
  const MutexLock lock(mutex_);
  has_begun_ = true;
  begun_ = now;
  for (std::string& tag : disk_tags) disks_.push_back({.tag = std::move(tag)});
}

void RecoveryProgress::Expect(PartitionId pid, size_t disk) {
  const MutexLock lock(mutex_);
  replicas_[pid] = {.disk = disk, .ticket = std::make_shared<RecoveryTicket>()};
}

void RecoveryProgress::Listed(size_t disk, const std::map<PartitionId, uint64_t>& log_bytes,
                              Instant now) {
  const MutexLock lock(mutex_);
  disks_.at(disk).is_listed = true;
  // A disk without replicas has ended as soon as it is listed.
  if (log_bytes.empty()) disks_[disk].ended = now;
  for (const auto& [pid, bytes] : log_bytes)
    if (const auto it = replicas_.find(pid); it != replicas_.end()) it->second.bytes = bytes;
}

void RecoveryProgress::End(PartitionId pid, RecoveryStep step, Instant now) {
  const MutexLock lock(mutex_);
  const auto it = replicas_.find(pid);
  // A replica may fail after it served, which is no part of the start any more.
  if (it == replicas_.end() || it->second.ended) return;
  Replica& replica = it->second;
  replica.ticket->Enter(step, now);
  replica.ended = now;
  if (step == RecoveryStep::kServing && !first_served_) first_served_ = now;
  const bool is_last = std::all_of(replicas_.begin(), replicas_.end(), [&](const auto& other) {
    return other.second.disk != replica.disk || other.second.ended.has_value();
  });
  if (is_last) disks_.at(replica.disk).ended = now;
}

std::shared_ptr<RecoveryTicket> RecoveryProgress::TicketOf(PartitionId pid) const {
  const MutexLock lock(mutex_);
  const auto it = replicas_.find(pid);
  // Nobody reads the ticket of a replica that the start did not expect.
  return it == replicas_.end() || it->second.ended ? std::make_shared<RecoveryTicket>()
                                                   : it->second.ticket;
}

RecoveryReport::Replica RecoveryProgress::Describe(PartitionId pid, const Replica& replica,
                                                   Instant now) const {
  const RecoveryTicket& ticket = *replica.ticket;
  const auto spent = [&](RecoveryStep step) {
    return absl::Nanoseconds(ticket.nanos_[At(step)].load());
  };
  RecoveryReport::Replica row{.pid = pid,
                              .disk = disks_.at(replica.disk).tag,
                              .step = ticket.step_.load(),
                              .bytes = replica.bytes,
                              .in_engine = spent(RecoveryStep::kEngine),
                              .in_replay = spent(RecoveryStep::kReplay),
                              .in_checkpoint = spent(RecoveryStep::kCheckpoint)};
  // A log of which only the end needs to be read counts as read once that is known.
  const bool is_read = IsEnded(row.step) || row.step == RecoveryStep::kCheckpoint;
  row.bytes_done = is_read ? row.bytes : std::min(row.bytes, ticket.bytes_read_.load());
  if (row.step != RecoveryStep::kWaiting) row.step_for = now - Instant(ticket.since_nanos_.load());
  if (replica.ended) row.ended_after = *replica.ended - begun_;
  return row;
}

RecoveryReport RecoveryProgress::Report(Instant now) const {
  const MutexLock lock(mutex_);
  RecoveryReport report{.phase = Phase::kNotStarted};
  if (!has_begun_) return report;
  for (const Disk& disk : disks_) {
    RecoveryReport::Disk& row = report.disks.emplace_back();
    row.tag = disk.tag;
    row.is_listed = disk.is_listed;
    if (disk.ended) row.ended_after = *disk.ended - begun_;
  }
  // The end of the whole is the end of the last replica, not the time of this call.
  Instant end = begun_;
  for (const auto& [pid, replica] : replicas_) {
    const RecoveryReport::Replica row = Describe(pid, replica, now);
    Count(row.step, row.bytes, row.bytes_done, &report.all);
    Count(row.step, row.bytes, row.bytes_done, &report.disks[replica.disk]);
    report.in_engine += row.in_engine;
    report.in_replay += row.in_replay;
    report.in_checkpoint += row.in_checkpoint;
    if (replica.ended) end = std::max(end, *replica.ended);
    if (IsUnderWay(row.step)) report.under_way.push_back(row);
    ChooseSlowest(row, &report);
  }
  std::sort(report.under_way.begin(), report.under_way.end(), [](const auto& a, const auto& b) {
    return a.took() + a.step_for > b.took() + b.step_for;
  });
  const bool is_listed =
      std::all_of(disks_.begin(), disks_.end(), [](const Disk& disk) { return disk.is_listed; });
  const bool is_done = is_listed && report.all.done + report.all.failed == report.all.replicas;
  // In parallel mode the first disk may be at work while another is still being measured.
  const bool has_moved = report.all.done + report.all.failed + report.under_way.size() > 0;
  report.phase = is_done                    ? Phase::kDone
                 : !is_listed && !has_moved ? Phase::kListing
                                            : Phase::kRecovering;
  report.elapsed = (is_done ? end : now) - begun_;
  if (first_served_) report.first_served_after = *first_served_ - begun_;
  const double seconds = absl::ToDoubleSeconds(report.elapsed);
  if (seconds > 0) report.bytes_per_second = static_cast<double>(report.all.bytes_done) / seconds;
  if (is_done) report.remaining = absl::ZeroDuration();
  // The rate means something only when all bytes are known.
  else if (is_listed && report.bytes_per_second > 0)
    report.remaining = absl::Seconds(static_cast<double>(report.all.bytes - report.all.bytes_done) /
                                     report.bytes_per_second);
  return report;
}

}  // namespace arion
