// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/state_move.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/cluster_identity.h"
#include "base/log.h"
#include "base/status.h"
#include "env/clock.h"
#include "env/environment.h"
#include "env/file_system.h"
#include "meta_ensemble/leader_lock.h"
#include "meta_ensemble/state_tree.h"
#include "meta_state/cluster_state.h"
#include "meta_state/journal_meta_store.h"
#include "zookeeper/zookeeper_session.h"

namespace arion {
namespace {

using Entries = std::map<std::string, std::string>;
using To = StateMark::To;
using Phase = StateMark::Phase;

constexpr absl::Duration kLookAgainAfter = absl::Seconds(1);
constexpr char kArrivingName[] = "arriving";

absl::StatusOr<MovedState> Count(const Entries& entries) {
  ASSIGN_OR_RETURN(const ClusterState state, ClusterState::Load(entries));
  MovedState count{.entries = entries.size(), .tables = state.tables.size()};
  for (const auto& [app_id, table] : state.tables)
    for (const Partition& partition : table.partitions) {
      ++count.partitions;
      count.ballots += partition.config.ballot.value();
    }
  return count;
}

// What makes the state in `tree` equal to `wanted`.
std::vector<StoreChange> Difference(const StoredTree& tree, const Entries& wanted) {
  std::vector<StoreChange> changes;
  std::set<std::string> needed = {kAppsKey, "/arion"};
  for (const auto& [key, value] : wanted) {
    for (size_t at = key.find('/', 1); at != std::string::npos; at = key.find('/', at + 1))
      needed.insert(key.substr(0, at));
    needed.insert(key);
    const auto found = tree.entries.find(key);
    if (found == tree.entries.end() || found->second != value) changes.push_back({key, value});
  }
  for (const std::string& node : tree.nodes)
    if (!needed.contains(node) && !IsOfPlace(node)) changes.push_back({node, std::nullopt});
  return changes;
}

// The first key that one of both has otherwise; empty: none.
std::string DifferentKey(const Entries& a, const Entries& b) {
  for (const auto& [key, value] : a) {
    const auto found = b.find(key);
    if (found == b.end() || found->second != value) return key;
  }
  for (const auto& [key, value] : b)
    if (!a.contains(key)) return key;
  return "";
}

}  // namespace

class StateMove::State : public std::enable_shared_from_this<State> {
 public:
  State(Environment& env, ZooKeeper& zookeeper, StateMoveOptions options)
      : env_(env),
        zookeeper_(zookeeper),
        options_(std::move(options)),
        root_(options_.root == "/" ? "" : options_.root),
        strand_(env.NewStrand("state move")) {}

  void Start(std::function<void(absl::StatusOr<MovedState>)> done) {
    done_ = std::move(done);
    InPool([this] { return OpenDirectory(); }, [this] { Connect(); });
  }

 private:
  // ---- how it goes on ----

  // `run` on the strand, unless the move has ended.
  template <class Run>
  auto On(Run run) {
    return [weak = weak_from_this(),
            run = std::move(run)]<class... Arguments>(Arguments&&... arguments) mutable {
      const auto self = weak.lock();
      if (self && self->done_) run(std::forward<Arguments>(arguments)...);
    };
  }
  void InPool(std::function<absl::Status()> work, std::function<void()> next) {
    env_.disk_pool(options_.directory)
        .Submit([weak = weak_from_this(), work = std::move(work), next = std::move(next)] {
          const auto self = weak.lock();
          if (!self) return;
          self->strand_->Post(self->On([self = self.get(), next, worked = work()] {
            worked.ok() ? next() : self->Fail(worked);
          }));
        });
  }
  void Fail(const absl::Status& why) { Finish(why); }
  // Not at once: what calls this may be of what ends.
  void Finish(absl::StatusOr<MovedState> result) {
    if (!done_) return;
    strand_->Post([self = shared_from_this(), done = std::exchange(done_, nullptr),
                   result = std::move(result)] {
      self->lock_.reset();
      self->session_.reset();
      self->journal_.reset();
      self->directory_lock_.reset();
      done(result);
    });
  }
  void FailAt(const std::string& key, const std::string& why) {
    Fail(absl::FailedPreconditionError(absl::StrCat("node ", root_, key, " ", why)));
  }

