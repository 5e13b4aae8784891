// SPDX-License-Identifier: Apache-2.0
#include "admin/remote_commands.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "config/live_settings.h"
#include "env/environment.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {
namespace {

// Commands may wait; more of them at a time would keep the pages from their threads.
constexpr int kAtOnceMax = 32;
// A name that is not known may be any bytes of any length.
constexpr size_t kShownBytesMax = 100;

std::string Json(std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json(buffer);
  const auto put = [&](std::string_view text) {
    json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  };
  json.StartObject();
  for (const auto& [name, value] : members) put(name), put(value);
  json.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

// The older commands' three forms: no word shows, DEFAULT resets, a value sets.
std::string ShowOrSet(LiveSettings& settings, const std::string& name, const std::string& key,
                      const std::string& unit, const RemoteCommands::Words& arguments) {
  if (arguments.size() > 1) return CommandError("one value, DEFAULT, or none");
  if (arguments.empty()) return CommandJson(name, settings.Find(key)->value);
  const absl::Status set =
      // An older command takes a bare number; the unit is the older version's.
      arguments[0] == "DEFAULT" ? settings.Reset(key) : settings.Set(key, arguments[0] + unit);
  return set.ok() ? CommandJson("result", "OK") : CommandError(View(set.message()));
}

}  // namespace

std::string CommandJson(std::string_view name, std::string_view value) {
  return Json({{"error", "ok"}, {name, value}});
}
std::string CommandError(std::string_view why) {
  return Json({{"error", absl::StrCat("ERR: ", Text(why))}});
}

RemoteCommands::RemoteCommands(DiskPool& pool) : pool_(pool) {
  Add("help", "[command]", "this list", [this](const Words& words) { return Help(words); });
}

void RemoteCommands::Add(std::string name, std::string usage, std::string help, Run run) {
  // Two commands of one name are a mistake of the program.
  const bool is_new =
      book_->commands.emplace(name, Command{std::move(usage), std::move(help), std::move(run)})
          .second;
  CHECK(is_new) << name;
}

void RemoteCommands::AddSetting(std::string name, LiveSettings& settings, std::string key,
                                std::string unit, std::string help) {
  Add(name, "[value | DEFAULT]", std::move(help),
      [&settings, name, key = std::move(key), unit = std::move(unit)](const Words& words) {
        return ShowOrSet(settings, name, key, unit, words);
      });
}

void RemoteCommands::AddRefused(std::string name, std::string why) {
  Add(std::move(name), "", absl::StrCat("not here: ", why),
      [why](const Words&) { return CommandError(why); });
}

bool RemoteCommands::Handle(InboundRequest& request) {
  if (request.header.name != kRpcCommand) return false;
  absl::StatusOr<CommandRequest> command = DecodeWrapped<CommandRequest>(request.body);
  if (!command.ok()) {
    request.responder.Reply(ErrorCode::kInvalidData);
    return true;
  }
  // Counted before it is submitted, so that a burst can't fill the pool's queue.
  if (book_->waiting.fetch_add(1) >= kAtOnceMax) {
    book_->waiting.fetch_sub(1);
    request.responder.Reply(ErrorCode::kBusy);
    return true;
  }
  pool_.Submit([this, book = book_, command = *std::move(command),
                responder = std::move(request.responder)]() mutable {
    responder.Reply(ErrorCode::kOk, EncodeWrapped(Answer(command.cmd, command.arguments)));
    book->waiting.fetch_sub(1);
  });
  return true;
}

std::string RemoteCommands::Answer(const std::string& name, const Words& arguments) const {
  const auto it = book_->commands.find(name);
  if (it == book_->commands.end())
    return absl::StrCat("unknown command '", name.substr(0, kShownBytesMax), "'");
  return it->second.run(arguments);
}

std::string RemoteCommands::Help(const Words& arguments) const {
  std::string text;
  for (const auto& [name, command] : book_->commands) {
    if (!arguments.empty() && arguments[0] != name) continue;
    absl::StrAppend(&text, name, command.usage.empty() ? "" : " ", command.usage, " - ",
                    command.help, "\n");
  }
  return text.empty()
             ? absl::StrCat("unknown command '", arguments[0].substr(0, kShownBytesMax), "'")
             : text;
}

}  // namespace arion
