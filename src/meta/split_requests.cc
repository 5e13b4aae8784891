// SPDX-License-Identifier: Apache-2.0
#include "meta/split_requests.h"

#include "base/log.h"
#include "env/die_at.h"
#include "meta/request_codec.h"
#include "meta/request_handlers.h"
#include "meta/store_guard.h"
#include "meta/table_changes.h"
#include "meta_overview/split_progress.h"
#include "meta_state/table_split.h"

namespace arion {

void SplitRequests::AddTo(RequestHandlers& handlers) {
  handlers.Add(kRpcStartSplit, this, &SplitRequests::OnStart);
  handlers.Add(kRpcQuerySplit, this, &SplitRequests::OnQuery);
  handlers.Add(kRpcControlSplit, this, &SplitRequests::OnControl);
}

template <class Response>
void SplitRequests::Carry(SplitJudgement judgement, InboundRequest& request) {
  if (judgement.next && uses_.store.WhyNoTableChange() != ErrorCode::kOk)
    judgement = {uses_.store.WhyNoTableChange(), "the state can't be stored"};
  if (!judgement.next)
    return uses_.codec.Answer(request, Response{judgement.error, std::move(judgement.hint)});
  uses_.changes.Begin({.next = *std::move(judgement.next),
                       .of_split = TableChanges::Change::OfSplit{std::move(judgement.split)},
                       .done = [this, request = std::move(request)](ErrorCode error) mutable {
                         DieAt("split.stored");
                         Response response{.err = error};
                         if (error != ErrorCode::kOk)
                           response.hint_msg = "the state can't be stored";
                         uses_.codec.Answer(request, response);
                       }});
}

void SplitRequests::OnStart(InboundRequest& request) {
  auto start = RequestCodec::Decode<StartSplitRequest>(request);
  if (!start) return;
  const Table* table = uses_.state.FindTableByName(start->app_name);
  if (uses_.changes.DefersUntilStill(table, request)) return;
  SplitJudgement judgement =
      JudgeStartSplit(uses_.state, LevelOf(uses_.state, uses_.options), *start);
  if (judgement.next)
    LOG(INFO) << "meta: table " << start->app_name << " is to be split into "
              << start->new_partition_count << " partitions, says " << request.header.from;
  Carry<StartSplitResponse>(std::move(judgement), request);
}

void SplitRequests::OnControl(InboundRequest& request) {
  auto control = RequestCodec::Decode<ControlSplitRequest>(request);
  if (!control) return;
  const Table* table = uses_.state.FindTableByName(control->app_name);
  if (uses_.changes.DefersUntilStill(table, request)) return;
  SplitJudgement judgement = JudgeControlSplit(uses_.state, *control);
  if (judgement.next)
    LOG(INFO) << "meta: split of table " << control->app_name << ", control "
              << control->control_type << " of parent " << control->parent_pidx << ", says "
              << request.header.from;
  Carry<ControlSplitResponse>(std::move(judgement), request);
}

void SplitRequests::OnQuery(InboundRequest& request) {
  if (auto query = RequestCodec::Decode<QuerySplitRequest>(request))
    uses_.codec.Answer(request, AnswerQuerySplit(uses_.state, query->app_name, uses_.clock.Now()));
}

}  // namespace arion
