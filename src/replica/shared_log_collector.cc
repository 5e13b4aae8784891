// SPDX-License-Identifier: Apache-2.0
#include "replica/shared_log_collector.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/named_list.h"
#include "base/status.h"
#include "legacy/shared_log_removal.h"

namespace arion {
namespace {

constexpr size_t kNamedMax = 5;  // replicas a log line names

std::string_view WhyText(CollectionPlan::Blocking::Why why) {
  switch (why) {
    case CollectionPlan::Blocking::Why::kNotDurable:
      return "no checkpoint yet";
    case CollectionPlan::Blocking::Why::kUnopened:
      return "not open";
    case CollectionPlan::Blocking::Why::kDiskMissing:
      return "not found, perhaps on a disk that is missing";
    case CollectionPlan::Blocking::Why::kNotFound:
      return "not found in any data directory";
  }
  return "?";
}

}  // namespace

SharedLogCollector::SharedLogCollector(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
                                       std::shared_ptr<ReplicaTable> table, Found found,
                                       SharedLogCatalog catalog, Disposal disposal,
                                       std::function<void(Missing)> ask_about_missing)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      table_(std::move(table)),
      found_(std::move(found)),
      catalog_(std::move(catalog)),
      disposal_(disposal),
      ask_about_missing_(std::move(ask_about_missing)),
      began_(host_->env.clock().Now()),
      limiter_(static_cast<size_t>(host_->options.shared_log_flushes_max)) {}

void SharedLogCollector::Start(const std::map<PartitionId, Decree>& max_of_newest) {
  CHECK_ON_STRAND(strand_);
  files_ = CollectionFilesOf(catalog_.files, max_of_newest);
  Schedule();
}

void SharedLogCollector::Schedule() {
  strand_->PostAfter(host_->options.shared_log_collection_interval, [self = weak_from_this()] {
    if (const auto collector = self.lock()) collector->Round();
  });
}

void SharedLogCollector::Round() {
  if (is_stopped_) return;
  table_->Snapshot([self = weak_from_this()](std::vector<ReplicaSnapshot> snapshots) {
    if (const auto collector = self.lock()) collector->OnSnapshots(snapshots);
  });
}

void SharedLogCollector::OnSnapshots(const std::vector<ReplicaSnapshot>& snapshots) {
  if (is_stopped_) return;
  CollectionInput input = InputOf(snapshots);
  if (IsForeign(input))
    input.disks = CollectionInput::Disks::kSomeMissing;
  else
    AddMissing(&input);
  CollectionPlan plan = PlanCollection(files_, input);
  // A damaged log is set aside as a whole: its parts could not be read without each other.
  if (disposal_ == Disposal::kSetAside && plan.removable < files_.size()) plan.removable = 0;
  Say(plan);
  ForceFlushes(plan);
  if (plan.removable == 0 && !files_.empty()) return Schedule();
  Remove(plan.removable);
}

CollectionInput SharedLogCollector::InputOf(const std::vector<ReplicaSnapshot>& snapshots) const {
  CollectionInput input;
  input.disks = found_.disks;
  input.unopened = table_->failed_to_open();
  input.unopened.insert(found_.unloaded.begin(), found_.unloaded.end());
  for (const ReplicaSnapshot& replica : snapshots) {
    const auto route = table_->Find(replica.pid);
    if (route && route->phase == ReplicaTable::Phase::kOpen && !replica.loading) {
      input.loaded[replica.pid] = {replica.last_durable, replica.valid_start_in_shared_log};
      input.unopened.erase(replica.pid);
    } else {
      input.unopened.insert(replica.pid);
    }
  }
  // What was set aside here may have been made anew on the disk that is missing.
  if (found_.disks == CollectionInput::Disks::kAllReadable)
    for (const PartitionId pid : found_.set_aside)
      if (!input.unopened.contains(pid)) input.gone.insert(pid);
  return input;
}

void SharedLogCollector::AddMissing(CollectionInput* input) {
  const bool is_late =
      host_->env.clock().Now() - began_ >= host_->options.shared_log_missing_wait_max;
  std::set<PartitionId> missing;
  if (!files_.empty())
    for (const auto& [pid, max] : files_.back().max)
      if (!input->loaded.contains(pid) && !input->unopened.contains(pid) &&
          !input->gone.contains(pid))
        missing.insert(pid);
  for (const PartitionId pid : missing)
    if (is_late ||
        (input->disks == CollectionInput::Disks::kAllReadable && unneeded_.contains(pid)))
      input->gone.insert(pid);
  ask_about_missing_(
      {.replicas = std::move(missing),
       .on_unneeded = [self = weak_from_this()](const std::vector<PartitionId>& all) {
         if (const auto collector = self.lock()) collector->unneeded_ = {all.begin(), all.end()};
       }});
}

// Of all the replicas it holds not one is here: then these may be another server's files.
bool SharedLogCollector::IsForeign(const CollectionInput& input) {
  if (files_.empty() || files_.back().max.empty()) return false;
  if (input.loaded.empty() && input.unopened.empty()) return false;  // nobody is here at all
  for (const auto& [pid, max] : files_.back().max)
    if (input.loaded.contains(pid) || input.unopened.contains(pid) || input.gone.contains(pid))
      return false;
  LOG_IF(ERROR, !std::exchange(is_foreign_said_, true))
      << "shared log " << catalog_.directory
      << ": none of the replicas it holds is on this server; it is kept. If these are no other "
         "server's files, and those replicas are gone for good, remove it by hand";
  return true;
}

void SharedLogCollector::Say(const CollectionPlan& plan) {
  SharedLogStats& stats = *host_->shared_log_stats;
  int64_t behind = 0, missing = 0;
  std::vector<std::string> lines;
  for (const CollectionPlan::Blocking& blocking : plan.blocking) {
    behind = std::max(behind, blocking.decrees_behind);
    missing += blocking.why == CollectionPlan::Blocking::Why::kDiskMissing ||
               blocking.why == CollectionPlan::Blocking::Why::kNotFound;
    lines.push_back(absl::StrCat(blocking.pid.ToString(), " by ", blocking.decrees_behind,
                                 " decrees (", Text(WhyText(blocking.why)), ")"));
  }
  stats.replicas_blocking = static_cast<int64_t>(plan.blocking.size());
  stats.replicas_missing = missing;
  stats.decrees_behind = behind;
  const std::string text =
      NamedList(lines, kNamedMax, [](const std::string& line) { return line; });
  stats.SetBlocking(std::move(lines));
  if (text == said_) return;
  said_ = text;
  LOG_IF(INFO, !text.empty()) << "shared log " << catalog_.directory << ": "
                              << catalog_.files.size() << " files, " << catalog_.bytes()
                              << " bytes left, held back by " << text;
}

void SharedLogCollector::ForceFlushes(const CollectionPlan& plan) {
  std::vector<PartitionId> behind;
  for (const auto& blocking : plan.blocking)
    if (blocking.why == CollectionPlan::Blocking::Why::kNotDurable) behind.push_back(blocking.pid);
  behind.resize(std::min(behind.size(), limiter_.Next(behind.size())));
  const absl::Duration spread = host_->options.shared_log_collection_interval / 2;
  for (const PartitionId pid : behind) {
    const auto route = table_->Find(pid);
    if (!route || route->phase != ReplicaTable::Phase::kOpen) continue;
    const double share = static_cast<double>(host_->env.random().Below(1000)) / 1000;
    route->replica->strand()->PostAfter(spread * share, [replica = std::weak_ptr(route->replica)] {
      if (const auto live = replica.lock()) live->CheckpointNow();
    });
  }
}

void SharedLogCollector::Remove(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(catalog_.files[i].file_name);
  // A newest file that never got its first block goes last.
  if (count == catalog_.files.size())
    for (const std::string& ignored : catalog_.ignored)
      names.push_back(ignored.substr(0, ignored.find(':')));
  host_->env.disk_pool(catalog_.directory)
      .Submit([self = shared_from_this(), count, names = std::move(names)] {
        size_t done = 0;
        const absl::Status status =
            self->disposal_ == Disposal::kRemove
                ? RemoveSharedLogFiles(self->host_->env.files(), self->catalog_.directory, names,
                                       &done)
                : SetSharedLogFilesAside(self->host_->env.files(), self->catalog_.directory, names,
                                         &done);
        self->strand_->Post(
            [self, removed = std::min(done, count), status] { self->OnRemoved(removed, status); });
      });
}

void SharedLogCollector::OnRemoved(size_t removed, const absl::Status& status) {
  LOG_IF(ERROR, !status.ok()) << "shared log " << catalog_.directory
                              << ": a file can't be removed, tried again: " << status;
  const auto n = static_cast<std::ptrdiff_t>(removed);
  catalog_.files.erase(catalog_.files.begin(), catalog_.files.begin() + n);
  files_.erase(files_.begin(), files_.begin() + n);
  SharedLogStats& stats = *host_->shared_log_stats;
  stats.files = static_cast<int64_t>(catalog_.files.size());
  stats.bytes = static_cast<int64_t>(catalog_.bytes());
  LOG_IF(INFO, removed > 0) << "shared log " << catalog_.directory << ": " << removed
                            << " files gone, " << catalog_.files.size() << " left";
  if (is_stopped_) return;
  if (!status.ok() || !catalog_.files.empty()) return Schedule();
  OnGone();
}

void SharedLogCollector::OnGone() {
  host_->shared_log_end->store(0);
  host_->shared_log_stats->replicas_blocking = 0;
  host_->shared_log_stats->replicas_missing = 0;
  host_->shared_log_stats->SetBlocking({});
  ask_about_missing_({});
  host_->shared_log_stats->decrees_behind = 0;
  LOG(INFO) << "shared log " << catalog_.directory << " is gone: all is in the private logs";
  table_->ForgetSharedLog();
}

}  // namespace arion