  std::string PathIn(const char* name) const { return JoinPath(options_.directory, name); }
  std::string ArrivingPath() const { return PathIn(kArrivingName); }
  bool IsToZooKeeper() const { return options_.to == To::kZooKeeper; }

  // ---- the directory ----

  // Its journal, where it has one, and its lock.
  absl::Status OpenDirectory() {
    ASSIGN_OR_RETURN(directory_, LookAtStateDirectory(env_.files(), options_.directory));
    if (directory_.has_journal) {
      journal_ = std::make_unique<JournalMetaStore>(env_, options_.directory,
                                                    JournalMetaStoreOptions{.reserve_bytes = 0});
      ASSIGN_OR_RETURN(const Entries entries, journal_->Load());
      journal_entries_ = StateIn(entries);
      return Count(journal_entries_).status();
    }
    RETURN_IF_ERROR(CreateDirectoryDurably(env_.files(), options_.directory));
    ASSIGN_OR_RETURN(directory_lock_, env_.files().Lock(PathIn("lock")));
    return absl::OkStatus();
  }

  absl::Status WriteNote() {
    return WriteFileDurably(env_.files(), NotePath(options_.directory), mark_.ToJson());
  }

  // Beside its place, and read back.
  absl::Status WriteJournal() {
    FileSystem& files = env_.files();
    RETURN_IF_ERROR(files.RemoveAll(ArrivingPath()));
    RETURN_IF_ERROR(CreateDirectoryDurably(files, ArrivingPath()));
    RETURN_IF_ERROR(
        WriteFileDurably(files, JournalPath(ArrivingPath()), JournalMetaStore::FileOf(wanted_)));
    JournalMetaStore copy(env_, ArrivingPath(), JournalMetaStoreOptions{.reserve_bytes = 0});
    ASSIGN_OR_RETURN(const Entries read, copy.Load());
    if (const std::string key = DifferentKey(wanted_, read); !key.empty())
      return absl::DataLossError(
          absl::StrCat(JournalPath(ArrivingPath()), " was not read back as it was written: ", key));
    ASSIGN_OR_RETURN(moved_, Count(read));
    return cluster_id_ == 0 ? absl::OkStatus() : options_.keep_cluster_id(cluster_id_);
  }

  // The journal is where a meta server finds it, or is not any more: state_mark/P1.
  absl::Status Switch() {
    FileSystem& files = env_.files();
    const std::string place = JournalPath(options_.directory);
    RETURN_IF_ERROR(IsToZooKeeper() ? files.Rename(place, MovedJournalPath(options_.directory))
                                    : files.Rename(JournalPath(ArrivingPath()), place));
    return files.SyncDirectory(options_.directory);
  }

  // What a move leaves in the directory of its journal, and is not needed there.
  absl::Status TidyUp() {
    if (IsToZooKeeper()) return absl::OkStatus();
    FileSystem& files = env_.files();
    RETURN_IF_ERROR(files.RemoveAll(ArrivingPath()));
    RETURN_IF_ERROR(files.RemoveAll(MovedJournalPath(options_.directory)));
    RETURN_IF_ERROR(files.RemoveAll(NotePath(options_.directory)));
    return files.SyncDirectory(options_.directory);
  }

  // ---- the lock ----

  void Connect() {
    session_ = zookeeper_.Connect(strand_,
                                  On([this](ZooKeeperSession::State state) { OnSession(state); }));
    strand_->PostAfter(
        options_.patience, On([this] {
          if (lock_node_.empty())
            Fail(absl::UnavailableError(
                lock_ ? absl::StrCat(options_.lock_root,
                                     ": somebody else has the lock whose node is no "
                                     "server's: another move?")
                      : absl::StrCat("ZooKeeper does not answer: ", options_.zookeeper)));
        }));
  }

  void OnSession(ZooKeeperSession::State state) {
    switch (state) {
      case ZooKeeperSession::State::kConnecting:
        return;
      case ZooKeeperSession::State::kConnected:
        return lock_ ? lock_->OnConnected() : Enter();
      case ZooKeeperSession::State::kEnded:
        return Fail(absl::UnavailableError("the session with ZooKeeper has ended"));
    }
  }

