// SPDX-License-Identifier: Apache-2.0
#include "disks/app_info_file.h"

#include <rapidjson/document.h>
#include <rapidjson/memorystream.h>

#include <limits>

#include "base/crc.h"
#include "base/status.h"
#include "env/file_system.h"
#include "messages/configuration.h"

namespace arion {
namespace {

// The magic number in front of the JSON.
constexpr std::string_view kWrapper{"\x08\x00\x00\xDE\xAD\xBE\xEF\x00", 8};
// In front of the CRC-32C of all before it, eight hex digits.
constexpr std::string_view kChecksumMark = " crc32c:";
constexpr char kAllowIngestBehind[] = "rocksdb.allow_ingest_behind";

absl::Status DamagedAppInfo(std::string_view what) {
  return absl::DataLossError(absl::StrCat(kAppInfoName, ": ", Text(what)));
}

std::string ChecksumOf(std::string_view bytes) {
  return absl::StrFormat("%s%08x", Text(kChecksumMark), Crc32c(bytes));
}

// `rest` is what stands behind the object.
absl::Status CheckChecksum(std::string_view object, std::string_view rest) {
  if (rest.empty() || rest == ChecksumOf(object)) return absl::OkStatus();
  return DamagedAppInfo(
      "its checksum differs, some byte of it has changed. If there is no other copy and what it "
      "says is right: cut off all behind the last brace");
}

// As the Thrift library writes it: short escapes, \u00XX for other control characters, everything
// else as it is.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          absl::StrAppendFormat(&out, "\\u%04x", static_cast<int>(c));
        else
          out += c;
    }
  }
  return out + "\"";
}

// The fields of one Thrift-JSON struct: {"<id>":{"<type>":<value>}, …}. The first error stays in
// status(); what was read is not used then.
class FieldReader {
 public:
  explicit FieldReader(const rapidjson::Value& fields) : fields_(fields) {}

  // The value of field `id` when it is there with this type; nullptr when the field is absent.
  const rapidjson::Value* Find(const char* id, const char* type) {
    const auto field = fields_.FindMember(id);
    if (field == fields_.MemberEnd()) return nullptr;
    if (field->value.IsObject()) {
      const auto value = field->value.FindMember(type);
      if (value != field->value.MemberEnd()) return &value->value;
    }
    // It is there, of another type: that is damage, not absence.
    Fail(absl::StrCat("field ", id, " is no ", type));
    return nullptr;
  }
  template <class T>
  void Number(const char* id, const char* type, T* to) {
    const rapidjson::Value* value = Find(id, type);
    if (value == nullptr) return;
    if (!value->IsInt64() || value->GetInt64() < std::numeric_limits<T>::min() ||
        value->GetInt64() > std::numeric_limits<T>::max())
      return Fail(absl::StrCat("field ", id, " is out of range"));
    *to = static_cast<T>(value->GetInt64());
  }
  // A bool is written as 0 or 1, under the type "tf".
  void Bool(const char* id, bool* to) {
    int32_t number = *to ? 1 : 0;
    Number(id, "tf", &number);
    *to = number != 0;
  }
  void String(const char* id, std::string* to) {
    const rapidjson::Value* value = Find(id, "str");
    if (value == nullptr) return;
    if (!value->IsString()) return Fail(absl::StrCat("field ", id, " is no string"));
    to->assign(value->GetString(), value->GetStringLength());
  }
  void Map(const char* id, std::map<std::string, std::string>* to) {
    const rapidjson::Value* value = Find(id, "map");
    if (value == nullptr) return;
    // A map is ["<key type>","<value type>",<size>,{…}]. The object alone counts, not the size.
    if (!value->IsArray() || value->Size() != 4 || !(*value)[3].IsObject())
      return Fail(absl::StrCat("field ", id, " is no map"));
    for (const auto& entry : (*value)[3].GetObject()) {
      if (!entry.value.IsString()) return Fail(absl::StrCat("field ", id, " maps to no string"));
      (*to)[std::string(entry.name.GetString(), entry.name.GetStringLength())].assign(
          entry.value.GetString(), entry.value.GetStringLength());
    }
  }
  absl::Status status() const { return status_; }

 private:
  void Fail(const std::string& what) {
    if (status_.ok()) status_ = DamagedAppInfo(what);
  }
  const rapidjson::Value& fields_;
  absl::Status status_;
};

}  // namespace

