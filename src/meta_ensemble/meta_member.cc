// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/meta_member.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "base/cluster_identity.h"
#include "base/log.h"
#include "env/clock.h"
#include "env/environment.h"
#include "messages/admin_messages.h"
#include "messages/meta_messages.h"
#include "meta/meta_options.h"
#include "meta/meta_server.h"
#include "meta/owner_life.h"
#include "meta/request_codec.h"
#include "meta_ensemble/candidate_list.h"
#include "meta_ensemble/cluster_id_node.h"
#include "meta_ensemble/ensemble_overview.h"
#include "meta_ensemble/follower_answers.h"
#include "meta_ensemble/leader_lock.h"
#include "meta_ensemble/root_check.h"
#include "meta_ensemble/state_tree.h"
#include "meta_ensemble/zookeeper_meta_store.h"
#include "meta_overview/cluster_overview.h"
#include "zookeeper/zookeeper_session.h"

namespace arion {
namespace {

// Between a life and the next.
constexpr absl::Duration kPause = absl::Seconds(1);
// After something that a person has to mend.
constexpr absl::Duration kLongPause = absl::Seconds(10);
// Of `grace`: for how long a leader hears no replica server before it lets another one lead. Shorter
// than a lease, so that they find that one before theirs ends. Twice as long each time that it heard
// none while it led: there may be none.
constexpr double kSilenceShare = 0.5;
constexpr int kSilentLeadsMax = 6;
// Of a hand-over: for the next leader to show that it lives, and for what is under way.
constexpr absl::Duration kNextAnswersIn = absl::Seconds(1);
constexpr absl::Duration kWorkEndsIn = absl::Milliseconds(500);
// Of what is shown of the others.
constexpr absl::Duration kCandidatesKeptFor = absl::Seconds(2);
constexpr absl::Duration kLookPatience = absl::Milliseconds(500);

}  // namespace

class MetaMember::State : public std::enable_shared_from_this<State> {
 public:
  State(Environment& env, Transport& transport, ZooKeeper& zookeeper, MetaMemberOptions options,
        MetaServerOptions meta)
      : env_(env),
        transport_(transport),
        zookeeper_(zookeeper),
        options_(std::move(options)),
        root_(options_.root == "/" ? "" : options_.root),
        meta_(std::move(meta)),
        other_requests_(meta_.other_requests),
        strand_(env.NewStrand("meta ensemble")),
        stats_(std::make_shared<MetaServerStats>()) {}

  RequestHandler Handler() {
    return [weak = weak_from_this(), other = other_requests_](InboundRequest request) {
      if (other && other(request)) return;
      if (const auto self = weak.lock()) self->Handle(std::move(request));
    };
  }

  void Start() {
    Post([this] { Begin(); });
  }

  void Stop(std::function<void()> done) {
    strand_->Post([self = shared_from_this(), done = std::move(done)] {
      self->is_stopped_ = true;
      self->EndLife();
      if (done) done();
    });
  }

  void Handle(InboundRequest request) {
    auto shared = std::make_shared<InboundRequest>(std::move(request));
    Post([this, shared] { OnRequest(std::move(*shared)); });
  }

  void Reconfigure(const MetaServerOptions& options) {
    Post([this, options] {
      TakeChangeable(options, &meta_);
      if (server_) server_->Reconfigure(options);
    });
  }

  void StoreClusterId(uint32_t id) {
    Post([this, id] {
      if (!Leads()) return;
      using Kind = ZooKeeperStep::Kind;
      session_->Commit(
          {{Kind::kCheck, lock_node_}, {Kind::kSet, PathOf(kClusterIdKey), FormatClusterId(id)}},
          [path = PathOf(kClusterIdKey)](const absl::Status& stored) {
            LOG_IF(ERROR, !stored.ok()) << "meta: the cluster's id, which was learned "
                                        << "anew, is not in " << path << ": " << stored;
          });
    });
  }

  void Overview(std::function<void(ClusterOverview)> done) {
    Post([this, done = std::move(done)] {
      const Leadership now = LeadershipNow();
      if (!now.is_leader) {
        ClusterOverview overview;
        overview.leadership = now;
        return done(std::move(overview));
      }
      server_->Overview([done, now](ClusterOverview overview) {
        overview.leadership = now;
        done(std::move(overview));
      });
    });
  }

  void Ensemble(std::function<void(EnsembleOverview)> done) {
    Post([this, done = std::move(done)]() mutable {
      looking_.push_back(std::move(done));
      LookAtCandidates();
    });
  }

  const MetaServerStats& stats() const { return *stats_; }

