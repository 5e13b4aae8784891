// SPDX-License-Identifier: Apache-2.0
#include "exposition/request_metrics.h"

#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "base/status.h"
#include "exposition/recent_rows.h"
#include "http/http_message.h"
#include "messages/client_messages.h"
#include "messages/duplicate_messages.h"
#include "messages/index_messages.h"
#include "stats/slow_requests.h"

namespace arion {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

template <class Value>
MetricRegistry::LevelTable PerOperation(std::shared_ptr<RecentRows> recent, Value value) {
  return [recent = std::move(recent), value](MetricLevel level) {
    std::vector<LabeledValue> values;
    const RecentRows::Rows rows = recent->Read(level);
    // Only kinds that occurred have rows.
    for (const RequestBook::Row& row : *rows)
      for (const auto& [kind, totals] : row.by_kind)
        values.push_back({WithLabel(LabelsOf(row), "operation", RequestKindName(kind)),
                          static_cast<double>(value(totals))});
    return values;
  };
}

std::vector<LabeledValue> CapacityUnits(RecentRows& recent, MetricLevel level) {
  std::vector<LabeledValue> values;
  const RecentRows::Rows rows = recent.Read(level);
  for (const RequestBook::Row& row : *rows) {
    uint64_t read = 0, written = 0;
    // Units were rounded up for each request, so the sum is what is billed.
    for (const auto& [kind, totals] : row.by_kind)
      (IsWrite(kind) ? written : read) += totals.capacity_units;
    values.push_back({WithLabel(LabelsOf(row), "use", "read"), static_cast<double>(read)});
    values.push_back({WithLabel(LabelsOf(row), "use", "write"), static_cast<double>(written)});
  }
  return values;
}

std::vector<LabeledValue> Errors(RecentRows& recent, MetricLevel level) {
  std::vector<LabeledValue> values;
  const RecentRows::Rows rows = recent.Read(level);
  for (const RequestBook::Row& row : *rows)
    for (const auto& [kind, totals] : row.by_kind)
      for (const auto& [code, n] : totals.errors)
        values.push_back({WithLabel(WithLabel(LabelsOf(row), "operation", RequestKindName(kind)),
                                    "code", ErrorCodeName(code)),
                          static_cast<double>(n)});
  return values;
}

// ---- as older versions count by server ----

// Names of request codes, as older collectors know them.
const char* TaskOf(RequestKind kind) {
  // In the order of RequestKind.
  static constexpr auto kTasks = std::to_array<const char*>(
      {kRpcGet, kRpcTtl, kRpcMultiGet, kRpcBatchGet, kRpcSortKeyCount, kRpcScan, kRpcFind, kRpcPut,
       kRpcRemove, kRpcMultiPut, kRpcMultiRemove, kRpcIncr, kRpcCheckAndSet, kRpcCheckAndMutate,
       kRpcDuplicate});
  static_assert(kTasks.size() == kRequestKinds);
  return kTasks[static_cast<size_t>(kind)];
}

MetricLabels TaskLabels(RequestKind kind) { return {{"task", TaskOf(kind)}}; }

// Of all tables, by kind.
std::vector<LabeledHistogram> LatencyByTask(RecentRows& recent) {
  // By the server's row, so that tables which are gone still count.
  std::map<RequestKind, LatencyBuckets::Totals> totals;
  const RecentRows::Rows rows = recent.ReadServer();
  for (const RequestBook::Row& row : *rows)
    for (const auto& [kind, more] : row.by_kind) totals[kind].Add(more.latency);
  std::vector<LabeledHistogram> histograms;
  for (const auto& [kind, total] : totals)
    histograms.push_back({TaskLabels(kind), total.AsSnapshot()});
  return histograms;
}

std::vector<LabeledValue> DroppedByTask(RecentRows& recent) {
  std::map<RequestKind, uint64_t> dropped;
  const RecentRows::Rows rows = recent.ReadServer();
  for (const RequestBook::Row& row : *rows)
    for (const auto& [kind, totals] : row.by_kind) {
      // A request that was given up unanswered is counted under kTimeout. A kind without one still
      // has a row, at 0.
      const auto it = totals.errors.find(ErrorCode::kTimeout);
      dropped[kind] += it == totals.errors.end() ? 0 : it->second;
    }
  std::vector<LabeledValue> values;
  for (const auto& [kind, n] : dropped)
    values.push_back({TaskLabels(kind), static_cast<double>(n)});
  return values;
}

// Those answered busy, or with another error.
double Refused(RecentRows& recent, bool (*is_of)(RequestKind), bool (*is_meant)(ErrorCode)) {
  uint64_t sum = 0;
  const RecentRows::Rows rows = recent.ReadServer();
  for (const RequestBook::Row& row : *rows)
    for (const auto& [kind, totals] : row.by_kind)
      for (const auto& [code, n] : totals.errors)
        if (is_of(kind) && is_meant(code)) sum += n;
  return static_cast<double>(sum);
}

void RegisterByServer(MetricRegistry& registry, const std::shared_ptr<RecentRows>& recent,
                      MetricRegistrations* held) {
  MetricInfo latency = LatencyInfo("profiler_server_rpc_latency_ns", "As request_seconds.");
  latency.is_json_only = true;
  held->push_back(registry.AddHistogramTable(
      std::move(latency), [recent](MetricLevel) { return LatencyByTask(*recent); }));
  held->push_back(registry.AddTable({.name = "profiler_dropped_timeout_rpcs",
                                     .help = "Requests that nobody waited for any more.",
                                     .is_json_only = true},
                                    MetricKind::kCounter,
                                    [recent] { return DroppedByTask(*recent); }));
  // Busy is a refusal by load; all other errors are failures.
  const auto refused = [&](const char* name, bool (*is_of)(RequestKind),
                           bool (*is_meant)(ErrorCode)) {
    held->push_back(
        registry.Add({.name = name, .help = "As request_errors_total.", .is_json_only = true},
                     MetricKind::kCounter, {},
                     [recent, is_of, is_meant] { return Refused(*recent, is_of, is_meant); }));
  };
  const auto is_write = [](RequestKind kind) { return IsWrite(kind); };
  const auto is_read = [](RequestKind kind) { return !IsWrite(kind); };
  const auto is_busy = [](ErrorCode code) { return code == ErrorCode::kBusy; };
  const auto is_failed = [](ErrorCode code) { return code != ErrorCode::kBusy; };
  refused("read_busy_requests", is_read, is_busy);
  refused("write_busy_requests", is_write, is_busy);
  refused("read_failed_requests", is_read, is_failed);
  refused("write_failed_requests", is_write, is_failed);
}

// What ?table, ?partition and ?limit choose.
class Choice {
 public:
  static absl::StatusOr<Choice> Of(const HttpRequest& request) {
    Choice choice;
    for (const auto& [name, value] : request.arguments) {
      if (name == "table")
        choice.table_ = value;
      else if (name == "partition")
        choice.partition_ = value;
      // A misspelt argument is refused: passed over, it would choose everything.
      else if (name != "limit" || !absl::SimpleAtoi(value, &choice.limit_))
        return absl::InvalidArgumentError("there are table, partition and limit (a number)\n");
    }
    return choice;
  }
  bool Takes(const std::string& table, PartitionId pid) {
    if (!table_.empty() && table_ != table) return false;
    if (!partition_.empty() && partition_ != pid.ToString()) return false;
    // Rows that the filters leave out do not count towards the limit.
    return taken_++ < limit_;
  }

