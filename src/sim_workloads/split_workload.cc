// SPDX-License-Identifier: Apache-2.0
#include "sim_workloads/split_workload.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "messages/meta_messages.h"
#include "rpc/thrift_codec.h"

namespace arion::sim {

SplitWorkload::SplitWorkload(SimWorld& world, SimNetwork& network, Coverage& coverage,
                             std::vector<Endpoint> metas, uint64_t seed,
                             std::vector<WorkloadTable> tables)
    : coverage_(coverage),
      metas_(std::move(metas)),
      random_(seed ^ 0x5b117),
      tables_(std::move(tables)),
      node_(&world.AddNode("splits")),
      environment_(&node_->Start()),
      transport_(std::make_unique<SimTransport>(network, *node_, Endpoint{0x0a0001fcu, 1000})),
      strand_(environment_->NewStrand("splits")) {}

int32_t SplitWorkload::PartitionsMax(int32_t first) { return std::max(8, 2 * first); }

SplitWorkload::~SplitWorkload() {
  node_->Crash(CrashMode::kProcess);  // nothing calls back any more
}

void SplitWorkload::Stop() {
  is_stopped_ = true;
  for (const WorkloadTable& table : tables_) not_over_.insert(table.name);
}

std::string SplitWorkload::WhatIsNotOver() const {
  std::string text;
  for (const std::string& table : not_over_) absl::StrAppend(&text, " ", table);
  return text;
}

template <class Request, class Response>
void SplitWorkload::Ask(const char* name, const Request& request,
                        absl::AnyInvocable<void(const Response&)> then) {
  transport_->Call(metas_[asked_],
                   {.name = name, .body = EncodeWrapped(request), .timeout = absl::Seconds(5)},
                   strand_, [this, then = std::move(then)](const RpcResult& result) mutable {
                     const auto response = DecodeWrapped<Response>(result.body);
                     if (result.error != ErrorCode::kOk ||
                         (response.ok() && response->err == ErrorCode::kForwardToOthers)) {
                       asked_ = (asked_ + 1) % metas_.size();
                       return;
                     }
                     if (response.ok()) then(*response);
                   });
}

void SplitWorkload::Later() {
  // Over, it is soon known.
  const absl::Duration most = is_stopped_ ? absl::Seconds(1) : absl::Seconds(8);
  strand_->PostAfter(random_.Between(absl::Milliseconds(100), most), [this] {
    const std::string& table = tables_[random_.Below(tables_.size())].name;
    if (!is_stopped_ || not_over_.contains(table))
      Look(table, [this, table](const State& state) { Act(table, state); });
    if (!is_stopped_ || !not_over_.empty()) Later();
  });
}

void SplitWorkload::Look(const std::string& table, absl::AnyInvocable<void(const State&)> then) {
  Ask<QueryConfigRequest, QueryConfigResponse>(
      kRpcQueryConfig, {.app_name = table, .partition_indices = {}},
      [this, table, then = std::move(then)](const QueryConfigResponse& config) mutable {
        if (config.err != ErrorCode::kOk) return;
        Ask<QuerySplitRequest, QuerySplitResponse>(
            kRpcQuerySplit, {.app_name = table},
            [count = config.partition_count,
             then = std::move(then)](const QuerySplitResponse& split) mutable {
              // "It is not being split."
              if (split.err == ErrorCode::kInvalidState) return then({.partition_count = count});
              if (split.err == ErrorCode::kOk)
                then({.partition_count = split.new_partition_count, .is_split = true});
            });
      });
}

void SplitWorkload::Act(const std::string& table, const State& state) {
  if (is_stopped_) {
    if (!state.is_split) {
      not_over_.erase(table);
    } else {
      Control(table, SplitControl::kRestart, state);
    }
    return;
  }
  const uint64_t drawn = random_.Below(100);
  if (!state.is_split) {
    // All tables begin with equally many.
    if (2 * state.partition_count > tables_.front().partitions_max || drawn >= 60) return;
    return Ask<StartSplitRequest, StartSplitResponse>(
        kRpcStartSplit, {.app_name = table, .new_partition_count = 2 * state.partition_count},
        [this, table, state](const StartSplitResponse& response) {
          if (response.err != ErrorCode::kOk) return;
          coverage_.Hit(Probe::kSplitStarted);
          // Later it may be over.
          const State begun{.partition_count = 2 * state.partition_count, .is_split = true};
          const uint64_t drawn = random_.Below(100);
          if (drawn < 40)
            Control(table, drawn < 25 ? SplitControl::kPause : SplitControl::kCancel, begun);
        });
  }
  if (drawn < 20)
    Control(table, SplitControl::kPause, state);
  else if (drawn < 50)
    Control(table, SplitControl::kRestart, state);
  else if (drawn < 60)
    Control(table, SplitControl::kCancel, state);
}

void SplitWorkload::Control(const std::string& table, SplitControl what, const State& state) {
  ControlSplitRequest request{.app_name = table, .control_type = static_cast<int32_t>(what)};
  const int32_t parents = state.partition_count / 2;
  if (what == SplitControl::kCancel)
    request.old_partition_count = parents;
  else if (!is_stopped_ && random_.Coin())  // one of them
    request.parent_pidx = static_cast<int32_t>(random_.Below(static_cast<uint64_t>(parents)));
  Ask<ControlSplitRequest, ControlSplitResponse>(
      kRpcControlSplit, request, [this, what](const ControlSplitResponse& response) {
        if (response.err != ErrorCode::kOk) return;
        if (what == SplitControl::kPause) coverage_.Hit(Probe::kSplitPaused);
        if (what == SplitControl::kCancel) coverage_.Hit(Probe::kSplitCancelled);
      });
}

}  // namespace arion::sim
