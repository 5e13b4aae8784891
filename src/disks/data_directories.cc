// SPDX-License-Identifier: Apache-2.0
#include "disks/data_directories.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "disks/disk_layout.h"
#include "disks/init_info.h"
#include "disks/log_place.h"
#include "disks/replica_directory.h"
#include "env/environment.h"
#include "legacy/shared_log_catalog.h"
#include "messages/meta_messages.h"

namespace arion {
namespace {

// The operator has to act; a broken disk, which the others can do without, is none of these.
bool MustRefuse(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
      return true;
    default:
      return false;
  }
}

// What one data directory shows at the start. A job on a disk that hangs may outlive Open, so each
// Sight is shared with its job.
struct Sight {
  // Claims, then lists, then checks where the logs lie; the first failure ends it.
  void Take(const ServerDisks& disks, Endpoint self, size_t i) {
    FileSystem& files = disks.env.files();
    const std::string& path = disks.layout.data_directories[i].path;
    auto claimed = DataDirectoryClaim::Claim(files, path, self);
    status = claimed.status();
    if (!status.ok()) return;
    claim = *std::move(claimed);
    auto listed = ScanDataDirectory(files, path, i, &ignored);
    status = listed.status();
    if (!status.ok()) return;
    found = *std::move(listed);
    // Before anything is opened: no log may be taken for empty that lies elsewhere.
    for (const FoundReplica& replica : found) {
      const absl::Status log = CheckLogPlace(files, disks.layout.log_home_directory, replica.path);
      if (placed.ok() && absl::IsFailedPrecondition(log)) placed = log;
    }
  }

  absl::Status status;
  std::unique_ptr<DataDirectoryClaim> claim;  // null: refused
  std::vector<FoundReplica> found;
  std::vector<IgnoredDirectory> ignored;
  absl::Status placed;
};

// Whether an older version's shared log may hold mutations of this replica. It does not once this
// version has opened the replica and noted offset 0.
bool MayNeedSharedLog(const ServerDisks& disks, const FoundReplica& replica) {
  FileSystem& files = disks.env.files();
  const LogPlace place = LogPlaceOf(disks.layout.log_home_directory, replica.path);
  const absl::StatusOr<InitInfo> info = LoadInitInfo(files, replica.path);
  return !Exists(files, place.identity_path) || !info.ok() || info->offset_in_shared_log != 0;
}

}  // namespace

absl::Status DataDirectories::CheckNames() const {
  // The log home counts too: a replica's log folder there would be its data directory.
  std::set<std::string> tags = {kLogHomeTag}, paths = {disks_->layout.log_home_directory};
  for (const DataDirectory& directory : disks_->layout.data_directories)
    if (!tags.insert(directory.tag).second || !paths.insert(directory.path).second)
      return absl::InvalidArgumentError(
          absl::StrCat("data directory ", directory.tag, ":", directory.path, " is named twice"));
  return absl::OkStatus();
}

void DataDirectories::MarkUnreadable(size_t index, const absl::Status& status) {
  const DataDirectory& directory = disks_->layout.data_directories[index];
  LOG(ERROR) << "data directory " << directory.tag << ":" << directory.path
             << " can't be used, its replicas are missing: " << status;
  if (unreadable_tags_.empty())
    first_unreadable_ = absl::StrCat(directory.path, ": ", status.message());
  claims_[index] = nullptr;
  not_loaded_.disks = CollectionInput::Disks::kSomeMissing;
  unreadable_tags_.push_back(directory.tag);
}

std::vector<bool> DataDirectories::AskDisks(
    const std::vector<bool>& asked,
    const std::function<std::function<void()>(size_t)>& job_of) const {
  std::vector<std::function<void()>> jobs;
  for (size_t i = 0; i < asked.size(); ++i)
    if (asked[i]) jobs.push_back(job_of(i));
  if (!disks_->layout.ask_disks) {
    for (const auto& job : jobs) job();
    return asked;
  }
  // A disk that hangs keeps its job, which may finish after Open has given up on it.
  const std::vector<bool> done = disks_->layout.ask_disks(std::move(jobs));
  std::vector<bool> answered = asked;
  size_t job = 0;
  for (size_t i = 0; i < asked.size(); ++i)
    if (asked[i]) answered[i] = done[job++];
  return answered;
}

