// SPDX-License-Identifier: Apache-2.0
#include "tools/load/run/server_facts.h"

#include <algorithm>
#include <optional>

#include "base/status.h"

namespace arion::load {
namespace {

std::string LabelOf(const MetricSample& sample, const std::string& name) {
  const auto label = sample.labels.find(name);
  return label == sample.labels.end() ? "?" : label->second;
}

std::string SettingOf(const std::vector<JsonRow>& settings, std::string_view name) {
  for (const JsonRow& row : settings) {
    const auto named = row.find("name"), value = row.find("value");
    if (named != row.end() && named->second == name && value != row.end()) return value->second;
  }
  return "?";
}

}  // namespace

std::vector<Endpoint> AliveServers(const std::vector<std::string>& meta_servers) {
  for (const std::string& meta : meta_servers) {
    const std::optional<Endpoint> endpoint = Endpoint::Parse(meta);
    if (!endpoint) continue;
    absl::StatusOr<std::vector<Endpoint>> servers = FetchServers(*endpoint);
    if (servers.ok()) return *std::move(servers);
  }
  return {};
}

std::string FactsText(const std::vector<MetricSample>& samples,
                      const std::vector<JsonRow>& settings) {
  const auto build = std::ranges::find(samples, "build_info", &MetricSample::name);
  const MetricSample none;
  const MetricSample& of = build == samples.end() ? none : *build;
  return absl::StrCat("arion ", LabelOf(of, "version"), " (", LabelOf(of, "commit"),
                      "), durability ", SettingOf(settings, "durability"), ", data ",
                      SettingOf(settings, "data_dirs"));
}

std::vector<std::pair<std::string, std::string>> LinesOf(
    const std::map<Endpoint, std::string>& facts) {
  std::map<std::string, std::vector<Endpoint>> by_text;
  // Servers that say the same share a line: usually there is one.
  for (const auto& [server, text] : facts) by_text[text].push_back(server);
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [text, servers] : by_text) {
    std::string name = "server " + servers.front().ToString();
    if (servers.size() > 1) absl::StrAppend(&name, " and ", servers.size() - 1, " more");
    lines.emplace_back(name, text);
  }
  std::ranges::sort(lines);
  return lines;
}

std::vector<std::pair<std::string, std::string>> ServerLines(
    const std::vector<std::string>& meta_servers) {
  std::map<Endpoint, std::string> facts;
  for (Endpoint server : AliveServers(meta_servers)) {
    const auto samples = FetchSamples(server);
    const auto settings = FetchMembers(server, "/configs");
    if (samples.ok() && settings.ok()) facts[server] = FactsText(*samples, *settings);
  }
  return LinesOf(facts);
}

}  // namespace arion::load
