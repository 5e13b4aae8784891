// SPDX-License-Identifier: Apache-2.0
#include "sim_workloads/table_churn.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "client/table_admin.h"
#include "sim_checkers/history.h"
#include "sim_workloads/workload.h"

namespace arion::sim {
namespace {

constexpr int kKeys = 10;
constexpr const char* kNames[] = {"churn1", "churn2"};
// By then no copy of what was asked before is on its way.
constexpr absl::Duration kAllIsHeard = absl::Seconds(5);

// Always the same under one name: a creation that comes late makes no other table.
int32_t PartitionsOf(const std::string& table) { return table == kNames[0] ? 1 : 3; }

}  // namespace

TableChurn::TableChurn(SimWorld& world, SimNetwork& network, History& history, Coverage& coverage,
                       std::vector<Endpoint> metas, int replica_count)
    : world_(world),
      history_(history),
      coverage_(coverage),
      options_({.meta_servers = std::move(metas),
                .timeout = absl::Seconds(2),
                // A write happens once at most, which keeps the history simple to judge.
                .write_retries = WriteRetries::kAfterRefusals}),
      replica_count_(replica_count),
      node_(&world.AddNode("churn")),
      environment_(&node_->Start()),
      transport_(std::make_unique<SimTransport>(network, *node_, Endpoint{0x0a0001feu, 1000})),
      strand_(environment_->NewStrand("churn")),
      admin_(std::make_unique<SimClient>(*environment_, *transport_, strand_, options_)) {}

TableChurn::~TableChurn() {
  node_->Crash(CrashMode::kProcess);  // nothing calls back any more
}

void TableChurn::After(absl::Duration pause, Step step) {
  strand_->PostAfter(pause, [this, step] { (this->*step)(); });
}

void TableChurn::BeginCycle() {
  if (!IsIdle()) return;
  ++cycle_;
  table_ = kNames[world_.random().Below(std::size(kNames))];
  app_id_ = 0;
  drops_ = 0;
  // Drawn at the beginning, so that the drop holds the table long enough.
  is_to_be_recalled_ = world_.random().Coin();
  strand_->Post([this] { Create(); });
}

void TableChurn::Create() {
  CreateAppRequest request;
  request.app_name = table_;
  request.options.partition_count = PartitionsOf(table_);
  request.options.replica_count = replica_count_;
  // A creation that is sent again must find what the first one made.
  request.options.success_if_exist = true;
  request.options.app_type = "pegasus";
  request.options.is_stateful = true;
  auto done = admin_->Heard([this](absl::StatusOr<CreateAppResponse> response) {
    // Without an answer it may be there or not: then it is dropped unseen.
    if (!response.ok()) return is_hurried_ ? Drop() : Again(&TableChurn::Create);
    app_id_ = response->appid;
    Created();
  });
  admin_->Administer([request, done = std::move(done)](TableAdmin& admin) mutable {
    admin.CreateTable(request, std::move(done));
  });
}

void TableChurn::Created() {
  // One that knows no former table of the name.
  client_ = std::make_unique<SimClient>(*environment_, *transport_, strand_, options_);
  client_->OpenTable(table_, client_->Heard([this](const absl::Status&) { Opened(); }));
}

// Or not: then its first operation looks for it.
void TableChurn::Opened() {
  // Only a name that was used before can show something of a former table.
  if (names_used_.insert(table_).second) return WriteForAWhile();
  Read(0, world_.now() + absl::Seconds(10), [this](bool all) {
    if (all) coverage_.Hit(Probe::kTableOfAnOldName);
    WriteForAWhile();
  });
}

void TableChurn::Read(int key, Instant until, absl::AnyInvocable<void(bool all)> done) {
  if (key == kKeys) return done(true);
  if (is_hurried_ || world_.now() >= until) return done(false);
  // The register's name has the cycle: a value of a former table is then one that nobody wrote
  // here.
  const Register record{table_, absl::StrCat(key), absl::StrCat("churn ", cycle_, " ", key)};
  ReadRegister(world_, history_, *client_, record,
               [this, key, until, done = std::move(done)](bool ok) mutable {
                 if (ok) return Read(key + 1, until, std::move(done));
                 strand_->PostAfter(absl::Milliseconds(500),
                                    [this, key, until, done = std::move(done)]() mutable {
                                      Read(key, until, std::move(done));
                                    });
               });
}

void TableChurn::WriteForAWhile() {
  Write(world_.now() + world_.random().Between(absl::ZeroDuration(), absl::Seconds(12)));
}

void TableChurn::Write(Instant until) {
  if (is_hurried_ || world_.now() >= until) return Drop();
  const std::string key = absl::StrCat(world_.random().Below(kKeys));
  WriteRegister(world_, history_, *client_, {table_, key, absl::StrCat("churn ", cycle_, " ", key)},
                absl::StrCat("churn.", ++values_), [this, until](bool) {
                  strand_->PostAfter(absl::Milliseconds(world_.random().Below(200)),
                                     [this, until] { Write(until); });
                });
}

void TableChurn::Drop() {
  DropAppRequest request;
  request.app_name = table_;
  request.options.success_if_not_exist = true;
  // Long enough for a recall, or so short that the table may expire while the run lasts.
  request.options.reserve_seconds =
      is_to_be_recalled_ ? world_.random().Between(10, 25) : world_.random().Between(1, 20);
  auto done = admin_->Heard([this](const absl::StatusOr<DropAppResponse>& response) {
    if (!response.ok()) return Again(&TableChurn::Drop);
    if (app_id_ != 0 && dropped_.insert(app_id_).second) coverage_.Hit(Probe::kTableDropped);
    ++drops_;
    After(kAllIsHeard, &TableChurn::Dropped);
  });
  admin_->Administer([request, done = std::move(done)](TableAdmin& admin) mutable {
    admin.DropTable(request, std::move(done));
  });
}

void TableChurn::Dropped() {
  if (app_id_ != 0 && std::exchange(is_to_be_recalled_, false) && !is_hurried_) return Recall();
  // Once more: a creation or recall that was heard twice may have come behind the first.
  if (drops_ < 2) return Drop();
  table_.clear();
}

void TableChurn::Recall() {
  dropped_.erase(app_id_);
  drops_ = 0;  // one that nobody answered may come later than a refusal
  RecallAppRequest request;
  request.app_id = app_id_;
  auto done = admin_->Heard([this](const absl::StatusOr<RecallAppResponse>& response) {
    const absl::Status& status = response.status();
    if (status.ok() || absl::IsAlreadyExists(status)) return Recalled();
    // Its time is over (by a clock that leapt), or a creation that was heard twice took its name.
    const bool is_refused = absl::IsNotFound(status) || absl::IsInvalidArgument(status);
    return is_refused || is_hurried_ ? Drop() : Again(&TableChurn::Recall);
  });
  admin_->Administer([request, done = std::move(done)](TableAdmin& admin) mutable {
    admin.RecallTable(request, std::move(done));
  });
}

void TableChurn::Recalled() {
  Read(0, world_.now() + absl::Seconds(20), [this](bool all) {
    if (all) coverage_.Hit(Probe::kRecalledTableRead);
    WriteForAWhile();
  });
}

}  // namespace arion::sim
