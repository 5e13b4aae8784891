// Write groups the samples by entity, which their labels name, then writes entity by entity as
// Pegasus does: arguments choose entities and metrics, and which fields of a metric are shown.
// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics_json.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/status.h"

namespace arion {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

// Two of them are kept: while somebody asks often enough, percentiles cover between one and two.
constexpr int64_t kWindowNanos = 10'000'000'000;
constexpr std::array<std::pair<std::string_view, double>, 5> kQuantiles = {
    {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}}};

// The arguments of a request; an empty set lets everything pass.
struct Selection {
  std::set<std::string> fields, types, ids, metrics;
  std::vector<std::pair<std::string, std::string>> attributes;  // one of them is enough
};

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return parts;
}

std::set<std::string> SetOf(std::string_view text) {
  std::vector<std::string> parts = SplitAtCommas(text);
  return {parts.begin(), parts.end()};
}

// InvalidArgument: an argument is not known, or its value makes no sense. Passed over, a misspelt
// one would choose everything.
absl::StatusOr<Selection> SelectionOf(const QueryArguments& arguments) {
  Selection selection;
  std::string detail = "false";
  for (const auto& [name, value] : arguments) {
    if (name == "with_metric_fields") {
      selection.fields = SetOf(value);
    } else if (name == "types") {
      selection.types = SetOf(value);
    } else if (name == "ids") {
      selection.ids = SetOf(value);
    } else if (name == "metrics") {
      selection.metrics = SetOf(value);
    } else if (name == "detail") {
      detail = value;
    } else if (name == "attributes") {
      const std::vector<std::string> parts = SplitAtCommas(value);
      if (parts.size() % 2 != 0)
        return absl::InvalidArgumentError("attributes: write name,value,name,value");
      for (size_t i = 0; i < parts.size(); i += 2)
        selection.attributes.emplace_back(parts[i], parts[i + 1]);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown argument \"", name,
          "\"; there are with_metric_fields, types, ids, metrics, attributes, detail"));
    }
  }
  if (detail != "true" && detail != "false")
    return absl::InvalidArgumentError("detail is true or false");
  // What Pegasus shows without an argument; with `detail` its empty set shows every field.
  if (selection.fields.empty() && detail == "false") {
    selection.fields = {"name", "value"};
    for (const auto& [name, quantile] : kQuantiles) selection.fields.emplace(name);
  }
  return selection;
}

bool Passes(const std::set<std::string>& wanted, const std::string& name) {
  return wanted.empty() || wanted.count(name) != 0;
}

// What a metric is of. A sample whose labels name nothing else is of the server.
struct Entity {
  std::string type = "server";
  std::string id = "server";
  MetricLabels attributes;
  bool operator<(const Entity& other) const {
    return std::tie(type, id, attributes) < std::tie(other.type, other.id, other.attributes);
  }
};

// Labels that say which entity a sample is of, but for a partition's.
struct EntityLabel {
  std::string_view label, type, id_prefix, attribute;
};
constexpr std::array<EntityLabel, 4> kEntityLabels = {
    {{"disk", "disk", "disk@", "tag"},
     {"task", "profiler", "task@", "task_name"},
     {"queue", "queue", "queue@", "queue_name"},
     {"table_id", "table", "table@", "table_id"}}};

// As the family's old name has it, with what its samples' labels put into it.
std::string NameOf(const MetricInfo& info, const MetricLabels& labels) {
  std::string name = info.old.name.empty() ? info.name : info.old.name;
  for (const auto& [label, value] : labels)
    if (const size_t at = name.find("{" + label + "}"); at != std::string::npos)
      name.replace(at, label.size() + 2, value);
  return name;
}

