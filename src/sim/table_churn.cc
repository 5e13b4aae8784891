// SPDX-License-Identifier: Apache-2.0
#include "sim/table_churn.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace arion::sim {

TableChurn::TableChurn(SimWorld& world, SimNetwork& network, Endpoint meta, int replica_count)
    : world_(world),
      meta_(meta),
      replica_count_(replica_count),
      node_(&world.AddNode("churn")),
      environment_(&node_->Start()),
      transport_(std::make_unique<SimTransport>(network, *node_, Endpoint{0x0a0001feu, 1000})),
      strand_(environment_->NewStrand("churn")),
      admin_(std::make_unique<ProbeClient>(*transport_, strand_)) {
  ClusterClientOptions options;
  options.meta_servers = {meta};
  options.timeout = absl::Seconds(2);
  client_ = ClusterClient::Create(*environment_, *transport_, strand_, options);
}

TableChurn::~TableChurn() {
  node_->Crash(CrashMode::kProcess);  // nothing calls back any more
}

void TableChurn::BeginCycle() {
  if (!IsIdle()) return;
  table_ = absl::StrCat("churn", ++tables_);
  strand_->Post([this] { Create(); });
}

void TableChurn::Later(void (TableChurn::*step)()) {
  strand_->PostAfter(absl::Milliseconds(500), [this, step] { (this->*step)(); });
}

void TableChurn::Create() {
  CreateAppRequest request;
  request.app_name = table_;
  request.options.partition_count = static_cast<int32_t>(1 + world_.random().Below(3));
  request.options.replica_count = replica_count_;
  request.options.success_if_exist = true;
  request.options.app_type = "pegasus";
  request.options.is_stateful = true;
  admin_->CreateTable(meta_, request, [this](CreateAppResponse response) {
    // Without an answer it may be there or not: then it is dropped unseen.
    if (response.err != ErrorCode::kOk) return is_hurried_ ? Drop() : Later(&TableChurn::Create);
    app_id_ = response.appid;
    Write(world_.now() + world_.random().Between(absl::ZeroDuration(), absl::Seconds(12)));
  });
}

void TableChurn::Write(Instant until) {
  if (is_hurried_ || world_.now() >= until) return Drop();
  const std::string key = absl::StrCat(world_.random().Below(20));
  client_->Put(table_, key, "s", key, 0, [this, until](const absl::Status&) {
    strand_->PostAfter(absl::Milliseconds(world_.random().Below(200)),
                       [this, until] { Write(until); });
  });
}

void TableChurn::Drop() {
  DropAppRequest request;
  request.app_name = table_;
  request.options.success_if_not_exist = true;
  request.options.reserve_seconds = world_.random().Between(1, 20);
  admin_->DropTable(meta_, request, [this](ErrorCode error) {
    if (error != ErrorCode::kOk) return Later(&TableChurn::Drop);
    if (app_id_ != 0) dropped_.insert(app_id_);
    app_id_ = 0;
    table_.clear();
  });
}

}  // namespace arion::sim
