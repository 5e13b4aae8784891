// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/leader_checker.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "meta_state/store_room.h"

namespace arion::sim {
namespace {

std::string At(Instant at) { return absl::FormatDuration(at - Instant(0)); }

// Of the store in ZooKeeper, and of no batch: what it notes itself, and nodes below which there is
// nothing now.
bool IsOfTheStore(const std::string& key, const std::string& value) {
  const bool is_folder =
      value.empty() && key.starts_with("/arion/") && key.find('/', 7) == std::string::npos;
  return is_folder || key == "/arion/commit" || key == "/arion/cluster_id";
}

std::string Text(const std::optional<std::string>& value) {
  return value ? value->substr(0, 300) : "nothing";
}

}  // namespace

// A leader's, for as long as it leads. Callbacks hold what they need: they may come when this is gone.
class LeaderChecker::Store : public MetaStore {
 public:
  Store(LeaderChecker& checker, Endpoint server, std::shared_ptr<MetaStore> inner,
        std::function<void()> led)
      : checker_(checker), server_(server), inner_(std::move(inner)), led_(std::move(led)) {}

  absl::StatusOr<std::map<std::string, std::string>> Load() override {
    auto loaded = inner_->Load();
    if (!loaded.ok()) return loaded;
    reign_ = checker_.Loaded(server_, *loaded);
    if (!checker_.reigns_.empty() && checker_.reigns_.back() == reign_) led_();
    return loaded;
  }

  void Commit(std::vector<Change> batch, StoreNeed need, StrandPtr reply_on,
              absl::AnyInvocable<void(const absl::Status&)> done) override {
    std::map<std::string, size_t> at;
    for (const Change& change : batch) {
      Story& story = StoryOf(*reign_, change.key);
      story.values.push_back(change.value);
      at[change.key] = story.values.size() - 1;
    }
    inner_->Commit(std::move(batch), need, std::move(reply_on),
                   [&checker = checker_, reign = reign_, at = std::move(at),
                    done = std::move(done)](const absl::Status& status) mutable {
                     if (status.ok()) checker.Acknowledged(reign, at);
                     done(status);
                   });
  }

  void Look(StrandPtr reply_on, absl::AnyInvocable<void(const StoreRoom&)> done) override {
    inner_->Look(std::move(reply_on), std::move(done));
  }
  bool MayStoreInPart() const override { return inner_->MayStoreInPart(); }
  std::string WayBack() const override { return inner_->WayBack(); }

 private:
  LeaderChecker& checker_;
  const Endpoint server_;
  const std::shared_ptr<MetaStore> inner_;
  const std::function<void()> led_;
  ReignPtr reign_ = std::make_shared<Reign>();
};

std::shared_ptr<MetaStore> LeaderChecker::Watch(Endpoint server, std::shared_ptr<MetaStore> store,
                                                std::function<void()> led) {
  return std::make_shared<Store>(*this, server, std::move(store), std::move(led));
}

void LeaderChecker::LockIs(std::optional<Holder> holder, Instant now, Loss loss) {
  if (holder == holder_) return;
  if (holder_) lost_[holder_->server] = now + loss.notice;
  holder_ = holder;
}

void LeaderChecker::Changed(int64_t session, const std::string& key) {
  if (holder_ && holder_->session == session) return;
  Violate(absl::StrCat("leader_checker/L3: ", key,
                       " was changed by a session without the lock, which ",
                       holder_ ? holder_->server.ToString() : std::string("nobody"), " has"));
}

void LeaderChecker::AnsweredAsLeader(Endpoint server, Instant sent) {
  if (holder_ && holder_->server == server) return;
  const auto lost = lost_.find(server);
  if (lost != lost_.end() && sent <= lost->second) return;
  Violate(absl::StrCat(
      "leader_checker/L1: ", server.ToString(), " answered as a leader a beacon that was sent at ",
      At(sent), lost == lost_.end() ? ", and never had the lock" : ", and had lost the lock at ",
      lost == lost_.end() ? std::string() : At(lost->second)));
}

LeaderChecker::Story& LeaderChecker::StoryOf(Reign& reign, const std::string& key) {
  Story& story = reign.stories[key];
  if (story.values.empty()) story.values.push_back(std::nullopt);
  return story;
}

LeaderChecker::ReignPtr LeaderChecker::Loaded(Endpoint server,
                                              const std::map<std::string, std::string>& entries) {
  auto reign = std::make_shared<Reign>();
  reign->server = server;
  for (const auto& [key, value] : entries)
    if (!IsOfTheStore(key, value)) reign->stories[key].values.push_back(value);
  // Somebody else has the lock meanwhile, and may have stored more: it stores nothing.
  if (!holder_ || holder_->server != server) return reign;
  if (!reigns_.empty()) {
    Reign& before = *reigns_.back();
    takeovers_ += before.server != server;
    for (const auto& [key, story] : before.stories) CheckContains(before, key, *reign);
  }
  reigns_.push_back(reign);
  return reign;
}

void LeaderChecker::CheckContains(const Reign& reign, const std::string& key, Reign& next) {
  const Story& story = reign.stories.at(key);
  const Value& loaded = StoryOf(next, key).values.front();
  const auto first = story.values.begin() + static_cast<ptrdiff_t>(story.acknowledged);
  if (std::find(first, story.values.end(), loaded) != story.values.end()) return;
  Violate(absl::StrCat("leader_checker/L2: ", next.server.ToString(), " has loaded of ", key, ": ",
                       Text(loaded), "; acknowledged was: ", Text(*first)));
}

void LeaderChecker::Acknowledged(const ReignPtr& reign, const std::map<std::string, size_t>& at) {
  const auto found = std::find(reigns_.begin(), reigns_.end(), reign);
  if (found == reigns_.end())
    Violate(
        absl::StrCat("leader_checker/L2: ", reign->server.ToString(),
                     " acknowledged a change, and had lost the lock before it loaded the state"));
  for (const auto& [key, index] : at) {
    Story& story = reign->stories.at(key);
    story.acknowledged = std::max(story.acknowledged, index);
    // The answer came late.
    if (found != reigns_.end() && std::next(found) != reigns_.end())
      CheckContains(*reign, key, **std::next(found));
  }
}

}  // namespace arion::sim
