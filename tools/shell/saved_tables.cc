// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/saved_tables.h"

#include <absl/strings/str_cat.h>
#include <rapidjson/document.h>
#include <rapidjson/encodings.h>
#include <rapidjson/error/en.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include "base/status.h"

namespace arion::shell {
namespace {

constexpr int kVersion = 1;
constexpr std::array kStatuses = {
    AppStatus::kAvailable,  AppStatus::kCreating, AppStatus::kCreateFailed, AppStatus::kDropping,
    AppStatus::kDropFailed, AppStatus::kDropped,  AppStatus::kRecalling};

using JsonWriter = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

// By writing it: the writer is what validates.
bool IsUtf8(std::string_view text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>,
                    rapidjson::CrtAllocator, rapidjson::kWriteValidateEncodingFlag>
      writer(buffer);
  return writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

// Notes whether all texts are UTF-8, because the file gives back no other.
class Writing {
 public:
  explicit Writing(JsonWriter& writer) : writer_(writer) {}
  void Add(const char* name, std::string_view text) {
    writer_.Key(name);
    Put(text);
  }
  void Add(const char* name, int64_t number) {
    writer_.Key(name);
    writer_.Int64(number);
  }
  void Put(std::string_view text) {
    is_utf8_ = is_utf8_ && IsUtf8(text);
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void Table(const AppInfo& info) {
    writer_.StartObject();
    Add("app_id", info.app_id);
    Add("app_name", info.app_name);
    Add("status", AppStatusName(info.status));
    Add("app_type", info.app_type);
    Add("partition_count", info.partition_count);
    Add("init_partition_count", info.init_partition_count);
    Add("max_replica_count", info.max_replica_count);
    Add("is_stateful", info.is_stateful ? 1 : 0);
    Add("create_second", info.create_second);
    Add("drop_second", info.drop_second);
    Add("expire_second", info.expire_second);
    Add("duplicating", info.duplicating ? 1 : 0);
    Add("is_bulk_loading", info.is_bulk_loading ? 1 : 0);
    if (info.atomic_idempotent) Add("atomic_idempotent", *info.atomic_idempotent ? 1 : 0);
    if (info.version) Add("version", *info.version);
    writer_.Key("envs");
    writer_.StartObject();
    for (const auto& [key, value] : info.envs) {
      Put(key);
      Put(value);
    }
    writer_.EndObject();
    writer_.EndObject();
  }
  bool is_utf8() const { return is_utf8_; }

 private:
  JsonWriter& writer_;
  bool is_utf8_ = true;
};

absl::Status Wrong(std::string_view where, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Text(where), Text(what)));
}

// The first error stays in status(); what was taken is not used then.
class Reading {
 public:
  Reading(const rapidjson::Value& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  const rapidjson::Value* Find(const char* name) const {
    const auto found = object_.FindMember(name);
    return found == object_.MemberEnd() ? nullptr : &found->value;
  }
  void Take(const char* name, std::string* to) {
    const rapidjson::Value* value = Find(name);
    if (value == nullptr || !value->IsString()) return Say(name, " is no text");
    to->assign(value->GetString(), value->GetStringLength());
  }
  template <class Number>
  void Take(const char* name, Number* to) {
    const rapidjson::Value* value = Find(name);
    if (value == nullptr || !value->template Is<Number>()) return Say(name, " is no number");
    *to = value->template Get<Number>();
  }
  void Take(const char* name, bool* to) {
    int32_t number = 0;
    Take(name, &number);
    *to = number != 0;
  }
  template <class T>
  void TakeIfThere(const char* name, std::optional<T>* to) {
    if (Find(name) != nullptr) Take(name, &to->emplace());
  }
  void TakeStatus(AppStatus* status) {
    std::string name;
    Take("status", &name);
    for (const AppStatus known : kStatuses)
      if (AppStatusName(known) == name) *status = known;
    if (*status == AppStatus::kInvalid) Say("status", " is no table's");
  }
  void TakeEnvironments(std::map<std::string, std::string>* to) {
    const rapidjson::Value* envs = Find("envs");
    if (envs == nullptr || !envs->IsObject()) return Say("envs", " is no object");
    for (const auto& one : envs->GetObject()) {
      if (!one.value.IsString()) return Say("envs", ": a value is no text");
      (*to)[{one.name.GetString(), one.name.GetStringLength()}] = {one.value.GetString(),
                                                                   one.value.GetStringLength()};
    }
  }
  void Say(const char* name, const char* what) {
    if (status_.ok()) status_ = Wrong(where_, absl::StrCat(name, what));
  }
  const absl::Status& status() const { return status_; }

 private:
  const rapidjson::Value& object_;
  const std::string where_;
  absl::Status status_;
};

absl::StatusOr<AppInfo> ParseTable(const rapidjson::Value& value, size_t index) {
  const std::string where = absl::StrCat("tables[", index, "]: ");
  if (!value.IsObject()) return Wrong(where, "no object");
  AppInfo info;
  Reading table(value, where);
  table.Take("app_id", &info.app_id);
  table.Take("app_name", &info.app_name);
  table.TakeStatus(&info.status);
  table.Take("app_type", &info.app_type);
  table.Take("partition_count", &info.partition_count);
  table.Take("init_partition_count", &info.init_partition_count);
  table.Take("max_replica_count", &info.max_replica_count);
  table.Take("is_stateful", &info.is_stateful);
  table.Take("create_second", &info.create_second);
  table.Take("drop_second", &info.drop_second);
  table.Take("expire_second", &info.expire_second);
  table.Take("duplicating", &info.duplicating);
  table.Take("is_bulk_loading", &info.is_bulk_loading);
  table.TakeIfThere("atomic_idempotent", &info.atomic_idempotent);
  table.TakeIfThere("version", &info.version);
  table.TakeEnvironments(&info.envs);
  RETURN_IF_ERROR(table.status());
  if (info.app_id < 1 || info.partition_count < 1 || info.max_replica_count < 1)
    return Wrong(where, "app_id, partition_count and max_replica_count begin at 1");
  return info;
}

}  // namespace

absl::StatusOr<std::string> SavedTables::ToJson() const {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.SetIndent(' ', 1);
  Writing writing(writer);
  writer.StartObject();
  writing.Add("saved_tables", kVersion);
  writing.Add("saved_second", saved_second);
  writing.Add("cluster_name", cluster_name);
  writer.Key("meta_servers");
  writer.StartArray();
  for (const Endpoint server : meta_servers) writing.Put(server.ToString());
  writer.EndArray();
  writing.Add("function_level", function_level);
  writer.Key("tables");
  writer.StartArray();
  for (const AppInfo& table : tables) {
    writing.Table(table);
    if (!writing.is_utf8())
      return absl::FailedPreconditionError(absl::StrCat(
          "table ", table.app_id,
          " has a name or an environment that is no UTF-8, which the file can't hold"));
  }
  writer.EndArray();
  writer.EndObject();
  return absl::StrCat(buffer.GetString(), "\n");
}

absl::StatusOr<SavedTables> ParseSavedTables(std::string_view json) {
  rapidjson::Document document;
  // Not by recursion: a hostile file must not exhaust the stack.
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError())
    return Wrong(absl::StrCat("byte ", document.GetErrorOffset(), ": "),
                 rapidjson::GetParseError_En(document.GetParseError()));
  constexpr char kNotOurs[] = "not what save_tables writes";
  if (!document.IsObject()) return Wrong("", kNotOurs);
  const auto version = document.FindMember("saved_tables");
  if (version == document.MemberEnd()) return Wrong("", kNotOurs);
  if (!version->value.IsInt() || version->value.GetInt() != kVersion)
    return Wrong("", "written by another version of save_tables than this one");
  SavedTables saved;
  Reading all(document, "");
  all.Take("saved_second", &saved.saved_second);
  all.Take("cluster_name", &saved.cluster_name);
  all.Take("function_level", &saved.function_level);
  const rapidjson::Value* const servers = all.Find("meta_servers");
  const rapidjson::Value* const tables = all.Find("tables");
  if (servers == nullptr || !servers->IsArray()) all.Say("meta_servers", " is no array");
  if (tables == nullptr || !tables->IsArray()) all.Say("tables", " is no array");
  RETURN_IF_ERROR(all.status());
  for (const auto& server : servers->GetArray()) {
    const auto parsed =
        server.IsString() ? Endpoint::Parse(server.GetString()) : std::optional<Endpoint>();
    if (!parsed) return Wrong("", "meta_servers: one is no address");
    saved.meta_servers.push_back(*parsed);
  }
  std::set<int32_t> ids;
  for (rapidjson::SizeType i = 0; i < tables->Size(); ++i) {
    ASSIGN_OR_RETURN(AppInfo info, ParseTable((*tables)[i], i));
    if (!ids.insert(info.app_id).second)
      return Wrong("", absl::StrCat("table ", info.app_id, " is there twice"));
    saved.tables.push_back(std::move(info));
  }
  return saved;
}

absl::StatusOr<SavedTables> ReadSavedTables(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("can't read ", path));
  auto saved = ParseSavedTables(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!saved.ok())
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": ", saved.status().message(), "; nothing was done"));
  return saved;
}

}  // namespace arion::shell
