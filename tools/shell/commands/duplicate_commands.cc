// A table's duplicate in another cluster: set up, waited for, compared.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>
#include <absl/time/clock.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "base/raw_key.h"
#include "base/status.h"
#include "client/admin_client.h"
#include "env/clock.h"
#include "messages/duplication_messages.h"
#include "tools/compare/compared_table.h"
#include "tools/compare/table_comparison.h"
#include "tools/shell/arguments.h"
#include "tools/shell/commands/duplication_watch.h"
#include "tools/shell/progress.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

using compare::ComparedTable;
using compare::RecordState;
using compare::Suspect;
using compare::TableComparison;

// Where no duplication says when writes are there: so long they may take.
constexpr absl::Duration kGuessedLag = absl::Seconds(3);
constexpr int32_t kDifferentMax = 1000;

// What is compared, and with what.
struct Sides {
  std::string table;
  // Empty: only its meta servers were named.
  std::string remote_cluster;
  std::string remote_table;
  std::vector<Endpoint> remote_meta_servers;
  // Whether a duplication says what is there.
  bool is_watched = false;
  int32_t different_max = kDifferentMax;
  compare::Expiries expiries = compare::Expiries::kCompared;

  // " of cluster c2"
  std::string There() const {
    std::string names;
    for (const Endpoint one : remote_meta_servers)
      absl::StrAppend(&names, names.empty() ? "" : ",", one.ToString());
    return absl::StrCat(" of cluster ", remote_cluster.empty() ? names : Escape(remote_cluster));
  }
};

std::vector<std::string> TextsOf(const std::vector<Endpoint>& servers) {
  std::vector<std::string> texts;
  texts.reserve(servers.size());
  for (const Endpoint one : servers) texts.push_back(one.ToString());
  return texts;
}

// ---- comparing ----

// What expires by then may be gone by the clock of one cluster and not by that of the other one.
uint32_t SoonExpired() {
  constexpr absl::Duration kClocksApart = absl::Minutes(1);
  return static_cast<uint32_t>(absl::ToUnixSeconds(absl::Now() + kClocksApart) -
                               kExpiryEpochUnixSeconds);
}

std::string StateText(const RecordState& state, compare::Expiries expiries) {
  if (!state.exists) return "missing";
  std::string text = absl::StrFormat("%d bytes, hash %016x", state.value_bytes, state.value_hash);
  if (expiries == compare::Expiries::kCompared)
    absl::StrAppend(
        &text, state.expires == 0
                   ? ", never expires"
                   : absl::StrCat(", expires ",
                                  absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                                                   absl::FromUnixSeconds(kExpiryEpochUnixSeconds +
                                                                         state.expires),
                                                   absl::UTCTimeZone())));
  return text;
}

std::string KindOf(const Suspect& one) {
  if (!one.there.exists) return "missing there";
  if (!one.here.exists) return "missing here";
  const bool same_value =
      one.here.value_hash == one.there.value_hash && one.here.value_bytes == one.there.value_bytes;
  return same_value ? "other expiry" : "other value";
}

Answer::List ListOf(const Session& session, std::string name, const std::vector<Suspect>& records,
                    compare::Expiries expiries, int32_t records_max) {
  Answer::List list{
      std::move(name), {"partition", "hash_key", "sort_key", "difference", "here", "there"}, {}};
  for (const Suspect& one : records) {
    if (list.rows.size() == static_cast<size_t>(records_max)) break;
    const KeyParts parts = SplitRawKey(one.key).value_or(KeyParts{one.key, {}});
    list.rows.push_back({int64_t{one.partition}, session.Shown(parts.hash_key),
                         session.Shown(parts.sort_key), KindOf(one), StateText(one.here, expiries),
                         StateText(one.there, expiries)});
  }
  return list;
}

Outcome Compared(const Session& session, const Sides& sides, compare::Expiries expiries,
                 int32_t partitions, int64_t fetched, const TableComparison::Result& result) {
  Outcome outcome;
  const bool is_equal = result.different.empty() && result.changing.empty() && result.is_whole;
  const std::string verdict = is_equal                    ? "equal"
                              : !result.different.empty() ? "different"
                                                          : "not verified";
  outcome.answer.Add("table", Escape(sides.table))
      .Add("remote_cluster", Escape(sides.remote_cluster))
      .Add("remote_table", Escape(sides.remote_table))
      .Add("verdict", verdict)
      .Add("partitions", int64_t{partitions})
      .Add("records", result.records)
      .Add("different", static_cast<int64_t>(result.different.size()))
      .Add("changing", static_cast<int64_t>(result.changing.size()))
      .Add("fetched_records", fetched)
      .Add("expiries",
           std::string(expiries == compare::Expiries::kCompared ? "compared" : "not compared"));
  if (!result.different.empty())
    outcome.answer.AddList(
        ListOf(session, "differences", result.different, expiries, sides.different_max));
  if (!result.changing.empty())
    outcome.answer.AddList(
        ListOf(session, "changed_too_often", result.changing, expiries, sides.different_max));
  if (!result.is_whole)
    outcome.part = absl::StrCat("it ended at ", result.different.size(),
                                " records that differ; -n COUNT goes on to more");
  else if (!result.changing.empty())
    outcome.part =
        "some records changed at each look, so that nothing is known of them; say it again";
  outcome.health = !result.different.empty() ? Health::kBad
                   : is_equal                ? Health::kGood
                                             : Health::kNotDone;
  return outcome;
}

