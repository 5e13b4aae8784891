// SPDX-License-Identifier: Apache-2.0
#include "meta/older_server_vetting.h"

#include <utility>
#include <vector>

#include "base/log.h"
#include "base/named_list.h"
#include "env/clock.h"
#include "messages/tool_messages.h"
#include "meta/owner_life.h"
#include "meta/request_codec.h"
#include "meta_state/cluster_warning.h"
#include "meta_state/foreign_tables.h"

namespace arion {
namespace {

constexpr absl::Duration kTablesTimeout = absl::Seconds(5);
constexpr absl::Duration kForeignPause = absl::Seconds(10);  // then it is asked again
constexpr int kVainQuestionsMax = 3;
constexpr size_t kNamedMax = 5;

}  // namespace

OlderServerVetting::OlderServerVetting(Transport& transport, const Clock& clock, StrandPtr strand,
                                       const OwnerLife& life, const ClusterState& state,
                                       const RequestCodec& codec,
                                       std::function<void(InboundRequest)> on_fits)
    : transport_(transport),
      clock_(clock),
      strand_(std::move(strand)),
      life_(life),
      state_(state),
      codec_(codec),
      on_fits_(std::move(on_fits)) {}

bool OlderServerVetting::MayCount(const BeaconMessage& beacon, InboundRequest& request) {
  if (beacon.process_id) return true;  // not an older version's
  const Endpoint from = beacon.from_node;
  // Strangers must not fill the memory by beacons from many addresses.
  if (!vettings_.contains(from) && vettings_.size() >= kServersMax) return false;
  Vetting& vetting = vettings_[from];
  // Another process may be another cluster's: someone may have given the address to it.
  if (vetting.start_time != beacon.start_time) vetting = {.start_time = beacon.start_time};
  if (vetting.verdict == Vetting::Verdict::kFits) return true;
  if (vetting.verdict == Vetting::Verdict::kForeign) {
    // A foreign server sends beacons several times a second: it is not asked with each.
    if (clock_.Now() < vetting.judged_at + kForeignPause) return false;
    vetting.verdict = Vetting::Verdict::kUnknown;
  }
  vetting.beacon = std::move(request);  // answered once it is known
  if (!std::exchange(vetting.is_asked, true)) Ask(from);
  return false;
}

void OlderServerVetting::Ask(Endpoint server) {
  transport_.Call(server,
                  {.name = kRpcQueryAppInfo,
                   .body = codec_.Encode(QueryAppInfoRequest{.meta_server = transport_.local()}),
                   .timeout = kTablesTimeout},
                  strand_,
                  life_.While([this, server,
                               start_time = vettings_[server].start_time](const RpcResult& result) {
                    // The answer of a former process says nothing of the present one.
                    if (vettings_[server].start_time == start_time) OnAnswer(server, result);
                  }));
}

void OlderServerVetting::OnAnswer(Endpoint server, const RpcResult& result) {
  Vetting& vetting = vettings_[server];
  vetting.is_asked = false;
  const auto answer = DecodeWrapped<QueryAppInfoResponse>(result.body);
  const bool is_told =
      result.error == ErrorCode::kOk && answer.ok() && answer->err == ErrorCode::kOk;
  if (!is_told && ++vetting.vain_questions < kVainQuestionsMax) return;  // by its next beacon
  LOG_IF(WARNING, !is_told) << "meta: " << server << ", of an older version, does not say what it "
                            << "holds (" << result.error << "): it is let in all the same";
  vetting.why_foreign = is_told ? WhyForeign(state_, answer->apps) : "";
  vetting.judged_at = clock_.Now();
  vetting.verdict =
      vetting.why_foreign.empty() ? Vetting::Verdict::kFits : Vetting::Verdict::kForeign;
  LOG_IF(ERROR, !vetting.why_foreign.empty())
      << "meta: " << server << " is of another cluster and not let in: " << vetting.why_foreign;
  // The beacon that waited counts as if it came now. One of a foreign server is dropped.
  std::optional<InboundRequest> beacon = std::exchange(vetting.beacon, std::nullopt);
  if (beacon && vetting.verdict == Vetting::Verdict::kFits) on_fits_(*std::move(beacon));
}

std::optional<ClusterWarning> OlderServerVetting::Foreign() const {
  std::vector<Endpoint> foreign;
  std::string why;
  for (const auto& [server, vetting] : vettings_) {
    // One that gave up is not shown any more.
    const bool knocks = clock_.Now() - vetting.judged_at <= 3 * kForeignPause;
    if (vetting.verdict != Vetting::Verdict::kForeign || !knocks) continue;
    if (foreign.empty()) why = vetting.why_foreign;
    foreign.push_back(server);
  }
  if (foreign.empty()) return std::nullopt;
  return ClusterWarning{
      .kind = "foreign_servers",
      .count = static_cast<int64_t>(foreign.size()),
      .what = "meta server",
      .problem = absl::StrCat(
          "lets servers of an older version not in that hold another cluster's tables (",
          NamedList(foreign, kNamedMax, [](Endpoint server) { return server.ToString(); }), ": ",
          why, ")"),
      .way = "look at their server_list of meta servers"};
}

}  // namespace arion
