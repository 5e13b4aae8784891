// SPDX-License-Identifier: Apache-2.0
#include "admin/meta_pages.h"

#include <absl/strings/ascii.h>
#include <absl/strings/cord.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "messages/admin_messages.h"
#include "messages/meta_messages.h"
#include "messages/split_messages.h"
#include "messages/table_environments.h"
#include "meta/meta_service.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {
namespace {

// A page must be answered although the meta server hangs.
constexpr std::chrono::seconds kPatience{2};
// Of a status: who leads, where this server does not.
constexpr char kLeader[] = "arion.leader";

// Asks as a tool would.
template <class Response, class Request>
absl::StatusOr<Response> Ask(MetaService& server, const char* name, const Request& request) {
  // Shared: an answer that comes after the patience still has a place to go.
  auto promise = std::make_shared<std::promise<RpcResult>>();
  std::future<RpcResult> answer = promise->get_future();
  server.Handle({.header = {.name = name},
                 .body = EncodeWrapped(request),
                 .responder = Responder([promise](ErrorCode error, std::string body) {
                   promise->set_value({error, std::move(body)});
                 })});
  if (answer.wait_for(kPatience) != std::future_status::ready)
    return absl::DeadlineExceededError("the meta server does not answer within 2 s");
  const RpcResult result = answer.get();
  if (result.error != ErrorCode::kOk)
    return absl::UnavailableError(Text(ErrorCodeName(result.error)));
  if (const auto forward = DecodeWrapped<ForwardResponse>(result.body);
      forward.ok() && forward->err == ErrorCode::kForwardToOthers) {
    const std::string leader = forward->arion_leader.value_or("");
    absl::Status status = absl::UnavailableError(
        absl::StrCat("this meta server does not lead; ",
                     leader.empty() ? "nobody is known who does" : "ask http://" + leader));
    if (!leader.empty()) status.SetPayload(kLeader, absl::Cord(leader));
    return status;
  }
  return DecodeWrapped<Response>(result.body);
}

// For a URL: what is no letter, digit or one of "-._~/" by its number.
std::string Encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text)
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
        std::string_view("-._~/").find(c) != std::string_view::npos)
      encoded += c;
    else
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
  return encoded;
}

// The same page of the server that leads: pages are on the port of its address, as older versions'
// are.
std::string LocationAt(std::string_view leader, const HttpRequest& request) {
  std::string location = absl::StrCat("http://", Text(leader), Encoded(request.path));
  char before = '?';
  for (const auto& [name, value] : request.arguments) {
    absl::StrAppend(&location, std::string(1, before), Encoded(name));
    if (!value.empty()) absl::StrAppend(&location, "=", Encoded(value));
    before = '&';
  }
  return location;
}

HttpResponse Failed(const HttpRequest& request, const absl::Status& status) {
  HttpResponse response{.status = 503, .body = absl::StrCat(status.message(), "\n")};
  const auto leader = status.GetPayload(kLeader);
  // What changes something is not sent to another server by itself.
  if (!leader || request.method == "POST") return response;
  response.status = 307;
  response.headers.emplace_back("Location", LocationAt(std::string(*leader), request));
  return response;
}
HttpResponse NoTable(const std::string& name) {
  // A name may be any bytes of any length.
  constexpr size_t kShownBytesMax = 100;
  return {.status = 404,
          .body = absl::StrCat("table not found: \"", name.substr(0, kShownBytesMax), "\"\n")};
}
std::string ArgumentOf(const HttpRequest& request, std::string_view wanted) {
  for (const auto& [name, value] : request.arguments)
    if (name == wanted) return value;
  return {};
}
bool HasArgument(const HttpRequest& request, std::string_view wanted) {
  return std::any_of(request.arguments.begin(), request.arguments.end(),
                     [&](const auto& argument) { return argument.first == wanted; });
}

// ---- JSON ----

// Older versions' pages have texts only, also for numbers.
using Row = std::vector<std::pair<std::string, std::string>>;
using Rows = std::vector<std::pair<std::string, Row>>;

