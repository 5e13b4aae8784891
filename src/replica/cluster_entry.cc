// SPDX-License-Identifier: Apache-2.0
#include "replica/cluster_entry.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "base/log.h"

namespace arion {

ClusterEntry::ClusterEntry(std::shared_ptr<const ReplicaHost> host, StrandPtr strand,
                           absl::AnyInvocable<void()> on_admitted)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      on_admitted_(std::move(on_admitted)),
      meta_servers_(host_->options.meta_servers) {}

void ClusterEntry::Start() {
  CHECK_ON_STRAND(strand_);
  is_started_ = true;
  Ask();
}

void ClusterEntry::SetMetaServers(std::vector<Endpoint> meta_servers) {
  CHECK_ON_STRAND(strand_);
  meta_servers_ = std::move(meta_servers);
  if (timer_ == kNoTimer) Ask();
}

void ClusterEntry::Stop() {
  CHECK_ON_STRAND(strand_);
  is_over_ = true;
  if (timer_ != kNoTimer) strand_->Cancel(timer_);
  timer_ = kNoTimer;
}

void ClusterEntry::AskLater(absl::Duration pause) {
  timer_ = strand_->PostAfter(pause, [self = weak_from_this()] {
    const auto entry = self.lock();
    if (entry == nullptr) return;
    entry->timer_ = kNoTimer;
    entry->Ask();
  });
}

void ClusterEntry::Ask() {
  if (!is_started_ || is_over_ || is_asking_ || meta_servers_.empty()) return;
  is_asking_ = true;
  const Endpoint meta_server = meta_servers_[next_++ % meta_servers_.size()];
  AskForListing(host_->transport, strand_, meta_server, QuestionDepth::kBeforeJoining,
                [self = weak_from_this(), meta_server](absl::StatusOr<ClusterListing> listing) {
                  if (const auto entry = self.lock()) entry->OnListing(meta_server, listing);
                });
}

void ClusterEntry::OnListing(Endpoint meta_server, const absl::StatusOr<ClusterListing>& listing) {
  is_asking_ = false;
  if (is_over_) return;
  if (!listing.ok()) {
    host_->join->SetWaiting({std::string(listing.status().message())});
    if (host_->options.on_meta_unanswered) host_->options.on_meta_unanswered();
    return AskLater(kNextMetaPause);
  }
  std::vector<std::string> in_the_way;
  if (!listing->is_arion) {
    if (!host_->options.older_servers->are_let_in())
      in_the_way.push_back("older servers are let in no more: end_join was said");
    else if (listing->name != host_->options.cluster_name)
      in_the_way.push_back(absl::StrCat("meta server ", meta_server.ToString(), " is of cluster \"",
                                        listing->name, "\", join_pegasus_cluster names \"",
                                        host_->options.cluster_name, "\""));
    else
      in_the_way = ObstacleLines(*listing, ObstaclesIn(*listing));
  }
  if (!in_the_way.empty()) {
    host_->join->SetWaiting(std::move(in_the_way));
    return AskLater(kPause);
  }
  const RecoveryReport loaded = host_->recovery->Report(host_->env.clock().Now());
  if (!listing->is_arion && loaded.phase != RecoveryReport::Phase::kDone) {
    host_->join->SetWaiting({absl::StrCat("replicas are still loaded, ", loaded.all.done, " of ",
                                          loaded.all.replicas)});
    return AskLater(kLoadingPause);
  }
  is_over_ = true;
  host_->options.older_servers->SetListed(listing->servers);
  if (!listing->is_arion)
    LOG(WARNING) << "joins the cluster \"" << listing->name << "\" of an older version, "
                 << listing->tables.size() << " tables, by meta server " << meta_server;
  host_->join->SetJoined(meta_server);
  on_admitted_();
}

}  // namespace arion