absl::StatusOr<Outcome> Compare(Session& session, const Sides& sides) {
  Cluster& cluster = session.cluster();
  Cluster other(sides.remote_meta_servers);
  other.set_timeout(cluster.timeout());
  const std::string there = sides.There();
  ASSIGN_OR_RETURN(const int32_t partitions, PartitionsOf(cluster, sides.table, ""));
  ASSIGN_OR_RETURN(const int32_t remote_partitions, PartitionsOf(other, sides.remote_table, there));
  if (partitions != remote_partitions)
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", Escape(sides.remote_table), there, " has ", remote_partitions,
        " partitions, and ", Escape(sides.table), " here has ", partitions,
        ": what is duplicated has as many on both sides; drop it there and duplicate it anew"));
  const compare::Expiries expiries = sides.expiries;
  const absl::Duration timeout = std::max(cluster.timeout(), absl::Seconds(30));
  ASSIGN_OR_RETURN(const auto table, ComparedTable::Create({TextsOf(cluster.meta_servers()),
                                                            sides.table, expiries, timeout}));
  ASSIGN_OR_RETURN(const auto remote,
                   ComparedTable::Create({TextsOf(sides.remote_meta_servers), sides.remote_table,
                                          expiries, timeout}));
  TableComparison::Partitions mine, theirs;
  for (const auto& [side, into] :
       {std::pair(table.get(), &mine), std::pair(remote.get(), &theirs)}) {
    ASSIGN_OR_RETURN(const int32_t count, side->Learn());
    if (count != partitions)
      return absl::FailedPreconditionError("a table was split meanwhile; say it again after that");
    for (int32_t i = 0; i < count; ++i) into->push_back(side->Partition(i));
  }
  Progress progress(partitions, "partitions compared");
  const auto stopped = [&progress]() -> absl::Status {
    if (!progress.IsDetached()) return absl::OkStatus();
    return absl::AbortedError("stopped by Ctrl-C before both sides were compared");
  };
  DuplicationWatch watch(cluster, sides.table, sides.remote_cluster);
  TableComparison comparison(std::move(mine), std::move(theirs),
                             {.catch_up =
                                  [&](const std::set<int32_t>& indexes) {
                                    if (sides.is_watched)
                                      return watch.AwaitCaughtUp(indexes, [](int64_t) {});
                                    Interrupts::Sleep(kGuessedLag);
                                    return stopped();
                                  },
                              .show =
                                  [&](int64_t done) {
                                    progress.Show(done);
                                    return stopped();
                                  },
                              .soon = SoonExpired},
                             {.different_max = static_cast<size_t>(sides.different_max)});
  ASSIGN_OR_RETURN(const TableComparison::Result result, comparison.Run());
  return Compared(session, sides, expiries, partitions, table->fetched() + remote->fetched(),
                  result);
}

absl::StatusOr<int32_t> DifferentMax(const Arguments& arguments) {
  int32_t max = kDifferentMax;
  if (arguments.Has("-n") && (!absl::SimpleAtoi(arguments.Value("-n"), &max) || max < 1))
    return UsageError("-n takes how many records that differ end it");
  return max;
}

// By the address that was given, or else by this cluster's configuration.
absl::StatusOr<std::vector<Endpoint>> MetaServersOf(const KnownDuplications& known,
                                                    const std::string& cluster,
                                                    const std::string& given) {
  return given.empty() ? known.MetaServersOf(cluster) : ParseServers(given);
}