class JsonPage {
 public:
  JsonPage() { json_.StartObject(); }
  void Add(std::string_view name, const Row& row) {
    Name(name);
    Put(row);
  }
  void Add(std::string_view name, const Rows& rows) {
    Name(name);
    json_.StartObject();
    for (const auto& [key, row] : rows) Add(key, row);
    json_.EndObject();
  }
  void Add(std::string_view name, std::string_view text) {
    Name(name);
    String(text);
  }
  HttpResponse Finish() {
    json_.EndObject();
    return {.content_type = "application/json", .body = {buffer_.GetString(), buffer_.GetSize()}};
  }

 private:
  void Name(std::string_view name) {
    json_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  }
  void String(std::string_view text) {
    json_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void Put(const Row& row) {
    json_.StartObject();
    for (const auto& [name, value] : row) Add(name, std::string_view(value));
    json_.EndObject();
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> json_{buffer_};
};

std::string TimeText(int64_t unix_seconds) {
  if (unix_seconds <= 0) return "-";
  return absl::FormatTime("%Y-%m-%d_%H:%M:%S", absl::FromUnixSeconds(unix_seconds),
                          absl::LocalTimeZone());
}
std::string Names(const std::vector<Endpoint>& nodes) {
  return absl::StrCat(
      "[",
      absl::StrJoin(nodes, ",",
                    [](std::string* out, Endpoint node) { absl::StrAppend(out, node.ToString()); }),
      "]");
}

// ---- tables ----

// The least for a write is taken as two members, or as one where the table wants no more, whatever
// write_members_min says: the page is the older version's.
struct HealthCounts {
  int healthy = 0, unhealthy = 0, write_unhealthy = 0, read_unhealthy = 0;
  void Add(const PartitionConfiguration& partition, int32_t factor) {
    // A split is to make it; its parent answers until then.
    if (partition.ballot == kInvalidBallot) {
      ++healthy;
      return;
    }
    const bool has_primary = partition.primary.IsValid();
    const bool is_healthy =
        has_primary && partition.MemberCount() >= static_cast<size_t>(std::max(1, factor));
    ++(is_healthy ? healthy : unhealthy);
    write_unhealthy +=
        !has_primary || partition.MemberCount() < static_cast<size_t>(std::min(2, factor)) ? 1 : 0;
    read_unhealthy += has_primary ? 0 : 1;
  }
};

absl::StatusOr<std::vector<AppInfo>> TablesOf(MetaService& server) {
  ASSIGN_OR_RETURN(ListAppsResponse list,
                   Ask<ListAppsResponse>(server, kRpcListApps,
                                         ListAppsRequest{.status = AppStatus::kAvailable}));
  return std::move(list.infos);
}

HttpResponse AnswerApp(MetaService& server, const HttpRequest& request) {
  const std::string name = ArgumentOf(request, "name");
  if (name.empty()) return {.status = 400, .body = "which table? write ?name=TABLE\n"};
  const auto tables = TablesOf(server);
  const auto config =
      Ask<QueryConfigResponse>(server, kRpcQueryConfig, QueryConfigRequest{.app_name = name});
  if (!tables.ok()) return Failed(request, tables.status());
  if (!config.ok()) return Failed(request, config.status());
  // The list has what the configuration's answer lacks: the table's description.
  const auto info = std::find_if(tables->begin(), tables->end(),
                                 [&](const AppInfo& table) { return table.app_name == name; });
  if (config->err != ErrorCode::kOk || info == tables->end()) return NoTable(name);
  JsonPage page;
  page.Add("general", Row{{"app_name", name},
                          {"app_id", std::to_string(info->app_id)},
                          {"partition_count", std::to_string(info->partition_count)},
                          {"max_replica_count", std::to_string(info->max_replica_count)}});
  if (!HasArgument(request, "detail")) return page.Finish();
  Rows replicas;
  struct Counts {
    int primary = 0, secondary = 0;
  };
  std::map<Endpoint, Counts> of_node;
  Counts all;
  HealthCounts health;
  for (const PartitionConfiguration& partition : config->partitions) {
    health.Add(partition, info->max_replica_count);
    const std::string index = std::to_string(partition.pid.index);
    replicas.emplace_back(index, Row{{"pidx", index},
                                     {"ballot", std::to_string(partition.ballot.value())},
                                     {"replica_count", absl::StrCat(partition.MemberCount(), "/",
                                                                    partition.max_replica_count)},
                                     {"primary", partition.primary.ToString()},
                                     {"secondaries", Names(partition.secondaries)}});
    // Servers that hold nothing are absent.
    if (partition.primary.IsValid()) ++of_node[partition.primary].primary, ++all.primary;
    for (Endpoint node : partition.secondaries) ++of_node[node].secondary, ++all.secondary;
  }
  const auto row_of = [](const Counts& counts) {
    return Row{{"primary", std::to_string(counts.primary)},
               {"secondary", std::to_string(counts.secondary)},
               {"total", std::to_string(counts.primary + counts.secondary)}};
  };
  Rows nodes;
  for (const auto& [node, counts] : of_node) nodes.emplace_back(node.ToString(), row_of(counts));
  nodes.emplace_back("total", row_of(all));
  page.Add("replicas", replicas);
  page.Add("nodes", nodes);
  page.Add("healthy",
           Row{{"fully_healthy_partition_count", std::to_string(health.healthy)},
               {"unhealthy_partition_count", std::to_string(health.unhealthy)},
               {"write_unhealthy_partition_count", std::to_string(health.write_unhealthy)},
               {"read_unhealthy_partition_count", std::to_string(health.read_unhealthy)}});
  return page.Finish();
}

HttpResponse AnswerApps(MetaService& server, const HttpRequest& request) {
  const auto tables = TablesOf(server);
  if (!tables.ok()) return Failed(request, tables.status());
  Rows general, healthy;
  for (const AppInfo& table : *tables) {
    const std::string id = std::to_string(table.app_id);
    general.emplace_back(id, Row{{"app_id", id},
                                 {"status", std::string(AppStatusName(table.status))},
                                 {"app_name", table.app_name},
                                 {"app_type", table.app_type},
                                 {"partition_count", std::to_string(table.partition_count)},
                                 {"replica_count", std::to_string(table.max_replica_count)},
                                 {"is_stateful", table.is_stateful ? "true" : "false"},
                                 {"create_time", TimeText(table.create_second)},
                                 {"drop_time", TimeText(table.drop_second)},
                                 {"drop_expire", TimeText(table.expire_second)},
                                 {"envs_count", std::to_string(table.envs.size())}});
    if (!HasArgument(request, "detail")) continue;
    // One question a table: only on demand, since there may be thousands.
    const auto config = Ask<QueryConfigResponse>(server, kRpcQueryConfig,
                                                 QueryConfigRequest{.app_name = table.app_name});
    if (!config.ok()) return Failed(request, config.status());
    HealthCounts health;
    for (const PartitionConfiguration& partition : config->partitions)
      health.Add(partition, table.max_replica_count);
    healthy.emplace_back(id, Row{{"app_id", id},
                                 {"app_name", table.app_name},
                                 {"partition_count", std::to_string(table.partition_count)},
                                 {"fully_healthy", std::to_string(health.healthy)},
                                 {"unhealthy", std::to_string(health.unhealthy)},
                                 {"write_unhealthy", std::to_string(health.write_unhealthy)},
                                 {"read_unhealthy", std::to_string(health.read_unhealthy)}});
  }
  JsonPage page;
  page.Add("general_info", general);
  if (HasArgument(request, "detail")) page.Add("healthy_info", healthy);
  page.Add("summary", Row{{"total_app_count", std::to_string(tables->size())}});
  return page.Finish();
}

HttpResponse AnswerEnvironments(MetaService& server, const HttpRequest& request) {
  const std::string name = ArgumentOf(request, "name");
  if (name.empty()) return {.status = 400, .body = "which table? write ?name=TABLE\n"};
  const auto tables = TablesOf(server);
  if (!tables.ok()) return Failed(request, tables.status());
  for (const AppInfo& table : *tables) {
    if (table.app_name != name) continue;
    JsonPage page;
    for (const auto& [key, value] : table.envs) page.Add(key, std::string_view(value));
    return page.Finish();
  }
  return NoTable(name);
}

// Of partitions that are not split yet.
HttpResponse AnswerSplit(MetaService& server, const HttpRequest& request) {
  const std::string name = ArgumentOf(request, "name");
  if (name.empty()) return {.status = 400, .body = "which table? write ?name=TABLE\n"};
  const auto split = Ask<QuerySplitResponse>(server, kRpcQuerySplit, QuerySplitRequest{name});
  if (!split.ok()) return Failed(request, split.status());
  if (split->err == ErrorCode::kAppNotExist || split->err == ErrorCode::kAppDropped)
    return NoTable(name);
  const bool is_split = split->err == ErrorCode::kOk;
  if (!is_split && split->err != ErrorCode::kInvalidState)
    return Failed(request, absl::UnavailableError(Text(ErrorCodeName(split->err))));
  const int32_t parents = split->new_partition_count / 2;
  Row general{{"app_name", name}, {"is_splitting", is_split ? "true" : "false"}};
  if (is_split) {
    const auto left = static_cast<int32_t>(split->status.size());
    general.insert(general.end(),
                   {{"new_partition_count", std::to_string(split->new_partition_count)},
                    {"splitting_count", std::to_string(left)},
                    {"completed_count", std::to_string(parents - left)}});
    // Absent while it is not known.
    if (split->seconds_left)
      general.emplace_back("seconds_left", std::to_string(*split->seconds_left));
  }
  Rows partitions;
  for (const auto& [parent, status] : split->status) {
    const std::string index = std::to_string(parent);
    Row row{{"pidx", index},
            {"child_pidx", std::to_string(parent + parents)},
            {"split_status", std::string(SplitStatusName(static_cast<SplitStatus>(status)))}};
    if (split->progress)
      if (const auto progress = split->progress->find(parent); progress != split->progress->end())
        row.emplace_back("progress", progress->second);
    partitions.emplace_back(index, std::move(row));
  }
  JsonPage page;
  page.Add("general", general);
  page.Add("partitions", partitions);
  return page.Finish();
}

// ---- the cluster ----

HttpResponse AnswerNodes(MetaService& server, const HttpRequest& request) {
  const auto nodes = Ask<ListNodesResponse>(server, kRpcListNodes, ListNodesRequest());
  if (!nodes.ok()) return Failed(request, nodes.status());
  std::map<Endpoint, std::pair<int, int>> counts;  // primaries, secondaries
  if (HasArgument(request, "detail")) {
    const auto tables = TablesOf(server);
    if (!tables.ok()) return Failed(request, tables.status());
    for (const AppInfo& table : *tables) {
      const auto config = Ask<QueryConfigResponse>(server, kRpcQueryConfig,
                                                   QueryConfigRequest{.app_name = table.app_name});
      if (!config.ok()) return Failed(request, config.status());
      for (const PartitionConfiguration& partition : config->partitions) {
        // A partition without a primary counts for no server: nobody looks up the invalid address.
        ++counts[partition.primary].first;
        for (Endpoint node : partition.secondaries) ++counts[node].second;
      }
    }
  }
  Rows details;
  size_t alive = 0;
  for (const NodeInfo& node : nodes->infos) {
    const bool is_alive = node.status == NodeStatus::kAlive;
    alive += is_alive ? 1 : 0;
    Row row{{"address", node.node.ToString()}, {"status", is_alive ? "ALIVE" : "UNALIVE"}};
    if (HasArgument(request, "detail")) {
      const auto [primaries, secondaries] = counts[node.node];
      row.emplace_back("replica_count", std::to_string(primaries + secondaries));
      row.emplace_back("primary_count", std::to_string(primaries));
      row.emplace_back("secondary_count", std::to_string(secondaries));
    }
    details.emplace_back(node.node.ToString(), std::move(row));
  }
  JsonPage page;
  page.Add("details", details);
  page.Add("summary", Row{{"total_node_count", std::to_string(nodes->infos.size())},
                          {"alive_node_count", std::to_string(alive)},
                          {"unalive_node_count", std::to_string(nodes->infos.size() - alive)}});
  return page.Finish();
}

HttpResponse AnswerCluster(MetaService& server, const HttpRequest& request) {
  const auto info = Ask<ClusterInfoResponse>(server, kRpcClusterInfo, ClusterInfoRequest());
  if (!info.ok()) return Failed(request, info.status());
  JsonPage page;
  for (size_t i = 0; i < std::min(info->keys.size(), info->values.size()); ++i)
    // Older versions' page leaves the name out.
    if (info->keys[i] != "cluster_name") page.Add(info->keys[i], std::string_view(info->values[i]));
  return page.Finish();
}

HttpResponse AnswerEnvironmentKinds() {
  JsonPage page;
  for (const std::string_view key : ActingTableEnvironments())
    page.Add(key,
             Row{{"type", "string"}, {"limitation", ""}, {"sample", std::string(ExampleOf(key))}});
  return page.Finish();
}

// ---- changes ----

HttpResponse Result(ErrorCode error, const std::string& hint) {
  JsonPage page;
  page.Add("error", ErrorCodeName(error));
  page.Add("hint_message", std::string_view(hint));
  return page.Finish();
}

HttpResponse StartCompaction(MetaService& server, const HttpRequest& request) {
  // By GET a link or a crawler could start it.
  if (request.method != "POST") return {.status = 405, .body = "use POST\n"};
  rapidjson::Document body;
  body.Parse(request.body.data(), request.body.size());
  const auto text = [&](const char* name) -> std::string {
    const auto it = body.FindMember(name);
    return it != body.MemberEnd() && it->value.IsString() ? it->value.GetString() : "";
  };
  // Only "once": the periodic kind is an environment, which set_app_envs changes.
  if (!body.IsObject() || text("app_name").empty() || text("type") != "once")
    return {.status = 400,
            .body =
                "a JSON object with app_name and type \"once\"; for every day set the table's "
                "manual_compact.periodic.trigger_time\n"};
  // Only the shape is checked here. Whether the values make sense the meta server says, as it does
  // to the shell.
  StartManualCompactRequest start{.app_name = text("app_name")};
  // A field that is absent or no number is left out of the request, so its default counts.
  const auto number = [&](const char* name) -> std::optional<int64_t> {
    const auto it = body.FindMember(name);
    if (it == body.MemberEnd() || !it->value.IsInt64()) return std::nullopt;
    return it->value.GetInt64();
  };
  start.trigger_time = number("trigger_time");
  // What the request has no room for would become another number.
  const auto small_number = [&](const char* name, std::optional<int32_t>* field) {
    const std::optional<int64_t> value = number(name);
    if (value && *value == static_cast<int32_t>(*value)) *field = static_cast<int32_t>(*value);
    return !value || field->has_value();
  };
  for (const auto& [name, field] :
       {std::pair("target_level", &start.target_level),
        std::pair("max_concurrent_running_count", &start.max_running_count)})
    if (!small_number(name, field))
      return {.status = 400, .body = absl::StrCat(name, " is beyond 32 bits\n")};
  const auto bottommost = body.FindMember("bottommost_level_compaction");
  start.bottommost =
      bottommost != body.MemberEnd() && bottommost->value.IsBool() && bottommost->value.GetBool();
  const auto answer = Ask<StartManualCompactResponse>(server, kRpcStartManualCompact, start);
  if (!answer.ok()) return Failed(request, answer.status());
  return Result(answer->err, answer->hint_message);
}

}  // namespace

void AddMetaPages(const AddPage& add, MetaService& server) {
  add("/meta/app", "?name=TABLE [&detail]: one table; JSON",
      [&server](const HttpRequest& request) { return AnswerApp(server, request); });
  add("/meta/apps", "[?detail]: all tables; JSON",
      [&server](const HttpRequest& request) { return AnswerApps(server, request); });
  add("/meta/app_envs", "?name=TABLE: its environments; JSON",
      [&server](const HttpRequest& request) { return AnswerEnvironments(server, request); });
  add("/meta/split", "?name=TABLE: how far its split is; JSON",
      [&server](const HttpRequest& request) { return AnswerSplit(server, request); });
  add("/meta/nodes", "[?detail]: replica servers; JSON",
      [&server](const HttpRequest& request) { return AnswerNodes(server, request); });
  add("/meta/cluster", "what cluster_info says; JSON",
      [&server](const HttpRequest& request) { return AnswerCluster(server, request); });
  add("/envs/list", "which environments a table can have; JSON",
      [](const HttpRequest&) { return AnswerEnvironmentKinds(); });
  add("/meta/app/start_compaction", "POST: a table's files are merged now; JSON",
      [&server](const HttpRequest& request) { return StartCompaction(server, request); });
}

}  // namespace arion
