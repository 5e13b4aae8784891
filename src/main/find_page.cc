// SPDX-License-Identifier: Apache-2.0
#include "main/find_page.h"

#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <arion/client.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <memory>
#include <utility>
#include <variant>

#include "base/mutex.h"
#include "base/status.h"
#include "client/field_literal.h"
#include "http/http_message.h"

namespace arion {
namespace {

constexpr char kHelp[] =
    "?table=temp&index=by_city&equals=Bonn: records by an index; from=, to=, prefix=, limit=, "
    "values=1, descending=1, scan=1, after=; JSON";

// One client for all questions, made when the first one comes.
class FindClient {
 public:
  explicit FindClient(std::function<std::vector<std::string>()> meta_servers)
      : meta_servers_(std::move(meta_servers)) {}

  absl::StatusOr<std::shared_ptr<client_v1::Table>> Open(const std::string& table) {
    const MutexLock lock(mutex_);
    if (client_ == nullptr) {
      ASSIGN_OR_RETURN(client_, Client::Create({.meta_servers = meta_servers_()}));
    }
    return client_->OpenTable(table);
  }

 private:
  const std::function<std::vector<std::string>()> meta_servers_;
  Mutex mutex_;
  std::unique_ptr<Client> client_ ABSL_GUARDED_BY(mutex_);
};

// A question taken from the page's arguments; `options` points into `prefix` and `after`.
struct Asked {
  std::string table, index, prefix, after;
  FindOptions options;
};
absl::Status Take(const std::string& name, const std::string& value, Asked* asked) {
  FindOptions& options = asked->options;
  if (name == "table") {
    asked->table = value;
  } else if (name == "index") {
    asked->index = value;
  } else if (name == "equals") {
    ASSIGN_OR_RETURN(options.lower, ParseFieldLiteral(value));
    options.upper = options.lower;
  } else if (name == "from") {
    ASSIGN_OR_RETURN(options.lower, ParseFieldLiteral(value));
  } else if (name == "to") {
    ASSIGN_OR_RETURN(options.upper, ParseFieldLiteral(value));
  } else if (name == "prefix") {
    asked->prefix = value;
    options.prefix = asked->prefix;
  } else if (name == "after") {
    asked->after = absl::HexStringToBytes(value);
    options.after = asked->after;
  } else if (name == "limit") {
    if (!absl::SimpleAtoi(value, &options.limit) || options.limit < 1)
      return absl::InvalidArgumentError("limit is a number from 1 on");
  } else if (name == "values" && value == "1") {
    options.values = Values::kReturn;
  } else if (name == "descending" && value == "1") {
    options.order = FindOptions::Order::kDescending;
  } else if (name == "scan" && value == "1") {
    options.while_building = FindOptions::WhileBuilding::kScan;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("unknown: ", name, "=", value));
  }
  return absl::OkStatus();
}

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

void Put(JsonWriter& json, const char* name, const std::string& text) {
  json.Key(name);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
// Any bytes, as C escapes them.
void PutBytes(JsonWriter& json, const char* name, const std::string& bytes) {
  Put(json, name, absl::Utf8SafeCEscape(bytes));
}
void PutField(JsonWriter& json, const IndexedValue& field) {
  json.Key("field");
  if (const bool* truth = std::get_if<bool>(&field)) {
    json.Bool(*truth);
  } else if (const int64_t* integer = std::get_if<int64_t>(&field)) {
    json.Int64(*integer);
  } else if (const double* number = std::get_if<double>(&field)) {
    json.Double(*number);
  } else {
    const std::string text = absl::Utf8SafeCEscape(std::get<std::string>(field));
    json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
}

HttpResponse Failed(const absl::Status& status) {
  const bool is_theirs = absl::IsInvalidArgument(status) || absl::IsNotFound(status);
  return {.status = absl::IsNotFound(status) ? 404
                    : is_theirs              ? 400
                                             : 503,
          .body = absl::StrCat(std::string(status.message()), "\n")};
}

HttpResponse Answer(FindClient& client, const HttpRequest& request) {
  Asked asked;
  for (const auto& [name, value] : request.arguments)
    if (absl::Status taken = Take(name, value, &asked); !taken.ok()) return Failed(taken);
  if (asked.table.empty() || asked.index.empty())
    return Failed(absl::InvalidArgumentError(absl::StrCat("write ", kHelp)));
  const auto table = client.Open(asked.table);
  if (!table.ok()) return Failed(table.status());
  const absl::StatusOr<FindResult> found = (*table)->Find(asked.index, asked.options);
  if (!found.ok()) return Failed(found.status());
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.StartObject();
  json.Key("rows");
  json.StartArray();
  for (const IndexedRow& row : found->rows) {
    json.StartObject();
    PutField(json, row.field);
    PutBytes(json, "hash_key", row.hash_key);
    PutBytes(json, "sort_key", row.sort_key);
    if (asked.options.values == Values::kReturn) PutBytes(json, "value", row.value);
    json.EndObject();
  }
  json.EndArray();
  // For after=; empty: there are no more.
  Put(json, "next", absl::BytesToHexString(found->next));
  json.EndObject();
  return {.content_type = "application/json", .body = buffer.GetString()};
}

}  // namespace

void AddFindPage(const AddPage& add, std::function<std::vector<std::string>()> meta_servers) {
  add("/find", kHelp,
      [client = std::make_shared<FindClient>(std::move(meta_servers))](const HttpRequest& request) {
        return Answer(*client, request);
      });
}

}  // namespace arion
