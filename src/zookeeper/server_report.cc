// SPDX-License-Identifier: Apache-2.0
#include "zookeeper/server_report.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <utility>

#include "base/status.h"
#include "env/clock.h"

namespace arion {
namespace {

constexpr absl::Duration kKeptFor = absl::Seconds(2);  // server_report/W1
constexpr size_t kShownBytesMax = 200;

// "0/0.75/12"; before 3.6 the middle one was whole, too.
bool ReadLatencies(absl::string_view text, ServerReport* report) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  return parts.size() == 3 && absl::SimpleAtod(parts[0], &report->latency_min_ms) &&
         absl::SimpleAtod(parts[1], &report->latency_avg_ms) &&
         absl::SimpleAtod(parts[2], &report->latency_max_ms);
}

}  // namespace

absl::StatusOr<ServerReport> ParseServerReport(std::string_view text) {
  ServerReport report;
  bool is_whole = true;
  const std::vector<absl::string_view> lines = absl::StrSplit(Text(text), '\n');
  for (absl::string_view line : lines) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    const absl::string_view value = absl::StripAsciiWhitespace(field.second);
    if (field.first == "Zookeeper version")
      report.version = std::string(value.substr(0, value.find(',')));
    else if (field.first == "Mode")
      report.mode = std::string(value);
    else if (field.first == "Zxid")
      report.zxid = std::string(value);
    else if (field.first == "Outstanding")
      is_whole &= absl::SimpleAtoi(value, &report.outstanding);
    else if (field.first == "Connections")
      is_whole &= absl::SimpleAtoi(value, &report.connections);
    else if (field.first == "Node count")
      is_whole &= absl::SimpleAtoi(value, &report.nodes);
    else if (field.first == "Latency min/avg/max")
      is_whole &= ReadLatencies(value, &report);
  }
  if (is_whole && !report.mode.empty()) return report;
  // Not in its whitelist; or it has no leader.
  const absl::string_view said = absl::StripAsciiWhitespace(Text(text.substr(0, kShownBytesMax)));
  return absl::FailedPreconditionError(said.empty()
                                           ? std::string("it closes without an answer")
                                           : absl::StrCat("it says: ", absl::string_view(said)));
}

ServerReports::ServerReports(const Clock& clock, Servers servers, Ask ask)
    : clock_(clock), servers_(std::move(servers)), ask_(std::move(ask)) {}

std::vector<ServerReports::Entry> ServerReports::Now() {
  {
    const MutexLock lock(mutex_);
    if (is_asking_ || clock_.Now() < ask_after_) return known_;
    is_asking_ = true;
  }
  const std::vector<Endpoint> servers = servers_();
  const auto answers = ask_(servers, "srvr");
  std::vector<Entry> told;
  for (size_t i = 0; i < servers.size(); ++i)
    told.push_back(
        {servers[i], answers[i].ok() ? ParseServerReport(*answers[i]) : answers[i].status()});
  const MutexLock lock(mutex_);
  is_asking_ = false;
  ask_after_ = clock_.Now() + kKeptFor;
  return known_ = std::move(told);
}

}  // namespace arion