// Which table of which cluster is to hold the same.
absl::StatusOr<Sides> SidesOf(Session& session, const Arguments& arguments) {
  const Words& words = arguments.words();
  Sides sides{.table = words[1]};
  if (words.size() > 2) sides.remote_cluster = words[2];
  ASSIGN_OR_RETURN(sides.different_max, DifferentMax(arguments));
  const std::string meta_servers = arguments.Value("--to-meta");
  const auto known = DuplicationsOf(session.cluster(), sides.table);
  if (!known.ok() && (meta_servers.empty() || absl::IsNotFound(known.status())))
    return known.status();
  const DuplicationEntry* entry = nullptr;
  if (known.ok()) {
    const auto& all = known->answer.entry_list;
    if (sides.remote_cluster.empty() && meta_servers.empty()) {
      if (all.size() != 1)
        return UsageError(all.empty() ? "the table has no duplication: name the other cluster, or "
                                        "its meta servers by --to-meta"
                                      : "the table has several duplications: name the cluster");
      sides.remote_cluster = all.front().remote;
    }
    entry = known->To(sides.remote_cluster);
  }
  sides.remote_table = arguments.Value("-a");
  if (entry != nullptr) {
    const std::string duplicate = entry->remote_app_name.value_or(sides.table);
    if (sides.remote_table.empty()) sides.remote_table = duplicate;
    sides.is_watched = sides.remote_table == duplicate;
    if (const std::string why = WhyNotSending(sides.table, *entry);
        sides.is_watched && !why.empty())
      return absl::FailedPreconditionError(why);
  }
  if (sides.remote_table.empty()) sides.remote_table = sides.table;
  ASSIGN_OR_RETURN(
      sides.remote_meta_servers,
      MetaServersOf(known.ok() ? *known : KnownDuplications(), sides.remote_cluster, meta_servers));
  const auto& ours = session.cluster().meta_servers();
  const bool is_here = std::any_of(
      sides.remote_meta_servers.begin(), sides.remote_meta_servers.end(),
      [&](Endpoint one) { return std::find(ours.begin(), ours.end(), one) != ours.end(); });
  if (is_here && sides.remote_table == sides.table)
    return UsageError("that is this cluster: the table would be compared with itself");
  return sides;
}

absl::StatusOr<Outcome> Duplication(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"--to-meta", "-a", "-n"}, {"--without-expiry"}));
  const Words& rest = arguments.words();
  if (rest.empty() || rest[0] != "verify" || rest.size() < 2 || rest.size() > 3)
    return UsageError("verify, a table, and the other cluster where it has several");
  ASSIGN_OR_RETURN(Sides sides, SidesOf(session, arguments));
  if (arguments.Has("--without-expiry")) sides.expiries = compare::Expiries::kNotCompared;
  return Compare(session, sides);
}

// ---- setting up ----

void Tell(const std::string& text) { fprintf(stderr, "%s\n", text.c_str()); }

absl::Status CheckIsOther(Cluster& cluster, const std::string& remote) {
  ASSIGN_OR_RETURN(const auto info, cluster.Info());
  for (const auto& [key, value] : info)
    if (key == "cluster_name" && value == remote)
      return absl::FailedPreconditionError(
          absl::StrCat("cluster ", Escape(remote), " is this one: name another"));
  return absl::OkStatus();
}

// What the duplication is to find at the other cluster, before it is made.
absl::Status LookThere(Session& session, const Sides& sides, int32_t partitions, bool is_from_now) {
  Cluster other(sides.remote_meta_servers);
  other.set_timeout(session.cluster().timeout());
  const absl::StatusOr<int32_t> count = PartitionsOf(other, sides.remote_table, sides.There());
  const std::string there = absl::StrCat("table ", Escape(sides.remote_table), sides.There());
  if (absl::IsNotFound(count.status()) && !is_from_now) return absl::OkStatus();
  if (absl::IsNotFound(count.status()))
    return absl::FailedPreconditionError(
        absl::StrCat("there is no ", there, ": create it there with ", partitions,
                     " partitions, or leave --from-now out and it is made with all that is in it"));
  RETURN_IF_ERROR(count.status());
  if (*count != partitions)
    return absl::FailedPreconditionError(
        absl::StrCat(there, " is there, and has ", *count, " partitions, not ", partitions,
                     ": drop it there, or name another one by -a"));
  if (!is_from_now)
    return absl::FailedPreconditionError(absl::StrCat(
        there,
        " is there already: drop or rename it there, name another one by -a, or send only "
        "what is written from now on by --from-now"));
  return absl::OkStatus();
}

// What the meta server refuses, and what to do.
absl::Status Explained(const absl::Status& refused, const Sides& sides) {
  if (!absl::IsInvalidArgument(refused)) return refused;
  const std::string text(refused.message());
  if (text.find("[duplication-group]") == std::string::npos)
    return absl::FailedPreconditionError(text);
  return absl::FailedPreconditionError(absl::StrCat(
      text,
      "; name both clusters in [duplication-group] of every server of both, each with one id "
      "of 1 to 127, the same everywhere (this one and ",
      Escape(sides.remote_cluster), "), and restart them"));
}

