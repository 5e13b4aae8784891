// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>
#include <absl/strings/str_format.h>
#include <absl/time/time.h>

#include <map>
#include <set>

#include "base/status.h"
#include "tools/pages/server_page.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

absl::StatusOr<Outcome> ClusterInfo(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing");
  ASSIGN_OR_RETURN(auto info, session.cluster().Info());
  Outcome outcome;
  for (auto& [key, value] : info) outcome.answer.Add(key, Escape(value));
  return outcome;
}

// ---- several meta servers ----

std::string TextOf(const JsonRow& row, const std::string& name) {
  const auto found = row.find(name);
  return found == row.end() ? std::string() : found->second;
}

std::string NumberOf(const JsonRow& row, const std::string& name) {
  double number = 0;
  return absl::SimpleAtod(TextOf(row, name), &number) ? absl::StrCat(number) : std::string();
}

// "1.25 s"; empty where it is not known.
std::string SecondsOf(const JsonRow& row, const std::string& name) {
  double ms = 0;
  if (!absl::SimpleAtod(TextOf(row, name), &ms)) return "";
  return ms < 1000 ? absl::StrFormat("%.0f ms", ms) : absl::StrFormat("%.1f s", ms / 1000);
}

std::string AgoOf(const JsonRow& row, const std::string& what) {
  const std::string ago = SecondsOf(row, what + "_ago_ms");
  return ago.empty() ? "" : ago + " ago, took " + SecondsOf(row, what + "_took_ms");
}

// How long it has led, by its own clock.
std::string LedFor(const JsonRow& own) {
  int64_t since = 0, now = 0;
  if (TextOf(own, "is_leader") != "true" ||
      !absl::SimpleAtoi(TextOf(own, "since_unix_ms"), &since) ||
      !absl::SimpleAtoi(TextOf(own, "unix_ms"), &now))
    return "";
  return now - since < 1000 ? "0s" : absl::FormatDuration(absl::Seconds((now - since) / 1000));
}

// What it is by its own words; where it does not answer, by its place in the election. `otherwise`:
// what is said of one without a place.
std::string StateOf(const absl::StatusOr<EnsemblePage>* page, bool is_first, bool is_candidate,
                    const std::string& otherwise) {
  const std::string follows = is_candidate ? "follows" : otherwise;
  if (page == nullptr || !page->ok()) {
    const std::string state = is_first ? "has the lock" : follows;
    return page == nullptr ? state : state + ", does not answer";
  }
  const JsonRow& own = (*page)->own;
  const std::string state = TextOf(own, "is_leader") == "true" ? "leads"
                            : is_first                         ? "has the lock, does not lead"
                                                               : follows;
  return TextOf(own, "is_connected") == "true" ? state : state + ", away from ZooKeeper";
}

using Pages = std::map<Endpoint, absl::StatusOr<EnsemblePage>>;

Answer::List MetaServersOf(const Pages& pages, const EnsemblePage& known) {
  Answer::List list{"meta_servers",
                    {"address", "state", "in_election_for", "session_timeout", "last_proof",
                     "last_write", "node"},
                    {}};
  const std::string otherwise = known.candidates.empty() ? "not known" : "no candidate";
  std::set<std::string> shown;
  const auto add = [&](const std::string& address, const JsonRow* candidate) {
    const auto endpoint = Endpoint::Parse(address);
    const auto found = endpoint ? pages.find(*endpoint) : pages.end();
    const auto* page = found == pages.end() ? nullptr : &found->second;
    const JsonRow own = page != nullptr && page->ok() ? (*page)->own : JsonRow();
    const JsonRow node = candidate == nullptr ? JsonRow() : *candidate;
    const bool is_first = TextOf(node, "leads") == "true";
    shown.insert(address);
    list.rows.push_back({Escape(address), StateOf(page, is_first, candidate != nullptr, otherwise),
                         SecondsOf(node, "age_ms"), SecondsOf(own, "session_timeout_ms"),
                         AgoOf(own, "last_proof"), AgoOf(own, "last_write"), TextOf(node, "node")});
  };
  for (const JsonRow& candidate : known.candidates) add(TextOf(candidate, "address"), &candidate);
  for (const auto& [address, page] : pages)
    if (!shown.contains(address.ToString())) add(address.ToString(), nullptr);
  return list;
}

