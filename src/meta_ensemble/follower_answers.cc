// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/follower_answers.h"

#include <algorithm>
#include <utility>

#include "messages/meta_messages.h"
#include "meta/request_codec.h"

namespace arion {
namespace {

// Replica servers of 2.5.0 end where one of these is answered by an address in place of an answer,
// though they set the bit that asks for it.
constexpr std::string_view kOfServers[] = {kRpcBeacon, kRpcConfigSync, kRpcUpdateConfiguration,
                                           kRpcDuplicationSync};

void AnswerBeacon(Endpoint leader, const RequestCodec& codec, InboundRequest& request) {
  const auto beacon = RequestCodec::Decode<BeaconMessage>(request);
  if (!beacon) return;
  codec.Answer(request, BeaconAck{.time = beacon->time,
                                  .this_node = beacon->to_node,
                                  .primary_node = leader,
                                  .is_master = false,
                                  .allowed = true});
}

void AnswerQueryConfig(Endpoint leader, const RequestCodec& codec, InboundRequest& request) {
  QueryConfigResponse response{.err = ErrorCode::kForwardToOthers};
  if (leader.IsValid()) response.partitions.push_back({.primary = leader});
  codec.Answer(request, response);
}

class LedAnswer {
 public:
  LedAnswer(std::shared_ptr<const std::atomic<bool>> has_ended, PeerGeneration peers,
            InboundRequest& request)
      : has_ended_(std::move(has_ended)), peers_(peers) {
    asked_.header = request.header;
    asked_.responder = std::move(request.responder);
  }
  ~LedAnswer() {
    if (asked_.responder.pending() && *has_ended_) AnswerAsFollower(std::nullopt, peers_, asked_);
  }
  void Reply(ErrorCode error, ReplyBody body) { asked_.responder.Reply(error, std::move(body)); }

 private:
  const std::shared_ptr<const std::atomic<bool>> has_ended_;
  const PeerGeneration peers_;
  InboundRequest asked_;
};

}  // namespace

Responder UnlessLeadEnds(std::shared_ptr<const std::atomic<bool>> has_ended, PeerGeneration peers,
                         InboundRequest& request) {
  return Responder([answer = std::make_unique<LedAnswer>(std::move(has_ended), peers, request)](
                       ErrorCode error, ReplyBody body) { answer->Reply(error, std::move(body)); });
}

void AnswerAsFollower(std::optional<Endpoint> leader, PeerGeneration peers,
                      InboundRequest& request) {
  const RequestCodec codec(peers);
  const Endpoint known = leader.value_or(Endpoint());
  const std::string& name = request.header.name;
  if (name == kRpcBeacon) return AnswerBeacon(known, codec, request);
  const bool is_of_server = std::ranges::find(kOfServers, name) != std::end(kOfServers);
  if (request.header.forward_supported && !is_of_server && known.IsValid())
    return request.responder.Reply(ErrorCode::kForwardToOthers, EncodeWrapped(known));
  if (name == kRpcQueryConfig) return AnswerQueryConfig(known, codec, request);
  // All answers have their error there.
  codec.Answer(request,
               ForwardResponse{.arion_leader = known.IsValid() ? std::optional(known.ToString())
                                                               : std::nullopt});
}

}  // namespace arion
