// What servers are told and asked one by one: remote commands, settings, disks, hot keys.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>

#include "base/nearest_name.h"
#include "base/status.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"
#include "tools/pages/server_page.h"
#include "tools/shell/arguments.h"
#include "tools/shell/remote_server.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

// ---- remote commands ----

absl::StatusOr<Outcome> SayToAll(Session& session, const std::vector<KnownServer>& servers,
                                 const Words& words) {
  Outcome outcome;
  Answer::List list{"servers", {"address", "role", "answer"}, {}};
  int64_t failed = 0;
  std::string text;
  for (const KnownServer& server : servers) {
    const absl::StatusOr<std::string> answer = SayTo(session.cluster(), server.address, words);
    if (!answer.ok()) ++failed;
    const std::string said = answer.ok() ? *answer : std::string(answer.status().message());
    list.rows.push_back({server.address.ToString(), std::string(server.role), said});
    // The words of the older shell: scripts read them.
    absl::StrAppend(&text, "CALL [", Text(server.role), "] [", server.address.ToString(), "] ",
                    answer.ok() ? "succeed: " : "failed: ", said, "\n");
  }
  if (failed > 0) outcome.health = Health::kBad;
  absl::StrAppend(&text, "Succeed count: ", servers.size() - static_cast<size_t>(failed),
                  "\nFailed count: ", failed);
  outcome.answer.Add("succeed_count", static_cast<int64_t>(servers.size()) - failed)
      .Add("failed_count", failed)
      .AddList(std::move(list))
      .Say(std::move(text));
  return outcome;
}

// Options stand before the command; what follows it is its own, dashes and all.
absl::StatusOr<Outcome> RemoteCommand(Session& session, const Words& words) {
  std::string type, servers;
  size_t at = 0;
  for (; at < words.size() && words[at].starts_with("-"); ++at) {
    if (words[at] == "-r") continue;  // names are shown as addresses
    if ((words[at] != "-t" && words[at] != "-l" && words[at] != "-n") || at + 1 == words.size() ||
        words[at + 1].empty())
      return UsageError("options: -t TYPE, -l SERVER,...");
    (words[at] == "-t" ? type : servers) = words[at + 1];
    ++at;
  }
  if (at == words.size()) return UsageError("which command? help lists them");
  ASSIGN_OR_RETURN(const auto targets, ServersOf(session.cluster(), type, servers));
  return SayToAll(session, targets, Words(words.begin() + static_cast<int64_t>(at), words.end()));
}

// admin-cli's order: meta | replica, -n, words.
absl::StatusOr<Outcome> RemoteCommandOfAdminCli(Session& session, const Words& words) {
  if (words.empty() || (words[0] != "meta" && words[0] != "replica"))
    return UsageError("meta or replica, then -n SERVER where it is one, then the command");
  Words rest = {"-t", words[0]};
  rest.insert(rest.end(), words.begin() + 1, words.end());
  return RemoteCommand(session, rest);
}

absl::StatusOr<Outcome> Say(Session& session, const Words& words, const std::string& command) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {"-t", "-l", "-n"}, {"-r"}));
  if (!arguments.words().empty()) return UsageError("options only");
  ASSIGN_OR_RETURN(const auto servers, ServersOf(session.cluster(), arguments.Value("-t"),
                                                 arguments.Value("-l") + arguments.Value("-n")));
  return SayToAll(session, servers, {command});
}

absl::StatusOr<Outcome> ServerInfo(Session& session, const Words& words) {
  return Say(session, words, "server-info");
}
absl::StatusOr<Outcome> FlushLog(Session& session, const Words& words) {
  return Say(session, words, "flush-log");
}

// ---- settings ----

