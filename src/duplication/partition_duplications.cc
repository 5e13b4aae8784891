// SPDX-License-Identifier: Apache-2.0
#include "duplication/partition_duplications.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "pacifica/invariants.h"
#include "pacifica/replica_core.h"

namespace arion {

std::shared_ptr<RemoteCluster> DuplicationTargets::Of(const std::string& cluster) {
  const MutexLock lock(mutex_);
  std::shared_ptr<RemoteCluster>& found = clusters_[cluster];
  if (found == nullptr)
    found = std::make_shared<RemoteCluster>(
        environment_, transport_, cluster,
        [of = meta_servers_of_, cluster] { return of ? of(cluster) : std::vector<Endpoint>(); });
  return found;
}

void PartitionDuplications::OnSynced(const std::map<int32_t, DuplicationEntry>& entries) {
  if (core_.role() != PartitionStatus::kPrimary) return Close();
  for (auto it = senders_.begin(); it != senders_.end();) {
    if (entries.contains(it->first)) {
      ++it;
      continue;
    }
    LOG(INFO) << hooks_.tag() << " is no longer duplicated by " << it->first;
    it->second->Close();
    it = senders_.erase(it);
  }
  preparing_.clear();
  awaited_.clear();
  for (const auto& [id, entry] : entries) {
    const std::map<int32_t, int64_t> none;
    const auto& progress = entry.progress ? *entry.progress : none;
    const auto found = progress.find(pid_.index);
    if (found == progress.end()) continue;  // its place is not made yet
    std::optional<Decree> confirmed;
    if (found->second >= 0) confirmed = Decree(found->second);
    std::shared_ptr<DuplicationSender>& sender = senders_[id];
    if (sender == nullptr) sender = MakeSender(entry, confirmed);
    if (confirmed) sender->Confirm(*confirmed);
    if (entry.status == static_cast<int32_t>(DuplicationStatus::kApp)) awaited_.insert(id);
    if (entry.status == static_cast<int32_t>(DuplicationStatus::kPrepare)) {
      preparing_.insert(id);
      awaited_.insert(id);
      if (core_.marks().last_durable < sender->sent()) hooks_.make_checkpoint();
    }
    sender->SetFailMode(static_cast<DuplicationFailMode>(entry.fail_mode.value_or(0)));
    sender->SetActive(entry.status == static_cast<int32_t>(DuplicationStatus::kLog) &&
                      sender->confirmed().has_value());
    sender->Proceed();  // also where it does not send, what the other cluster lacks is shown
  }
}

std::shared_ptr<DuplicationSender> PartitionDuplications::MakeSender(
    const DuplicationEntry& entry, std::optional<Decree> confirmed) {
  LOG(INFO) << hooks_.tag() << " is duplicated to cluster " << entry.remote << " from "
            << (confirmed ? *confirmed : core_.marks().last_committed) << " on";
  DuplicationSender::Hooks hooks{
      .committed = [this] { return core_.marks().last_committed; },
      .read_history = hooks_.read_history,
      .send =
          [this, remote = entry.remote, table = entry.remote_app_name](
              const DuplicateBatch& batch, DuplicationSender::SentDone then) {
            targets_->Of(remote)->Send(
                {.table = table.value_or(core_.app().app_name),
                 .index = pid_.index,
                 .partition_count = core_.app().partition_count,
                 .body = batch.body,
                 .partition_hash = batch.partition_hash,
                 .may_go = [leads = is_leading_,
                            lease = hooks_.lease()] { return *leads && lease(); }},
                strand_, std::move(then));
          },
      .after = hooks_.after,
      .wall_micros = hooks_.wall_micros,
      .log_end = hooks_.log_end,
      .tag = hooks_.tag};
  const DuplicationBook::Place place(core_.app().app_name, entry.remote);
  hooks.totals = targets_->book()->TotalsOf(place);
  targets_->book()->Note(pid_, place, hooks.figures);
  return std::make_shared<DuplicationSender>(targets_->own_id(), entry.dupid, confirmed,
                                             std::move(hooks));
}

std::vector<DuplicationConfirmEntry> PartitionDuplications::Confirms() const {
  std::vector<DuplicationConfirmEntry> confirms;
  if (core_.role() != PartitionStatus::kPrimary) return confirms;
  for (const auto& [id, sender] : senders_) {
    DuplicationConfirmEntry confirm{.dupid = id,
                                    .confirmed_decree = sender->sent().value(),
                                    .last_committed_decree = core_.marks().last_committed.value(),
                                    .ballot = core_.ballot()};
    if (preparing_.contains(id))
      confirm.checkpoint_prepared = core_.marks().last_durable >= sender->sent();
    if (!sender->trouble().empty()) confirm.trouble = sender->trouble();
    const DuplicationFigures& figures = sender->figures();
    if (figures.behind_since_us > 0) confirm.oldest_unconfirmed_us = figures.behind_since_us;
    if (figures.bytes_behind >= 0) confirm.unconfirmed_bytes = figures.bytes_behind;
    confirms.push_back(std::move(confirm));
  }
  return confirms;
}

void PartitionDuplications::Proceed() {
  if (senders_.empty()) return;
  if (core_.role() != PartitionStatus::kPrimary) return Close();
  for (const auto& [id, sender] : senders_) sender->Proceed();
}

std::optional<Decree> PartitionDuplications::Confirmed() const {
  if (core_.role() != PartitionStatus::kPrimary) return told_;
  std::optional<Decree> least;
  for (const auto& [id, sender] : senders_) {
    if (!sender->confirmed()) return std::nullopt;
    // One that began behind less, as a former one's word was late, has yet to read what follows.
    const Decree needed = std::min(*sender->confirmed(), sender->sent());
    least = std::min(least.value_or(needed), needed);
  }
  return least;
}

std::optional<Decree> PartitionDuplications::FirstLacking() const {
  std::optional<Decree> least;
  for (const auto& [id, sender] : senders_) {
    const Decree place = std::min(sender->confirmed().value_or(sender->sent()), sender->sent());
    least = std::min(least.value_or(place), place);
  }
  if (!least) least = told_;
  return least ? std::optional(*least + 1) : std::nullopt;
}

std::optional<Decree> PartitionDuplications::NeededOfCheckpoints() const {
  if (core_.app().duplicating && senders_.empty()) return std::nullopt;
  Decree needed(0);
  for (const auto& [id, sender] : senders_)
    if (awaited_.contains(id)) needed = std::max(needed, sender->sent());
  return needed;
}

void PartitionDuplications::NoteTold(std::optional<int64_t> confirmed) {
  told_.reset();
  if (confirmed && *confirmed >= 0) told_ = Decree(*confirmed);
}

void PartitionDuplications::Close() {
  if (senders_.empty()) return;
  *std::exchange(is_leading_, std::make_shared<std::atomic<bool>>(true)) = false;
  for (const auto& [id, sender] : senders_) sender->Close();
  senders_.clear();
}

}  // namespace arion