Entity EntityOf(const MetricInfo& info, const MetricLabels& labels) {
  Entity entity;
  for (const auto& [name, value] : labels) {
    // A label that the old name contains is no attribute as well.
    if (info.old.name.find("{" + name + "}") != std::string::npos) continue;
    // Pegasus' replica entity has exactly these two attributes, whatever other labels the sample
    // has.
    if (name == "partition") {
      const size_t dot = value.find('.');
      entity.type = "replica";
      entity.id = "replica@" + value;
      entity.attributes = {{"table_id", value.substr(0, dot)},
                           {"partition_id", value.substr(std::min(dot, value.size() - 1) + 1)}};
      break;
    }
    std::string attribute = name;
    for (const auto& [label, type, prefix, called] : kEntityLabels) {
      if (name != label) continue;
      entity.type = type;
      entity.id = std::string(prefix) + value;
      attribute = called;
    }
    entity.attributes.emplace_back(std::move(attribute), value);
  }
  return entity;
}

bool IsSelected(const Selection& selection, const Entity& entity) {
  if (!Passes(selection.types, entity.type) || !Passes(selection.ids, entity.id)) return false;
  if (selection.attributes.empty()) return true;
  for (const auto& wanted : selection.attributes) {
    for (const auto& attribute : entity.attributes)
      if (attribute == wanted) return true;
  }
  return false;
}

void Put(JsonWriter& json, std::string_view text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void PutNumber(JsonWriter& json, double value) {
  // Most numbers are whole, and are written without a fraction.
  const auto whole = static_cast<int64_t>(value);
  if (static_cast<double>(whole) == value) {
    json.Int64(whole);
  } else {
    json.Double(value);
  }
}

std::string_view TypeName(MetricKind kind) {
  switch (kind) {
    case MetricKind::kCounter:
      return "Counter";
    case MetricKind::kGauge:
      return "Gauge";
    case MetricKind::kHistogram:
      return "Percentile";
  }
  return "";
}

// What stands for one metric: `recent` only for histograms.
void PutMetric(JsonWriter& json, const std::set<std::string>& fields, const MetricFamily& family,
               const MetricSample& sample, const Histogram::Snapshot& recent) {
  auto text = [&](std::string_view field, std::string_view value) {
    if (!Passes(fields, std::string(field))) return;
    Put(json, field);
    Put(json, value);
  };
  json.StartObject();
  text("name", NameOf(family.info, sample.labels));
  text("type", TypeName(family.kind));
  text("desc", family.info.help);
  const OldMetricName& old = family.info.old;
  // An older name has its own unit, for example MiB where Prometheus gets bytes.
  const double per_unit = old.name.empty() ? family.info.per_unit : old.per_unit;
  if (family.kind != MetricKind::kHistogram) {
    if (Passes(fields, "value")) {
      Put(json, "value");
      PutNumber(json, sample.value / per_unit);
    }
  } else {
    for (const auto& [name, quantile] : kQuantiles) {
      if (!Passes(fields, std::string(name))) continue;
      Put(json, name);
      // Percentiles without an older name stay in the source's unit, nanoseconds, as older versions
      // have them: per_unit is Prometheus' scale.
      PutNumber(json, static_cast<double>(recent.Quantile(quantile)) /
                          (old.name.empty() ? 1 : old.per_unit));
    }
  }
  json.EndObject();
}

void PutEntity(JsonWriter& json, const Entity& entity) {
  Put(json, "type"), Put(json, entity.type);
  Put(json, "id"), Put(json, entity.id);
  Put(json, "attributes");
  json.StartObject();
  for (const auto& [name, value] : entity.attributes) Put(json, name), Put(json, value);
  json.EndObject();
}

struct Reading {
  const MetricFamily* family;
  const MetricSample* sample;
};

std::map<Entity, std::vector<Reading>> Grouped(const Selection& selection,
                                               const std::vector<MetricFamily>& families) {
  std::map<Entity, std::vector<Reading>> entities;
  for (const MetricFamily& family : families) {
    for (const MetricSample& sample : family.samples) {
      if (!Passes(selection.metrics, NameOf(family.info, sample.labels))) continue;
      Entity entity = EntityOf(family.info, sample.labels);
      if (IsSelected(selection, entity)) entities[std::move(entity)].push_back({&family, &sample});
    }
  }
  return entities;
}

// Whether `before` may be an earlier reading of the same histogram: no bucket held more then.
bool Continues(const Histogram::Snapshot& now, const Histogram::Snapshot& before) {
  for (size_t i = 0; i < before.buckets.size(); ++i)
    if (before.buckets[i] > (i < now.buckets.size() ? now.buckets[i] : 0)) return false;
  return true;
}

// Whether a sample of the family may be called so.
bool MayBeCalled(const MetricInfo& info, std::string_view name) {
  const std::string_view pattern = info.old.name.empty() ? info.name : info.old.name;
  // The label's value is not known yet, so whatever stands in its place passes here; Grouped
  // compares the whole name.
  const size_t open = pattern.find('{');
  if (open == std::string_view::npos) return pattern == name;
  return name.starts_with(pattern.substr(0, open)) &&
         name.ends_with(pattern.substr(pattern.rfind('}') + 1));
}

}  // namespace