absl::StatusOr<Outcome> SetSetting(Session& session, const std::vector<KnownServer>& servers,
                                   const std::string& key, const std::string& value) {
  Outcome outcome;
  Answer::List list{"servers", {"address", "role", "result"}, {}};
  absl::Status refused;
  int64_t changed = 0;
  for (const KnownServer& server : servers) {
    const absl::StatusOr<std::vector<Setting>> settings = SettingsOf(server.address);
    if (!settings.ok()) {
      refused = absl::FailedPreconditionError(settings.status().message());
      list.rows.push_back({server.address.ToString(), std::string(server.role),
                           std::string("no answer: not changed there")});
      continue;
    }
    const auto known = std::find_if(settings->begin(), settings->end(),
                                    [&](const Setting& setting) { return setting.key == key; });
    if (known == settings->end()) {
      std::vector<std::string_view> names;
      for (const Setting& setting : *settings) names.push_back(setting.key);
      const std::string_view near = NearestName(key, names);
      if (refused.ok())
        refused = absl::NotFoundError(absl::StrCat(
            "there is no setting ", Escape(key), "; ",
            near.empty() ? "config lists them" : absl::StrCat("did you mean ", Text(near), "?")));
      continue;  // the other kind of server may have it
    }
    const absl::Status set = ChangeSetting(session.cluster(), server.address, key, value);
    const std::string status = set.ok() ? "OK" : std::string(set.message());
    if (set.ok())
      ++changed;
    else
      refused = absl::FailedPreconditionError(
          absl::StrCat(server.address.ToString(), ": ", key, ": ", status));
    list.rows.push_back({server.address.ToString(), std::string(server.role), status});
  }
  // Replica servers and meta servers have different keys: that some do not know it is no failure,
  // that none does is.
  if (changed == 0 && !refused.ok()) return refused;
  if (absl::IsFailedPrecondition(refused)) outcome.health = Health::kBad;
  outcome.answer.Add("key", key)
      .Add("value", value)
      .Add("changed", changed)
      .AddList(std::move(list));
  return outcome;
}

absl::StatusOr<Outcome> ShowSettings(const std::vector<KnownServer>& servers,
                                     const std::string& only, bool differing) {
  Outcome outcome;
  Answer::List list{
      "settings", {"server", "key", "value", "at_start", "default", "changeable", "origin"}, {}};
  std::vector<std::string> silent;
  for (const KnownServer& server : servers) {
    const absl::StatusOr<std::vector<Setting>> settings = SettingsOf(server.address);
    if (!settings.ok()) {
      silent.push_back(server.address.ToString());
      continue;
    }
    for (const Setting& setting : *settings) {
      const bool differs = !setting.is_value_only && (setting.value != setting.at_start ||
                                                      setting.value != setting.default_value);
      if ((differing && !differs) || (!only.empty() && setting.key != only)) continue;
      const bool is_changed = !setting.is_value_only && setting.value != setting.at_start;
      list.rows.push_back({server.address.ToString(), setting.key, Escape(setting.value),
                           Escape(setting.at_start), Escape(setting.default_value),
                           std::string(setting.is_changeable ? "yes" : "no"),
                           is_changed ? std::string("changed in operation") : setting.origin});
    }
  }
  if (!silent.empty()) outcome.health = Health::kBad;
  if (!only.empty() && list.rows.empty() && silent.empty())
    return absl::NotFoundError(
        absl::StrCat("there is no setting ", Escape(only), "; config lists them"));
  outcome.answer.Add("no_answer_from", std::move(silent)).AddList(std::move(list));
  return outcome;
}

absl::StatusOr<Outcome> Config(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-t", "-l", "-n"}, {"--diff"}));
  ASSIGN_OR_RETURN(const auto servers, ServersOf(session.cluster(), arguments.Value("-t"),
                                                 arguments.Value("-l") + arguments.Value("-n")));
  const Words& rest = arguments.words();
  if (!rest.empty() && rest[0] == "set") {
    if (rest.size() != 3 || arguments.Has("--diff")) return UsageError("set KEY VALUE");
    return SetSetting(session, servers, rest[1], rest[2]);
  }
  if (rest.size() > 1) return UsageError("nothing, KEY, or set KEY VALUE");
  return ShowSettings(servers, rest.empty() ? "" : rest[0], arguments.Has("--diff"));
}

// admin-cli: meta | replica [-n SERVER] KEY list | get | set [VALUE].
absl::StatusOr<Outcome> ServerConfigOfAdminCli(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {"-n"}, {}));
  const Words& rest = arguments.words();
  if (rest.empty() || (rest[0] != "meta" && rest[0] != "replica"))
    return UsageError("meta or replica");
  ASSIGN_OR_RETURN(const auto servers,
                   ServersOf(session.cluster(), rest[0], arguments.Value("-n")));
  if (rest.size() == 1 || (rest.size() == 2 && rest[1] == "list"))
    return ShowSettings(servers, "", false);
  if (rest.size() == 3 && rest[2] == "get") return ShowSettings(servers, rest[1], false);
  if (rest.size() == 4 && rest[2] == "set") return SetSetting(session, servers, rest[1], rest[3]);
  return UsageError("list, KEY get, or KEY set VALUE");
}

