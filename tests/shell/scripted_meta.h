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

// The exit code, and what it printed as JSON.
inline std::pair<ExitCode, std::string> Say(const ScriptedMeta& meta, const std::string& commands) {
  Cluster cluster({meta.address()});
  Session session(&cluster, OutputForm::kJson, [](const std::string&) { return false; });
  testing::internal::CaptureStdout();
  const ExitCode code = session.Run(commands);
  return {code, testing::internal::GetCapturedStdout()};
}

}  // namespace arion::shell
