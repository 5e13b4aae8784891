// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/leader_lock.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "env/clock.h"
#include "meta_ensemble/candidate_list.h"
#include "meta_ensemble/state_tree.h"
#include "zookeeper/zookeeper_session.h"

namespace arion {
namespace {

constexpr std::string_view kPrefix = "LOCKNODE";
constexpr char kDirectoryName[] = "/dsn.meta.server.leader";
constexpr absl::Duration kAgain = absl::Seconds(1);

// Of the session's timeout: how long one proof lasts, and how often one is asked for.
constexpr double kLeadShare = 2.0 / 3;
constexpr double kProofShare = 1.0 / 6;

}  // namespace

std::string LockDirectoryOf(const std::string& root) {
  return (root == "/" ? "" : root) + kDirectoryName;
}

std::optional<int64_t> LockNumberOf(std::string_view name) {
  const size_t at = name.rfind(kPrefix);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(at + kPrefix.size());
  int64_t number = 0;
  const bool is_number = !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) {
    return c >= '0' && c <= '9';
  }) && absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &number);
  return is_number ? std::optional(number) : std::nullopt;
}

LeaderLock::LeaderLock(ZooKeeperSession& session, const Clock& clock, StrandPtr strand,
                       std::string root, std::string self, Events events)
    : session_(session),
      clock_(clock),
      strand_(std::move(strand)),
      directory_(LockDirectoryOf(root)),
      address_(std::move(self)),
      events_(std::move(events)) {}

LeaderLock::~LeaderLock() = default;

template <class Run>
auto LeaderLock::While(Run run) {
  return [weak = weak_from_this(),
          run = std::move(run)]<class... Arguments>(Arguments&&... arguments) mutable {
    const std::shared_ptr<LeaderLock> self = weak.lock();
    if (self && !self->is_lost_) run(std::forward<Arguments>(arguments)...);
  };
}

void LeaderLock::Start() { Do(Step::kDirectory); }

void LeaderLock::OnConnected() {
  if (!is_lost_ && !is_under_way_) Do(step_);
}

void LeaderLock::Do(Step step) {
  CHECK_ON_STRAND(strand_);
  step_ = step;
  is_under_way_ = true;
  switch (step) {
    case Step::kDirectory:
      return MakeDirectory();
    case Step::kFindOwn:
      return FindOwn();
    case Step::kEnter:
      return Enter();
    case Step::kLook:
      return Look();
    case Step::kWatch:
      return WatchOwn();
    case Step::kProve:
      return Prove();
    case Step::kLead:
      // The watch and the timer of the next proof go on by themselves.
      is_under_way_ = false;
      return;
  }
}

bool LeaderLock::IsUnanswered(const absl::Status& status, Step step) {
  if (!absl::IsUnavailable(status)) return false;
  step_ = step;
  is_under_way_ = false;
  // Also where the session is connected already: an answer may be lost without a change of it.
  strand_->PostAfter(kAgain, While([this] { OnConnected(); }));
  return true;
}

void LeaderLock::MakeDirectory() {
  MakePath(session_, directory_, While([this](const absl::Status& made) {
             if (made.ok()) return Do(Step::kEnter);
             if (!IsUnanswered(made, Step::kDirectory)) Lose(std::string(made.message()));
           }));
}

void LeaderLock::Enter() {
  session_.Create(absl::StrCat(directory_, "/", std::string(kPrefix)), address_,
                  ZooKeeperSession::Mode::kEphemeralSequential,
                  While([this](const absl::StatusOr<std::string>& made) {
                    if (made.ok()) {
                      own_ = made->substr(directory_.size() + 1);
                      return Do(Step::kLook);
                    }
                    // It may be there: a second one would wait for the first for ever.
                    if (!IsUnanswered(made.status(), Step::kFindOwn))
                      Lose(absl::StrCat("can't enter the election in ", directory_, ": ",
                                        made.status().message()));
                  }));
}

void LeaderLock::FindOwn() {
  session_.List(directory_, While([this](const absl::StatusOr<std::vector<std::string>>& names) {
                  if (names.ok()) return LookAt(*names, 0);
                  if (!IsUnanswered(names.status(), Step::kFindOwn))
                    Lose(absl::StrCat("can't list ", directory_, ": ", names.status().message()));
                }));
}

void LeaderLock::LookAt(std::vector<std::string> names, size_t next) {
  while (next < names.size() && !LockNumberOf(names[next])) ++next;
  if (next == names.size()) return Do(Step::kEnter);
  const std::string path = absl::StrCat(directory_, "/", names[next]);
  session_.Get(path, While([this, names = std::move(names),
                            next](const absl::StatusOr<ZooKeeperNode>& node) mutable {
                 if (node.ok() && node->owner == session_.id()) {
                   own_ = names[next];
                   return Do(Step::kLook);
                 }
                 if (IsUnanswered(node.status(), Step::kFindOwn)) return;
                 LookAt(std::move(names), next + 1);
               }));
}

void LeaderLock::Look() {
  ++watch_;
  session_.List(directory_, While([this](const absl::StatusOr<std::vector<std::string>>& names) {
                  if (names.ok()) return OnCandidates(*names);
                  if (!IsUnanswered(names.status(), Step::kLook))
                    Lose(absl::StrCat("can't list ", directory_, ": ", names.status().message()));
                }));
}

