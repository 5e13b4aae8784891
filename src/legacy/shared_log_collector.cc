// SPDX-License-Identifier: Apache-2.0
#include "legacy/shared_log_collector.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/named_list.h"
#include "base/status.h"
#include "env/clock.h"
#include "legacy/shared_log_removal.h"
#include "legacy/shared_log_stats.h"

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

SharedLogCollector::SharedLogCollector(Environment& env, StrandPtr strand,
                                       const SharedLogOptions& options, Server server,
                                       NotLoadedReplicas found, SharedLogCatalog catalog,
                                       Disposal disposal, std::shared_ptr<SharedLogStats> stats)
    : env_(env),
      strand_(std::move(strand)),
      options_(options),
      server_(std::move(server)),
      found_(std::move(found)),
      catalog_(std::move(catalog)),
      disposal_(disposal),
      stats_(std::move(stats)),
      began_(env_.clock().Now()),
      limiter_(static_cast<size_t>(options_.flushes_max)) {}

void SharedLogCollector::Start(const std::map<PartitionId, Decree>& max_of_newest) {
  CHECK_ON_STRAND(strand_);
  files_ = CollectionFilesOf(catalog_.files, max_of_newest);
  Schedule();
}

void SharedLogCollector::Schedule() {
  strand_->PostAfter(options_.collection_interval, [self = weak_from_this()] {
    if (const auto collector = self.lock()) collector->Round();
  });
}

void SharedLogCollector::Round() {
  if (is_stopped_) return;
  server_.ask_replicas([self = weak_from_this()](Replicas replicas) {
    if (const auto collector = self.lock()) collector->OnReplicas(std::move(replicas));
  });
}

void SharedLogCollector::OnReplicas(Replicas replicas) {
  if (is_stopped_) return;
  CollectionInput input = InputOf(std::move(replicas));
  // A log that may be another server's is kept as if a disk were missing: nobody is asked, and time
  // alone removes nothing.
  if (IsForeign(input))
    input.disks = CollectionInput::Disks::kSomeMissing;
  else
    AddMissing(&input);
  CollectionPlan plan = PlanCollection(files_, input);
  // A damaged log is set aside as a whole: its parts could not be read without each other.
  if (disposal_ == Disposal::kSetAside && plan.removable < files_.size()) plan.removable = 0;
  Say(plan);
  ForceFlushes(plan);
  // With no files from the start there is still an ignored one to remove, and on_gone to be said.
  if (plan.removable == 0 && !files_.empty()) return Schedule();
  Remove(plan.removable);
}

CollectionInput SharedLogCollector::InputOf(Replicas replicas) const {
  CollectionInput input{.loaded = std::move(replicas.loaded),
                        .unopened = std::move(replicas.unopened),
                        .disks = found_.disks};
  for (const PartitionId pid : found_.unloaded)
    if (!input.loaded.contains(pid)) input.unopened.insert(pid);
  // What was set aside here may have been made anew on the disk that is missing.
  if (found_.disks == CollectionInput::Disks::kAllReadable)
    for (const PartitionId pid : found_.set_aside)
      if (!input.unopened.contains(pid)) input.gone.insert(pid);
  return input;
}

void SharedLogCollector::AddMissing(CollectionInput* input) {
  const bool is_late = env_.clock().Now() - began_ >= options_.missing_wait_max;
  std::set<PartitionId> missing;
  // The last file's map has every replica of the log.
  if (!files_.empty())
    for (const auto& [pid, max] : files_.back().max)
      if (!input->loaded.contains(pid) && !input->unopened.contains(pid) &&
          !input->gone.contains(pid))
        missing.insert(pid);
  for (const PartitionId pid : missing)
    if (is_late ||
        (input->disks == CollectionInput::Disks::kAllReadable && unneeded_.contains(pid)))
      input->gone.insert(pid);
  server_.ask_about_missing(
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
  SharedLogStats& stats = *stats_;
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
  // Once for each change, not once a round.
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
  const absl::Duration spread = options_.collection_interval / 2;
  for (const PartitionId pid : behind) {
    // Spread over half a round: flushes at the same moment would meet on the disks.
    const double share = static_cast<double>(env_.random().Below(1000)) / 1000;
    server_.flush(pid, spread * share);
  }
}

void SharedLogCollector::Remove(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back(catalog_.files[i].file_name);
  // A newest file that never got its first block goes last.
  if (count == catalog_.files.size())
    for (const std::string& ignored : catalog_.ignored)
      names.push_back(ignored.substr(0, ignored.find(':')));
  env_.disk_pool(catalog_.directory)
      // It reads catalog_ and disposal_ in the pool: the strand changes them only in OnRemoved,
      // after this.
      .Submit([self = shared_from_this(), count, names = std::move(names)] {
        size_t done = 0;
        const absl::Status status =
            self->disposal_ == Disposal::kRemove
                ? RemoveSharedLogFiles(self->env_.files(), self->catalog_.directory, names, &done)
                : SetSharedLogFilesAside(self->env_.files(), self->catalog_.directory, names,
                                         &done);
        self->strand_->Post(
            // `done` may count an ignored file, which the catalog does not have.
            [self, removed = std::min(done, count), status] { self->OnRemoved(removed, status); });
      });
}

void SharedLogCollector::OnRemoved(size_t removed, const absl::Status& status) {
  LOG_IF(ERROR, !status.ok()) << "shared log " << catalog_.directory
                              << ": a file can't be removed, tried again: " << status;
  const auto n = static_cast<std::ptrdiff_t>(removed);
  catalog_.files.erase(catalog_.files.begin(), catalog_.files.begin() + n);
  files_.erase(files_.begin(), files_.begin() + n);
  SharedLogStats& stats = *stats_;
  stats.files = static_cast<int64_t>(catalog_.files.size());
  stats.bytes = static_cast<int64_t>(catalog_.bytes());
  LOG_IF(INFO, removed > 0) << "shared log " << catalog_.directory << ": " << removed
                            << " files gone, " << catalog_.files.size() << " left";
  if (is_stopped_) return;
  if (!status.ok() || !catalog_.files.empty()) return Schedule();
  OnGone();
}

void SharedLogCollector::OnGone() {
  stats_->replicas_blocking = 0;
  stats_->replicas_missing = 0;
  stats_->SetBlocking({});
  // Nothing is asked of the meta server any more.
  server_.ask_about_missing({});
  stats_->decrees_behind = 0;
  LOG(INFO) << "shared log " << catalog_.directory << " is gone: all is in the private logs";
  server_.on_gone();
}

}  // namespace arion
