// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/wrong_clocks.h"

#include <absl/strings/str_format.h>

#include <map>

#include "tools/pages/server_page.h"

namespace arion::shell {
namespace {

constexpr char kRemedy[] =
    "set it right (NTP); meanwhile it leads nothing that another can lead, and records expire by "
    "the others' time";

std::string Off(double seconds) {
  return absl::StrFormat("its wall clock is wrong: %+.1f s from most others'", seconds);
}

}  // namespace

std::set<Endpoint> ServersWithWrongClocks(Session& session) {
  constexpr std::string_view kServer = "server ";
  std::set<Endpoint> servers;
  for (const WrongClock& clock : WrongClocks(session)) {
    if (!clock.whose.starts_with(kServer)) continue;
    if (const auto server = Endpoint::Parse(clock.whose.substr(kServer.size())))
      servers.insert(*server);
  }
  return servers;
}

std::vector<WrongClock> WrongClocks(Session& session) {
  std::vector<WrongClock> found;
  for (Endpoint meta_server : session.cluster().meta_servers()) {
    const absl::StatusOr<std::vector<MetricSample>> samples = FetchSamples(meta_server);
    if (!samples.ok()) continue;
    std::map<std::string, double> offsets;  // by server; "": the meta server's
    // All offsets first: the page may say that a clock is wrong before it says by how much.
    for (const MetricSample& sample : *samples) {
      if (sample.name == "server_clock_offset_seconds")
        offsets[sample.labels.at("server")] = sample.value;
      if (sample.name == "meta_clock_offset_seconds") offsets[""] = sample.value;
    }
    for (const MetricSample& sample : *samples) {
      if (sample.value == 0) continue;
      if (sample.name == "server_clock_wrong") {
        const std::string& server = sample.labels.at("server");
        found.push_back({"server " + server, Off(offsets[server]), kRemedy});
      }
      if (sample.name == "meta_clock_wrong")
        found.push_back({"meta server " + meta_server.ToString(), Off(offsets[""]),
                         "set it right (NTP); the time of most others counts meanwhile"});
      if (sample.name == "clocks_disagree")
        found.push_back({"wall clocks", "most of them do not agree, nobody can tell which is right",
                         "set them right (NTP); nothing is removed by time meanwhile"});
    }
    // What one meta server says is enough.
    return found;
  }
  return found;
}

}  // namespace arion::shell
