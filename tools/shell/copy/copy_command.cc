// copy_data: a table's records to another table, of this cluster or another one.
// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/copy_command.h"

#include <absl/strings/numbers.h>
#include <absl/time/clock.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/commands/duplication_watch.h"
#include "tools/shell/commands/table_copy_commands.h"
#include "tools/shell/copy/copy_check.h"
#include "tools/shell/copy/copy_sides.h"
#include "tools/shell/copy/table_copy.h"
#include "tools/shell/progress.h"
#include "tools/shell/table_filters.h"
#include "tools/shell/words.h"

namespace arion::shell {
namespace {

constexpr int32_t kBatchByDefault = 1000;  // a server gives no more at once
constexpr int32_t kTogetherByDefault = 500;
constexpr absl::Duration kSaveEvery = absl::Seconds(1);
constexpr size_t kShownErrorBytes = 120;

absl::StatusOr<int64_t> NumberIn(const Arguments& arguments, const std::string& option,
                                 int64_t by_default, int64_t least, int64_t most) {
  int64_t number = by_default;
  const std::string text = arguments.Value(option);
  if (!text.empty() && (!absl::SimpleAtoi(text, &number) || number < least || number > most))
    return UsageError(absl::StrCat(option, " takes a number, ", least, " to ", most));
  return number;
}

// What was asked for. It does not move: filters are referred to.
struct CopyWishes {
  TableFilters filters;
  CopyOptions options;
  // -1: all.
  int64_t partition = -1;
  absl::Duration timeout;
  std::string resume;
  bool is_verified = false;
};

absl::Status ReadWishes(const Arguments& arguments, absl::Duration timeout, CopyWishes& wishes) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  ASSIGN_OR_RETURN(wishes.filters, TableFilters::Of(arguments));
  CopyOptions& options = wishes.options;
  ASSIGN_OR_RETURN(options.values, ValueFilter::Make(arguments.Value("-v"), arguments.Value("-z")));
  options.scan = wishes.filters.Options();
  ASSIGN_OR_RETURN(const int64_t batch, NumberIn(arguments, "-b", 0, 1, kBatchByDefault));
  ASSIGN_OR_RETURN(
      const int64_t scan_batch,
      NumberIn(arguments, "-o", batch > 0 ? batch : kBatchByDefault, 1, kBatchByDefault));
  options.scan.batch_size = static_cast<int32_t>(scan_batch);
  if (arguments.Has("-u"))
    options.together = batch > 0 ? static_cast<int32_t>(batch) : kTogetherByDefault;
  ASSIGN_OR_RETURN(const int64_t at_once, NumberIn(arguments, "-m", options.at_once, 1, 10'000));
  options.at_once = static_cast<int>(at_once);
  ASSIGN_OR_RETURN(const int64_t timeout_ms,
                   NumberIn(arguments, "-t", absl::ToInt64Milliseconds(timeout), 1, kMost));
  wishes.timeout = absl::Milliseconds(timeout_ms);
  ASSIGN_OR_RETURN(
      const int64_t patience,
      NumberIn(arguments, "--patience", absl::ToInt64Seconds(options.patience), 0, kMost));
  options.patience = absl::Seconds(patience);
  ASSIGN_OR_RETURN(wishes.partition, NumberIn(arguments, "-p", -1, 0, kMost));
  if (arguments.Has("-n")) options.existing = CopyOptions::Existing::kKept;
  if (arguments.Has("-e")) options.expiry_times = ExpiryTimes::kOmit;
  if (arguments.Has("-i")) options.written = Values::kOmit;
  if (const std::string rate = arguments.Value("--rate"); !rate.empty()) {
    ASSIGN_OR_RETURN(options.rate, CopyRate::Parse(rate));
  }
  wishes.resume = arguments.Value("--resume");
  wishes.is_verified = arguments.Has("--verify");
  if (arguments.Has("-n") && arguments.Has("-u"))
    return UsageError("-n asks for each record whether it is there, so -u has no place beside it");
  if (arguments.Has("-n") && wishes.is_verified)
    return UsageError("-n keeps what the target has, which --verify would call different");
  return absl::OkStatus();
}

// Which records, and how: what two runs have in common that do the same.
std::string TermsOf(const CopyWishes& wishes, int32_t partitions) {
  std::string text = wishes.filters.ToString();
  if (!wishes.options.values.TakesAll())
    text = absl::StrCat(wishes.filters.TakesAll() ? "" : text + ", ",
                        wishes.options.values.ToString());
  if (wishes.partition >= 0)
    absl::StrAppend(&text, ", partition ", wishes.partition, " of ", partitions);
  if (wishes.options.existing == CopyOptions::Existing::kKept) absl::StrAppend(&text, ", -n");
  if (wishes.options.expiry_times == ExpiryTimes::kOmit) absl::StrAppend(&text, ", -e");
  if (wishes.options.written == Values::kOmit) absl::StrAppend(&text, ", -i");
  return text;
}

struct CopySides {
  std::unique_ptr<CopyTable> source, target;
};
absl::StatusOr<CopySides> OpenSides(Session& session, const Arguments& arguments,
                                    const CopyWishes& wishes) {
  CopySides sides;
  const std::string name = arguments.Value("-a"), cluster = arguments.Value("-c");
  if (name.empty()) return UsageError("-a names the table to copy to");
  std::vector<Endpoint> servers = session.cluster().meta_servers();
  if (cluster.empty()) {
    if (name == session.table_name())
      return UsageError("that is the table in use; -c says of which other cluster it is");
  } else {
    if (cluster.find(':') != std::string::npos) {
      ASSIGN_OR_RETURN(servers, ParseServers(cluster));
    } else {
      ASSIGN_OR_RETURN(const KnownDuplications known,
                       DuplicationsOf(session.cluster(), session.table_name()));
      ASSIGN_OR_RETURN(servers, known.MetaServersOf(cluster));
    }
    const auto& ours = session.cluster().meta_servers();
    // Another address of the same cluster would copy the table onto itself.
    if (name == session.table_name() &&
        std::find_first_of(servers.begin(), servers.end(), ours.begin(), ours.end()) !=
            servers.end())
      return UsageError("that is the table in use");
  }
  ASSIGN_OR_RETURN(sides.source,
                   CopyTable::Open(session.cluster().meta_servers(), session.table_name(),
                                   Escape(session.table_name()), wishes.timeout));
  ASSIGN_OR_RETURN(
      sides.target,
      CopyTable::Open(servers, name,
                      absl::StrCat(Escape(name), cluster.empty() ? "" : " of ", cluster),
                      wishes.timeout));
  return sides;
}

absl::StatusOr<std::vector<Share>> WishedShares(const CopyWishes& wishes, const CopyTable& source) {
  if (wishes.partition < 0) return source.shares();
  for (const Share share : source.shares())
    if (share.index == wishes.partition) return std::vector<Share>{share};
  return UsageError(absl::StrCat("-p ", wishes.partition, ": table ", source.name(), " has ",
                                 source.shares().size(), " partitions, from 0 on"));
}

// Where it begins: what the file says of this copy, or the beginning.
absl::StatusOr<CopyState> StateAtTheBeginning(const CopyWishes& wishes, const CopySides& sides,
                                              const std::vector<Share>& shares) {
  CopyState state{.source = sides.source->side(),
                  .target = sides.target->side(),
                  .options = TermsOf(wishes, static_cast<int32_t>(sides.source->shares().size())),
                  .positions = AtTheBeginning(shares)};
  if (wishes.resume.empty()) return state;
  ASSIGN_OR_RETURN(const std::optional<CopyState> stored, ReadResumeFile(wishes.resume));
  if (!stored) return state;
  absl::Status same = state.CheckSameCopy(*stored);
  std::vector<Share> known;
  for (const CopyPosition& position : stored->positions) known.push_back(position.share);
  if (same.ok() && wishes.partition < 0 && !ShareIndex(known).IsWhole())
    same = absl::FailedPreconditionError("partitions are missing in it");
  if (!same.ok())
    return absl::FailedPreconditionError(
        absl::StrCat(wishes.resume, ": ", same.message(),
                     "; it is left as it is: name another file, or remove it to begin anew"));
  state.counts = stored->counts;
  state.positions = DivideAgain(stored->positions, shares);
  return state;
}

std::string SizeText(int64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes >= 1024 ? absl::StrFormat("%.1f GiB", mebibytes / 1024)
                           : absl::StrFormat("%.1f MiB", mebibytes);
}

// One line: how far a copy is, how fast, what failed.
std::string LineOf(const TableCopy& copy, const CopyCounts& before, std::optional<int64_t> all,
                   absl::Duration elapsed) {
  const CopyCounts& counts = copy.counts();
  const double seconds = std::max(absl::ToDoubleSeconds(elapsed), 1e-3);
  const auto now = static_cast<double>(counts.all() - before.all());
  std::string text = absl::StrFormat("%d records, %s, %.0f/s", counts.all(), SizeText(counts.bytes),
                                     now / seconds);
  if (all && *all > 0)
    absl::StrAppendFormat(
        &text, ", %.0f %%",
        std::min(100.0, 100.0 * static_cast<double>(counts.all()) / static_cast<double>(*all)));
  absl::StrAppendFormat(&text, ", %d/%d partitions", copy.partitions_done(), copy.partitions());
  if (copy.errors() > 0)
    absl::StrAppendFormat(&text, ", %d errors, tried again (%s)", copy.errors(),
                          Escape(copy.last_error().substr(0, kShownErrorBytes)));
  return text;
}

// Copies until all is there.
absl::Status CopyAll(const CopySides& sides, const CopyWishes& wishes, std::optional<int64_t> all,
                     CopyState& state, int64_t* errors) {
  TableCopy copy({&sides.source->table(), sides.source->name()},
                 {&sides.target->table(), sides.target->name()}, wishes.options, state.positions,
                 state.counts);
  const CopyCounts before = state.counts;
  Progress progress(0, "records");
  const absl::Time begun = absl::Now();
  absl::Time saved = absl::InfinitePast();
  absl::Status save;
  const auto keep = [&] {
    state.positions = copy.positions();
    state.counts = copy.counts();
    *errors = copy.errors();
    if (!wishes.resume.empty() && save.ok()) save = WriteResumeFile(wishes.resume, state);
    saved = absl::Now();
  };
  const auto go_on = [&] {
    if (absl::Now() - saved >= kSaveEvery) keep();
    progress.ShowText(LineOf(copy, before, all, absl::Now() - begun));
    return save.ok() && !progress.IsDetached();
  };
  absl::Status ended;
  for (;;) {
    const absl::StatusOr<TableCopy::End> end = copy.Run(go_on);
    ended = end.status();
    if (!end.ok() || *end == TableCopy::End::kAll) break;
    // The meta server hears of a split a little later than those who are split.
    Interrupts::Sleep(absl::Milliseconds(200));
    const absl::StatusOr<std::vector<Share>> shares =
        sides.source->LearnShares(wishes.options.patience);
    ended = shares.status();
    if (!ended.ok()) break;
    copy.Divide(*shares);
  }
  // Whichever tables the names mean now: it was these all the time.
  for (CopyTable* side : {sides.source.get(), sides.target.get()})
    if (ended.ok()) ended = side->LearnShares(wishes.options.patience).status();
  keep();
  progress.ShowText(LineOf(copy, before, all, absl::Now() - begun));
  if (!save.ok()) return save;
  if (ended.ok()) return ended;
  return absl::Status(
      absl::IsNotFound(ended) ? ended.code() : absl::StatusCode::kAborted,
      absl::StrCat(
          progress.IsDetached() ? "stopped by Ctrl-C" : ended.message(), "; ", state.counts.copied,
          " records were copied; said again, it ",
          wishes.resume.empty() ? "begins anew (--resume FILE would go on)" : "goes on there"));
}

// The check pass, partition by partition of the source.
absl::StatusOr<CopyCheckResult> Verify(const CopySides& sides, const CopyWishes& wishes,
                                       const std::vector<Share>& shares, Outcome& outcome) {
  Progress progress(0, "records");
  const auto side = [&](CopyTable& table) {
    return CheckedSide{&table.table(), table.name(),
                       [&table, &wishes] { return table.LearnShares(wishes.options.patience); }};
  };
  absl::StatusOr<CopyCheckResult> result = CheckCopy(
      side(*sides.source), side(*sides.target),
      {.scan = wishes.options.scan,
       .values = wishes.options.values,
       .expiry_times = wishes.options.expiry_times,
       .compared = wishes.options.written,
       .patience = wishes.options.patience},
      shares, [&](int64_t records) {
        progress.ShowText(absl::StrCat("verify: ", records, " records read on both sides"));
        return !progress.IsDetached();
      });
  if (!result.ok())
    return absl::AbortedError(
        absl::StrCat("all is copied, but not verified: ",
                     progress.IsDetached() ? "stopped by Ctrl-C" : result.status().message()));
  Answer::List list{"partitions",
                    {"partition", "source_records", "target_records", "source_checksum",
                     "target_checksum", "equal"},
                    {}};
  for (size_t i = 0; i < shares.size(); ++i) {
    const RecordSum& here = result->source[i];
    const RecordSum& there = result->target[i];
    list.rows.push_back({int64_t{shares[i].index}, here.records, there.records,
                         absl::StrFormat("%016x", here.checksum),
                         absl::StrFormat("%016x", there.checksum),
                         std::string(here == there ? "yes" : "no")});
  }
  outcome.answer.Add("equal", std::string(result->IsEqual() ? "yes" : "no"))
      .Add("left_out", result->left_out)
      .AddList(std::move(list));
  if (!result->IsEqual()) {
    outcome.health = Health::kBad;
    outcome.part = "the two tables differ: written to meanwhile, or the target had other records";
  }
  return result;
}

absl::StatusOr<std::optional<int64_t>> CountToCopy(Session& session, const CopyWishes& wishes,
                                                   const std::vector<Share>& shares) {
  ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, session.ReopenTable());
  if (wishes.partition >= 0)
    return CountRecords(*table, wishes.filters.Options(), shares[0].count, shares[0].index,
                        shares[0].index + 1);
  const auto count = std::max<int32_t>(1, static_cast<int32_t>(shares.size()));
  return CountRecords(*table, wishes.filters.Options(), count, 0, count);
}

absl::StatusOr<Outcome> CopyData(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words,
                                    {"-a", "-c", "-h", "-x", "-s", "-y", "-v", "-z", "-m", "-p",
                                     "-b", "-o", "-t", "--rate", "--resume", "--patience"},
                                    {"-n", "-e", "-i", "-u", "-g", "-f", "--dry-run", "--verify"}));
  if (!arguments.words().empty()) return UsageError("options only");
  if (arguments.Has("-g"))
    return UsageError("-g: Arion has no geo data; it copies records as they are");
  RETURN_IF_ERROR(session.CurrentTable().status());
  CopyWishes wishes;
  RETURN_IF_ERROR(ReadWishes(arguments, session.cluster().timeout(), wishes));
  ASSIGN_OR_RETURN(const CopySides sides, OpenSides(session, arguments, wishes));
  ASSIGN_OR_RETURN(const std::vector<Share> shares, WishedShares(wishes, *sides.source));
  ASSIGN_OR_RETURN(CopyState state, StateAtTheBeginning(wishes, sides, shares));