void DataDirectories::LookAtAll(std::vector<bool>* asked) {
  const auto& directories = disks_->layout.data_directories;
  // Shared with the jobs: one that hangs may still write into its look later.
  std::vector<std::shared_ptr<DirectoryLook>> looks;
  for (const DataDirectory& directory : directories)
    looks.push_back(std::make_shared<DirectoryLook>(DirectoryLook{.path = directory.path}));
  const std::vector<bool> answered = AskDisks(*asked, [&](size_t i) {
    return [disks = disks_, look = looks[i]] {
      auto seen = LookAtDirectory(disks->env.files(), look->path);
      if (seen.ok()) *look = *std::move(seen);  // else the claim says what is wrong
    };
  });
  for (size_t i = 0; i < directories.size(); ++i) {
    looks_.push_back(answered[i] ? *looks[i] : DirectoryLook{.path = directories[i].path});
    // All replicas count as not loaded until Open takes them. So one on a disk that hangs is not
    // mistaken for one that does not exist.
    not_loaded_.unloaded.insert(looks_[i].replicas.begin(), looks_[i].replicas.end());
    not_loaded_.set_aside.insert(looks_[i].set_aside.begin(), looks_[i].set_aside.end());
    if (answered[i]) continue;
    (*asked)[i] = false;
    hangs_[i] = true;
    MarkUnreadable(i, absl::DeadlineExceededError("the disk fails or does not answer"));
  }
}

absl::Status DataDirectories::RefuseUnmounted(std::vector<bool>* asked) {
  std::vector<std::string> shared_logs;
  for (const std::string& directory : disks_->layout.shared_log_directories)
    // Only directories that answer are searched, so that a disk that hangs cannot hold up the
    // start.
    if (!IsOutOfReach(directory)) shared_logs.push_back(directory);
  ASSIGN_OR_RETURN(const std::string shared_log, FindSharedLog(disks_->env.files(), shared_logs));
  const auto& accepted = disks_->layout.new_data_directories;
  for (size_t i = 0; i < looks_.size(); ++i) {
    if (!(*asked)[i]) continue;
    const std::string& tag = disks_->layout.data_directories[i].tag;
    const bool is_accepted = std::find(accepted.begin(), accepted.end(), tag) != accepted.end();
    LOG_IF(WARNING, is_accepted && !looks_[i].is_blank)
        << "new_data_directories names " << tag
        << ", which is in use by now: remove it, so that a disk that is not mounted is noticed";
    if (is_accepted || !looks_[i].is_blank) continue;
    const std::string why = WhyNotNew(looks_[i], looks_, shared_log);
    // A blank directory between ones in use is most likely an empty mount point. To fill it would
    // hide the data below the mount, and use up the root disk.
    if (why.empty()) continue;
    (*asked)[i] = false;
    MarkUnreadable(i, absl::FailedPreconditionError(absl::StrCat(
                          why, "; is its disk mounted? If it is to be used as it is, start with ",
                          "new_data_directories = ", tag)));
  }
  return absl::OkStatus();
}

// All configured directories are recorded, also those that were refused or could not be read.
// Otherwise a directory that is missing once would count as new at the next start.
void DataDirectories::Remember() const {
  std::set<std::string> all;
  for (const DirectoryLook& look : looks_) all.insert(look.path);
  AskDisks(Usable(), [&](size_t i) {
    return [disks = disks_, look = looks_[i], all] {
      const absl::Status written = RememberDirectories(disks->env.files(), look, all);
      LOG_IF(WARNING, !written.ok()) << "that there are " << all.size()
                                     << " data directories is not written down: " << written;
    };
  });
}

