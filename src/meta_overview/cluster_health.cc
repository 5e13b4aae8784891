// SPDX-License-Identifier: Apache-2.0
#include "meta_overview/cluster_health.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <vector>

#include "base/named_list.h"
#include "base/status.h"
#include "env/file_system.h"
#include "meta_overview/meta_queries.h"

namespace arion {
namespace {

constexpr size_t kNamedMax = 3;  // servers in a sentence

std::string Count(int64_t n, std::string_view one, std::string_view many) {
  return absl::StrCat(n, " ", Text(n == 1 ? one : many));
}

std::string Named(const std::vector<Endpoint>& servers) {
  return NamedList(servers, kNamedMax, [](Endpoint server) { return server.ToString(); });
}

std::string WhyItTakesNone(const DiskReport& disk) {
  const int32_t lacks = disk.lacks.value_or(-1);
  // Older servers say only that it takes no writes. A later version may name something that is
  // unknown here.
  if (lacks == static_cast<int32_t>(Want::kSpace))
    return absl::StrCat(disk.tag, " lacks space, ", disk.available_bytes >> 20, " of ",
                        disk.total_bytes >> 20, " MiB available, the bound is ",
                        disk.available_bytes_min >> 20, " MiB");
  if (lacks > static_cast<int32_t>(Want::kSpace) &&
      lacks <= static_cast<int32_t>(Want::kPermission))
    return absl::StrCat(disk.tag, " waits for ", Text(NameOf(static_cast<Want>(lacks))));
  return disk.tag;
}

template <class Predicate>
std::vector<Endpoint> Those(const ClusterOverview& overview, Predicate is_meant) {
  std::vector<Endpoint> found;
  for (const ServerOverview& server : overview.servers)
    if (is_meant(server)) found.push_back(server.address);
  return found;
}

std::string Sentence(std::vector<std::string> parts) {
  std::string text = absl::StrJoin(parts, "; ");
  if (text.empty()) return text;
  // Not toupper: it depends on the locale, and some sentences begin with a number.
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

struct Totals {
  int64_t partitions = 0;
  std::array<int64_t, kPartitionHealths> by_health{};
  int64_t undecided = 0;

  int64_t of(PartitionHealth health) const { return by_health[static_cast<size_t>(health)]; }
};

Totals TotalsOf(const ClusterOverview& overview) {
  Totals totals;
  for (const TableOverview& table : overview.tables) {
    totals.undecided += table.undecided;
    for (size_t i = 0; i < kPartitionHealths; ++i) {
      totals.by_health[i] += table.partitions[i];
      totals.partitions += table.partitions[i];
    }
  }
  return totals;
}

int64_t OlderCopiesOf(const ClusterOverview& overview) {
  int64_t copies = 0;
  for (const ServerOverview& server : overview.servers) copies += server.older_copies;
  return copies;
}

// Also when all of it has been mended: the disk that went back is still there.
std::string WhoCameBackOlder(const ClusterOverview& overview) {
  int64_t copies = 0;
  for (const ServerOverview& server : overview.servers) copies += server.older_copies_recently;
  if (copies == 0) return "";
  const auto servers =
      Those(overview, [](const auto& server) { return server.older_copies_recently > 0; });
  return absl::StrCat(" Within a day ", Named(servers), " came back with ",
                      Count(copies, "older copy", "older copies"),
                      " than before: look for a disk or directory that was put back.");
}

// Worst first, because people read the beginning: what is not served, what is missing, then what
// threatens.
std::vector<std::string> WrongPartsOf(const ClusterOverview& overview, const Totals& totals) {
  std::vector<std::string> parts;
  const auto partitions = [&](PartitionHealth health, const char* one, const char* many) {
    const int64_t n = totals.of(health);
    if (n == 0) return;
    std::string which = absl::StrCat(n, " of ", totals.partitions, " partitions");
    if (n == totals.partitions)
      // "3 of 3" would make a person look for the others.
      which = n == 1 ? "the only partition" : absl::StrCat("all ", n, " partitions");
    parts.push_back(absl::StrCat(which, " ", n == 1 ? one : many));
  };
  partitions(PartitionHealth::kDead, "has no copy in service", "have no copy in service");
  partitions(PartitionHealth::kUnreadable, "has no primary", "have no primary");
  partitions(PartitionHealth::kUnwritable, "refuses writes: too few copies",
             "refuse writes: too few copies");
  partitions(PartitionHealth::kWritableIll, "has fewer copies than asked for",
             "have fewer copies than asked for");
  if (totals.undecided > 0)
    parts.push_back(
        absl::StrCat("the copies of ", Count(totals.undecided, "partition", "partitions"),
                     " differ and no majority says which is right (verify_replicas shows where)"));
  const auto silent = Those(overview, [](const auto& server) { return !server.is_alive; });
  if (!silent.empty())
    parts.push_back(
        absl::StrCat(silent.size(), " of ",
                     Count(static_cast<int64_t>(overview.servers.size()), "server", "servers"),
                     silent.size() == 1 ? " is silent (" : " are silent (", Named(silent), ")"));
  const auto blind = Those(
      overview, [](const auto& server) { return server.is_alive && server.has_unreadable_disks; });
  if (!blind.empty()) parts.push_back(absl::StrCat("a disk can't be read (", Named(blind), ")"));
  for (const ServerOverview& server : overview.servers)
    if (server.lacks_open_files)
      parts.push_back(absl::StrCat(server.address.ToString(),
                                   " takes no more copies: open files, of which its limit of ",
                                   server.open_files_max, " carries ", server.replicas_max,
                                   " copies (raise LimitNOFILE= of its service)"));
  for (const ServerOverview& server : overview.servers) {
    if (server.full_disks.empty()) continue;
    parts.push_back(absl::StrCat(
        server.full_disks.size() == 1 ? "a disk takes no writes (" : "disks take no writes (",
        server.address.ToString(), ": ", NamedList(server.full_disks, kNamedMax, WhyItTakesNone),
        ")"));
  }
  const auto wrong_clocks = Those(overview, [](const auto& s) { return s.has_wrong_clock; });
  if (!wrong_clocks.empty())
    parts.push_back(absl::StrCat(
        wrong_clocks.size() == 1 ? "a wall clock is wrong (" : "wall clocks are wrong (",
        Named(wrong_clocks), ")"));
  if (overview.clocks.is_ours_wrong) parts.push_back("the meta server's wall clock is wrong");
  if (!overview.clocks.agree)
    parts.push_back(absl::StrCat("the wall clocks do not agree: they lie ",
                                 absl::FormatDuration(overview.clocks.spread), " apart"));
  if (const int64_t older = OlderCopiesOf(overview); older > 0)
    parts.push_back(
        absl::StrCat(Count(older, "copy is", "copies are"), " older than what was committed (",
                     Named(Those(overview, [](const auto& s) { return s.older_copies > 0; })),
                     "), out of service until they have learned"));
  if (overview.level < FunctionLevel::kSteady)
    parts.push_back(
        absl::StrCat("the cluster's level is ", Text(FunctionLevelName(overview.level))));
  return parts;
}

void AddWarnings(const ClusterOverview& overview, ClusterHealth* health) {
  // Warnings come before all else: a person must act on them, the rest heals by itself.
  std::vector<std::string> problems, notices, ways;
  for (const ClusterWarning& warning : overview.warnings) {
    (warning.is_notice ? notices : problems)
        .push_back(absl::StrCat("the ", warning.what, " ", warning.problem));
    ways.push_back(warning.way);
  }
  if (ways.empty()) return;
  if (!problems.empty()) {
    // A notice changes no grade.
    if (health->grade == ClusterHealth::Grade::kHealthy)
      health->grade = ClusterHealth::Grade::kReduced;
    health->wrong = absl::StrCat(Sentence(std::move(problems)), " ", health->wrong);
  }
  if (!notices.empty()) absl::StrAppend(&health->wrong, " ", Sentence(std::move(notices)));
  absl::StrAppend(&health->doing, health->doing.empty() ? "" : " ",
                  "What to do: ", absl::StrJoin(ways, "; "), ".");
}

std::vector<std::string> DoingPartsOf(const ClusterOverview& overview) {
  std::vector<std::string> parts;
  // Steps of one kind are counted together: a server that fails may cause hundreds of them.
  int64_t primaries = 0, copies = 0, removals = 0;
  // A set: one server may take many copies, and is named once.
  std::set<Endpoint> learners;
  for (const WorkOverview& work : overview.work) {
    switch (work.type) {
      case ConfigType::kAssignPrimary:
      case ConfigType::kUpgradeToPrimary:
        ++primaries;
        break;
      case ConfigType::kAddSecondary:
      case ConfigType::kAddSecondaryForLoadBalance:
      case ConfigType::kUpgradeToSecondary:
        ++copies;
        learners.insert(work.node);
        break;
      default:
        ++removals;
    }
  }
  if (primaries > 0)
    parts.push_back(Count(primaries, "primary is", "primaries are") + " being appointed");
  if (copies > 0)
    parts.push_back(absl::StrCat(Count(copies, "copy is", "copies are"), " being made on ",
                                 Named({learners.begin(), learners.end()})));
  if (removals > 0)
    parts.push_back(Count(removals, "member is", "members are") + " being moved or removed");
  // A replica that is being opened is no step of the guardian's, but people wait for it.
  const auto starting =
      Those(overview, [](const auto& server) { return server.share.opening > 0; });
  int64_t opening = 0;
  for (const ServerOverview& server : overview.servers) opening += server.share.opening;
  if (opening > 0)
    parts.push_back(absl::StrCat(Count(opening, "copy is", "copies are"), " being opened on ",
                                 Named(starting)));
  return parts;
}

}  // namespace

std::string_view ClusterHealthName(ClusterHealth::Grade grade) {
  switch (grade) {
    case ClusterHealth::Grade::kHealthy:
      return "healthy";
    case ClusterHealth::Grade::kReduced:
      return "reduced";
    case ClusterHealth::Grade::kFailing:
      return "failing";
  }
  return "unknown";
}

namespace {

ClusterHealth HealthWithoutWarnings(const ClusterOverview& overview) {
  const Totals totals = TotalsOf(overview);
  // A partition that refuses writes fails too, although it can be read.
  const bool fails = totals.of(PartitionHealth::kDead) + totals.of(PartitionHealth::kUnreadable) +
                         totals.of(PartitionHealth::kUnwritable) >
                     0;
  const auto wrong = WrongPartsOf(overview, totals);
  ClusterHealth health{.wrong = Sentence(wrong), .doing = Sentence(DoingPartsOf(overview))};
  // A cluster that has just begun is not healthy: nobody could serve a table.
  if (overview.servers.empty()) {
    health.grade = ClusterHealth::Grade::kReduced;
    health.wrong = "No replica server has reported yet.";
    return health;
  }
  if (wrong.empty()) {
    const auto servers = static_cast<int64_t>(overview.servers.size());
    health.wrong =
        overview.tables.empty()
            ? absl::StrCat("No table yet; ", Count(servers, "server is", "servers are"), " ready.")
            : absl::StrCat("All ", Count(totals.partitions, "partition", "partitions"), " of ",
                           Count(static_cast<int64_t>(overview.tables.size()), "table", "tables"),
                           " are healthy on ", Count(servers, "server", "servers"), ".");
    health.wrong += WhoCameBackOlder(overview);
    return health;
  }
  health.wrong += WhoCameBackOlder(overview);
  health.grade = fails ? ClusterHealth::Grade::kFailing : ClusterHealth::Grade::kReduced;
  // Only where nothing is under way a reason for that is due.
  if (!health.doing.empty()) return health;
  if (overview.level < FunctionLevel::kSteady) health.doing = "Nothing is moved at this level.";
  // The guardian waits for a member that left (meta/STATE.md 6.5), which looks like doing nothing.
  else if (overview.dead_servers > 0 && totals.of(PartitionHealth::kHealthy) < totals.partitions)
    health.doing = "Silent servers get time to come back before copies are made elsewhere.";
  return health;
}

void AddSplits(const ClusterOverview& overview, ClusterHealth* health) {
  std::vector<std::string> parts;
  for (const TableOverview& table : overview.tables) {
    if (!table.split) continue;
    const SplitOverview& split = *table.split;
    std::string part =
        absl::StrCat("table ", table.name, " is being split from ", split.from, " to ", split.to,
                     " partitions, ", split.registered, " of ", split.from, " done");
    if (split.paused > 0) absl::StrAppend(&part, ", ", split.paused, " paused");
    if (split.seconds_left)
      absl::StrAppend(&part, ", about ", absl::FormatDuration(absl::Seconds(*split.seconds_left)),
                      " left");
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return;
  absl::StrAppend(&health->doing, health->doing.empty() ? "" : " ", Sentence(std::move(parts)));
}

}  // namespace

ClusterHealth HealthOf(const ClusterOverview& overview) {
  const Leadership& leadership = overview.leadership;
  if (!leadership.is_leader && leadership.leader.IsValid())
    return {.wrong = absl::StrCat("This meta server follows ", leadership.leader.ToString(),
                                  ", which leads and knows how the cluster is.")};
  if (!leadership.is_leader)
    return {.grade = ClusterHealth::Grade::kReduced,
            .wrong = "This meta server does not lead, and does not know who does.",
            .doing = "Data are served; no server that dies is replaced until one leads."};
  ClusterHealth health = HealthWithoutWarnings(overview);
  AddSplits(overview, &health);
  AddWarnings(overview, &health);
  return health;
}

}  // namespace arion
