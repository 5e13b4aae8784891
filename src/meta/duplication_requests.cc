// SPDX-License-Identifier: Apache-2.0
#include "meta/duplication_requests.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/log.h"
#include "client/meta_caller.h"
#include "env/clock.h"
#include "env/die_at.h"
#include "env/environment.h"
#include "meta/meta_options.h"
#include "meta/owner_life.h"
#include "meta/request_codec.h"
#include "meta/request_handlers.h"
#include "meta/store_guard.h"
#include "meta/table_changes.h"
#include "meta_overview/duplication_list.h"
#include "meta_state/table_duplication.h"

namespace arion {

void DuplicationRequests::AddTo(RequestHandlers& handlers) {
  using Self = DuplicationRequests;
  handlers.Add(kRpcAddDuplication, this, &Self::OnAdd);
  handlers.Add(kRpcModifyDuplication, this, &Self::OnModify);
  handlers.Add(kRpcQueryDuplication, this, &Self::OnQuery);
  handlers.Add(kRpcListDuplication, this, &Self::OnList);
  handlers.Add(kRpcDuplicationSync, this, &Self::OnSync);
}

bool DuplicationRequests::IsAnswered(DuplicationJudgement* judgement) const {
  if (judgement->next && uses_.store.WhyNoTableChange() != ErrorCode::kOk)
    *judgement = {.error = uses_.store.WhyNoTableChange(), .hint = "the state can't be stored"};
  return !judgement->next;
}

void DuplicationRequests::Store(DuplicationJudgement judgement,
                                std::function<void(ErrorCode)> done) {
  uses_.changes.Begin({.next = *std::move(judgement.next),
                       .of_duplications = {std::move(judgement.change)},
                       .done = std::move(done)});
}

void DuplicationRequests::OnAdd(InboundRequest& request) {
  auto add = RequestCodec::Decode<AddDuplicationRequest>(request);
  if (!add) return;
  if (!uses_.options.duplication_enabled)
    return uses_.codec.Answer(request, AddDuplicationResponse{.err = ErrorCode::kServiceNotActive});
  if (uses_.changes.Defers(uses_.state.FindTableByName(add->app_name), request)) return;
  DuplicationJudgement judgement = JudgeAddDuplication(uses_.state, ClustersOf(uses_.options), *add,
                                                       uses_.env.clock().WallMicros() / 1000);
  const bool is_answered = IsAnswered(&judgement);
  AddDuplicationResponse response{
      .err = judgement.error, .appid = judgement.app_id, .dupid = judgement.change.dupid};
  if (!judgement.hint.empty()) response.hint = judgement.hint;
  if (const auto& info = judgement.change.next) {
    response.remote_app_name = info->remote_app_name;
    response.remote_replica_count = info->remote_replica_count;
  }
  if (is_answered) return uses_.codec.Answer(request, response);
  LOG(INFO) << "meta: table " << add->app_name << " is to be duplicated to cluster "
            << add->remote_cluster_name << ", duplication " << response.dupid << ", says "
            << request.header.from;
  Store(std::move(judgement), [this, response,
                               request = std::make_shared<InboundRequest>(std::move(request))](
                                  ErrorCode error) {
    DieAt("duplication.added");
    if (error != ErrorCode::kOk)
      return uses_.codec.Answer(
          *request, AddDuplicationResponse{.err = error, .hint = "the state can't be stored"});
    uses_.codec.Answer(*request, response);
  });
}

void DuplicationRequests::OnModify(InboundRequest& request) {
  auto modify = RequestCodec::Decode<ModifyDuplicationRequest>(request);
  if (!modify) return;
  if (!uses_.options.duplication_enabled)
    return uses_.codec.Answer(request,
                              ModifyDuplicationResponse{.err = ErrorCode::kServiceNotActive});
  if (uses_.changes.Defers(uses_.state.FindTableByName(modify->app_name), request)) return;
  DuplicationJudgement judgement = JudgeModifyDuplication(uses_.state, *modify);
  const bool is_answered = IsAnswered(&judgement);
  ModifyDuplicationResponse response{.err = judgement.error, .appid = judgement.app_id};
  if (!judgement.hint.empty()) response.hint = judgement.hint;
  if (is_answered) return uses_.codec.Answer(request, response);
  LOG(INFO) << "meta: duplication " << modify->dupid << " of table " << modify->app_name
            << " becomes "
            << (judgement.change.next ? DuplicationStatusName(judgement.change.next->status)
                                      : DuplicationStatusName(DuplicationStatus::kRemoved))
            << ", says " << request.header.from;
  Store(std::move(judgement),
        [this, response,
         request = std::make_shared<InboundRequest>(std::move(request))](ErrorCode error) mutable {
          DieAt("duplication.changed");
          response.err = error;
          uses_.codec.Answer(*request, response);
        });
}

void DuplicationRequests::OnQuery(InboundRequest& request) {
  auto query = RequestCodec::Decode<QueryDuplicationRequest>(request);
  if (!query) return;
  if (!uses_.options.duplication_enabled)
    return uses_.codec.Answer(request,
                              QueryDuplicationResponse{.err = ErrorCode::kServiceNotActive});
  QueryDuplicationResponse response = AnswerQueryDuplication(uses_.state, query->app_name);
  auto& clusters = response.clusters.emplace();
  const KnownClusters known = ClustersOf(uses_.options);
  for (const std::string& cluster : known.reachable)
    clusters[cluster] =
        absl::StrJoin(uses_.options.meta_servers_of ? uses_.options.meta_servers_of(cluster)
                                                    : std::vector<Endpoint>(),
                      ",", [](std::string* text, Endpoint one) { text->append(one.ToString()); });
  uses_.codec.Answer(request, response);
}

void DuplicationRequests::OnList(InboundRequest& request) {
  auto list = RequestCodec::Decode<ListDuplicationsRequest>(request);
  if (!list) return;
  uses_.codec.Answer(request, uses_.options.duplication_enabled
                                  ? AnswerListDuplications(uses_.state, *list)
                                  : ListDuplicationsResponse{.err = ErrorCode::kServiceNotActive});
}

void DuplicationRequests::OnSync(InboundRequest& request) {
  auto sync = RequestCodec::Decode<DuplicationSyncRequest>(request);
  if (!sync) return;
  if (!uses_.options.duplication_enabled)
    return uses_.codec.Answer(request,
                              DuplicationSyncResponse{.err = ErrorCode::kServiceNotActive});
  const Endpoint node = sync->node;
  if (uses_.state.FindNode(node) == nullptr)
    return uses_.codec.Answer(request, DuplicationSyncResponse{.err = ErrorCode::kObjectNotFound});
  const RefusedConfirms refused = NoteConfirms(uses_.state, *sync);
  LOG_IF_EVERY_N(WARNING, refused.of_others + refused.impossible > 0, 100)
      << "meta: of what " << node << " says of duplications " << refused.of_others
      << " are of partitions that it does not lead, and " << refused.impossible << " can't be";
  TakeTurns(node);
  std::vector<ProgressChange> due;
  if (uses_.store.WhyNoTableChange() == ErrorCode::kOk)
    due = TakeDueProgress(uses_.state, *sync, uses_.env.clock().Now(),
                          [this](int32_t app_id) { return uses_.changes.IsUnderWay(app_id); });
  if (due.empty()) return uses_.codec.Answer(request, AnswerDuplicationSync(uses_.state, *sync));
  std::vector<MetaStore::Change> batch;
  for (const ProgressChange& change : due) batch.push_back(ChangeOf(change));
  uses_.store.Commit(std::move(batch), StoreNeed::kWhileRoom,
                     [this, sync = *std::move(sync), due,
                      request = std::move(request)](const absl::Status& stored) mutable {
                       DieAt("duplication.confirmed");
                       NoteStored(uses_.state, due, stored.ok());
                       uses_.codec.Answer(request, AnswerDuplicationSync(uses_.state, sync));
                     });
}

// ---- the other cluster ----

Duplication* DuplicationRequests::Find(Id id) const {
  Table* table = uses_.state.FindTable(id.first);
  if (table == nullptr || table->info.status != AppStatus::kAvailable) return nullptr;
  const auto found = table->duplications.find(id.second);
  return found == table->duplications.end() ? nullptr : &found->second;
}

void DuplicationRequests::TakeTurns(Endpoint node) {
  std::erase_if(turns_, [this](const auto& turn) { return Find(turn.first) == nullptr; });
  for (auto& [app_id, table] : uses_.state.tables) {
    if (table.duplications.empty() || table.info.status != AppStatus::kAvailable ||
        !LeadsSome(table, node))
      continue;
    for (auto& [dupid, duplication] : table.duplications) TakeTurn(table, dupid, duplication);
  }
}

void DuplicationRequests::TakeTurn(Table& table, int32_t dupid, Duplication& duplication) {
  const DuplicationStatus status = duplication.info.status;
  const bool asks_for_table =
      status == DuplicationStatus::kPrepare && IsCheckpointPrepared(duplication);
  if (!asks_for_table && status != DuplicationStatus::kApp) return;
  const Id id{table.info.app_id, dupid};
  Turn& turn = turns_[id];
  const Instant now = uses_.env.clock().Now();
  if (turn.caller != nullptr || now < turn.next || uses_.changes.IsUnderWay(id.first)) return;
  turn.next = now + kTurn;
  const std::string& remote = duplication.info.remote;
  const std::vector<Endpoint> meta_servers = uses_.options.meta_servers_of
                                                 ? uses_.options.meta_servers_of(remote)
                                                 : std::vector<Endpoint>();
  if (meta_servers.empty())
    return End(id, absl::StrCat("no address of a meta server of cluster ", remote,
                                " is known: see [pegasus.clusters]"));
  Transport& transport = uses_.options.to_other_clusters != nullptr
                             ? *uses_.options.to_other_clusters
                             : uses_.transport;
  turn.caller = std::make_shared<MetaCaller>(uses_.env, transport, uses_.strand,
                                             MetaCallerOptions{.meta_servers = meta_servers});
  asks_for_table ? AskForTable(id) : AskIfReady(id, RemoteNameOf(table, duplication.info));
}

template <class Response, class Request>
void DuplicationRequests::Ask(Id id, DuplicationStatus while_it_is, const char* name,
                              const Request& request,
                              std::function<void(const Table&, const Response&)> done) {
  turns_.at(id).caller->Call<Response>(
      name, request, uses_.env.clock().Now() + kRemotePatience,
      uses_.life.While(
          [this, id, while_it_is, done = std::move(done)](const absl::StatusOr<Response>& answer) {
            const Duplication* duplication = Find(id);
            if (duplication == nullptr || duplication->info.status != while_it_is)
              return End(id, "");
            if (!answer.ok())
              return End(id, absl::StrCat("cluster ", duplication->info.remote, ": ",
                                          answer.status().message()));
            done(*uses_.state.FindTable(id.first), *answer);
          }));
}

void DuplicationRequests::AskForTable(Id id) {
  const CreateAppRequest wanted =
      RemoteTableOf(*uses_.state.FindTable(id.first), Find(id)->info, uses_.options.cluster_name,
                    uses_.transport.local().ToString());
  Ask<CreateAppResponse>(id, DuplicationStatus::kPrepare, kRpcCreateApp, wanted,
                         [this, id, wanted](const Table&, const CreateAppResponse& answer) {
                           OnTableAnswer(id, wanted, answer.err);
                         });
}

void DuplicationRequests::OnTableAnswer(Id id, const CreateAppRequest& wanted, ErrorCode answer) {
  if (answer == ErrorCode::kOk)
    return GoOn(id, DuplicationStatus::kPrepare, DuplicationStatus::kApp);
  // Perhaps by a question of ours whose answer was lost.
  if (answer == ErrorCode::kAppExist) return AskWhoseTable(id, wanted);
  End(id, absl::StrCat("cluster ", Find(id)->info.remote,
                       " does not make the table: ", Text(ErrorCodeName(answer))));
}

void DuplicationRequests::AskWhoseTable(Id id, const CreateAppRequest& wanted) {
  constexpr int32_t kExact = 2;  // 2.5.0 does not know of patterns, and lists all
  Ask<ListAppsResponse>(
      id, DuplicationStatus::kPrepare, kRpcListApps,
      ListAppsRequest{.status = AppStatus::kAvailable,
                      .app_name_pattern = wanted.app_name,
                      .match_type = kExact},
      [this, id, wanted](const Table&, const ListAppsResponse& answer) {
        const auto there =
            std::find_if(answer.infos.begin(), answer.infos.end(),
                         [&](const AppInfo& one) { return one.app_name == wanted.app_name; });
        // It is gone meanwhile, or being made.
        if (there == answer.infos.end())
          return End(id, absl::StrCat("the other cluster says that table ", wanted.app_name,
                                      " exists, and does not list it"));
        const std::string why = WhyNotOurTable(*there, wanted, Find(id)->info);
        if (!why.empty()) return End(id, why);
        GoOn(id, DuplicationStatus::kPrepare, DuplicationStatus::kApp);
      });
}

void DuplicationRequests::AskIfReady(Id id, const std::string& name) {
  Ask<QueryConfigResponse>(id, DuplicationStatus::kApp, kRpcQueryConfig,
                           QueryConfigRequest{.app_name = name},
                           [this, id](const Table& table, const QueryConfigResponse& answer) {
                             const std::string why = WhyNotReady(answer, table);
                             if (!why.empty()) return End(id, why);
                             GoOn(id, DuplicationStatus::kApp, DuplicationStatus::kLog);
                           });
}

void DuplicationRequests::GoOn(Id id, DuplicationStatus from, DuplicationStatus to) {
  End(id, "");
  // Else the question is asked again, which changes nothing.
  if (uses_.changes.IsUnderWay(id.first)) return;
  DuplicationJudgement judgement = JudgeDuplicationStep(uses_.state, id.first, id.second, from, to);
  if (IsAnswered(&judgement)) return End(id, judgement.hint);
  LOG(INFO) << "meta: duplication " << id.second << " of table " << judgement.next->app_name
            << " goes on from " << DuplicationStatusName(from) << " to "
            << DuplicationStatusName(to);
  // Whether the table serves is asked at the next turn; it takes a while.
  Store(std::move(judgement), [](ErrorCode) { DieAt("duplication.went_on"); });
}

void DuplicationRequests::End(Id id, std::string trouble) {
  if (const auto turn = turns_.find(id); turn != turns_.end()) turn->second.caller = nullptr;
  Duplication* duplication = Find(id);
  if (duplication == nullptr) return;
  if (!trouble.empty() && trouble != duplication->trouble)
    LOG(WARNING) << "meta: duplication " << id.second << " of table "
                 << uses_.state.FindTable(id.first)->info.app_name << ": " << trouble;
  duplication->trouble = std::move(trouble);
}

}  // namespace arion