  Answer plan;
  plan.Add("from", sides.source->name())
      .Add("to", sides.target->name())
      .Add("filter", state.options);
  std::optional<int64_t> all;
  // Who is not asked needs no count, which reads the whole table.
  if (!arguments.Has("-f") || arguments.Has("--dry-run")) {
    ASSIGN_OR_RETURN(all, CountToCopy(session, wishes, shares));
    if (!all) return absl::AbortedError("stopped by Ctrl-C while it counted; nothing was done");
    plan.Add("records", *all);
  }
  if (state.counts.all() > 0) plan.Add("copied_before", state.counts.copied);
  if (arguments.Has("--dry-run")) return Outcome{.answer = std::move(plan)};
  if (!arguments.Has("-f")) {
    RETURN_IF_ERROR(session.ShowPlan(plan));
    const std::string existing = wishes.options.existing == CopyOptions::Existing::kKept
                                     ? "those that are there are kept"
                                     : "those that are there are overwritten";
    if (!session.IsConfirmed(absl::StrCat("copy ", *all, " records of ", sides.source->name(),
                                          " to ", sides.target->name(), " (", existing, ")?")))
      return absl::AbortedError("nothing was copied; -f does not ask, --dry-run only shows");
  }
  const absl::Time begun = absl::Now();
  const CopyCounts before = state.counts;
  int64_t errors = 0;
  RETURN_IF_ERROR(CopyAll(sides, wishes, all, state, &errors));
  const double seconds = std::max(absl::ToDoubleSeconds(absl::Now() - begun), 1e-3);