// Three rounds over the disks, each at all of them at once: look (read only), refuse directories
// that may not be mounted, then claim and list. After that the results are judged one by one:
// whatever the operator must correct ends the start; a broken disk is only left out.
absl::StatusOr<std::vector<FoundReplica>> DataDirectories::Open() {
  RETURN_IF_ERROR(CheckNames());
  if (const std::string& home = disks_->layout.log_home_directory; !home.empty()) {
    // Without its log home the server can open no replica, so this claim is never left out.
    ASSIGN_OR_RETURN(home_claim_, DataDirectoryClaim::Claim(disks_->env.files(), home, self_));
  }
  std::vector<bool> asked;
  std::vector<std::shared_ptr<Sight>> sights;
  for (const DataDirectory& directory : disks_->layout.data_directories) {
    asked.push_back(directory.answers);
    sights.push_back(std::make_shared<Sight>());
  }
  claims_.resize(asked.size());
  hangs_.resize(asked.size());
  // Before the claims, which write into each directory: an empty one must still look empty.
  LookAtAll(&asked);
  RETURN_IF_ERROR(RefuseUnmounted(&asked));
  const std::vector<bool> answered = AskDisks(asked, [&](size_t i) {
    return [disks = disks_, self = self_, sight = sights[i], i] { sight->Take(*disks, self, i); };
  });
  std::vector<FoundReplica> found;
  for (size_t i = 0; i < sights.size(); ++i) {
    if (!asked[i]) continue;
    if (!answered[i]) {
      hangs_[i] = true;
      MarkUnreadable(i, absl::DeadlineExceededError("the disk does not answer"));
      continue;
    }
    Sight& sight = *sights[i];
    if (!sight.status.ok()) {
      // A claim that succeeded makes the error one of the listing: then the disk is to blame, not
      // the configuration.
      if (MustRefuse(sight.status) && sight.claim == nullptr) return sight.status;
      // A want of descriptors or memory passes, and so do files of another user's: what lies there
      // is not to be replaced. A full disk may have no room for the lock; the others can do without
      // it.
      const bool may_pass = IsRefusal(sight.status) &&
                            (sight.claim != nullptr || WantOf(sight.status) != Want::kSpace);
      if (may_pass) return sight.status;
      MarkUnreadable(i, sight.status);
      continue;
    }
    RETURN_IF_ERROR(sight.placed);
    claims_[i] = std::move(sight.claim);
    for (IgnoredDirectory& one : sight.ignored) {
      LOG(WARNING) << "not loaded: " << one.path << ": " << one.why;
      ignored_.push_back(std::move(one.path));
    }
    // What was listed is loaded, and so no longer counts as missing.
    for (FoundReplica& replica : sight.found) {
      not_loaded_.unloaded.erase(replica.pid);
      found.push_back(std::move(replica));
    }
  }
  if (unreadable_tags_.size() == claims_.size())
    return absl::FailedPreconditionError(
        absl::StrCat("no data directory can be used; the log has the reason of each, the first is ",
                     first_unreadable_));
  // Before the check for duplicates: a replaced copy is not one.
  ASSIGN_OR_RETURN(replaced_, TakeReplaced(disks_->env.files(), &found));
  for (const FoundReplica& replica : replaced_) not_loaded_.set_aside.insert(replica.pid);
  RETURN_IF_ERROR(CheckNoDuplicates(disks_->env.files(), found));
  return found;
}

bool DataDirectories::IsOutOfReach(const std::string& path) const {
  const auto& directories = disks_->layout.data_directories;
  for (size_t i = 0; i < directories.size(); ++i)
    // The parent: data directories are <configured path>/replica/reps, and a shared log lies beside
    // them on the same disk.
    if (hangs_[i] && IsWithin(path, ParentDirectory(directories[i].path))) return true;
  return !IsThere(disks_->env.files(), path).ok();
}

absl::StatusOr<SharedLogCatalog> DataDirectories::FindOldSharedLog(
    const std::vector<FoundReplica>& found) const {
  FileSystem& files = disks_->env.files();
  std::vector<std::string> directories;
  for (const std::string& directory : disks_->layout.shared_log_directories) {
    // A shared log that can't be seen may hold mutations that a replica lacks. To start without it
    // would lose them.
    if (!IsOutOfReach(directory)) {
      directories.push_back(directory);
      continue;
    }
    for (const FoundReplica& replica : found)
      if (MayNeedSharedLog(*disks_, replica))
        return absl::FailedPreconditionError(
            absl::StrCat(directory, " can't be looked at now, and ", replica.path,
                         " may need an older version's shared log from there; wait for the disk"));
  }
  ASSIGN_OR_RETURN(const std::string directory, FindSharedLog(files, directories));
  if (directory.empty()) return SharedLogCatalog();
  return ListSharedLog(files, directory);
}

void DataDirectories::LearnDevices(const std::string& shared_log) const {
  std::vector<std::string> paths = {disks_->layout.log_home_directory, shared_log};
  for (size_t i = 0; i < claims_.size(); ++i)
    if (claims_[i] != nullptr) paths.push_back(disks_->layout.data_directories[i].path);
  // The environment learns a path's device when it is first asked for the path's pool.
  for (const std::string& path : paths)
    if (!path.empty()) disks_->env.disk_pool(path);
}

std::vector<bool> DataDirectories::Usable() const {
  std::vector<bool> usable;
  for (const auto& claim : claims_) usable.push_back(claim != nullptr);
  return usable;
}

const std::string& DataDirectories::FirstUsable() const {
  size_t first = 0;
  while (claims_[first] == nullptr) ++first;
  return disks_->layout.data_directories[first].path;
}

void DataDirectories::Release() {
  claims_.clear();
  home_claim_ = nullptr;
}

}  // namespace arion
