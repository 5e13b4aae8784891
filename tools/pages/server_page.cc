// SPDX-License-Identifier: Apache-2.0
#include "tools/pages/server_page.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <netinet/in.h>
#include <rapidjson/document.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/status.h"
#include "http/response_parser.h"

namespace arion {
namespace {

constexpr int kTimeoutSeconds = 3;

constexpr char kNobodyThere[] = "arion.nobody_there";

absl::Status Failed(Endpoint server, std::string_view step) {
  const int error = errno;
  absl::Status status = absl::UnavailableError(
      absl::StrCat(server.ToString(), ": ", Text(step), ": ", std::strerror(error)));
  // Only this shows that no process has the port; a timeout may be a busy server.
  if (error == ECONNREFUSED) status.SetPayload(kNobodyThere, absl::Cord());
  return status;
}

constexpr char kNoSuchPage[] = "arion.no_such_page";

absl::Status NoSuchPage(Endpoint server, std::string_view page) {
  absl::Status status = absl::UnavailableError(
      absl::StrCat(server.ToString(), " has no page ", Text(page), "; is it a replica server?"));
  status.SetPayload(kNoSuchPage, absl::Cord());
  return status;
}

// A socket that is closed with its holder.
class Socket {
 public:
  Socket() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

absl::Status Ask(const Socket& socket, Endpoint server, const std::string& request) {
  const timeval timeout{.tv_sec = kTimeoutSeconds};
  setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(server.port)};
  address.sin_addr.s_addr = htonl(server.ip);
  if (connect(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    return Failed(server, "connect");
  if (send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    return Failed(server, "ask");
  return absl::OkStatus();
}

// Reads until the answer says that it is whole: servers of an older version leave the connection
// open behind it, whatever they were asked.
absl::StatusOr<std::string> BodyOf(const Socket& socket, Endpoint server, std::string_view page) {
  using Result = HttpResponseParser::Result;
  HttpResponseParser answer;
  char buffer[16384];
  size_t bytes = 0;
  Result result = Result::kNeedMore;
  while (result == Result::kNeedMore) {
    const ssize_t got = recv(socket.fd(), buffer, sizeof(buffer), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(server, "no answer");
    if (got == 0 && bytes == 0) return NoSuchPage(server, page);
    bytes += static_cast<size_t>(got);
    result = got == 0 ? answer.End() : answer.Feed({buffer, static_cast<size_t>(got)});
    // Part of a page would be read as all of it.
    if (got == 0 && result == Result::kBad)
      return absl::UnavailableError(absl::StrCat(server.ToString(), ": its answer was cut off"));
  }
  if (result == Result::kBad || answer.status() != 200) return NoSuchPage(server, page);
  return answer.body();
}

// name="value",...} : what stands behind it.
std::string_view TakeLabels(std::string_view rest, std::map<std::string, std::string>* labels) {
  while (!rest.empty() && rest[0] != '}') {
    const size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) return {};
    std::string& value = (*labels)[std::string(rest.substr(0, equals))];
    size_t at = equals + 2;
    for (; at < rest.size() && rest[at] != '"'; ++at) {
      if (rest[at] == '\\' && at + 1 < rest.size()) ++at;
      value += rest[at];
    }
    rest = rest.substr(std::min(rest.size(), at + 1));
    if (!rest.empty() && rest[0] == ',') rest.remove_prefix(1);
  }
  return rest.empty() ? rest : rest.substr(1);
}

std::string TextOf(const rapidjson::Value& value) {
  if (value.IsString()) return {value.GetString(), value.GetStringLength()};
  if (value.IsInt64()) return std::to_string(value.GetInt64());
  if (value.IsDouble()) return std::to_string(value.GetDouble());
  return value.IsTrue() ? "true" : "";
}

}  // namespace

absl::StatusOr<std::string> FetchPage(Endpoint server, std::string_view page, PageForm form) {
  const Socket socket;
  if (socket.fd() < 0) return Failed(server, "socket");
  RETURN_IF_ERROR(
      Ask(socket, server,
          absl::StrCat("GET ", Text(page), " HTTP/1.1\r\nHost: ", server.ToString(),
                       "\r\nAccept: ", form == PageForm::kText ? "text/plain" : "application/json",
                       "\r\nConnection: close\r\n\r\n")));
  return BodyOf(socket, server, page);
}

bool IsNobodyThere(const absl::Status& status) {
  return status.GetPayload(kNobodyThere).has_value();
}

bool IsNoSuchPage(const absl::Status& status) { return status.GetPayload(kNoSuchPage).has_value(); }

std::vector<MetricSample> ParseSamples(std::string_view text) {
  constexpr std::string_view kPrefix = "arion_";
  std::vector<MetricSample> samples;
  for (const auto piece : absl::StrSplit(Text(text), '\n', absl::SkipEmpty())) {
    std::string_view line = View(piece);
    if (!line.starts_with(kPrefix)) continue;
    line.remove_prefix(kPrefix.size());
    MetricSample sample;
    const size_t end = std::min(line.find_first_of("{ "), line.size());
    sample.name = line.substr(0, end);
    std::string_view rest = line.substr(end);
    if (rest.starts_with("{")) rest = TakeLabels(rest.substr(1), &sample.labels);
    if (!absl::SimpleAtod(Text(rest), &sample.value)) continue;
    samples.push_back(std::move(sample));
  }
  return samples;
}

absl::StatusOr<std::vector<MetricSample>> FetchSamples(Endpoint server) {
  ASSIGN_OR_RETURN(const std::string text, FetchPage(server, "/metrics", PageForm::kText));
  return ParseSamples(text);
}

double SumOf(const std::vector<MetricSample>& samples, std::string_view name,
             std::string_view label, std::string_view value) {
  double sum = 0;
  for (const MetricSample& sample : samples) {
    if (sample.name != name) continue;
    const auto it = sample.labels.find(std::string(label));
    if (label.empty() || (it != sample.labels.end() && it->second == value)) sum += sample.value;
  }
  return sum;
}

double QuantileOf(const std::vector<MetricSample>& samples, std::string_view name,
                  double quantile) {
  std::map<double, double> at_most;  // by upper end
  for (const MetricSample& sample : samples) {
    if (sample.name != std::string(name) + "_bucket") continue;
    double end = 0;
    if (const auto le = sample.labels.find("le");
        le != sample.labels.end() && absl::SimpleAtod(le->second, &end))
      at_most[end] += sample.value;
  }
  if (at_most.empty() || at_most.rbegin()->second == 0) return 0;
  const double wanted = at_most.rbegin()->second * quantile;
  double last = 0;
  for (const auto& [end, count] : at_most) {
    if (count >= wanted) return std::isfinite(end) ? end : last;
    last = end;
  }
  return last;
}

namespace {

absl::Status NotAsItShouldBe(Endpoint server, std::string_view page) {
  return absl::InvalidArgumentError(
      absl::StrCat(server.ToString(), Text(page), " is not what it should be"));
}

JsonRow RowOf(const rapidjson::Value& object) {
  JsonRow row;
  for (const auto& member : object.GetObject())
    row[{member.name.GetString(), member.name.GetStringLength()}] = TextOf(member.value);
  return row;
}

}  // namespace

absl::StatusOr<std::vector<JsonRow>> FetchMembers(Endpoint server, std::string_view page) {
  ASSIGN_OR_RETURN(const std::string text, FetchPage(server, page, PageForm::kJson));
  rapidjson::Document document;
  document.Parse(text.data(), text.size());
  if (!document.IsObject()) return NotAsItShouldBe(server, page);
  std::vector<JsonRow> rows;
  for (const auto& member : document.GetObject())
    if (member.value.IsObject()) rows.push_back(RowOf(member.value));
  return rows;
}

absl::StatusOr<std::vector<JsonRow>> FetchRows(Endpoint server, std::string_view page) {
  ASSIGN_OR_RETURN(const std::string text, FetchPage(server, page, PageForm::kJson));
  rapidjson::Document document;
  document.Parse(text.data(), text.size());
  if (!document.IsArray()) return NotAsItShouldBe(server, page);
  std::vector<JsonRow> rows;
  for (const rapidjson::Value& item : document.GetArray())
    if (item.IsObject()) rows.push_back(RowOf(item));
  return rows;
}

absl::StatusOr<EnsemblePage> FetchEnsemble(Endpoint meta) {
  ASSIGN_OR_RETURN(const std::string text, FetchPage(meta, "/meta/ensemble", PageForm::kJson));
  rapidjson::Document document;
  document.Parse(text.data(), text.size());
  if (!document.IsObject()) return NotAsItShouldBe(meta, "/meta/ensemble");
  EnsemblePage page{.own = RowOf(document)};
  for (const auto& [name, rows] :
       {std::pair("candidates", &page.candidates), std::pair("zookeeper", &page.zookeeper)}) {
    const auto list = document.FindMember(name);
    if (list == document.MemberEnd() || !list->value.IsArray())
      return NotAsItShouldBe(meta, "/meta/ensemble");
    for (const rapidjson::Value& item : list->value.GetArray())
      if (item.IsObject()) rows->push_back(RowOf(item));
  }
  return page;
}

absl::StatusOr<std::vector<JsonRow>> FetchWarnings(Endpoint meta) {
  ASSIGN_OR_RETURN(const std::string text, FetchPage(meta, "/ui/cluster.json", PageForm::kJson));
  rapidjson::Document document;
  document.Parse(text.data(), text.size());
  std::vector<JsonRow> rows;
  if (!document.IsObject()) return NotAsItShouldBe(meta, "/ui/cluster.json");
  const auto warnings = document.FindMember("warnings");
  if (warnings == document.MemberEnd() || !warnings->value.IsArray()) return rows;
  for (const rapidjson::Value& item : warnings->value.GetArray())
    if (item.IsObject()) rows.push_back(RowOf(item));
  return rows;
}

absl::StatusOr<std::map<int64_t, TableDurability>> FetchDurabilities(Endpoint meta) {
  ASSIGN_OR_RETURN(const std::string text, FetchPage(meta, "/ui/cluster.json", PageForm::kJson));
  rapidjson::Document document;
  document.Parse(text.data(), text.size());
  if (!document.IsObject() || !document.HasMember("tables") || !document["tables"].IsArray())
    return NotAsItShouldBe(meta, "/ui/cluster.json");
  std::map<int64_t, TableDurability> tables;
  for (const rapidjson::Value& table : document["tables"].GetArray()) {
    if (!table.IsObject() || !table.HasMember("id") || !table["id"].IsInt64())
      return NotAsItShouldBe(meta, "/ui/cluster.json");
    TableDurability& told = tables[table["id"].GetInt64()];
    const auto texts = [&](const char* name, auto take) {
      const auto member = table.FindMember(name);
      if (member == table.MemberEnd() || !member->value.IsArray()) return;
      for (const rapidjson::Value& item : member->value.GetArray())
        if (item.IsString()) take(std::string(item.GetString(), item.GetStringLength()));
    };
    texts("durability", [&](std::string mode) { told.modes.insert(std::move(mode)); });
    texts("older_servers", [&](const std::string& server) {
      if (const auto endpoint = Endpoint::Parse(server)) told.older_servers.insert(*endpoint);
    });
  }
  return tables;
}

absl::StatusOr<std::vector<Endpoint>> FetchServers(Endpoint meta) {
  ASSIGN_OR_RETURN(const std::string text, FetchPage(meta, "/ui/cluster.json", PageForm::kJson));
  rapidjson::Document document;
  document.Parse(text.data(), text.size());
  const absl::Status not_understood = absl::InvalidArgumentError(
      absl::StrCat(meta.ToString(), "/ui/cluster.json is not what it should be"));
  if (!document.IsObject() || !document.HasMember("servers") || !document["servers"].IsArray())
    return not_understood;
  std::vector<Endpoint> servers;
  for (const rapidjson::Value& server : document["servers"].GetArray()) {
    if (!server.IsObject() || !server.HasMember("server") || !server["server"].IsString() ||
        !server.HasMember("alive") || !server["alive"].IsBool())
      return not_understood;
    const std::optional<Endpoint> endpoint = Endpoint::Parse(server["server"].GetString());
    if (server["alive"].GetBool() && endpoint) servers.push_back(*endpoint);
  }
  return servers;
}

}  // namespace arion