  Outcome outcome{.answer = std::move(plan)};
  const CopyCounts& counts = state.counts;
  outcome.answer.Add("copied", counts.copied)
      .Add("skipped", counts.skipped)
      .Add("not_copied", counts.not_copied)
      .Add("bytes", counts.bytes)
      .Add("errors", errors)
      .Add("seconds", seconds)
      .Add("records_per_second", static_cast<double>(counts.all() - before.all()) / seconds);
  std::string line = absl::StrCat(counts.copied, " records copied to ", sides.target->name());
  if (counts.skipped > 0)
    absl::StrAppend(&line, ", ", counts.skipped, " skipped: ",
                    wishes.options.values.TakesAll()
                        ? "there already, or expired"
                        : "there already, expired, or their values do not pass");
  if (counts.not_copied > 0) {
    outcome.health = Health::kBad;
    absl::StrAppend(&line, ", ", counts.not_copied,
                    " not copied: -n can't take those whose hash key is empty");
  }
  if (wishes.is_verified) {
    ASSIGN_OR_RETURN(const CopyCheckResult result, Verify(sides, wishes, shares, outcome));
    // What differs is shown by partition.
    if (!result.IsEqual()) return outcome;
    absl::StrAppend(&line, "; both sides are equal");
  }
  outcome.answer.Say(std::move(line));
  return outcome;
}

}  // namespace

Command CopyCommand() {
  static const auto* const usage = new std::string(
      absl::StrCat("-a TABLE [-c META_SERVER,...|CLUSTER] ", kTableFiltersUsage,
                   " [-v anywhere|prefix|postfix|exact -z PATTERN] [-p PARTITION] [-n] [-e] [-i] "
                   "[-u] [-b BATCH] [-o SCAN_BATCH] [-m AT_ONCE] [-t TIMEOUT_MS] [--rate "
                   "RECORDS|BYTES] [--resume FILE] [--patience SECONDS] [--verify] [-f] "
                   "[--dry-run]"));
  return {"copy_data", *usage,
          "copies the records of the table in use to another, of cluster -c or this; -n: those "
          "that are there stay (none with an empty hash key is copied), -e: without times to "
          "live, -i: without values, -u: records of a hash key together, --resume: another run "
          "goes on where FILE says, --verify: then compares both sides, -f: does not ask",
          Command::Completes::kNothing, CopyData};
}

}  // namespace arion::shell
