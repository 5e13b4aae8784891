// SPDX-License-Identifier: Apache-2.0
#include "tools/pages/metric_entities.h"

#include <rapidjson/document.h>

#include "base/status.h"
#include "tools/pages/server_page.h"

namespace arion {
namespace {

const rapidjson::Value* Find(const rapidjson::Value& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto it = object.FindMember(name);
  return it == object.MemberEnd() ? nullptr : &it->value;
}
std::string TextIn(const rapidjson::Value& object, const char* name) {
  const rapidjson::Value* value = Find(object, name);
  return value == nullptr || !value->IsString()
             ? std::string()
             : std::string(value->GetString(), value->GetStringLength());
}

MetricEntity EntityOf(const rapidjson::Value& object) {
  MetricEntity entity{.type = TextIn(object, "type"), .id = TextIn(object, "id")};
  const rapidjson::Value* metrics = Find(object, "metrics");
  if (metrics == nullptr || !metrics->IsArray()) return entity;
  for (const rapidjson::Value& metric : metrics->GetArray()) {
    const rapidjson::Value* value = Find(metric, "value");
    if (value != nullptr && value->IsNumber())
      entity.values[TextIn(metric, "name")] += value->GetDouble();
  }
  return entity;
}

}  // namespace

absl::StatusOr<MetricReading> ParseEntities(std::string_view json) {
  rapidjson::Document document;
  document.Parse(json.data(), json.size());
  const rapidjson::Value* entities = Find(document, "entities");
  const rapidjson::Value* nanos = Find(document, "timestamp_ns");
  if (entities == nullptr || !entities->IsArray() || nanos == nullptr || !nanos->IsInt64())
    return absl::InvalidArgumentError("this is no page of metrics");
  MetricReading reading{.unix_nanos = nanos->GetInt64()};
  for (const rapidjson::Value& object : entities->GetArray())
    reading.entities.push_back(EntityOf(object));
  return reading;
}

absl::StatusOr<MetricReading> FetchEntities(Endpoint server, std::string_view arguments) {
  ASSIGN_OR_RETURN(const std::string page,
                   FetchPage(server, absl::StrCat("/metrics?", Text(arguments)), PageForm::kJson));
  absl::StatusOr<MetricReading> reading = ParseEntities(page);
  if (!reading.ok()) return Annotate(reading.status(), server.ToString());
  return reading;
}

}  // namespace arion
