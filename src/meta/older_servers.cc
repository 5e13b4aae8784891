// Servers of an older version are asked what they hold before they count.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/named_list.h"
#include "messages/tool_messages.h"
#include "meta/meta_server_state.h"
#include "meta_state/foreign_tables.h"

namespace arion {
namespace {

constexpr absl::Duration kQuestionTimeout = absl::Seconds(5);
constexpr absl::Duration kForeignPause = absl::Seconds(10);  // then it is asked again
constexpr int kVainQuestionsMax = 3;
constexpr size_t kNamedMax = 5;
constexpr size_t kVettingsMax = 2000;  // a stranger's beacons must not fill the memory

}  // namespace

bool MetaServer::State::IsVetted(const BeaconMessage& beacon, InboundRequest& request) {
  if (!options_.vets_older_servers || beacon.process_id) return true;
  const Endpoint from = beacon.from_node;
  if (!vettings_.contains(from) && vettings_.size() >= kVettingsMax) return false;
  Vetting& vetting = vettings_[from];
  if (vetting.start_time != beacon.start_time) vetting = {.start_time = beacon.start_time};
  if (vetting.verdict == Vetting::Verdict::kFits) return true;
  if (vetting.verdict == Vetting::Verdict::kForeign) {
    if (Now() < vetting.judged_at + kForeignPause) return false;
    vetting.verdict = Vetting::Verdict::kUnknown;
  }
  vetting.beacon = std::move(request);  // answered once it is known
  if (!std::exchange(vetting.is_asked, true)) Vet(from);
  return false;
}

void MetaServer::State::Vet(Endpoint server) {
  transport_.Call(server,
                  {.name = kRpcQueryAppInfo,
                   .body = EncodeWrapped(QueryAppInfoRequest{.meta_server = transport_.local()},
                                         options_.peer_generation),
                   .timeout = kQuestionTimeout},
                  strand_,
                  [weak = weak_from_this(), server,
                   start_time = vettings_[server].start_time](const RpcResult& result) {
                    const auto self = weak.lock();
                    if (self && self->vettings_[server].start_time == start_time)
                      self->OnVetted(server, result);
                  });
}

void MetaServer::State::OnVetted(Endpoint server, const RpcResult& result) {
  Vetting& vetting = vettings_[server];
  vetting.is_asked = false;
  const auto answer = DecodeWrapped<QueryAppInfoResponse>(result.body);
  const bool is_told =
      result.error == ErrorCode::kOk && answer.ok() && answer->err == ErrorCode::kOk;
  if (!is_told && ++vetting.vain_questions < kVainQuestionsMax) return;  // by its next beacon
  LOG_IF(WARNING, !is_told) << "meta: " << server << ", of an older version, does not say what it "
                            << "holds (" << result.error << "): it is let in all the same";
  vetting.why_foreign = is_told ? WhyForeign(state_, answer->apps) : "";
  vetting.judged_at = Now();
  vetting.verdict =
      vetting.why_foreign.empty() ? Vetting::Verdict::kFits : Vetting::Verdict::kForeign;
  LOG_IF(ERROR, !vetting.why_foreign.empty())
      << "meta: " << server << " is of another cluster and not let in: " << vetting.why_foreign;
  std::optional<InboundRequest> beacon = std::exchange(vetting.beacon, std::nullopt);
  if (beacon && vetting.verdict == Vetting::Verdict::kFits) OnRequest(*std::move(beacon));
}

std::optional<ClusterWarning> MetaServer::State::ForeignServers() const {
  std::vector<Endpoint> foreign;
  std::string why;
  for (const auto& [server, vetting] : vettings_) {
    const bool knocks = Now() - vetting.judged_at <= 3 * kForeignPause;
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