  void Enter() {
    lock_ = std::make_shared<LeaderLock>(
        *session_, env_.clock(), strand_, options_.lock_root,
        absl::StrCat("arion_meta move-state ", absl::Hex(env_.random().Next(), absl::kZeroPad16)),
        LeaderLock::Events{
            .on_granted = On([this](const std::string& node) {
              lock_node_ = node;
              WatchLease();
              FindOthers();
            }),
            .on_leader = On([this](std::optional<Endpoint> leader) {
              if (leader) Fail(SomebodyRuns(leader->ToString()));
            }),
            .on_lost = On([this](const std::string& why) { Fail(absl::UnavailableError(why)); })});
    lock_->Start();
  }

  absl::Status SomebodyRuns(const std::string& who) const {
    return absl::FailedPreconditionError(
        absl::StrCat(who, " stands for election in ", options_.lock_root,
                     ": stop all meta servers first. If it is stopped, ZooKeeper waits for its "
                     "session's end: try again in a minute"));
  }

  void WatchLease() {
    const absl::Duration left = lock_->leads_until() - env_.clock().Now();
    if (left <= absl::ZeroDuration())
      return Fail(absl::UnavailableError(
          "nothing was heard of ZooKeeper for most of the session's timeout"));
    strand_->PostAfter(left, On([this] { WatchLease(); }));
  }

  void FindOthers() {
    lock_->FindNext(On([this](const absl::StatusOr<Endpoint>& other) {
      if (absl::IsNotFound(other.status())) return MakeRoot();
      if (absl::IsUnavailable(other.status()))
        return void(strand_->PostAfter(kLookAgainAfter, On([this] { FindOthers(); })));
      Fail(other.ok() ? SomebodyRuns(other->ToString()) : other.status());
    }));
  }

  void MakeRoot() {
    if (root_.empty()) return Look();
    MakePath(*session_, root_, On([this](const absl::Status& made) {
      if (absl::IsUnavailable(made))
        return void(strand_->PostAfter(kLookAgainAfter, On([this] { MakeRoot(); })));
      made.ok() ? Look() : Fail(made);
    }));
  }

  // ---- the tree ----

  // Each step begins with what is there: so nothing need be known of an answer that was lost.
  void Look() {
    ReadStoredTree(*session_, root_, On([this](absl::StatusOr<StoredTree> tree) {
      if (absl::IsUnavailable(tree.status())) return LookLater();
      tree.ok() ? Continue(*std::move(tree)) : Fail(tree.status());
    }));
  }
  void LookLater() {
    strand_->PostAfter(kLookAgainAfter, On([this] { Look(); }));
  }

  // These, then Look.
  void Store(std::vector<ZooKeeperStep> steps) {
    std::vector<ZooKeeperStep> transaction = {{ZooKeeperStep::Kind::kCheck, lock_node_}};
    FillTransaction(&steps, &transaction);
    session_->Commit(transaction,
                     On([this, steps = std::move(steps)](const absl::Status& stored) mutable {
                       if (absl::IsUnavailable(stored)) return LookLater();
                       if (!stored.ok()) return Fail(Annotate(stored, "storing the state"));
                       steps.empty() ? Look() : Store(std::move(steps));
                     }));
  }

  void Continue(StoredTree tree) {
    switch (step_) {
      case Step::kJudge:
        return Judge(tree);
      case Step::kMark:
        return Mark(std::move(tree));
      case Step::kWrite:
        return Write(std::move(tree));
      case Step::kEnd:
        return End(std::move(tree));
    }
  }

  // ---- what is to be done ----

  void Judge(const StoredTree& tree) {
    if (const auto found = tree.entries.find(kStateMarkKey); found != tree.entries.end()) {
      absl::StatusOr<StateMark> mark = StateMark::Parse(found->second);
      if (!mark.ok()) return FailAt(kStateMarkKey, std::string(mark.status().message()));
      former_ = *std::move(mark);
    }
    if (!TakeClusterId(tree)) return;
    mark_ = {.phase = Phase::kMoving,
             .to = options_.to,
             .id = IsNoted() ? former_->id
                             : absl::StrCat(absl::Hex(env_.random().Next(), absl::kZeroPad16)),
             .journal = options_.journal,
             .zookeeper = options_.zookeeper,
             .unix_seconds = env_.clock().WallMicros() / 1000000};
    IsToZooKeeper() ? JudgeToZooKeeper(tree) : JudgeToJournal(tree);
  }

