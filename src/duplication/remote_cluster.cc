// SPDX-License-Identifier: Apache-2.0
#include "duplication/remote_cluster.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "base/status.h"
#include "client/meta_caller.h"
#include "env/clock.h"
#include "env/environment.h"
#include "messages/duplicate_messages.h"
#include "messages/meta_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

constexpr absl::Duration kAskingAtMost = absl::Seconds(5);
constexpr absl::Duration kRequestAtMost = absl::Seconds(10);

SendOutcome Again(std::string text) { return {SendOutcome::Kind::kAgain, std::move(text)}; }

// Whether the request may have gone to the wrong server.
bool IsMisdirected(ErrorCode error) {
  return error == ErrorCode::kObjectNotFound || error == ErrorCode::kInvalidState ||
         error == ErrorCode::kInactiveState || error == ErrorCode::kNetworkFailure ||
         error == ErrorCode::kTimeout || error == ErrorCode::kParentPartitionMisused;
}

}  // namespace

RemoteCluster::RemoteCluster(Environment& environment, Transport& transport, std::string name,
                             std::function<std::vector<Endpoint>()> meta_servers)
    : environment_(environment),
      transport_(transport),
      name_(std::move(name)),
      strand_(environment.NewStrand("cluster " + name_)),
      meta_servers_(std::move(meta_servers)) {}

void RemoteCluster::Send(Request request, StrandPtr reply_on, DuplicationSender::SentDone then) {
  strand_->Post([weak = weak_from_this(), waiting = Waiting{std::move(request), std::move(reply_on),
                                                            std::move(then)}]() mutable {
    if (const auto self = weak.lock()) self->Begin(std::move(waiting));
  });
}

void RemoteCluster::Answer(Waiting& waiting, SendOutcome outcome) {
  waiting.reply_on->Post([then = std::move(waiting.then), outcome = std::move(outcome)]() mutable {
    then(std::move(outcome));
  });
}

void RemoteCluster::Begin(Waiting waiting) {
  const std::string name = waiting.request.table;
  KnownTable& table = tables_[name];
  if (!table.is_stale) return SendTo(table, std::move(waiting));
  table.waiting.push_back(std::move(waiting));
  if (!std::exchange(table.is_being_asked_for, true)) Ask(name);
}

void RemoteCluster::Ask(const std::string& name) {
  std::vector<Endpoint> meta_servers = meta_servers_();
  if (meta_servers.empty())
    return OnAsked(name, absl::StrCat("where the meta servers of cluster ", name_,
                                      " are is not known: name them in [pegasus.clusters] of this "
                                      "server's configuration"));
  const auto meta =
      std::make_shared<MetaCaller>(environment_, transport_, strand_,
                                   MetaCallerOptions{.meta_servers = std::move(meta_servers)});
  // It lives until it has answered.
  meta->Call<QueryConfigResponse>(
      kRpcQueryConfig, QueryConfigRequest{.app_name = name},
      environment_.clock().Now() + kAskingAtMost,
      [weak = weak_from_this(), name, meta](absl::StatusOr<QueryConfigResponse> answer) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        const std::string where = absl::StrCat("cluster ", self->name_, ", table ", name, ": ");
        if (!answer.ok())
          return self->OnAsked(name, absl::StrCat(where, answer.status().message()));
        if (answer->err != ErrorCode::kOk)
          return self->OnAsked(name, absl::StrCat(where, Text(ErrorCodeName(answer->err))));
        if (answer->partitions.size() != static_cast<size_t>(answer->partition_count))
          return self->OnAsked(name, absl::StrCat(where, "not all partitions are told"));
        KnownTable& table = self->tables_[name];
        table.partitions = std::move(answer->partitions);
        table.app_id = answer->app_id;
        self->OnAsked(name, "");
      });
}

void RemoteCluster::OnAsked(const std::string& name, const std::string& trouble) {
  KnownTable& table = tables_[name];
  table.is_being_asked_for = false;
  table.is_stale = !trouble.empty();
  for (Waiting& waiting : std::exchange(table.waiting, {})) {
    if (trouble.empty())
      SendTo(table, std::move(waiting));
    else
      Answer(waiting, Again(trouble));
  }
}

void RemoteCluster::SendTo(KnownTable& table, Waiting waiting) {
  const Request& request = waiting.request;
  // partition_duplications/K2
  if (request.may_go && !request.may_go())
    return Answer(waiting, Again("this server may not lead any more"));
  if (table.partitions.size() != static_cast<size_t>(request.partition_count)) {
    table.is_stale = true;
    return Answer(waiting, Again(absl::StrCat("table ", request.table, " of cluster ", name_,
                                              " has ", table.partitions.size(), " partitions, not ",
                                              request.partition_count)));
  }
  const Endpoint to = table.partitions[static_cast<size_t>(request.index)].primary;
  if (!to.IsValid()) {
    table.is_stale = true;
    return Answer(waiting,
                  Again(absl::StrCat("partition ", request.index, " of table ", request.table,
                                     " of cluster ", name_, " has no primary")));
  }
  const PartitionId pid{table.app_id, request.index};
  OutboundRequest outbound{.name = kRpcDuplicate,
                           .body = request.body,
                           .pid = pid,
                           .thread_hash = pid.thread_hash(),
                           .partition_hash = request.partition_hash,
                           .timeout = kRequestAtMost};
  transport_.Call(
      to, std::move(outbound), strand_,
      [weak = weak_from_this(), waiting = std::move(waiting)](const RpcResult& result) mutable {
        if (const auto self = weak.lock()) self->OnAnswer(std::move(waiting), result);
      });
}

void RemoteCluster::OnAnswer(Waiting waiting, const RpcResult& result) {
  const auto where = [&] {
    return absl::StrCat("partition ", waiting.request.index, " of table ", waiting.request.table,
                        " of cluster ", name_, ": ");
  };
  if (result.error != ErrorCode::kOk) {
    // It takes no such write, mostly for its size, and never will.
    if (result.error == ErrorCode::kInvalidData)
      return Answer(waiting, {SendOutcome::Kind::kRefused,
                              absl::StrCat(where(),
                                           "ERR_INVALID_DATA (where it is Pegasus, a request may "
                                           "have 1 MiB)")});
    if (IsMisdirected(result.error)) tables_[waiting.request.table].is_stale = true;
    return Answer(waiting, Again(absl::StrCat(where(), Text(ErrorCodeName(result.error)))));
  }
  const auto response = DecodeWrapped<DuplicateResponse>(result.body);
  if (!response.ok())
    return Answer(waiting, Again(absl::StrCat(where(), "an answer that can't be read")));
  const int32_t error = response->error.value_or(0);
  if (error == 0) return Answer(waiting, {});
  std::string text =
      absl::StrCat(where(), "storage status ", error, " ", response->error_hint.value_or(""));
  const bool is_refused = error == static_cast<int32_t>(StorageError::kInvalidArgument);
  Answer(waiting,
         {is_refused ? SendOutcome::Kind::kRefused : SendOutcome::Kind::kAgain, std::move(text)});
}

}  // namespace arion
