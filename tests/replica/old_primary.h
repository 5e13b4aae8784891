// OldPrimary: a stand-in for a 2.5.0 primary, as far as a learner meets one
// (replica/OLDER.md): it answers the learn request from its list or with the names of
// its log files, serves them by the file RPCs, hears completion, and makes members. What goes wrong
// is told by its hooks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/client_messages.h"
#include "messages/replication_messages.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"
#include "sim_older/old_log.h"

namespace arion {

class OldPrimary {
 public:
  OldPrimary(sim::SimWorld& world, sim::SimNetwork& network, AppInfo app, PartitionId pid,
             Endpoint address)
      : node_(world.AddNode("old")),
        transport_((node_.Start(), network), node_, address),
        strand_(node_.environment().NewStrand("old")),
        app_(std::move(app)),
        pid_(pid),
        log(pid) {
    transport_.SetHandler([this](InboundRequest request) { Handle(std::move(request)); });
  }

  Endpoint address() const { return transport_.local(); }

  static MutationPtr MakePut(PartitionId pid, Ballot ballot, int64_t decree, int64_t committed,
                             const std::string& key, const std::string& value) {
    Mutation m{.pid = pid,
               .ballot = ballot,
               .decree = Decree(decree),
               .last_committed = Decree(committed),
               .timestamp_us = 1'700'000'000'000'000 + decree};
    m.updates.push_back({WriteCode::kPut, 1, EncodeWrapped(UpdateRequest{Blob(key), value, 0})});
    return std::make_shared<const Mutation>(std::move(m));
  }
  // Commits it, and writes it to the log.
  void Commit(const std::string& key, const std::string& value) {
    const int64_t decree = committed() + 1;
    history.push_back(MakePut(pid_, ballot, decree, decree - 1, key, value));
    log.Append({history.back()});
  }
  int64_t committed() const { return static_cast<int64_t>(history.size()); }

  void Invite(Endpoint learner) {
    ++signature;
    completed = false;
    transport_.SendOneWay(
        learner,
        {.name = kRpcAddLearner,
         .body = EncodeWrapped(Check(learner, PartitionStatus::kPotentialSecondary, signature)),
         .pid = pid_});
  }
  // As often as it is sent.
  void CheckGroup(Endpoint member, PartitionStatus role) {
    const int64_t session = role == PartitionStatus::kPotentialSecondary ? signature : 0;
    transport_.Call(member,
                    {.name = kRpcGroupCheck,
                     .body = EncodeWrapped(Check(member, role, session)),
                     .pid = pid_,
                     .timeout = absl::Seconds(5)},
                    strand_, [this](const RpcResult& result) {
                      const auto response = DecodeWrapped<GroupCheckResponse>(result.body);
                      checked = result.error != ErrorCode::kOk ? result.error : response->err;
                    });
  }
  // Prepares the next decree; nothing commits it here.
  void Prepare(Endpoint member, PartitionStatus role, const std::string& key,
               const std::string& value) {
    acked.reset();
    const MutationPtr m = MakePut(pid_, ballot, committed() + 1, committed(), key, value);
    const PrepareRequest request{
        pid_,
        {.pid = pid_,
         .ballot = ballot,
         .primary = address(),
         .status = role,
         .learner_signature = role == PartitionStatus::kPotentialSecondary ? signature : 0},
        m};
    transport_.Call(member,
                    {.name = kRpcPrepare,
                     .body = EncodePrepare(request),
                     .pid = pid_,
                     .timeout = absl::Seconds(5)},
                    strand_, [this](const RpcResult& result) {
                      const auto ack = DecodeWrapped<PrepareAck>(result.body);
                      acked = result.error != ErrorCode::kOk ? result.error : ack->err;
                    });
  }

  Ballot ballot{3};
  int64_t signature = (int64_t{3} << 32) + 1;
  int64_t list_span = 10;  // of its prepare list
  std::vector<MutationPtr> history;
  // Committed, and not in the log yet.
  std::string buffered;

  bool completed = false;
  std::optional<ErrorCode> checked, acked;
  int learn_requests = 0, files_served = 0, chunks_served = 0;
  std::vector<std::string> learn_bodies, size_bodies, copy_bodies;  // as they came
  // Called before an answer is made; `on_chunk` before each chunk.
  std::function<void()> on_learn, on_sizes, on_chunk;
  // In place of its own answer; nullopt: its own.
  std::function<std::optional<std::string>(const LearnRequest&)> answers_learn;

 private:
  GroupCheckRequest Check(Endpoint to, PartitionStatus role, int64_t session) const {
    GroupCheckRequest request{.app = app_, .node = to};
    request.config = {.pid = pid_,
                      .ballot = ballot,
                      .primary = address(),
                      .status = role,
                      .learner_signature = session};
    request.last_committed_decree = Decree(committed());
    return request;
  }

  void Handle(InboundRequest request) {
    const std::string& name = request.header.name;
    std::string body;
    if (name == kRpcLearn) {
      learn_bodies.push_back(request.body);
      if (on_learn) on_learn();
      ++learn_requests;
      const LearnRequest asked = *DecodeWrapped<LearnRequest>(request.body);
      if (answers_learn)
        if (auto answer = answers_learn(asked))
          return request.responder.Reply(ErrorCode::kOk, *std::move(answer));
      body = EncodeWrapped(Teach(asked));
    } else if (name == kRpcGetFileSize) {
      size_bodies.push_back(request.body);
      if (on_sizes) on_sizes();
      body = EncodeWrapped(Sizes(*DecodeWrapped<GetFileSizeRequest>(request.body)));
    } else if (name == kRpcCopyFile) {
      copy_bodies.push_back(request.body);
      if (on_chunk) on_chunk();
      ++chunks_served;
      body = EncodeWrapped(Chunk(*DecodeWrapped<CopyRequest>(request.body)));
    } else if (name == kRpcLearnCompletion) {
      const auto report = DecodeWrapped<GroupCheckResponse>(request.body);
      completed = report->learner_signature == signature &&
                  report->learner_status == LearnerStatus::kSucceeded;
      body = EncodeWrapped(LearnNotifyResponse{
          pid_, completed ? ErrorCode::kOk : ErrorCode::kInvalidState, report->learner_signature});
    } else {
      return request.responder.Reply(ErrorCode::kHandlerNotFound);
    }
    request.responder.Reply(ErrorCode::kOk, std::move(body));
  }

  LearnResponse Teach(const LearnRequest& request) const {
    LearnResponse response;
    response.config = {.pid = pid_,
                       .ballot = ballot,
                       .primary = address(),
                       .status = PartitionStatus::kPotentialSecondary};
    response.learnee = address();
    if (request.signature != signature) {
      response.err = ErrorCode::kWrongChecksum;
      response.config.learner_signature = signature;
      return response;
    }
    const int64_t start = request.last_committed_decree_in_app.value() + 1;
    response.last_committed_decree = Decree(committed());
    response.state.learn_start_decree = Decree(start);
    if (start > committed() - list_span) {
      response.type = LearnType::kCache;
      response.prepare_start_decree = Decree(committed() + 1);
      for (int64_t d = start; d <= committed(); ++d)
        AppendMutation(*history[static_cast<size_t>(d - 1)], d, &response.state.meta.bytes);
      return response;
    }
    response.type = LearnType::kLog;
    response.prepare_start_decree = kInvalidDecree;
    response.base_local_dir = "/srv/replica/reps/plog";
    response.state.to_decree_included = Decree(committed());
    response.state.files = log.names();
    response.state.meta.bytes = buffered;
    return response;
  }
  GetFileSizeResponse Sizes(const GetFileSizeRequest& request) {
    GetFileSizeResponse response;
    for (const std::string& name : request.file_list) {
      const auto file = log.files().find(name);
      if (file == log.files().end()) return {.error = 20};
      response.file_list.push_back(name);
      response.size_list.push_back(static_cast<int64_t>(file->second.size()));
      ++files_served;
    }
    return response;
  }
  CopyResponse Chunk(const CopyRequest& request) {
    const auto file = log.files().find(request.file_name);
    if (file == log.files().end()) return {.error = ErrorCode::kFileOperationFailed};
    CopyResponse response{.offset = request.offset, .size = request.size};
    if (static_cast<size_t>(request.offset + request.size) > file->second.size())
      return {.error = ErrorCode::kHandleEof};
    response.file_content = Blob(file->second.substr(static_cast<size_t>(request.offset),
                                                     static_cast<size_t>(request.size)));
    return response;
  }

  sim::SimNode& node_;
  sim::SimTransport transport_;
  StrandPtr strand_;
  const AppInfo app_;
  const PartitionId pid_;

 public:
  sim::OldLog log;  // serves whatever is in it
};

}  // namespace arion