// ---- disks, as admin-cli shows them ----

struct AskedDisks {
  Endpoint server;
  QueryDiskInfoResponse answer;
};
// Who does not answer is named in the outcome.
absl::StatusOr<std::vector<AskedDisks>> AskDisks(Session& session, const Arguments& arguments,
                                                 Outcome* outcome) {
  ASSIGN_OR_RETURN(const auto servers,
                   ServersOf(session.cluster(), "replica-server", arguments.Value("-n")));
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  std::vector<AskedDisks> asked;
  std::vector<std::string> silent;
  for (const KnownServer& server : servers) {
    const absl::StatusOr<std::string> body =
        admin->AskServer(server.address, kRpcQueryDiskInfo,
                         EncodeWrapped(QueryDiskInfoRequest{.node = server.address,
                                                            .app_name = arguments.Value("-t")}));
    if (!body.ok()) {
      silent.push_back(server.address.ToString());
      continue;
    }
    ASSIGN_OR_RETURN(QueryDiskInfoResponse answer, DecodeWrapped<QueryDiskInfoResponse>(*body));
    if (answer.err == ErrorCode::kObjectNotFound) continue;  // nothing of that table there
    asked.push_back({server.address, std::move(answer)});
  }
  if (!silent.empty()) outcome->health = Health::kBad;
  outcome->answer.Add("no_answer_from", std::move(silent));
  return asked;
}

int64_t CountOf(const std::map<int32_t, std::set<PartitionId>>& replicas) {
  int64_t count = 0;
  for (const auto& [app_id, pids] : replicas) count += static_cast<int64_t>(pids.size());
  return count;
}

absl::StatusOr<Outcome> DiskCapacity(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {"-n", "-d", "-t"}, {}));
  if (!arguments.words().empty()) return UsageError("options only");
  Outcome outcome;
  ASSIGN_OR_RETURN(const auto asked, AskDisks(session, arguments, &outcome));
  Answer::List list{"disks", {"node", "disk", "capacity_mb", "available_mb", "ratio_percent"}, {}};
  for (const AskedDisks& disks : asked)
    for (const DiskInfo& disk : disks.answer.disk_infos) {
      if (!arguments.Value("-d").empty() && disk.tag != arguments.Value("-d")) continue;
      list.rows.push_back(
          {disks.server.ToString(), disk.tag, disk.disk_capacity_mb, disk.disk_available_mb,
           disk.disk_capacity_mb == 0 ? int64_t{0}
                                      : 100 * disk.disk_available_mb / disk.disk_capacity_mb});
    }
  outcome.answer.AddList(std::move(list));
  return outcome;
}

absl::StatusOr<Outcome> DiskReplica(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {"-n", "-t"}, {}));
  if (!arguments.words().empty()) return UsageError("options only");
  Outcome outcome;
  ASSIGN_OR_RETURN(const auto asked, AskDisks(session, arguments, &outcome));
  Answer::List list{"disks", {"node", "disk", "primary", "secondary", "total"}, {}};
  for (const AskedDisks& disks : asked)
    for (const DiskInfo& disk : disks.answer.disk_infos) {
      const int64_t primaries = CountOf(disk.holding_primary_replicas);
      const int64_t secondaries = CountOf(disk.holding_secondary_replicas);
      list.rows.push_back(
          {disks.server.ToString(), disk.tag, primaries, secondaries, primaries + secondaries});
    }
  outcome.answer.AddList(std::move(list));
  return outcome;
}

// ---- hot keys, as the older shell asks for them ----