absl::StatusOr<Outcome> Duplicate(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-a", "-r", "-n", "--to-meta"}, {"--from-now"}));
  const Words& rest = arguments.words();
  if (rest.size() != 3 || rest[1] != "to") return UsageError("a table, to, and another cluster");
  Sides sides{.table = rest[0], .remote_cluster = rest[2]};
  AddDuplicationRequest request{.app_name = sides.table,
                                .remote_cluster_name = sides.remote_cluster,
                                .is_duplicating_checkpoint = !arguments.Has("--from-now")};
  if (arguments.Has("-a")) request.remote_app_name = arguments.Value("-a");
  int32_t replicas = 0;
  if (arguments.Has("-r")) {
    if (!absl::SimpleAtoi(arguments.Value("-r"), &replicas) || replicas < 1)
      return UsageError("-r: how many replicas the table has there");
    request.remote_replica_count = replicas;
  }
  ASSIGN_OR_RETURN(sides.different_max, DifferentMax(arguments));
  ASSIGN_OR_RETURN(const int32_t partitions, PartitionsOf(session.cluster(), sides.table, ""));
  ASSIGN_OR_RETURN(const KnownDuplications known, DuplicationsOf(session.cluster(), sides.table));
  const DuplicationEntry* entry = known.To(sides.remote_cluster);
  sides.remote_table = arguments.Has("-a") ? arguments.Value("-a") : sides.table;
  if (entry != nullptr) {
    const std::string duplicate = entry->remote_app_name.value_or(sides.table);
    if (arguments.Has("-a") && duplicate != sides.remote_table)
      return absl::FailedPreconditionError(
          absl::StrCat("it is duplicated there already, by ", entry->dupid, ", to table ",
                       Escape(duplicate), ": leave -a out to go on with that, or remove_dup ",
                       Escape(sides.table), " ", entry->dupid, " first"));
    sides.remote_table = duplicate;
    Tell(absl::StrCat("duplication ", entry->dupid, " is there already; it is gone on with"));
  }
  RETURN_IF_ERROR(CheckIsOther(session.cluster(), sides.remote_cluster));
  ASSIGN_OR_RETURN(sides.remote_meta_servers,
                   MetaServersOf(known, sides.remote_cluster, arguments.Value("--to-meta")));
  if (entry == nullptr) {
    RETURN_IF_ERROR(LookThere(session, sides, partitions, arguments.Has("--from-now")));
    ASSIGN_OR_RETURN(AdminClient * admin, session.cluster().Admin());
    const absl::StatusOr<AddDuplicationResponse> added = admin->AddDuplication(request);
    if (!added.ok()) return Explained(added.status(), sides);
    Tell(absl::StrCat("duplication ", added->dupid, " is set up"));
  }
  sides.is_watched = true;
  {
    const Interrupts interrupts;
    DuplicationWatch watch(session.cluster(), sides.table, sides.remote_cluster);
    RETURN_IF_ERROR(watch.AwaitSending(Tell));
    Tell("DS_LOG: writes are sent; the other cluster catches up");
  }
  {
    DuplicationWatch watch(session.cluster(), sides.table, sides.remote_cluster);
    Progress progress(partitions, "partitions caught up");
    std::set<int32_t> all;
    for (int32_t i = 0; i < partitions; ++i) all.insert(i);
    RETURN_IF_ERROR(watch.AwaitCaughtUp(all, [&](int64_t done) { progress.Show(done); }));
  }
  return Compare(session, sides);
}

}  // namespace

std::vector<Command> DuplicateCommands() {
  using Completes = Command::Completes;
  return {
      {"duplicate",
       "TABLE to CLUSTER [--from-now] [-a REMOTE_TABLE] [-r REMOTE_REPLICAS] [-n DIFFERENT_MAX] "
       "[--to-meta HOST:PORT,...]",
       "sends a table's writes to another cluster, which first makes the table with all that is in "
       "it, waits until it has caught up, and compares both sides; interrupted or failed, it goes "
       "on where it was when given again; --from-now: the table is there already, and only gets "
       "what is written from now on",
       Completes::kTables, Duplicate},
      {"duplication",
       "verify TABLE [CLUSTER] [--to-meta HOST:PORT,...] [-a REMOTE_TABLE] [-n DIFFERENT_MAX] "
       "[--without-expiry]",
       "compares a table with its duplicate in another cluster by sums of ranges of keys, while "
       "clients write, and names the records that differ; without a duplication --to-meta says "
       "where the other cluster is",
       Completes::kDuplication, Duplication}};
}

}  // namespace arion::shell
