// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/zookeeper_meta_store.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/log.h"
#include "env/clock.h"
#include "meta_state/store_room.h"
#include "zookeeper/zookeeper_session.h"

namespace arion {
namespace {

constexpr absl::Duration kRetryAfter = absl::Seconds(1);

absl::Status Ended() { return absl::CancelledError("this meta server does not lead any more"); }

// OK: each of its values fits into a node.
absl::Status CheckSizes(const std::vector<StoreChange>& batch) {
  for (const StoreChange& change : batch)
    if (change.value && change.key.size() + change.value->size() > kStoredBytesMax)
      return absl::InvalidArgumentError(
          absl::StrCat(change.key, " would have ", change.value->size(),
                       " bytes; in ZooKeeper it can have at most ", kStoredBytesMax));
  return absl::OkStatus();
}

}  // namespace

// Strand-bound: the session's.
class ZooKeeperMetaStore::Queue : public std::enable_shared_from_this<Queue> {
 public:
  struct Batch {
    std::vector<StoreChange> changes;
    StrandPtr reply_on;
    absl::AnyInvocable<void(const absl::Status&)> done;
  };

  Queue(ZooKeeperSession& session, const Clock& clock, StrandPtr strand, std::string root,
        std::string lock, std::set<std::string> nodes,
        std::function<void(const std::string&)> on_lost)
      : session_(&session),
        clock_(clock),
        strand_(std::move(strand)),
        root_(std::move(root)),
        lock_(std::move(lock)),
        on_lost_(std::move(on_lost)),
        nodes_(std::move(nodes)) {}

  const StrandPtr& strand() const { return strand_; }
  const std::optional<Write>& last_write() const { return last_write_; }

  void Add(Batch batch) {
    if (session_ == nullptr) return Tell(batch, Ended());
    if (const absl::Status sizes = CheckSizes(batch.changes); !sizes.ok())
      return Tell(batch, sizes);
    waiting_.push_back(std::move(batch));
    Continue();
  }
  void OnConnected() {
    if (session_ != nullptr && is_unanswered_) FindOut();
  }
  void WhenIdle(absl::AnyInvocable<void(Was)> done) {
    if (under_way_.empty() && waiting_.empty()) return done(Was::kIdle);
    when_idle_.push_back(std::move(done));
  }
  void End() {
    session_ = nullptr;
    when_idle_.clear();
    for (Batch& batch : under_way_) Tell(batch, Ended());
    for (Batch& batch : waiting_) Tell(batch, Ended());
    under_way_.clear();
    waiting_.clear();
  }

 private:
  static void Tell(Batch& batch, const absl::Status& status) {
    batch.reply_on->Post([done = std::move(batch.done), status]() mutable { done(status); });
  }

  void Continue() {
    if (!under_way_.empty() || waiting_.empty()) return;
    std::vector<StoreChange> changes;
    size_t bytes = 0;
    while (!waiting_.empty()) {
      for (const StoreChange& change : waiting_.front().changes)
        bytes += change.key.size() + change.value.value_or("").size();
      if (!under_way_.empty() && bytes > kBatchBytesMax) break;
      changes.insert(changes.end(), waiting_.front().changes.begin(),
                     waiting_.front().changes.end());
      under_way_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    steps_ = StepsOf(root_, changes, &nodes_);
    Send();
  }

  // The next transaction, of as many of the steps as it holds.
  void Send() {
    using Kind = ZooKeeperStep::Kind;
    serial_ = absl::StrCat(lock_.substr(lock_.rfind('/') + 1), " ", ++commits_);
    transaction_ = {{Kind::kCheck, lock_}};
    FillTransaction(&steps_, &transaction_);
    for (ZooKeeperStep& step : StepsOf(root_, {{kCommitKey, serial_}}, &nodes_))
      transaction_.push_back(std::move(step));
    sent_ = clock_.Now();
    Commit();
  }

  void Commit() {
    session_->Commit(transaction_, [weak = weak_from_this()](const absl::Status& status) {
      const auto self = weak.lock();
      if (self && self->session_ != nullptr) self->OnCommitted(status);
    });
  }

  void OnCommitted(const absl::Status& status) {
    if (absl::IsUnavailable(status)) return Wait();
    if (!status.ok()) return Lose(absl::StrCat("the state can't be stored: ", status.message()));
    last_write_ = {sent_, clock_.Now()};
    if (!steps_.empty()) return Send();
    std::vector<Batch> stored = std::exchange(under_way_, {});
    for (Batch& batch : stored) Tell(batch, absl::OkStatus());
    Continue();
    if (!under_way_.empty()) return;
    for (auto& told : std::exchange(when_idle_, {})) told(Was::kBusy);
  }

  // It may have been carried out or not.
  void Wait() {
    is_unanswered_ = true;
    strand_->PostAfter(kRetryAfter, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->OnConnected();
    });
  }

