// What commands make of answers that no real server can be brought to give on demand.
// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/session.h"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "base/status.h"
#include "rpc/thrift_codec.h"
#include "tests/shell/scripted_meta.h"

namespace arion::shell {
namespace {

// A replica server's pages: what `answer` says to a request for one. One after the other.
class ScriptedPages {
 public:
  explicit ScriptedPages(std::function<std::string(const std::string& request)> answer)
      : listener_(socket(AF_INET, SOCK_STREAM, 0)), answer_(std::move(answer)) {
    sockaddr_in here{.sin_family = AF_INET};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(here);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&here), size), 0);
    EXPECT_EQ(listen(listener_, 10), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &size), 0);
    address_ = {INADDR_LOOPBACK, ntohs(here.sin_port)};
    thread_ = std::thread([this] { Serve(); });
  }
  ~ScriptedPages() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  Endpoint address() const { return address_; }

 private:
  void Serve() {
    for (int fd; (fd = accept(listener_, nullptr, nullptr)) >= 0; close(fd)) {
      char request[4096];
      const ssize_t size = std::max<ssize_t>(read(fd, request, sizeof(request)), 0);
      const std::string answer =
          "HTTP/1.1 200 OK\r\n\r\n" + answer_(std::string(request, static_cast<size_t>(size)));
      EXPECT_EQ(write(fd, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    }
  }
  const int listener_;
  const std::function<std::string(const std::string& request)> answer_;
  Endpoint address_;
  std::thread thread_;
};

TEST(SessionTest, ADeadPartitionThatIsRefusedDoesNotKeepOthersFromService) {
  DddDiagnoseResponse dead;
  for (const int32_t index : {0, 1}) {
    DddPartition& partition = dead.partitions.emplace_back();
    partition.config.pid = {2, index};
    partition.dropped = {{.node = {.ip = 0x7f000001, .port = 34801},
                          .is_alive = true,
                          .is_collected = true,
                          .ballot = Ballot(3)}};
  }
  const ScriptedMeta meta(
      {{kRpcDddDiagnose, [&](const std::string&) { return EncodeWrapped(dead); }},
       {kRpcProposeBalancer, [](const std::string& body) {
          const auto request = DecodeWrapped<ProposeBalancerRequest>(body);
          const bool is_first = request->pid == PartitionId{2, 0};
          return EncodeWrapped(
              ProposeBalancerResponse{is_first ? ErrorCode::kInvalidParameters : ErrorCode::kOk});
        }}});
  const auto [code, printed] = Say(meta, "ddd_diagnose -a -y; version");
  EXPECT_EQ(code, ExitCode::kFailed);
  EXPECT_NE(printed.find("\"proposed\":1,\"refused\":[\"2.0: "), std::string::npos) << printed;
  EXPECT_EQ(printed.find("version"), std::string::npos) << "what follows is not run";
}

// A table of one partition whose primary stays where it is.
std::map<std::string, ScriptedMeta::Answer> OneTable(Endpoint primary, Endpoint secondary) {
  PartitionConfiguration partition;
  partition.pid = {2, 0};
  partition.primary = primary;
  partition.secondaries = {secondary};
  const auto always = [](const auto& answer) {
    return [body = EncodeWrapped(answer)](const std::string&) { return body; };
  };
  return {{kRpcListApps, always(ListAppsResponse{.infos = {{.status = AppStatus::kAvailable,
                                                            .app_name = "t",
                                                            .app_id = 2,
                                                            .partition_count = 1,
                                                            .max_replica_count = 2}}})},
          {kRpcQueryConfig,
           always(QueryConfigResponse{
               .app_id = 2, .partition_count = 1, .is_stateful = true, .partitions = {partition}})},
          {kRpcListNodes, always(ListNodesResponse{.infos = {{NodeStatus::kAlive, primary},
                                                             {NodeStatus::kAlive, secondary}}})},
          {kRpcStartManualCompact, always(StartManualCompactResponse())}};
}

TEST(SessionTest, WhatCtrlCLeftUnfinishedEndsWhatWasToFollow) {
  const ScriptedPages up(
      [](const std::string&) { return std::string("arion_process_start_time_seconds 5\n"); });
  const Endpoint primary = up.address(), secondary{primary.ip, 1};
  auto answers = OneTable(primary, secondary);
  answers[kRpcProposeBalancer] = [](const std::string&) {
    raise(SIGINT);
    return EncodeWrapped(ProposeBalancerResponse());
  };
  answers[kRpcQueryManualCompact] = [](const std::string&) {
    raise(SIGINT);
    return EncodeWrapped(QueryManualCompactResponse{.progress = 50});
  };
  const ScriptedMeta meta(answers);
  for (const std::string& command :
       {absl::StrCat("drain --primaries -y ", primary.ToString()),
        absl::StrCat("rolling-restart -y -c true ", primary.ToString()),
        std::string("manual-compaction start -a t --wait")}) {
    const auto [code, printed] = Say(meta, command + "; version");
    EXPECT_EQ(code, ExitCode::kFailed) << command;
    EXPECT_EQ(printed.find("error"), std::string::npos) << "it says how far it came: " << printed;
    EXPECT_EQ(printed.find("version"), std::string::npos) << printed;
  }
}

TEST(SessionTest, WhatARecoveryDoubtsIsShownThoughItsFileCannotBeWritten) {
  int recoveries = 0;
  const ScriptedMeta meta({{kRpcStartRecovery, [&](const std::string&) {
                              ++recoveries;
                              return EncodeWrapped(
                                  StartRecoveryResponse{.hint_message = "2.0: doubtful\n"});
                            }}});
  const auto [refused, why] = Say(meta, "recover -y -s 127.0.0.1:1 -o /nonexistent/x");
  EXPECT_EQ(refused, ExitCode::kFailed);
  EXPECT_EQ(recoveries, 0) << "said before anything is done";
  const auto [code, printed] = Say(meta, "recover -y -s 127.0.0.1:1 -o /dev/full");
  EXPECT_EQ(recoveries, 1);
  EXPECT_EQ(code, ExitCode::kUnhealthy);
  EXPECT_NE(printed.find("2.0: doubtful"), std::string::npos) << printed;
  EXPECT_NE(printed.find("can't write /dev/full"), std::string::npos) << printed;
}

TEST(SessionTest, ASettingThatReachedNobodyIsNotSet) {
  const Endpoint dead{.ip = 0x7f000001, .port = 1};
  const ScriptedMeta meta(
      {{kRpcListNodes, [&](const std::string&) {
          return EncodeWrapped(ListNodesResponse{.infos = {{NodeStatus::kUnalive, dead}}});
        }}});
  for (const std::string command : {"config set text_log_level info -t replica",
                                    "flush_log -t replica", "remote_command -t replica help"})
    EXPECT_EQ(Say(meta, command).first, ExitCode::kFailed) << command;
  EXPECT_EQ(Say(meta, "config set text_log_level info -n ,").first, ExitCode::kUsage);
}

// Its partitions are whole all the time: a member that loads stays one.
TEST(SessionTest, ARollingRestartWaitsUntilTheServerHasOpenedItsReplicas) {
  int started = 0, asked = 0;
  const ScriptedPages restarted([&](const std::string& request) {
    if (request.find("GET /metrics") == 0)
      return absl::StrCat("arion_process_start_time_seconds ", ++started, "\n");
    ++asked;
    raise(SIGINT);  // enough waited
    return std::string("recovery: recovering\n");
  });
  const ScriptedMeta meta(OneTable({restarted.address().ip, 1}, restarted.address()));
  const auto [code, printed] =
      Say(meta, "rolling-restart -y -c true " + restarted.address().ToString());
  EXPECT_EQ(code, ExitCode::kFailed);
  EXPECT_EQ(asked, 1);
  EXPECT_NE(printed.find("\"restarted\":0"), std::string::npos) << printed;
}

std::pair<ExitCode, std::string> Restart(const ScriptedMeta& meta, Endpoint server,
                                         const std::string& command,
                                         const std::string& options = "") {
  return Say(meta, absl::StrCat("rolling-restart -y -w 1ms ", options, " -c '", command, "' ",
                                server.ToString()));
}
bool IsThere(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// It could not be told from one that has restarted.
TEST(SessionTest, AServerThatDoesNotSaySinceWhenItRunsIsNotRestarted) {
  const ScriptedPages silent([](const std::string&) { return std::string("arion_up 1\n"); });
  const ScriptedMeta meta(OneTable({silent.address().ip, 1}, silent.address()));
  const std::string touched = testing::TempDir() + "/arion_restarted";
  const auto [code, printed] = Restart(meta, silent.address(), "touch " + touched);
  EXPECT_EQ(code, ExitCode::kFailed);
  EXPECT_FALSE(IsThere(touched)) << printed;
  unlink(touched.c_str());
}

// The command of the time before stopped it and did not start it.
TEST(SessionTest, AServerThatIsDownIsStartedThoughItsPartitionsLackAMember) {
  const Endpoint down{.ip = 0x7f000001, .port = 1};
  const ScriptedPages up([](const std::string&) { return std::string(); });
  auto answers = OneTable(down, up.address());
  answers[kRpcQueryConfig] = [](const std::string&) {
    PartitionConfiguration partition;
    partition.pid = {2, 0};
    return EncodeWrapped(QueryConfigResponse{
        .app_id = 2, .partition_count = 1, .is_stateful = true, .partitions = {partition}});
  };
  const ScriptedMeta meta(answers);
  const std::string touched = testing::TempDir() + "/arion_started";
  auto [code, printed] = Restart(meta, up.address(), "touch " + touched);
  EXPECT_EQ(code, ExitCode::kFailed);
  EXPECT_NE(printed.find("nothing was done: 1 partitions are not healthy"), std::string::npos)
      << printed;
  EXPECT_FALSE(IsThere(touched)) << printed;
  std::tie(code, printed) = Restart(meta, down, "touch " + touched);
  EXPECT_NE(code, ExitCode::kOk) << "it is not back";
  EXPECT_TRUE(IsThere(touched)) << printed;
  EXPECT_NE(printed.find("The same command goes on"), std::string::npos) << printed;
  unlink(touched.c_str());
}

TEST(SessionTest, AServerThatIsOfTheOtherVersionIsLeftOut) {
  const ScriptedPages arion(
      [](const std::string&) { return std::string("arion_process_start_time_seconds 5\n"); });
  const ScriptedMeta meta(OneTable({arion.address().ip, 1}, arion.address()));
  const auto [code, printed] = Restart(meta, arion.address(), "false", "--only older");
  EXPECT_EQ(code, ExitCode::kOk) << printed;
  EXPECT_NE(printed.find(absl::StrCat("\"done_before\":[\"", arion.address().ToString(), "\"]")),
            std::string::npos)
      << printed;
  EXPECT_EQ(Restart(meta, arion.address(), "false", "--only old").first, ExitCode::kUsage);
}

}  // namespace
}  // namespace arion::shell