 private:
  template <class Run>
  void Post(Run run) {
    strand_->Post([weak = weak_from_this(), run = std::move(run)]() mutable {
      if (const auto self = weak.lock()) run();
    });
  }
  // `run`, unless this is gone or its life has ended since.
  template <class Run>
  auto InLife(Run run) {
    return [weak = weak_from_this(), life = life_,
            run = std::move(run)]<class... Arguments>(Arguments&&... arguments) mutable {
      const auto self = weak.lock();
      if (self && self->life_ == life) run(std::forward<Arguments>(arguments)...);
    };
  }
  std::string PathOf(const char* key) const { return root_ + key; }

  Leadership LeadershipNow() const {
    if (!Leads())
      return {
          .is_one_of_several = true, .is_leader = false, .leader = leader_.value_or(Endpoint())};
    return {.is_one_of_several = true,
            .is_leader = true,
            .leader = transport_.local(),
            .since_unix_ms = led_since_ms_};
  }

  // ---- what is shown of the others ----

  void LookAtCandidates() {
    if (is_reading_candidates_) return;  // who looks is told when that has ended
    const bool is_fresh = candidates_ && env_.clock().Now() - candidates_at_ < kCandidatesKeptFor;
    if (is_fresh || !lock_ || !is_connected_) return TellWhoLooks();
    is_reading_candidates_ = true;
    ReadCandidates(*session_, lock_->directory(),
                   InLife([this](absl::StatusOr<std::vector<Candidate>> read) {
                     is_reading_candidates_ = false;
                     candidates_trouble_ = read.ok() ? "" : std::string(read.status().message());
                     if (read.ok()) {
                       candidates_ = *std::move(read);
                       candidates_at_ = env_.clock().Now();
                     }
                     TellWhoLooks();
                   }));
    // Its answer may take most of the session's timeout.
    strand_->PostAfter(kLookPatience, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->TellWhoLooks();
    });
  }

  void TellWhoLooks() {
    const auto looking = std::exchange(looking_, {});
    for (const auto& tell : looking) tell(EnsembleNow());
  }

  EnsembleOverview EnsembleNow() const {
    EnsembleOverview shown{.self = transport_.local(),
                           .root = options_.root,
                           .lock_directory = options_.lock_root,
                           .is_connected = is_connected_,
                           .leadership = LeadershipNow(),
                           .now = env_.clock().Now(),
                           .unix_ms = env_.clock().WallMicros() / 1000,
                           .candidates = candidates_,
                           .candidates_at = candidates_at_,
                           .trouble = candidates_trouble_};
    if (session_) {
      shown.session = session_->id();
      shown.session_timeout = session_->timeout();
    }
    if (lock_ && lock_->leads_until() > shown.now)
      shown.leads_for = lock_->leads_until() - shown.now;
    if (lock_ && lock_->last_proof())
      shown.last_proof = {lock_->last_proof()->sent,
                          lock_->last_proof()->answered - lock_->last_proof()->sent};
    if (store_)
      if (const auto write = store_->last_write())
        shown.last_write = {write->sent, write->known - write->sent};
    return shown;
  }

  // ---- a life ----

  void Begin() {
    if (is_stopped_ || session_) return;
    ++life_;
    session_ = zookeeper_.Connect(
        strand_, InLife([this](ZooKeeperSession::State state) { OnSession(state); }));
  }

  void OnSession(ZooKeeperSession::State state) {
    is_connected_ = state == ZooKeeperSession::State::kConnected;
    switch (state) {
      case ZooKeeperSession::State::kConnecting:
        LOG(WARNING) << "meta: no server of ZooKeeper answers";
        return;
      case ZooKeeperSession::State::kConnected:
        if (lock_) lock_->OnConnected();
        if (store_) store_->OnConnected();
        if (!lock_ && !is_joining_) Join();
        if (waits_to_load_) ReadTree();
        return;
      case ZooKeeperSession::State::kEnded:
        return GiveUp("the session with ZooKeeper has ended", kPause);
    }
  }

  void StopLeading() {
    may_lead_ = false;
    if (has_ended_) *has_ended_ = true;
  }