  // A request of an earlier connection is not carried out any more once this one is answered
  // behind a Sync.
  void FindOut() {
    is_unanswered_ = false;
    session_->Sync(root_.empty() ? "/" : root_,
                   [weak = weak_from_this()](const absl::Status& synced) {
                     const auto self = weak.lock();
                     if (!self || self->session_ == nullptr) return;
                     if (absl::IsUnavailable(synced)) return self->Wait();
                     if (!synced.ok()) return self->Lose(std::string(synced.message()));
                     self->ReadSerial();
                   });
  }

  void ReadSerial() {
    session_->Get(root_ + kCommitKey,
                  [weak = weak_from_this()](const absl::StatusOr<ZooKeeperNode>& node) {
                    const auto self = weak.lock();
                    if (!self || self->session_ == nullptr) return;
                    if (absl::IsUnavailable(node.status())) return self->Wait();
                    if (!node.ok() && !absl::IsNotFound(node.status()))
                      return self->Lose(std::string(node.status().message()));
                    if (node.ok() && node->data == self->serial_)
                      return self->OnCommitted(absl::OkStatus());
                    self->Commit();
                  });
  }

  void Lose(const std::string& why) {
    const auto self = shared_from_this();
    // The owner hears of it before anybody who waits (Errors above).
    std::exchange(on_lost_, [](const std::string&) {})(why);
    if (session_ != nullptr) End();
  }

  // nullptr: it has ended.
  ZooKeeperSession* session_;
  const Clock& clock_;
  const StrandPtr strand_;
  const std::string root_;
  const std::string lock_;
  std::function<void(const std::string&)> on_lost_;
  std::set<std::string> nodes_;
  std::deque<Batch> waiting_;
  std::vector<absl::AnyInvocable<void(Was)>> when_idle_;
  // Of the transactions that are under way, and those of their steps that come later.
  std::vector<Batch> under_way_;
  std::vector<ZooKeeperStep> steps_;
  std::vector<ZooKeeperStep> transaction_;
  std::string serial_;
  uint64_t commits_ = 0;
  Instant sent_;
  std::optional<Write> last_write_;
  bool is_unanswered_ = false;
};

ZooKeeperMetaStore::ZooKeeperMetaStore(ZooKeeperSession& session, const Clock& clock,
                                       StrandPtr strand, std::string root, std::string lock,
                                       StoredTree tree,
                                       std::function<void(const std::string& why)> on_lost)
    : queue_(std::make_shared<Queue>(session, clock, std::move(strand), root, std::move(lock),
                                     std::move(tree.nodes), std::move(on_lost))),
      entries_(std::move(tree.entries)),
      root_(std::move(root)) {}

ZooKeeperMetaStore::~ZooKeeperMetaStore() = default;

absl::StatusOr<std::map<std::string, std::string>> ZooKeeperMetaStore::Load() {
  return std::move(entries_);
}

void ZooKeeperMetaStore::Commit(std::vector<Change> batch, StoreNeed, StrandPtr reply_on,
                                absl::AnyInvocable<void(const absl::Status&)> done) {
  queue_->strand()->Post(
      [queue = queue_,
       batch = Queue::Batch{std::move(batch), std::move(reply_on), std::move(done)}]() mutable {
        queue->Add(std::move(batch));
      });
}

void ZooKeeperMetaStore::Look(StrandPtr reply_on, absl::AnyInvocable<void(const StoreRoom&)> done) {
  reply_on->Post([done = std::move(done)]() mutable { done(StoreRoom{}); });
}

std::string ZooKeeperMetaStore::WayBack() const {
  return absl::StrCat(
      "set that node, below ", root_.empty() ? "/" : root_,
      " in ZooKeeper, to what it was (zkCli.sh get and set); the meta servers look again every "
      "10 s. Or, where nothing of it can be saved, move the whole tree aside and have the state "
      "learned from the replica servers, arion_shell's recover -s SERVER,... (all of them)");
}

void ZooKeeperMetaStore::OnConnected() { queue_->OnConnected(); }
void ZooKeeperMetaStore::WhenIdle(absl::AnyInvocable<void(Was)> done) {
  queue_->WhenIdle(std::move(done));
}
void ZooKeeperMetaStore::End() { queue_->End(); }
std::optional<ZooKeeperMetaStore::Write> ZooKeeperMetaStore::last_write() const {
  return queue_->last_write();
}

}  // namespace arion