 private:
  std::string table_, partition_;
  int limit_ = 100;
  int taken_ = 0;
};

void Put(JsonWriter& json, const char* name, std::string_view text) {
  json.Key(name);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
void Put(JsonWriter& json, const char* name, int64_t number) {
  json.Key(name);
  json.Int64(number);
}

void PutSlow(JsonWriter& json, const SlowRequest& slow) {
  json.StartObject();
  Put(json, "ended_at_us", slow.ended_at_us);
  Put(json, "partition", slow.pid.ToString());
  Put(json, "table", slow.table);
  Put(json, "operation", RequestKindName(slow.kind));
  Put(json, "from", slow.from.ToString());
  Put(json, "took_us", slow.nanos / 1000);
  Put(json, "asked_bytes", static_cast<int64_t>(slow.asked_bytes));
  Put(json, "answered_bytes", static_cast<int64_t>(slow.answered_bytes));
  Put(json, "error", ErrorCodeName(slow.error));
  // Only logged writes have stages.
  for (size_t i = 0; slow.stages && i < kWriteStages; ++i)
    Put(json, (std::string(WriteStageName(static_cast<WriteStage>(i))) + "_us").c_str(),
        (*slow.stages)[i] / 1000);
  json.EndObject();
}

template <class Rows, class Put>
HttpResponse AnswerRows(const Rows& rows, const HttpRequest& request, const Put& put) {
  absl::StatusOr<Choice> choice = Choice::Of(request);
  if (!choice.ok()) return {.status = 400, .body = std::string(choice.status().message())};
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.StartArray();
  for (const auto& row : rows) put(json, *choice, row);
  json.EndArray();
  return {.content_type = "application/json",
          .body = std::string(buffer.GetString(), buffer.GetSize())};
}

}  // namespace

MetricRegistrations RegisterRequests(MetricRegistry& registry,
                                     const std::shared_ptr<RecentRows>& recent) {
  MetricRegistrations held;
  MetricInfo latency =
      LatencyInfo("request_seconds",
                  "Time from a request's arrival until its answer is handed to the network.");
  latency.old = {.name = "{operation}_latency_ns"};
  held.push_back(registry.AddHistogramTable(std::move(latency), [recent](MetricLevel level) {
    const RecentRows::Rows read = recent->Read(level);
    std::vector<LabeledHistogram> rows;
    for (const RequestBook::Row& row : *read)
      for (const auto& [kind, totals] : row.by_kind)
        rows.push_back({WithLabel(LabelsOf(row), "operation", RequestKindName(kind)),
                        totals.latency.AsSnapshot()});
    return rows;
  }));
  held.push_back(registry.AddHistogramTable(
      LatencyInfo("write_stage_seconds",
                  "What the time of logged writes went into, one stage after the other."),
      [recent](MetricLevel level) {
        const RecentRows::Rows read = recent->Read(level);
        std::vector<LabeledHistogram> rows;
        for (const RequestBook::Row& row : *read)
          for (size_t i = 0; i < kWriteStages; ++i)
            // Stages that no write has gone through would be series that say nothing.
            if (row.by_stage[i].count > 0)
              rows.push_back(
                  {WithLabel(LabelsOf(row), "stage", WriteStageName(static_cast<WriteStage>(i))),
                   row.by_stage[i].AsSnapshot()});
        return rows;
      }));
  MetricInfo lag = LatencyInfo("duplicate_lag_seconds",
                               "Time from when another cluster ordered a write until it was done "
                               "here, by both clusters' clocks.");
  lag.old = {.name = "dup_time_lag_ms", .per_unit = 1e6};
  held.push_back(registry.AddHistogramTable(std::move(lag), [recent](MetricLevel level) {
    const RecentRows::Rows read = recent->Read(level);
    std::vector<LabeledHistogram> rows;
    for (const RequestBook::Row& row : *read)
      // A table that nobody duplicates to this cluster has none.
      if (row.duplicate_lag.count > 0)
        rows.push_back({LabelsOf(row), row.duplicate_lag.AsSnapshot()});
    return rows;
  }));
  const auto add = [&](MetricInfo info, auto value) {
    held.push_back(
        registry.AddLevelTable(std::move(info), MetricKind::kCounter, PerOperation(recent, value)));
  };
  using Totals = RequestStats::Totals;
  add({.name = "requests_total",
       .help = "Clients' requests, those refused or given up included.",
       .old = {.name = "{operation}_requests"}},
      [](const Totals& totals) { return totals.latency.count; });
  add({.name = "request_bytes_total", .help = "Bytes of clients' requests, as they came."},
      [](const Totals& totals) { return totals.asked_bytes; });
  held.push_back(registry.AddLevelTable(
      {.name = "capacity_units_total",
       .help = "Pieces of 4 KiB, begun ones included: of reads' answers, and of writes.",
       .old = {.name = "{use}_capacity_units"}},
      MetricKind::kCounter, [recent](MetricLevel level) { return CapacityUnits(*recent, level); }));
  add({.name = "answer_bytes_total", .help = "Bytes of the answers to clients."},
      [](const Totals& totals) { return totals.answered_bytes; });
  held.push_back(registry.AddLevelTable(
      {.name = "request_errors_total",
       .help = "Clients' requests that were refused or given up, by error; ERR_TIMEOUT: also those "
               "nobody waited for any more."},
      MetricKind::kCounter, [recent](MetricLevel level) { return Errors(*recent, level); }));
  RegisterByServer(registry, recent, &held);
  return held;
}

HttpResponse AnswerSlow(const SlowRequests& slow, const HttpRequest& request) {
  std::vector<SlowRequest> last = slow.Last();
  // Newest first.
  std::reverse(last.begin(), last.end());
  return AnswerRows(last, request, [](JsonWriter& json, Choice& choice, const SlowRequest& row) {
    if (choice.Takes(row.table, row.pid)) PutSlow(json, row);
  });
}

HttpResponse AnswerHotKeys(const RequestBook& book, Instant now, const HttpRequest& request) {
  return AnswerRows(book.ReadHotKeys(now), request,
                    [](JsonWriter& json, Choice& choice, const RequestBook::HotKey& row) {
                      if (!choice.Takes(row.table, row.pid)) return;
                      json.StartObject();
                      Put(json, "table", row.table);
                      Put(json, "partition", row.pid.ToString());
                      Put(json, "use", row.hot.use == KeyUse::kRead ? "read" : "write");
                      // A key is any bytes, and JSON is text.
                      Put(json, "hash_key", absl::CHexEscape(row.hot.key));
                      Put(json, "per_second", static_cast<int64_t>(row.hot.per_second));
                      Put(json, "share_percent", static_cast<int64_t>(row.hot.share * 100));
                      json.EndObject();
                    });
}

}  // namespace arion