  // The directory and the node are of one move.
  bool IsNoted() const { return former_ && directory_.note && directory_.note->id == former_->id; }

  // False: it has failed.
  bool TakeClusterId(const StoredTree& tree) {
    cluster_id_ = options_.cluster_id;
    const auto found = tree.entries.find(kClusterIdKey);
    if (found == tree.entries.end()) return true;
    const std::optional<uint32_t> stored = ParseClusterId(found->second);
    if (stored && (cluster_id_ == 0 || cluster_id_ == *stored)) {
      cluster_id_ = *stored;
      return true;
    }
    FailAt(kClusterIdKey,
           absl::StrCat("holds '", found->second, "', and ", options_.directory,
                        "/.arion-cluster says ", FormatClusterId(cluster_id_),
                        ": one of the two is another cluster's; set the right zookeeper_root or "
                        "meta_data_dir"));
    return false;
  }

  void JudgeToZooKeeper(const StoredTree& tree) {
    const Entries there = StateIn(tree.entries);
    if (!directory_.has_journal) {
      const bool was_moved = directory_.note && directory_.note->to == To::kZooKeeper;
      if (!was_moved)
        return Fail(absl::NotFoundError(absl::StrCat(JournalPath(options_.directory),
                                                     " is not there: there is nothing to move")));
      // All but the last step was done.
      if (IsNoted() && former_->phase == Phase::kMoving) {
        wanted_ = there;
        return Begin(Step::kEnd);
      }
      if (former_ || there.empty())
        return FailAt(
            former_ ? kStateMarkKey : kAppsKey,
            absl::StrCat(former_ ? "says that the state is elsewhere" : "holds no state",
                         ", although the journal of ", options_.directory, " was moved there"));
      return EndWith(there, true);
    }
    if (former_ && former_->journal != options_.journal)
      return FailAt(kStateMarkKey,
                    absl::StrCat("says that the state is with the journal of ", former_->journal,
                                 ": move it from there; or remove the node, and what is in ", root_,
                                 "/apps, if this journal is the right one"));
    // The journal that was to arrive there has not: this is another one.
    if (former_ && former_->to == To::kJournal && former_->phase == Phase::kMoving && !IsNoted())
      return Fail(MayLeadUnder(former_->ToJson(), root_ + kStateMarkKey, directory_));
    if (!former_ && (!there.empty() || tree.entries.contains(kAppsKey)))
      return FailAt(there.empty() ? kAppsKey : there.begin()->first,
                    "is there: that root holds a state, or a part of one, already. Set another "
                    "zookeeper_root, or remove what is there (zkCli.sh deleteall) if nobody needs "
                    "it");
    wanted_ = journal_entries_;
    for (const auto& [key, value] : wanted_)
      if (key.size() + value.size() > kStoredBytesMax)
        return Fail(absl::FailedPreconditionError(
            absl::StrCat(key, " has ", value.size(), " bytes; in ZooKeeper it can have at most ",
                         kStoredBytesMax)));
    Begin(Step::kMark);
  }

  void JudgeToJournal(const StoredTree& tree) {
    if (directory_.has_journal) {
      const bool is_here =
          former_ && former_->to == To::kJournal && former_->journal == options_.journal;
      if (is_here && former_->phase == Phase::kMoved) return EndWith(journal_entries_, true);
      if (is_here && IsNoted()) {
        wanted_ = journal_entries_;
        return Begin(Step::kEnd);
      }
      return Fail(absl::FailedPreconditionError(
          absl::StrCat(JournalPath(options_.directory),
                       " is there, and would be replaced: move it away if nobody needs it")));
    }
    if (former_ && !(former_->phase == Phase::kMoving && IsNoted()))
      return Fail(MayLeadUnder(former_->ToJson(), root_ + kStateMarkKey, directory_));
    if (!former_ && tree.entries.contains(kAppsKey) && tree.entries.at(kAppsKey) == "lock")
      return FailAt(kAppsKey, "is 'lock': a rewrite of the state was interrupted");
    wanted_ = StateIn(tree.entries);
    if (wanted_.empty())
      return Fail(absl::NotFoundError(
          absl::StrCat("below ", options_.root, " there is no state: there is nothing to move")));
    if (const auto count = Count(wanted_); !count.ok())
      return Fail(Annotate(count.status(), absl::StrCat("the state below ", options_.root)));
    Begin(Step::kMark);
  }

