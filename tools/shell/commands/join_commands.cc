// The end of a cluster's joining: servers stop letting in others that can't say of which cluster
// they are.
// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"
#include "tools/pages/server_page.h"
#include "tools/shell/arguments.h"
#include "tools/shell/mixed_cluster.h"
#include "tools/shell/remote_server.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

constexpr char kKey[] = "join_pegasus_cluster";

// Why it is too early; empty: no older server is seen.
std::string WhyTooEarly(const std::vector<KnownServer>& servers) {
  for (const KnownServer& server : servers) {
    const absl::StatusOr<std::vector<MetricSample>> samples = FetchSamples(server.address);
    if (!samples.ok())
      return IsOlder(server.address, samples.status())
                 ? absl::StrCat(server.address.ToString(), " is of an older version")
                 : absl::StrCat(server.address.ToString(), " does not answer");
    if (const auto heard = static_cast<int64_t>(SumOf(*samples, "older_servers")); heard > 0)
      return absl::StrCat(server.address.ToString(), " heard ", heard,
                          " of an older version a moment ago");
  }
  return "";
}

absl::StatusOr<Outcome> EndJoin(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(words, {}, {"-y"}));
  if (!arguments.words().empty()) return UsageError("-y only");
  ASSIGN_OR_RETURN(const auto servers, ServersOf(session.cluster(), "all", ""));
  if (const std::string why = WhyTooEarly(servers); !why.empty())
    return absl::FailedPreconditionError(
        absl::StrCat(why,
                     ": nothing was changed. An older server that is shut out leaves its "
                     "groups; stop the last one, and say this again a minute later"));
  if (!arguments.Has("-y") &&
      !session.IsConfirmed("stop letting in servers that can't say of which cluster they are?"))
    return absl::AbortedError("nothing was done; -y does not ask");
  Outcome outcome;
  Answer::List list{"servers", {"address", "role", "result", "written_at"}, {}};
  int64_t ended = 0;
  bool is_written = false;
  for (const KnownServer& server : servers) {
    ASSIGN_OR_RETURN(const std::vector<Setting> settings, SettingsOf(server.address));
    for (const Setting& setting : settings) {
      if (setting.key != kKey || (setting.value.empty() && setting.origin.empty())) continue;
      // Until the process ends; where the key is written is told, because the next start would read
      // it again.
      const absl::Status changed = ChangeSetting(session.cluster(), server.address, kKey, "");
      if (changed.ok()) ++ended;
      if (!changed.ok()) outcome.health = Health::kBad;
      is_written |= !setting.origin.empty();
      list.rows.push_back({server.address.ToString(), std::string(server.role),
                           changed.ok() ? std::string("ended") : std::string(changed.message()),
                           setting.origin});
    }
  }
  outcome.answer.Add("ended", ended).AddList(std::move(list));
  if (is_written)
    outcome.answer.Add("left_to_do",
                       "remove join_pegasus_cluster where it is written: a server that starts with "
                       "it lets older servers in again");
  return outcome;
}

}  // namespace

std::vector<Command> JoinCommands() {
  return {
      {"end_join", "[-y]",
       "stops letting in servers of Apache Pegasus (join_pegasus_cluster); refused while one takes "
       "part",
       Command::Completes::kNothing, EndJoin}};
}

}  // namespace arion::shell
