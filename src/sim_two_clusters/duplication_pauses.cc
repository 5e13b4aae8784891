// SPDX-License-Identifier: Apache-2.0
#include "sim_two_clusters/duplication_pauses.h"

#include <iterator>

#include "meta_state/cluster_state.h"
#include "rpc/thrift_codec.h"

namespace arion::sim {
namespace {

constexpr Endpoint kPauser = {0x0a0001fbu, 1000};
constexpr absl::Duration kPausedMax = absl::Seconds(15), kApartMax = absl::Seconds(20);

}  // namespace

DuplicationPauses::DuplicationPauses(SimWorld& world, SimCluster& cluster)
    : world_(world),
      cluster_(cluster),
      node_(&world.AddNode("pauses")),
      environment_(&node_->Start()),
      transport_(std::make_unique<SimTransport>(cluster.network(), *node_, kPauser)),
      strand_(environment_->NewStrand("pauses")) {}

DuplicationPauses::~DuplicationPauses() { node_->Crash(CrashMode::kProcess); }

void DuplicationPauses::Stop() {
  is_stopped_ = true;
  StartAll();
}

std::map<std::string, int32_t> DuplicationPauses::Those(DuplicationStatus status) const {
  std::map<std::string, int32_t> found;
  const auto& store = cluster_.lives().meta().store;
  if (store == nullptr) return found;
  const absl::StatusOr<ClusterState> state = store->State();
  if (!state.ok()) return found;
  for (const auto& [app_id, table] : state->tables)
    for (const auto& [dupid, duplication] : table.duplications)
      if (duplication.info.status == status) found[table.info.app_name] = dupid;
  return found;
}

void DuplicationPauses::Later() {
  strand_->PostAfter(world_.random().Between(absl::Seconds(1), kApartMax), [this] {
    if (!is_stopped_) PauseOne();
  });
}

void DuplicationPauses::PauseOne() {
  const std::map<std::string, int32_t> sending = Those(DuplicationStatus::kLog);
  if (sending.empty()) return Later();
  const auto chosen = std::next(sending.begin(),
                                static_cast<std::ptrdiff_t>(world_.random().Below(sending.size())));
  ++count_;
  Set(chosen->first, chosen->second, DuplicationStatus::kPause);
  strand_->PostAfter(world_.random().Between(absl::Milliseconds(100), kPausedMax),
                     [this, table = chosen->first, dupid = chosen->second] {
                       if (is_stopped_) return;
                       Set(table, dupid, DuplicationStatus::kLog);
                       Later();
                     });
}

void DuplicationPauses::StartAll() {
  for (const auto& [table, dupid] : Those(DuplicationStatus::kPause))
    Set(table, dupid, DuplicationStatus::kLog);
  // A pause may be on its way.
  strand_->PostAfter(absl::Seconds(1), [this] { StartAll(); });
}

void DuplicationPauses::Set(const std::string& table, int32_t dupid, DuplicationStatus status) {
  const ModifyDuplicationRequest request{
      .app_name = table, .dupid = dupid, .status = static_cast<int32_t>(status)};
  transport_->Call(
      ClusterSettings::kMetaEndpoint,
      {.name = kRpcModifyDuplication, .body = EncodeWrapped(request), .timeout = absl::Seconds(5)},
      strand_, [](const RpcResult&) {});
}

}  // namespace arion::sim
