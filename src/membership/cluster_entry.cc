// SPDX-License-Identifier: Apache-2.0
#include "membership/cluster_entry.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "base/log.h"
#include "membership/cluster_question.h"
#include "rpc/older_servers.h"

namespace arion {

ClusterEntry::ClusterEntry(Transport& transport, StrandPtr strand, Options options,
                           std::shared_ptr<JoinNotes> notes, Events events)
    : transport_(transport),
      strand_(std::move(strand)),
      options_(std::move(options)),
      notes_(std::move(notes)),
      events_(std::move(events)) {}

void ClusterEntry::Start() {
  CHECK_ON_STRAND(strand_);
  is_started_ = true;
  Ask();
}

// A question that is under way still goes to one of the former meta servers; its answer counts.
void ClusterEntry::SetMetaServers(std::vector<Endpoint> meta_servers) {
  CHECK_ON_STRAND(strand_);
  options_.meta_servers = std::move(meta_servers);
  // Ask does nothing while a question is under way.
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
  if (!is_started_ || is_over_ || is_asking_ || options_.meta_servers.empty()) return;
  is_asking_ = true;
  // Round robin: one that does not answer must not hide another that does.
  const Endpoint meta_server = options_.meta_servers[next_++ % options_.meta_servers.size()];
  AskForListing(transport_, strand_, meta_server, QuestionDepth::kBeforeJoining,
                [self = weak_from_this(), meta_server](absl::StatusOr<ClusterListing> listing) {
                  if (const auto entry = self.lock()) entry->OnListing(meta_server, listing);
                });
}

void ClusterEntry::OnListing(Endpoint meta_server, const absl::StatusOr<ClusterListing>& listing) {
  is_asking_ = false;
  // The answer may come after Stop.
  if (is_over_) return;
  if (!listing.ok()) {
    notes_->SetWaiting({std::string(listing.status().message())});
    if (events_.on_meta_unanswered) events_.on_meta_unanswered();
    return AskLater(kNextMetaPause);
  }
  // What is in the way, in this order: older versions are no longer let in, the wrong cluster,
  // tables that Arion can't carry on. An Arion meta server names its cluster in each message, so
  // nothing of it is judged here.
  std::vector<std::string> in_the_way;
  if (!listing->is_arion) {
    if (!options_.older_servers->are_let_in())
      in_the_way.push_back("older servers are let in no more: end_join was said");
    else if (listing->name != options_.cluster_name)
      in_the_way.push_back(absl::StrCat("meta server ", meta_server.ToString(), " is of cluster \"",
                                        listing->name, "\", join_pegasus_cluster names \"",
                                        options_.cluster_name, "\""));
    else
      in_the_way = ObstacleLines(*listing, ObstaclesIn(*listing));
  }
  if (!in_the_way.empty()) {
    notes_->SetWaiting(std::move(in_the_way));
    return AskLater(kPause);
  }
  // Only for an older version's meta server: an Arion one waits for reports of replicas anyway.
  std::string loading = listing->is_arion ? "" : events_.what_is_loading();
  if (!loading.empty()) {
    notes_->SetWaiting({std::move(loading)});
    return AskLater(kLoadingPause);
  }
  // Before the callback, which begins to send beacons: from here on no further question is asked.
  is_over_ = true;
  // First the list of servers, so that the first messages after admission find it.
  options_.older_servers->SetListed(listing->servers);
  if (!listing->is_arion)
    LOG(WARNING) << "joins the cluster \"" << listing->name << "\" of an older version, "
                 << listing->tables.size() << " tables, by meta server " << meta_server;
  notes_->SetJoined(meta_server);
  events_.on_admitted();
}

}  // namespace arion
