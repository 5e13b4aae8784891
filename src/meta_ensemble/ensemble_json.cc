// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/ensemble_json.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <string_view>

#include "base/status.h"

namespace arion {
namespace {

using JsonWriter = rapidjson::Writer<rapidjson::StringBuffer>;

void Put(JsonWriter& json, const char* name, std::string_view text) {
  json.Key(name);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
void Put(JsonWriter& json, const char* name, int64_t number) {
  json.Key(name);
  json.Int64(number);
}
void PutTruth(JsonWriter& json, const char* name, bool is_so) {
  json.Key(name);
  json.Bool(is_so);
}
// null: not known, or not so.
void PutMs(JsonWriter& json, const char* name, std::optional<absl::Duration> time) {
  json.Key(name);
  time ? json.Int64(absl::ToInt64Milliseconds(*time)) : json.Null();
}
// Where it has what is not UTF-8: a stranger's bytes.
std::string Readable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, 100))
    if (c >= ' ' && c <= '~')
      text += c;
    else
      absl::StrAppendFormat(&text, "\\x%02x", static_cast<unsigned char>(c));
  return text;
}
std::string SessionText(int64_t session) {
  return session == 0 ? "" : absl::StrCat("0x", absl::Hex(static_cast<uint64_t>(session)));
}

void PutCarriedOut(JsonWriter& json, const std::string& name, Instant now,
                   const std::optional<CarriedOut>& what) {
  const std::optional<absl::Duration> none;
  PutMs(json, (name + "_ago_ms").c_str(), what ? std::optional(now - what->sent) : none);
  PutMs(json, (name + "_took_ms").c_str(), what ? std::optional(what->took) : none);
}

void PutCandidates(JsonWriter& json, const EnsembleOverview& ensemble) {
  json.Key("candidates");
  json.StartArray();
  const std::vector<Candidate> none;
  const std::vector<Candidate>& all = ensemble.candidates ? *ensemble.candidates : none;
  for (size_t i = 0; i < all.size(); ++i) {
    const Candidate& one = all[i];
    json.StartObject();
    Put(json, "address", Readable(one.address));
    PutTruth(json, "leads", i == 0);
    Put(json, "node", Readable(one.node));
    Put(json, "session", SessionText(one.session));
    // The ensemble's clock and ours may differ.
    const int64_t age = std::max<int64_t>(0, ensemble.unix_ms - one.since_unix_ms);
    PutMs(json, "age_ms",
          one.since_unix_ms == 0 ? std::nullopt : std::optional(absl::Milliseconds(age)));
    json.EndObject();
  }
  json.EndArray();
  PutMs(json, "candidates_ago_ms",
        ensemble.candidates ? std::optional(ensemble.now - ensemble.candidates_at) : std::nullopt);
  Put(json, "trouble", Readable(ensemble.trouble));
}

void PutServer(JsonWriter& json, const ServerReports::Entry& entry) {
  json.StartObject();
  Put(json, "server", entry.server.ToString());
  if (entry.report.ok()) {
    const ServerReport& report = *entry.report;
    Put(json, "mode", Readable(report.mode));
    Put(json, "version", Readable(report.version));
    Put(json, "zxid", Readable(report.zxid));
    Put(json, "outstanding", report.outstanding);
    Put(json, "connections", report.connections);
    Put(json, "nodes", report.nodes);
    json.Key("latency_min_ms");
    json.Double(report.latency_min_ms);
    json.Key("latency_avg_ms");
    json.Double(report.latency_avg_ms);
    json.Key("latency_max_ms");
    json.Double(report.latency_max_ms);
  }
  Put(json, "trouble", Readable(View(entry.report.status().message())));
  json.EndObject();
}

}  // namespace

std::string EnsembleJson(const EnsembleOverview& ensemble,
                         const std::vector<ServerReports::Entry>& zookeeper) {
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.SetMaxDecimalPlaces(3);
  json.StartObject();
  Put(json, "unix_ms", ensemble.unix_ms);
  Put(json, "self", ensemble.self.ToString());
  PutTruth(json, "is_leader", ensemble.leadership.is_leader);
  const Endpoint leader = ensemble.leadership.leader;
  Put(json, "leader", leader.IsValid() ? leader.ToString() : "");
  Put(json, "since_unix_ms", ensemble.leadership.since_unix_ms);
  PutMs(json, "leads_for_ms", ensemble.leads_for);
  Put(json, "root", ensemble.root);
  Put(json, "lock", ensemble.lock_directory);
  PutTruth(json, "is_connected", ensemble.is_connected);
  Put(json, "session", SessionText(ensemble.session));
  PutMs(json, "session_timeout_ms", ensemble.session_timeout);
  PutCarriedOut(json, "last_proof", ensemble.now, ensemble.last_proof);
  PutCarriedOut(json, "last_write", ensemble.now, ensemble.last_write);
  PutCandidates(json, ensemble);
  json.Key("zookeeper");
  json.StartArray();
  for (const ServerReports::Entry& entry : zookeeper) PutServer(json, entry);
  json.EndArray();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace arion