  // Not at once: what calls this may be of what ends.
  void GiveUp(const std::string& why, absl::Duration pause) {
    LOG(WARNING) << "meta: " << (Leads() ? "leads no longer: " : "stands for election anew: ")
                 << why;
    StopLeading();
    strand_->Post(InLife([this, pause] {
      EndLife();
      strand_->PostAfter(pause, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->Begin();
      });
    }));
  }

  void EndLife() {
    ++life_;
    EndHandOver(ErrorCode::kOk, "");
    StopLeading();
    is_joining_ = waits_to_load_ = false;
    is_connected_ = is_reading_candidates_ = false;
    candidates_.reset();
    candidates_trouble_.clear();
    leader_.reset();
    if (store_) store_->End();
    if (server_) {
      // It stops on its own strand, and its store with it.
      server_->Stop([server = server_] {});
    }
    server_.reset();
    store_.reset();
    lock_.reset();
    session_.reset();
  }

  // ---- the cluster ----

  void Join() {
    is_joining_ = true;
    CheckRoot(*session_, root_, options_.lock_root, InLife([this](const absl::Status& checked) {
      if (!checked.ok()) return OnNotJoined(checked);
      LearnClusterId(
          *session_, root_, [this] { return IdToMake(); },
          InLife([this](const absl::StatusOr<std::optional<uint32_t>>& id) {
            if (!id.ok()) return OnNotJoined(id.status());
            const absl::Status taken = *id ? options_.on_cluster_id(**id) : absl::OkStatus();
            if (!taken.ok()) return OnNotJoined(taken);
            is_joining_ = false;
            Enter();
          }));
    }));
  }

  uint32_t IdToMake() {
    const uint32_t known = options_.known_cluster_id();
    if (known != 0 || !options_.may_make_cluster_id) return known;
    // 1 to 2^32 - 1: 0 means that there is none.
    return static_cast<uint32_t>(env_.random().Below(UINT32_MAX) + 1);
  }

  void OnNotJoined(const absl::Status& why) {
    is_joining_ = false;
    if (!absl::IsUnavailable(why)) return GiveUp(std::string(why.message()), kLongPause);
    // Also where no change of the session says so: an answer may be lost without one.
    strand_->PostAfter(kPause, InLife([this] {
                         if (!lock_ && !is_joining_) Join();
                       }));
  }

  // ---- the election ----

  void Enter() {
    lock_ = std::make_shared<LeaderLock>(
        *session_, env_.clock(), strand_, options_.lock_root, transport_.local().ToString(),
        LeaderLock::Events{
            .on_granted = InLife([this](const std::string& node) { OnGranted(node); }),
            .on_leader = InLife([this](std::optional<Endpoint> leader) { OnLeader(leader); }),
            .on_lost = InLife([this](const std::string& why) { GiveUp(why, kPause); })});
    lock_->Start();
  }

  void OnLeader(std::optional<Endpoint> leader) {
    leader_ = leader;
    candidates_.reset();  // who looks now is to see that
  }

  void OnGranted(const std::string& node) {
    candidates_.reset();
    leader_.reset();
    lock_node_ = node;
    led_since_ms_ = env_.clock().WallMicros() / 1000;
    WatchLease();
    ReadTree();
  }

  // Of its own clock: nobody says that the ensemble can't be reached.
  void WatchLease() {
    const absl::Duration left = lock_->leads_until() - env_.clock().Now();
    if (left <= absl::ZeroDuration())
      return GiveUp("nothing was heard of ZooKeeper for most of the session's timeout", kPause);
    strand_->PostAfter(left, InLife([this] { WatchLease(); }));
  }

  void ReadTree() {
    waits_to_load_ = false;
    ReadStoredTree(*session_, root_, InLife([this](absl::StatusOr<StoredTree> tree) {
      if (tree.ok() && tree->entries.contains(kStateMarkKey)) return JudgeMark(*std::move(tree));
      if (tree.ok() && StateIn(tree->entries).empty()) {
        const absl::Status may = MayBeginEmpty(root_, options_.directory);
        if (!may.ok()) return GiveUp(std::string(may.message()), kLongPause);
      }
      if (tree.ok()) return Lead(*std::move(tree));
      if (absl::IsUnavailable(tree.status())) return ReadTreeLater();
      GiveUp(std::string(tree.status().message()), kPause);
    }));
  }

  void ReadTreeLater() {
    waits_to_load_ = true;
    strand_->PostAfter(kPause, InLife([this] {
                         if (waits_to_load_) ReadTree();
                       }));
  }

  // The state was moved, or is being moved; this server may be the one that ends that.
  void JudgeMark(StoredTree tree) {
    const absl::Status may =
        MayLeadUnder(tree.entries[kStateMarkKey], PathOf(kStateMarkKey), options_.directory);
    if (!may.ok()) return GiveUp(std::string(may.message()), kLongPause);
    LOG(WARNING) << "meta: ends the move of the state that " << PathOf(kStateMarkKey)
                 << " tells of";
    std::vector<ZooKeeperStep> steps = StepsOf(root_, EndOfMove(), &tree.nodes);
    steps.insert(steps.begin(), {ZooKeeperStep::Kind::kCheck, lock_node_});
    session_->Commit(steps, InLife([this](const absl::Status& ended) {
                       if (absl::IsUnavailable(ended)) return ReadTreeLater();
                       ended.ok() ? ReadTree() : GiveUp(std::string(ended.message()), kPause);
                     }));
  }

  void Lead(StoredTree tree) {
    if (server_) return;
    store_ = std::make_shared<ZooKeeperMetaStore>(
        *session_, env_.clock(), strand_, root_, lock_node_, std::move(tree),
        InLife([this](const std::string& why) { GiveUp(why, kPause); }));
    const std::shared_ptr<MetaStore> store =
        options_.watched_store ? options_.watched_store(store_) : store_;
    server_ = std::make_shared<MetaServer>(env_, transport_, store, meta_, stats_);
    if (const absl::Status started = server_->Start(); !started.ok())
      // Another one may understand it, and a person may mend it meanwhile.
      return GiveUp(absl::StrCat("the state below ", options_.root,
                                 " in ZooKeeper can't be understood: ", started.message()),
                    kLongPause);
    may_lead_ = true;
    has_ended_ = std::make_shared<std::atomic<bool>>(false);
    heard_at_ = env_.clock().Now();
    WatchServers();
  }

  // Cut off from them it could do nothing for anybody.
  void WatchServers() {
    const absl::Duration silence = meta_.grace * kSilenceShare * (1 << silent_leads_);
    if (env_.clock().Now() - heard_at_ < silence) {
      strand_->PostAfter(meta_.grace * kSilenceShare / 8, InLife([this] { WatchServers(); }));
      return;
    }
    silent_leads_ = std::min(silent_leads_ + 1, kSilentLeadsMax);
    GiveUp("no replica server was heard of for " + absl::FormatDuration(silence) +
               ": they may reach another meta server",
           kPause);
  }

  void OnBeacon() {
    heard_at_ = env_.clock().Now();
    silent_leads_ = 0;
  }

  // ---- the lead is given to another ----

  void OnHandOver(InboundRequest request) {
    if (handing_over_)
      return RequestCodec(meta_.peer_generation)
          .Answer(request, HandOverLeadResponse{ErrorCode::kBusy, "it is under way already"});
    LOG(INFO) << "meta: is to hand over the lead, says " << request.header.from;
    handing_over_ = std::move(request);
    lock_->FindNext(InLife([this](const absl::StatusOr<Endpoint>& next) {
      if (!next.ok())
        return EndHandOver(ErrorCode::kInvalidState, std::string(next.status().message()));
      // Of a dead one the node stays until its session ends, and nobody would lead meanwhile.
      transport_.Call(*next,
                      {.name = kRpcQueryLead,
                       .body = EncodeWrapped(QueryLeadRequest()),
                       .timeout = kNextAnswersIn},
                      strand_, InLife([this, next = *next](const RpcResult& result) {
                        OnNextAnswered(next, result.error);
                      }));
    }));
  }

  void OnNextAnswered(Endpoint next, ErrorCode error) {
    if (error == ErrorCode::kTimeout || error == ErrorCode::kNetworkFailure)
      return EndHandOver(ErrorCode::kInvalidState,
                         absl::StrCat("the next that would lead, ", next.ToString(),
                                      ", does not answer: start it, or wait until ZooKeeper has "
                                      "ended its session"));
    if (!Leads()) return;  // its life ends
    // From here on others are told to ask again (OnRequest); what came before is finished.
    may_lead_ = false;
    strand_->PostAfter(kWorkEndsIn, InLife([this, next] { LeaveTo(next); }));
    FinishWork(next);
  }

  // What was asked is stored, and answered; that may lead to more which is stored.
  void FinishWork(Endpoint next) {
    InboundRequest question;
    question.header.name = kRpcQueryLead;
    question.body = EncodeWrapped(QueryLeadRequest());
    // Once this is answered, all that came before it is with the store, if it goes there.
    question.responder =
        Responder([strand = strand_,
                   on = InLife([this, next] {
                     store_->WhenIdle(InLife([this, next](ZooKeeperMetaStore::Was was) {
                       using Was = ZooKeeperMetaStore::Was;
                       was == Was::kIdle ? LeaveTo(next) : FinishWork(next);
                     }));
                   })](ErrorCode, const std::string&) mutable { strand->Post(std::move(on)); });
    server_->Handle(std::move(question));
  }

  void LeaveTo(Endpoint next) {
    LOG(INFO) << "meta: leads no longer: hands over to " << next;
    // With the session goes the lock. Not at once: what calls this may be of what ends.
    strand_->Post(InLife([this] {
      EndLife();
      Begin();
    }));
  }

  void EndHandOver(ErrorCode error, const std::string& why) {
    if (!handing_over_) return;
    LOG_IF(WARNING, error != ErrorCode::kOk) << "meta: does not hand over the lead: " << why;
    RequestCodec(meta_.peer_generation).Answer(*handing_over_, HandOverLeadResponse{error, why});
    handing_over_.reset();
  }

  void AnswerWhoLeads(InboundRequest& request) {
    QueryLeadResponse answer{.is_leader = Leads()};
    answer.leader = answer.is_leader ? transport_.local() : leader_.value_or(Endpoint());
    answer.since_unix_ms = answer.is_leader ? led_since_ms_ : 0;
    RequestCodec(meta_.peer_generation).Answer(request, answer);
  }

  bool Leads() const {
    return may_lead_ && server_ && env_.clock().Now() < lock_->leads_until();  // meta_member/E1
  }

  void OnRequest(InboundRequest request) {
    if (request.header.name == kRpcQueryLead) return AnswerWhoLeads(request);
    if (Leads()) {
      if (request.header.name == kRpcHandOverLead) return OnHandOver(std::move(request));
      if (request.header.name == kRpcBeacon)
        OnBeacon();
      else
        request.responder = UnlessLeadEnds(has_ended_, meta_.peer_generation, request);
      return server_->Handle(std::move(request));
    }
    const bool is_loading = lock_ && env_.clock().Now() < lock_->leads_until();
    if (is_loading) return request.responder.Reply(ErrorCode::kServiceNotActive);
    AnswerAsFollower(leader_, meta_.peer_generation, request);
  }

  Environment& env_;
  Transport& transport_;
  ZooKeeper& zookeeper_;
  MetaMemberOptions options_;
  const std::string root_;
  MetaServerOptions meta_;
  const std::function<bool(InboundRequest&)> other_requests_;
  const StrandPtr strand_;
  const std::shared_ptr<MetaServerStats> stats_;

  bool is_stopped_ = false;
  uint64_t life_ = 0;
  bool is_joining_ = false;
  bool waits_to_load_ = false;
  bool is_connected_ = false;
  // The state was loaded, and nothing has ended this life.
  bool may_lead_ = false;
  // Of its lead: who asked meanwhile and is not answered is told to ask another one.
  std::shared_ptr<std::atomic<bool>> has_ended_;
  // When a replica server's beacon came last since it leads, or it began to.
  Instant heard_at_{0};
  // How often in turn it led and no beacon came.
  int silent_leads_ = 0;
  std::optional<Endpoint> leader_;
  // Who asked for a hand-over that is under way.
  std::optional<InboundRequest> handing_over_;
  std::string lock_node_;
  int64_t led_since_ms_ = 0;
  std::unique_ptr<ZooKeeperSession> session_;
  std::shared_ptr<LeaderLock> lock_;
  std::shared_ptr<ZooKeeperMetaStore> store_;
  std::shared_ptr<MetaServer> server_;

  // Who asked for the ensemble and is not told yet.
  std::vector<std::function<void(EnsembleOverview)>> looking_;
  bool is_reading_candidates_ = false;
  // As of this life.
  std::optional<std::vector<Candidate>> candidates_;
  Instant candidates_at_;
  std::string candidates_trouble_;
};

MetaMember::MetaMember(Environment& env, Transport& transport, ZooKeeper& zookeeper,
                       MetaMemberOptions options, MetaServerOptions meta)
    : state_(std::make_shared<State>(env, transport, zookeeper, std::move(options),
                                     std::move(meta))) {}

MetaMember::~MetaMember() = default;

RequestHandler MetaMember::Handler() const { return state_->Handler(); }
void MetaMember::Start() { state_->Start(); }
void MetaMember::Stop(std::function<void()> done) { state_->Stop(std::move(done)); }
void MetaMember::StoreClusterId(uint32_t id) { state_->StoreClusterId(id); }
void MetaMember::Ensemble(std::function<void(EnsembleOverview)> done) {
  state_->Ensemble(std::move(done));
}
void MetaMember::Handle(InboundRequest request) { state_->Handle(std::move(request)); }
void MetaMember::Reconfigure(const MetaServerOptions& options) { state_->Reconfigure(options); }
void MetaMember::Overview(std::function<void(ClusterOverview)> done) {
  state_->Overview(std::move(done));
}
const MetaServerStats& MetaMember::stats() const { return state_->stats(); }

}  // namespace arion