Answer::List ZooKeepersOf(const EnsemblePage& known) {
  Answer::List list{"zookeeper",
                    {"server", "mode", "latency_min_avg_max_ms", "outstanding", "connections",
                     "nodes", "version", "trouble"},
                    {}};
  for (const JsonRow& server : known.zookeeper) {
    const bool is_told = server.contains("mode");
    std::vector<Cell> row = {TextOf(server, "server"), TextOf(server, "mode")};
    row.push_back(is_told ? absl::StrCat(NumberOf(server, "latency_min_ms"), "/",
                                         NumberOf(server, "latency_avg_ms"), "/",
                                         NumberOf(server, "latency_max_ms"))
                          : std::string());
    for (const char* name : {"outstanding", "connections", "nodes", "version", "trouble"})
      row.push_back(TextOf(server, name));
    list.rows.push_back(std::move(row));
  }
  return list;
}

// Whose word counts: of who leads, else of any. nullptr: none was told.
const EnsemblePage* Known(const Pages& pages) {
  const EnsemblePage* known = nullptr;
  for (const auto& [meta, page] : pages)
    if (page.ok() && (known == nullptr || TextOf(page->own, "is_leader") == "true")) known = &*page;
  return known;
}

// Also those that the shell was not given. One of Pegasus has no such page: none is missed here.
void AskCandidates(const EnsemblePage& known, Pages& pages) {
  for (const JsonRow& candidate : known.candidates) {
    const auto address = Endpoint::Parse(TextOf(candidate, "address"));
    if (!address || pages.contains(*address)) continue;
    if (auto page = FetchEnsemble(*address); page.ok()) pages.emplace(*address, std::move(page));
  }
}

// Each meta server is asked what it knows; the one that leads says who the others are.
absl::StatusOr<Outcome> Ensemble(Session& session, const Words& arguments) {
  if (!arguments.empty()) return UsageError("it takes nothing");
  Pages pages;
  for (const Endpoint meta : session.cluster().meta_servers())
    pages.emplace(meta, FetchEnsemble(meta));
  absl::Status failed;
  for (const auto& [meta, page] : pages)
    if (!page.ok()) failed = page.status();
  const EnsemblePage* known = Known(pages);
  if (known == nullptr && IsNoSuchPage(failed))
    return absl::FailedPreconditionError(
        "this cluster has one meta server, or an older version's: there is no ensemble to show");
  if (known == nullptr) return failed;
  AskCandidates(*known, pages);
  known = Known(pages);
  Outcome outcome;
  // What one that is away from ZooKeeper knew may be long over.
  const bool is_known = TextOf(known->own, "is_connected") == "true";
  const std::string leader = is_known ? TextOf(known->own, "leader") : std::string();
  if (leader.empty() || !failed.ok()) outcome.health = Health::kBad;
  outcome.answer.Add("leader", leader)
      .Add("leads_for", LedFor(known->own))
      .Add("told_by", TextOf(known->own, "self"))
      .Add("root", Escape(TextOf(known->own, "root")))
      .Add("lock", Escape(TextOf(known->own, "lock")));
  if (const std::string trouble = TextOf(known->own, "trouble"); !trouble.empty())
    outcome.answer.Add("candidates_are_not_read", trouble);
  outcome.answer.AddList(MetaServersOf(pages, *known)).AddList(ZooKeepersOf(*known));
  return outcome;
}

}  // namespace

std::vector<Command> ClusterCommands() {
  return {{"cluster_info", "", "what the meta server says of the cluster",
           Command::Completes::kNothing, ClusterInfo},
          {"cluster-info", "", "the same, as admin-cli says it", Command::Completes::kNothing,
           ClusterInfo},
          {"ensemble", "", "several meta servers: who leads, who follows, how ZooKeeper is",
           Command::Completes::kNothing, Ensemble}};
}

}  // namespace arion::shell