void LeaderLock::OnCandidates(const std::vector<std::string>& names) {
  std::optional<std::pair<int64_t, std::string>> smallest;
  bool is_there = false;
  for (const std::string& name : names) {
    const std::optional<int64_t> number = LockNumberOf(name);
    if (!number) {
      LOG_EVERY_N(WARNING, 100) << "meta: " << directory_ << "/" << name
                                << " is no candidate's, and is passed over";
      continue;
    }
    is_there |= name == own_;
    if (!smallest || *number < smallest->first) smallest = {*number, name};
  }
  // Somebody removed it.
  if (!is_there) return Do(Step::kEnter);
  if (smallest->second == own_) return Do(Step::kWatch);
  WatchLeader(smallest->second);
}

void LeaderLock::WatchLeader(const std::string& name) {
  const std::string path = absl::StrCat(directory_, "/", name);
  session_.GetAndWatch(
      path, While([this, watch = watch_] {
        if (watch != watch_) return;
        TellLeader(std::nullopt);
        Do(Step::kLook);
      }),
      While([this, path](const absl::StatusOr<ZooKeeperNode>& node) {
        if (absl::IsNotFound(node.status())) return Do(Step::kLook);
        if (IsUnanswered(node.status(), Step::kLook)) return;
        if (!node.ok())
          return Lose(absl::StrCat("can't read ", path, ": ", node.status().message()));
        is_under_way_ = false;
        step_ = Step::kLead;  // nothing is to be asked: the watch says when
        if (node->data != address_) return TellLeader(Endpoint::Parse(node->data));
        // This server's in a session that the ensemble still waits for.
        session_.Remove(path, While([this, path](const absl::Status& removed) {
                          if (IsUnanswered(removed, Step::kLook)) return;
                          if (!removed.ok() && !absl::IsNotFound(removed))
                            Lose(absl::StrCat("can't remove ", path, ": ", removed.message()));
                        }));
      }));
}

void LeaderLock::WatchOwn() {
  const std::string path = absl::StrCat(directory_, "/", own_);
  session_.GetAndWatch(
      path, While([this, watch = watch_] {
        if (watch == watch_) OnOwnChanged();
      }),
      While([this, path](const absl::StatusOr<ZooKeeperNode>& node) {
        if (absl::IsNotFound(node.status())) return Do(Step::kLook);
        if (IsUnanswered(node.status(), Step::kLook)) return;
        if (!node.ok() || node->data != address_ || node->version != 0)
          return Lose(absl::StrCat(path, " is not what this server made of it: ",
                                   node.ok() ? node->data : std::string(node.status().message())));
        Do(Step::kProve);
      }));
}

void LeaderLock::OnOwnChanged() {
  Lose(absl::StrCat("somebody removed or changed ", directory_, "/", own_));
}

// A transaction, though it changes nothing: it is carried out by the ensemble's leader for a session
// that it knows, whereas one member may answer what is only read although it is cut off.
void LeaderLock::Prove() {
  const Instant sent = clock_.Now();
  session_.Commit({{.kind = ZooKeeperStep::Kind::kCheck, .path = directory_ + "/" + own_}},
                  While([this, sent](const absl::Status& proven) { OnProven(sent, proven); }));
}

void LeaderLock::OnProven(Instant sent, const absl::Status& proven) {
  if (IsUnanswered(proven, Step::kProve)) return;
  if (!proven.ok())
    return Lose(absl::StrCat("the lock ", directory_, "/", own_, " is gone: ", proven.message()));
  last_proof_ = {sent, clock_.Now()};
  leads_until_ = std::max(leads_until_, sent + session_.timeout() * kLeadShare);
  Do(Step::kLead);
  strand_->PostAfter(session_.timeout() * kProofShare, While([this] {
                       if (!is_under_way_) Do(Step::kProve);
                     }));
  if (std::exchange(is_granted_, true)) return;
  LOG(INFO) << "meta: leads by " << directory_ << "/" << own_;
  events_.on_granted(directory_ + "/" + own_);
}

void LeaderLock::FindNext(Next done) {
  ReadCandidates(session_, directory_,
                 While([this, done = std::move(done)](
                           const absl::StatusOr<std::vector<Candidate>>& candidates) mutable {
                   done(candidates.ok() ? NextOf(*candidates) : candidates.status());
                 }));
}

absl::StatusOr<Endpoint> LeaderLock::NextOf(const std::vector<Candidate>& candidates) const {
  for (const Candidate& candidate : candidates) {
    // Also of an earlier session of this server, whose end the ensemble waits for.
    if (candidate.node == own_ || candidate.address == address_) continue;
    if (const std::optional<Endpoint> next = Endpoint::Parse(candidate.address)) return *next;
    return absl::FailedPreconditionError(
        absl::StrCat(directory_, "/", candidate.node, " would lead next, and holds '",
                     candidate.address, "', which is no server's address"));
  }
  return absl::NotFoundError(absl::StrCat("no other meta server stands for election: ", directory_,
                                          " has no node of one"));
}

void LeaderLock::TellLeader(std::optional<Endpoint> leader) {
  if (leader == leader_) return;
  leader_ = leader;
  LOG(INFO) << "meta: "
            << (leader ? leader->ToString() + " leads" : std::string("nobody leads now"));
  events_.on_leader(leader);
}

void LeaderLock::Lose(std::string why) {
  CHECK(!is_lost_) << "leader_lock/L2: lost twice";
  is_lost_ = true;
  leads_until_ = Instant{0};
  events_.on_lost(why);
}

}  // namespace arion
