// What the shell says to a server that answers by functions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "posix/posix_environment.h"
#include "rpc/asio_transport.h"
#include "rpc/thrift_codec.h"
#include "tools/shell/session.h"

namespace arion::shell {

// A meta server that answers by functions; what it has none for, it does not know.
class ScriptedMeta {
 public:
  using Answer = std::function<std::string(const std::string& body)>;

  explicit ScriptedMeta(std::map<std::string, Answer> answers) : answers_(std::move(answers)) {
    transport_.SetHandler([this](InboundRequest request) {
      const auto found = answers_.find(std::string(request.header.name));
      if (found == answers_.end()) return request.responder.Reply(ErrorCode::kHandlerNotFound, "");
      request.responder.Reply(ErrorCode::kOk, found->second(std::string(request.body)));
    });
    const absl::Status status = transport_.Listen();
    EXPECT_TRUE(status.ok()) << status;
  }
  ~ScriptedMeta() {
    transport_.Stop();
    environment_.StopLoops();
  }
  Endpoint address() const { return transport_.local(); }

 private:
  const std::map<std::string, Answer> answers_;
  PosixEnvironment environment_{PosixEnvironmentOptions{.event_loop_threads = 1}};
  AsioTransport transport_{&environment_.loops(),
                           AsioTransportOptions{.listen = Endpoint{.ip = 0x7f000001, .port = 0}}};
};

// The table "t", of one replica each.
inline ListAppsResponse OneTable(int32_t partition_count) {
  return {.infos = {{.status = AppStatus::kAvailable,
                     .app_name = "t",
                     .app_id = 2,
                     .partition_count = partition_count,
                     .max_replica_count = 1}}};
}
// Of that table, if `body` asks for it: all partitions are led by `primary`.
inline QueryConfigResponse PartitionsOfOneTable(const std::string& body, int32_t partition_count,
                                                const Endpoint& primary) {
  if (DecodeWrapped<QueryConfigRequest>(body)->app_name != "t")
    return {.err = ErrorCode::kObjectNotFound};
  QueryConfigResponse answer{.app_id = 2, .partition_count = partition_count, .is_stateful = true};
  for (int32_t i = 0; i < partition_count; ++i)
    answer.partitions.push_back({.pid = {2, i}, .ballot = Ballot(1), .primary = primary});
  return answer;
}

// The exit code, and what it printed as JSON.
inline std::pair<ExitCode, std::string> Say(const ScriptedMeta& meta, const std::string& commands) {
  Cluster cluster({meta.address()});
  Session session(&cluster, OutputForm::kJson, [](const std::string&) { return false; });
  testing::internal::CaptureStdout();
  const ExitCode code = session.Run(commands);
  return {code, testing::internal::GetCapturedStdout()};
}

}  // namespace arion::shell