std::string EncodeAppInfo(const AppInfo& info) {
  // The only environment that is stored (see the header).
  std::string envs = "[\"str\",\"str\",0,{}]";
  if (const auto it = info.envs.find(kAllowIngestBehind); it != info.envs.end())
    envs = absl::StrCat("[\"str\",\"str\",1,{", Quoted(it->first), ":", Quoted(it->second), "}]");
  return absl::StrCat(
      Text(kWrapper),
      absl::StrCat("{\"0\":{\"rec\":{\"1\":{\"i32\":", static_cast<int32_t>(info.status),
                   "},\"2\":{\"str\":", Quoted(info.app_type),
                   "},\"3\":{\"str\":", Quoted(info.app_name), "},\"4\":{\"i32\":", info.app_id,
                   "},\"5\":{\"i32\":", info.partition_count, "},\"6\":{\"map\":", envs,
                   "},\"7\":{\"tf\":", info.is_stateful ? 1 : 0),
      absl::StrCat("},\"8\":{\"i32\":", info.max_replica_count,
                   "},\"9\":{\"i64\":", info.expire_second,
                   "},\"10\":{\"i64\":", info.create_second, "},\"11\":{\"i64\":", info.drop_second,
                   "},\"12\":{\"tf\":", info.duplicating ? 1 : 0,
                   "},\"13\":{\"i32\":", info.init_partition_count,
                   "},\"14\":{\"tf\":", info.is_bulk_loading ? 1 : 0, "}}}}"));
}

absl::StatusOr<AppInfo> DecodeAppInfo(std::string_view bytes) {
  if (!bytes.starts_with(kWrapper)) return DamagedAppInfo("wrong magic number");
  rapidjson::Document json;
  rapidjson::MemoryStream stream(bytes.data() + kWrapper.size(), bytes.size() - kWrapper.size());
  // Iterative, so that deep nesting in a damaged file cannot use up the stack.
  json.ParseStream<rapidjson::kParseIterativeFlag | rapidjson::kParseStopWhenDoneFlag>(stream);
  if (json.HasParseError() || !json.IsObject()) return DamagedAppInfo("not a JSON object");
  const size_t end = kWrapper.size() + stream.Tell();
  RETURN_IF_ERROR(CheckChecksum(bytes.substr(0, end), bytes.substr(end)));
  const auto wrapped = json.FindMember("0");
  if (wrapped == json.MemberEnd() || !wrapped->value.IsObject())
    return DamagedAppInfo("no field 0");
  const auto record = wrapped->value.FindMember("rec");
  if (record == wrapped->value.MemberEnd() || !record->value.IsObject())
    return DamagedAppInfo("field 0 is no struct");

  AppInfo info;
  int32_t status = 0;
  FieldReader reader(record->value);
  reader.Number("1", "i32", &status);
  reader.String("2", &info.app_type);
  reader.String("3", &info.app_name);
  reader.Number("4", "i32", &info.app_id);
  reader.Number("5", "i32", &info.partition_count);
  reader.Map("6", &info.envs);
  reader.Bool("7", &info.is_stateful);
  reader.Number("8", "i32", &info.max_replica_count);
  reader.Number("9", "i64", &info.expire_second);
  reader.Number("10", "i64", &info.create_second);
  reader.Number("11", "i64", &info.drop_second);
  reader.Bool("12", &info.duplicating);
  reader.Number("13", "i32", &info.init_partition_count);
  reader.Bool("14", &info.is_bulk_loading);
  RETURN_IF_ERROR(reader.status());
  // A status that this version does not know is kept as its number, not refused.
  info.status = static_cast<AppStatus>(status);
  return info;
}

absl::StatusOr<AppInfo> LoadAppInfo(FileSystem& files, const std::string& replica_directory) {
  ASSIGN_OR_RETURN(const std::string bytes,
                   ReadFile(files, JoinPath(replica_directory, kAppInfoName)));
  return DecodeAppInfo(bytes);
}

absl::Status StoreAppInfo(FileSystem& files, const std::string& replica_directory,
                          const AppInfo& info) {
  std::string bytes = EncodeAppInfo(info);
  bytes += ChecksumOf(bytes);
  return WriteFileDurably(files, JoinPath(replica_directory, kAppInfoName), bytes);
}

}  // namespace arion