MetricRegistry::Choice FamiliesFor(const QueryArguments& arguments) {
  std::set<std::string> names;
  for (const auto& [argument, value] : arguments)
    if (argument == "metrics") names = SetOf(value);
  return [names = std::move(names)](const MetricInfo& info) {
    return names.empty() || std::any_of(names.begin(), names.end(),
                                        [&](const auto& name) { return MayBeCalled(info, name); });
  };
}

Histogram::Snapshot MetricsJson::Recent(const MetricFamily& family, const MetricSample& sample,
                                        int64_t unix_nanos) {
  const Histogram::Snapshot& now = sample.histogram;
  const MutexLock lock(mutex_);
  // Readers share the windows. A window ends only when its ten seconds are over, so those who ask
  // often take nothing from the others.
  Window& window = windows_[family.info.name][sample.labels];
  // A histogram that began anew counts from its beginning: a difference would underflow.
  if (!Continues(now, window.newer) || !Continues(now, window.older)) window = {};
  Histogram::Snapshot recent = now.Since(window.older);
  if (unix_nanos - window.started_nanos >= kWindowNanos) {
    window.older = std::exchange(window.newer, now);
    window.started_nanos = unix_nanos;
  }
  return recent;
}

// A reading has all samples of its families; so whoever has more windows has some of what is gone.
void MetricsJson::ForgetGone(const MetricFamily& family) {
  const MutexLock lock(mutex_);
  const auto of_family = windows_.find(family.info.name);
  if (of_family == windows_.end() || of_family->second.size() <= family.samples.size()) return;
  std::set<MetricLabels> there;
  for (const MetricSample& sample : family.samples) there.insert(sample.labels);
  std::erase_if(of_family->second,
                [&](const auto& window) { return !there.contains(window.first); });
}

size_t MetricsJson::windows() const {
  const MutexLock lock(mutex_);
  size_t all = 0;
  for (const auto& [name, of_family] : windows_) all += of_family.size();
  return all;
}

std::string MetricsJson::ErrorText(const absl::Status& status) {
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.StartObject();
  Put(json, "error_message"), Put(json, View(status.message()));
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

absl::StatusOr<std::string> MetricsJson::Write(const std::vector<MetricFamily>& families,
                                               const QueryArguments& arguments,
                                               int64_t unix_nanos) {
  ASSIGN_OR_RETURN(const Selection selection, SelectionOf(arguments));
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.StartObject();
  Put(json, "cluster"), Put(json, identity_.cluster);
  Put(json, "role"), Put(json, identity_.role);
  Put(json, "host"), Put(json, identity_.host);
  Put(json, "port"), json.Int(identity_.port);
  Put(json, "timestamp_ns"), json.Int64(unix_nanos);
  Put(json, "entities");
  json.StartArray();
  for (const auto& [entity, readings] : Grouped(selection, families)) {
    json.StartObject();
    PutEntity(json, entity);
    Put(json, "metrics");
    json.StartArray();
    for (const Reading& reading : readings) {
      Histogram::Snapshot recent;
      if (reading.family->kind == MetricKind::kHistogram) {
        recent = Recent(*reading.family, *reading.sample, unix_nanos);
      }
      PutMetric(json, selection.fields, *reading.family, *reading.sample, recent);
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  // At the end, and for all families that were read: tables and disks that are gone must not cost
  // memory.
  for (const MetricFamily& family : families) ForgetGone(family);
  return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace arion