absl::StatusOr<Outcome> DetectHotkey(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-a", "-p", "-t", "-c", "-d"}, {}));
  DetectHotkeyRequest request;
  const std::string type = arguments.Value("-t"), action = arguments.Value("-c");
  const bool is_complete = absl::SimpleAtoi(arguments.Value("-a"), &request.pid.app_id) &&
                           absl::SimpleAtoi(arguments.Value("-p"), &request.pid.index) &&
                           (type == "read" || type == "write") &&
                           (action == "start" || action == "stop" || action == "query") &&
                           arguments.words().empty();
  if (!is_complete) return UsageError("-a, -p, -t and -c are needed");
  request.type = type == "read" ? HotkeyType::kRead : HotkeyType::kWrite;
  request.action = action == "start"  ? DetectAction::kStart
                   : action == "stop" ? DetectAction::kStop
                                      : DetectAction::kQuery;
  ASSIGN_OR_RETURN(Endpoint server, arguments.Node("-d"));
  if (!server.IsValid()) {  // the primary
    ASSIGN_OR_RETURN(const std::vector<TableState> tables, session.cluster().Tables());
    for (const TableState& table : tables)
      for (const PartitionConfiguration& partition : table.partitions)
        if (partition.pid == request.pid) server = partition.primary;
    if (!server.IsValid())
      return absl::NotFoundError(
          absl::StrCat("partition ", request.pid.ToString(), " has no primary; -d names a server"));
  }
  ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
  ASSIGN_OR_RETURN(const std::string body,
                   admin->AskServer(server, kRpcDetectHotkey, EncodeWrapped(request)));
  ASSIGN_OR_RETURN(const DetectHotkeyResponse answer, DecodeWrapped<DetectHotkeyResponse>(body));
  const std::string hint = answer.err_hint.value_or("");
  if (answer.err != ErrorCode::kOk)
    return absl::FailedPreconditionError(absl::StrCat(server.ToString(), ": ", hint));
  Outcome outcome;
  const std::string key = answer.hotkey_result.value_or("");
  outcome.answer.Add("server", server.ToString())
      .Add("hint", hint)
      .Add("hot_key", key)
      .Say(!key.empty()
               ? absl::StrCat("Find ", type, " hotkey in ", request.pid.ToString(), " result:", key)
           : !hint.empty() ? hint
                           : std::string("stopped"));
  return outcome;
}

}  // namespace

std::vector<Command> ServerCommands() {
  using Completes = Command::Completes;
  return {
      {"remote_command", "[-t all|meta-server|replica-server] [-l SERVER,...] COMMAND [WORD]...",
       "runs a command on servers; 'remote_command help' lists theirs", Completes::kRemoteCommands,
       RemoteCommand},
      {"remote-command", "meta|replica [-n SERVER] COMMAND [WORD]...",
       "the same, as admin-cli says it", Completes::kRemoteCommands, RemoteCommandOfAdminCli},
      {"server_info", "[-t all|meta-server|replica-server] [-l SERVER,...]",
       "which build each server runs, and since when", Completes::kNodes, ServerInfo},
      {"server-info", "[-t all|meta-server|replica-server] [-l SERVER,...]",
       "the same, as admin-cli says it", Completes::kNodes, ServerInfo},
      {"flush_log", "[-t all|meta-server|replica-server] [-l SERVER,...]",
       "writes the servers' text logs to disk", Completes::kNodes, FlushLog},
      {"config", "[KEY | set KEY VALUE] [--diff] [-t TYPE] [-n SERVER,...]",
       "servers' settings: now, at the start, by default; set changes those marked changeable "
       "until the process ends, to DEFAULT: as at the start; --diff: those that differ",
       Completes::kSettings, Config},
      {"server-config", "meta|replica [-n SERVER] list | KEY get | KEY set VALUE",
       "the same, as admin-cli says it", Completes::kSettings, ServerConfigOfAdminCli},
      {"disk-capacity", "[-n SERVER] [-d DISK] [-t TABLE]", "room on the servers' disks",
       Completes::kNodes, DiskCapacity},
      {"disk-replica", "[-n SERVER] [-t TABLE]", "how many replicas lie on each disk",
       Completes::kNodes, DiskReplica},
      {"detect_hotkey",
       "-a TABLE_ID -p PARTITION_INDEX -t read|write -c start|stop|query [-d SERVER]",
       "looks for one partition's hot key; hotkeys shows those of all", Completes::kNodes,
       DetectHotkey}};
}

}  // namespace arion::shell
