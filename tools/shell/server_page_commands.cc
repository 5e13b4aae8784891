// What the replica servers' /recovery, /stuck and /pools pages say.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_split.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/status.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

constexpr int kTimeoutSeconds = 3;

absl::Status Failed(Endpoint server, std::string_view step) {
  return absl::UnavailableError(
      absl::StrCat(server.ToString(), ": ", Text(step), ": ", std::strerror(errno)));
}

absl::StatusOr<std::string> Exchange(int fd, Endpoint server, const std::string& request) {
  const timeval timeout{.tv_sec = kTimeoutSeconds};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(server.port)};
  address.sin_addr.s_addr = htonl(server.ip);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    return Failed(server, "connect");
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    return Failed(server, "ask");
  std::string answer;
  char buffer[4096];
  while (true) {
    const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
    if (got < 0) return Failed(server, "no answer");
    if (got == 0) return answer;
    answer.append(buffer, static_cast<size_t>(got));
  }
}

// The lines of a page that is text.
absl::StatusOr<std::vector<std::string>> PageOf(Endpoint server, std::string_view page) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failed(server, "socket");
  const absl::StatusOr<std::string> answer =
      Exchange(fd, server,
               absl::StrCat("GET ", Text(page), " HTTP/1.1\r\nHost: ", server.ToString(),
                            "\r\nAccept: text/plain\r\nConnection: close\r\n\r\n"));
  close(fd);
  RETURN_IF_ERROR(answer.status());
  const size_t body = answer->find("\r\n\r\n");
  if (body == std::string::npos || answer->find(" 200 ") > answer->find("\r\n"))
    return absl::UnavailableError(
        absl::StrCat(server.ToString(), " has no page ", Text(page), "; is it a replica server?"));
  std::vector<std::string> lines = absl::StrSplit(answer->substr(body + 4), '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Without a word: each living server's first line; with one: that server's page.
absl::StatusOr<Outcome> ShowPage(Session& session, const Words& arguments, std::string_view page) {
  Outcome outcome;
  if (arguments.size() > 1) return UsageError("nothing, or HOST:PORT of a replica server");
  if (arguments.size() == 1) {
    const auto server = Endpoint::Parse(arguments[0]);
    if (!server) return UsageError("HOST:PORT of a replica server");
    ASSIGN_OR_RETURN(std::vector<std::string> lines, PageOf(*server, page));
    Answer::List list{"lines", {"line"}, {}};
    for (std::string& line : lines) list.rows.push_back({std::move(line)});
    outcome.answer.AddList(std::move(list));
    return outcome;
  }
  ASSIGN_OR_RETURN(std::vector<TableState> tables, session.cluster().Tables());
  ASSIGN_OR_RETURN(std::vector<NodeState> nodes, session.cluster().Nodes(tables));
  Answer::List list{"servers", {"address", "state"}, {}};
  for (const NodeState& node : nodes) {
    const absl::StatusOr<std::vector<std::string>> lines = PageOf(node.address, page);
    if (!lines.ok()) outcome.health = Health::kBad;
    std::string state = !lines.ok()      ? std::string(lines.status().message())
                        : lines->empty() ? std::string()
                                         : lines->front();
    list.rows.push_back({node.address.ToString(), std::move(state)});
  }
  outcome.answer.AddList(std::move(list));
  return outcome;
}

}  // namespace

std::vector<Command> ServerPageCommands() {
  return {{"recovery", "[HOST:PORT]", "how far the servers' opening of their replicas is",
           Command::Completes::kNodes,
           [](Session& session, const Words& arguments) {
             return ShowPage(session, arguments, "/recovery");
           }},
          {"stuck", "[HOST:PORT]", "event loops and disks' work that do not move",
           Command::Completes::kNodes, [](Session& session, const Words& arguments) {
             return ShowPage(session, arguments, "/stuck");
           }},
          {"pools", "[HOST:PORT]",
           "event loops and disks' pools: sizes, queues, waiting and working times",
           Command::Completes::kNodes, [](Session& session, const Words& arguments) {
             return ShowPage(session, arguments, "/pools");
           }}};
}

}  // namespace arion::shell