  // ---- and is done ----

  enum class Step { kJudge, kMark, kWrite, kEnd };

  void Begin(Step step) {
    step_ = step;
    if (step == Step::kEnd) return Look();
    InPool([this] { return WriteNote(); }, [this] { Look(); });
  }

  void Mark(StoredTree tree) {
    if (tree.entries[kStateMarkKey] != mark_.ToJson() || tree.entries[kAppsKey] != "lock")
      return Store(StepsOf(root_, BeginOfMove(mark_), &tree.nodes));
    step_ = Step::kWrite;
    if (IsToZooKeeper()) return Write(std::move(tree));
    InPool([this] { return WriteJournal(); }, [this] { SwitchPlaces(); });
  }

  // Until what is read is what is wanted.
  void Write(StoredTree tree) {
    const std::vector<StoreChange> changes = Difference(tree, wanted_);
    if (changes.empty()) {
      const absl::StatusOr<MovedState> count = Count(StateIn(tree.entries));
      if (!count.ok()) return Fail(count.status());
      moved_ = *count;
      return SwitchPlaces();
    }
    // Once all of it, and again as often as answers were lost; but not for ever.
    if (++writes_ > kWritesMax)
      return Fail(absl::DataLossError(absl::StrCat("node ", root_, changes.front().key,
                                                   " was not read back as it was written")));
    Store(StepsOf(root_, changes, &tree.nodes));
  }

  void SwitchPlaces() {
    step_ = Step::kEnd;
    InPool([this] { return Switch(); }, [this] { Look(); });
  }

  void End(StoredTree tree) {
    const auto found = tree.entries.find(kStateMarkKey);
    const bool has_mark = found != tree.entries.end();
    if (IsToZooKeeper()) {
      if (!has_mark) return EndWith(StateIn(tree.entries), false);
      std::vector<StoreChange> changes = EndOfMove();
      if (cluster_id_ != 0) changes.push_back({kClusterIdKey, FormatClusterId(cluster_id_)});
      return Store(StepsOf(root_, changes, &tree.nodes));
    }
    StateMark moved = mark_;
    moved.phase = Phase::kMoved;
    if (has_mark && found->second == moved.ToJson()) return EndWith(wanted_, false);
    Store(StepsOf(root_, BeginOfMove(moved), &tree.nodes));
  }

  void EndWith(const Entries& there, bool was_there) {
    absl::StatusOr<MovedState> count = Count(there);
    if (!count.ok()) return Fail(count.status());
    if (const std::string key = DifferentKey(wanted_, there); !was_there && !key.empty())
      return Fail(absl::DataLossError(absl::StrCat(key, " was not read back as it was written")));
    moved_ = *count;
    moved_.was_there = was_there;
    InPool([this] { return TidyUp(); }, [this] { Finish(moved_); });
  }

  static constexpr int kWritesMax = 20;

  Environment& env_;
  ZooKeeper& zookeeper_;
  const StateMoveOptions options_;
  const std::string root_;
  const StrandPtr strand_;
  // nullptr: it has ended.
  std::function<void(absl::StatusOr<MovedState>)> done_;

  StateDirectory directory_;
  std::unique_ptr<JournalMetaStore> journal_;
  std::unique_ptr<WritableFile> directory_lock_;
  Entries journal_entries_;
  std::unique_ptr<ZooKeeperSession> session_;
  std::shared_ptr<LeaderLock> lock_;
  // Empty: it has not got it yet.
  std::string lock_node_;
  Step step_ = Step::kJudge;
  // As it was found.
  std::optional<StateMark> former_;
  StateMark mark_;
  uint32_t cluster_id_ = 0;
  Entries wanted_;
  int writes_ = 0;
  MovedState moved_;
};

StateMove::StateMove(Environment& env, ZooKeeper& zookeeper, StateMoveOptions options)
    : state_(std::make_shared<State>(env, zookeeper, std::move(options))) {}

StateMove::~StateMove() = default;

void StateMove::Start(std::function<void(absl::StatusOr<MovedState>)> done) {
  state_->Start(std::move(done));
}

}  // namespace arion
