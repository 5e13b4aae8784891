// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/server_load.h"

#include <absl/strings/numbers.h>
#include <absl/time/clock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/status.h"

namespace arion::shell {
namespace {

constexpr double kMega = 1 << 20;

int64_t Whole(double number) { return std::llround(number); }

absl::StatusOr<ServerLook> LookAtOne(Endpoint server) {
  ASSIGN_OR_RETURN(std::vector<MetricSample> samples, FetchSamples(server));
  return ServerLook{absl::Now(), std::move(samples)};
}

int64_t PercentLeft(double available, double capacity) {
  return capacity > 0 ? Whole(100 * available / capacity) : 0;
}

}  // namespace

double ServerLoad::Now(std::string_view name, std::string_view label,
                       std::string_view value) const {
  return SumOf(now_.samples, name, label, value);
}

double ServerLoad::PerSecond(std::string_view name, std::string_view label,
                             std::string_view value) const {
  const double seconds = absl::ToDoubleSeconds(now_.at - before_.at);
  const double more = Now(name, label, value) - SumOf(before_.samples, name, label, value);
  return seconds > 0 ? std::max(0.0, more / seconds) : 0;  // less: the server was restarted
}

int64_t ServerLoad::FullestDiskPercentLeft() const {
  // The fullest disk alone: the others' room is of no use to it.
  int64_t least = 100;
  for (const MetricSample& sample : now_.samples)
    if (sample.name == "disk_capacity_bytes" && sample.value > 0)
      least = std::min(
          least,
          PercentLeft(Now("disk_available_bytes", "disk", sample.labels.at("disk")), sample.value));
  return least;
}

double ServerLoad::P99Micros(std::string_view operation) const {
  const auto buckets = [&](const std::vector<MetricSample>& samples) {
    // By all labels: a bucket of a histogram is found again by them.
    std::map<std::map<std::string, std::string>, double> counts;
    for (const MetricSample& sample : samples) {
      const auto is = sample.labels.find("operation");
      if (sample.name == "request_seconds_bucket" && is != sample.labels.end() &&
          is->second == operation)
        counts[sample.labels] = sample.value;
    }
    return counts;
  };
  const auto earlier = buckets(before_.samples);
  std::vector<MetricSample> grown;
  for (const auto& [labels, count] : buckets(now_.samples)) {
    const auto it = earlier.find(labels);
    grown.push_back({"request_seconds_bucket", labels,
                     std::max(0.0, count - (it == earlier.end() ? 0 : it->second))});
  }
  return QuantileOf(grown, "request_seconds", 0.99) * 1e6;
}

std::vector<absl::StatusOr<ServerLoad>> LookAt(const std::vector<Endpoint>& servers,
                                               absl::Duration pause) {
  std::vector<absl::StatusOr<ServerLook>> before;
  // All first readings, one pause, all second ones: a pause for each server would take its time
  // times their number.
  for (const Endpoint server : servers) before.push_back(LookAtOne(server));
  absl::SleepFor(pause);
  std::vector<absl::StatusOr<ServerLoad>> loads;
  for (size_t i = 0; i < servers.size(); ++i) {
    // Who was silent the first time is not asked again: one look tells no rates.
    absl::StatusOr<ServerLook> now = before[i].ok() ? LookAtOne(servers[i]) : before[i];
    if (now.ok())
      loads.emplace_back(ServerLoad(*std::move(before[i]), *std::move(now)));
    else
      loads.emplace_back(now.status());
  }
  return loads;
}

absl::StatusOr<absl::Duration> PauseOf(const Arguments& arguments) {
  int64_t millis = 1000;
  if (const std::string text = arguments.Value("-i");
      !text.empty() && (!absl::SimpleAtoi(text, &millis) || millis < 10 || millis > 60'000))
    return absl::InvalidArgumentError("-i takes milliseconds between two looks, 10 to 60000");
  return absl::Milliseconds(millis);
}

std::vector<LoadColumn> ResourceColumns() {
  return {
      {"memory_mb",
       [](const ServerLoad& load) {
         return Whole(load.Now("process_resident_memory_bytes") / kMega);
       }},
      {"cpu_percent",
       [](const ServerLoad& load) {
         return Whole(100 * load.PerSecond("process_cpu_seconds_total"));
       }},
      {"mem_tbl_mb",
       [](const ServerLoad& load) { return Whole(load.Now("engine_unflushed_bytes") / kMega); }},
      {"disk_total_mb",
       [](const ServerLoad& load) { return Whole(load.Now("disk_capacity_bytes") / kMega); }},
      {"disk_available_mb",
       [](const ServerLoad& load) { return Whole(load.Now("disk_available_bytes") / kMega); }},
      {"disk_available_percent",
       [](const ServerLoad& load) {
         return PercentLeft(load.Now("disk_available_bytes"), load.Now("disk_capacity_bytes"));
       }},
      {"disk_available_min_percent",
       [](const ServerLoad& load) { return load.FullestDiskPercentLeft(); }}};
}

std::vector<LoadColumn> RequestColumns() {
  static constexpr std::pair<const char*, const char*> kOperations[] = {
      {"get", "get"},
      {"mget", "multi_get"},
      {"bget", "batch_get"},
      {"scan", "scan"},
      {"put", "put"},
      {"mput", "multi_put"},
      {"del", "remove"},
      {"mdel", "multi_remove"},
      {"incr", "incr"},
      {"cas", "check_and_set"},
      {"cam", "check_and_mutate"}};
  std::vector<LoadColumn> columns;
  for (const auto& [name, operation] : kOperations)
    columns.push_back({absl::StrCat(name, "_qps"), [operation = operation](const ServerLoad& load) {
                         return Whole(load.PerSecond("requests_total", "operation", operation));
                       }});
  for (const auto& [name, operation] : kOperations)
    if (std::string_view("get mget bget put mput").find(name) != std::string_view::npos)
      columns.push_back(
          {absl::StrCat(name, "_p99_us"), [operation = operation](const ServerLoad& load) {
             return Whole(load.P99Micros(operation));
           }});
  return columns;
}

}  // namespace arion::shell
