// SPDX-License-Identifier: Apache-2.0
#include "membership/join_notes.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "base/log.h"
#include "base/named_list.h"

namespace arion {
namespace {

constexpr size_t kNamedMax = 20;

}  // namespace

void JoinNotes::SetWaiting(std::vector<std::string> why) {
  const MutexLock lock(mutex_);
  // It is asked every few seconds; the log gets each reason once.
  const bool is_new = state_ != State::kWaiting || waiting_ != why;
  state_ = State::kWaiting;
  waiting_ = std::move(why);
  if (!is_new) return;
  for (const std::string& line : waiting_)
    LOG(WARNING) << "this server takes no part in the cluster yet: " << line;
}

void JoinNotes::SetJoined(Endpoint meta_server) {
  const MutexLock lock(mutex_);
  state_ = State::kJoined;
  meta_server_ = meta_server;
  waiting_.clear();
}

void JoinNotes::SetListing(const ClusterListing& listing) {
  // Judged outside the lock, which displays take.
  auto obstacles = ObstaclesIn(listing);
  auto lines = ObstacleLines(listing, obstacles);
  const MutexLock lock(mutex_);
  if (lines != lines_)
    for (const std::string& line : lines)
      LOG(WARNING) << line << ": no new copy of it is taken here, which Arion can't do yet";
  obstacles_ = std::move(obstacles);
  lines_ = std::move(lines);
}

void JoinNotes::SetUnreported(std::vector<PartitionId> unreported) {
  const MutexLock lock(mutex_);
  if (unreported != unreported_ && !unreported.empty())
    // Named once for each set of partitions, up to kNamedMax.
    LOG(WARNING) << unreported.size() << " replicas here are of no table of the meta server's ("
                 << NamedList(unreported, kNamedMax, [](PartitionId pid) { return pid.ToString(); })
                 << "): it is not told of them, and they are left alone";
  unreported_ = std::move(unreported);
}

std::optional<Obstacle> JoinNotes::ObstacleOf(int32_t app_id) const {
  const MutexLock lock(mutex_);
  const auto found = obstacles_.find(app_id);
  return found == obstacles_.end() ? std::nullopt : std::optional(found->second);
}

size_t JoinNotes::obstacles() const {
  const MutexLock lock(mutex_);
  return obstacles_.size() + waiting_.size();
}

std::string JoinNotes::Text() const {
  const MutexLock lock(mutex_);
  if (state_ == State::kNotAsked) return "this server joins no older version's cluster\n";
  std::string text;
  if (state_ == State::kJoined)
    absl::StrAppend(&text, "takes part; admitted with meta server ", meta_server_.ToString(), "\n");
  else
    absl::StrAppend(&text, "takes no part yet\n");
  for (const std::string& line : waiting_) absl::StrAppend(&text, "waits: ", line, "\n");
  for (const std::string& line : lines_) absl::StrAppend(&text, "takes no new copy: ", line, "\n");
  for (PartitionId pid : unreported_)
    absl::StrAppend(&text, "not reported: ", pid.ToString(),
                    " is of no table of the meta server's\n");
  return text;
}

}  // namespace arion
