// A table's records: copied to another table, removed, counted. All of it takes a while and can be
// stopped; said again, it begins anew and comes to the same.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>
#include <absl/time/clock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/progress.h"
#include "tools/shell/session.h"
#include "tools/shell/table_filters.h"

namespace arion::shell {
namespace {

constexpr int kWritesAtOnce = 64;

// Writes under way: at most so many, and what became of them. Thread-safe.
class Writes {
 public:
  explicit Writes(int at_once) : at_once_(at_once) {}
  ~Writes() { AwaitAll(); }

  void Begin() {
    MutexLock lock(mutex_);
    changed_.Wait(mutex_,
                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return under_way_ < at_once_; });
    ++under_way_;
  }
  enum class Effect { kWritten, kSkipped };
  void End(const absl::StatusOr<Effect>& effect) {
    const MutexLock lock(mutex_);
    --under_way_;
    if (!effect.ok()) {
      if (first_error_.ok()) first_error_ = effect.status();
    } else {
      ++(*effect == Effect::kWritten ? written_ : skipped_);
    }
    changed_.NotifyAll();
  }
  void AwaitAll() {
    MutexLock lock(mutex_);
    changed_.Wait(mutex_,
                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return under_way_ == 0; });
  }
  absl::Status first_error() const {
    const MutexLock lock(mutex_);
    return first_error_;
  }
  int64_t written() const {
    const MutexLock lock(mutex_);
    return written_;
  }
  int64_t skipped() const {
    const MutexLock lock(mutex_);
    return skipped_;
  }

 private:
  const int at_once_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t skipped_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status first_error_ ABSL_GUARDED_BY(mutex_);
};

// How many records pass the filters; nullopt: Ctrl-C.
absl::StatusOr<std::optional<int64_t>> CountRecords(Table& table, TableScanOptions options,
                                                    int32_t partitions) {
  int64_t count = 0;
  Progress progress(partitions, "partitions counted");
  options.parts = partitions;
  // Partition by partition, so that there is progress to show and a place to stop.
  for (options.part = 0; options.part < partitions; ++options.part) {
    ASSIGN_OR_RETURN(const int64_t more, table.CountTable(options));
    count += more;
    progress.Show(options.part + 1);
    if (progress.IsDetached()) return std::nullopt;
  }
  return count;
}

// Hands each record that passes to `write`, which says what became of it to the Writes it is given.
using WriteOne = std::function<void(const Row& row, Writes& writes)>;
absl::Status ForEachRecord(Table& table, const TableScanOptions& options, int64_t expected,
                           const std::string& what, Writes& writes, const WriteOne& write) {
  const auto so_far = [&] {
    return absl::StrCat(writes.written(), " of ", expected, " records were ", what);
  };
  Progress progress(expected, "records " + what);
  absl::Status ended;
  RowRange range = table.ScanTable(options);
  for (absl::StatusOr<Row>& row : range) {
    if (!row.ok()) ended = row.status();
    if (ended.ok()) ended = writes.first_error();
    if (ended.ok() && progress.IsDetached()) ended = absl::AbortedError("stopped by Ctrl-C");
    if (!ended.ok()) break;
    writes.Begin();
    write(*row, writes);
    progress.Show(writes.written() + writes.skipped());
  }
  writes.AwaitAll();
  progress.Show(writes.written() + writes.skipped());
  if (ended.ok()) ended = writes.first_error();
  if (ended.ok()) return ended;
  return absl::AbortedError(
      absl::StrCat(ended.message(), "; ", so_far(), "; said again, it begins anew"));
}

// What copy_data, clear_data and count_data have in common.
struct Records {
  std::shared_ptr<Table> table;
  int32_t partitions = 0;
  int64_t count = 0;
};
absl::StatusOr<Records> CountOf(Session& session, const TableFilters& filters) {
  Records records;
  ASSIGN_OR_RETURN(records.table, session.ReopenTable());
  ASSIGN_OR_RETURN(const TableState state, session.cluster().FindTable(session.table_name()));
  records.partitions = std::max(1, state.info.partition_count);
  ASSIGN_OR_RETURN(const std::optional<int64_t> count,
                   CountRecords(*records.table, filters.Options(), records.partitions));
  if (!count) return absl::AbortedError("stopped by Ctrl-C while it counted; nothing was done");
  records.count = *count;
  return records;
}

absl::StatusOr<int> AtOnceOf(const Arguments& arguments) {
  int at_once = kWritesAtOnce;
  if (const std::string text = arguments.Value("-m");
      !text.empty() && (!absl::SimpleAtoi(text, &at_once) || at_once < 1 || at_once > 1000))
    return UsageError("-m takes writes under way at once, 1 to 1000");
  return at_once;
}

// ---- copy ----

struct Target {
  std::unique_ptr<Client> client;  // of another cluster
  std::shared_ptr<Table> table;
  std::string name;  // for people: "t of 10.0.0.1:34601"
};
absl::StatusOr<Target> TargetOf(Session& session, const Arguments& arguments) {
  Target target;
  const std::string name = arguments.Value("-a"), cluster = arguments.Value("-c");
  if (name.empty()) return UsageError("-a names the table to copy to");
  target.name = Escape(name);
  if (cluster.empty()) {
    if (name == session.table_name())
      return UsageError("that is the table in use; -c says of which other cluster it is");
    session.cluster().ForgetOpenTable(name);
    ASSIGN_OR_RETURN(target.table, session.cluster().OpenTable(name));
    return target;
  }
  absl::StrAppend(&target.name, " of ", cluster);
  ASSIGN_OR_RETURN(const std::vector<Endpoint> servers, ParseServers(cluster));
  std::vector<std::string> names;
  for (const Endpoint server : servers) {
    names.push_back(server.ToString());
    const auto& ours = session.cluster().meta_servers();
    // Another address of the same cluster would copy the table onto itself.
    if (name == session.table_name() && std::find(ours.begin(), ours.end(), server) != ours.end())
      return UsageError("that is the table in use");
  }
  ASSIGN_OR_RETURN(target.client, Client::Create({.meta_servers = std::move(names),
                                                  .timeout = session.cluster().timeout()}));
  absl::StatusOr<std::shared_ptr<Table>> table = target.client->OpenTable(name);
  if (!table.ok()) return Annotate(table.status(), absl::StrCat("table ", target.name));
  target.table = *std::move(table);
  return target;
}

enum class Existing { kOverwritten, kKept };

void CopyOne(const Row& row, AsyncTable& target, Existing existing, bool keeps_ttl,
             Writes& writes) {
  using Effect = Writes::Effect;
  absl::Duration ttl = absl::InfiniteDuration();
  if (keeps_ttl && row.expires && *row.expires < absl::InfiniteFuture()) {
    ttl = *row.expires - absl::Now();
    if (ttl <= absl::ZeroDuration()) return writes.End(Effect::kSkipped);  // gone by now
  }
  if (existing == Existing::kOverwritten)
    return target.Put(row.hash_key, row.sort_key, row.value, {.ttl = ttl},
                      [&writes](const absl::Status& put) {
                        writes.End(put.ok() ? absl::StatusOr<Effect>(Effect::kWritten) : put);
                      });
  target.CheckAndSet({.hash_key = row.hash_key,
                      .check_sort_key = row.sort_key,
                      .check = Check::NotExist(),
                      .set_value = row.value,
                      .ttl = ttl},
                     [&writes](const absl::StatusOr<CheckOutcome>& set) {
                       if (!set.ok()) return writes.End(set.status());
                       writes.End(set->is_passed ? Effect::kWritten : Effect::kSkipped);
                     });
}

absl::StatusOr<Outcome> CopyData(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-a", "-c", "-h", "-x", "-s", "-y", "-m"},
                                    {"-n", "-e", "-f", "--dry-run"}));
  if (!arguments.words().empty()) return UsageError("options only");
  ASSIGN_OR_RETURN(const TableFilters filters, TableFilters::Of(arguments));
  ASSIGN_OR_RETURN(const int at_once, AtOnceOf(arguments));
  RETURN_IF_ERROR(session.CurrentTable().status());
  ASSIGN_OR_RETURN(const Target target, TargetOf(session, arguments));
  ASSIGN_OR_RETURN(const Records records, CountOf(session, filters));
  const Existing existing = arguments.Has("-n") ? Existing::kKept : Existing::kOverwritten;
  const std::string those_there = existing == Existing::kKept
                                      ? "those that are there are kept"
                                      : "those that are there are overwritten";
  Answer plan;
  plan.Add("from", Escape(session.table_name()))
      .Add("to", target.name)
      .Add("filter", filters.ToString())
      .Add("records", records.count);
  if (arguments.Has("--dry-run")) return Outcome{.answer = std::move(plan)};
  if (!arguments.Has("-f")) {
    RETURN_IF_ERROR(session.ShowPlan(plan));
    if (!session.IsConfirmed(absl::StrCat("copy ", records.count, " records of ",
                                          Escape(session.table_name()), " to ", target.name, " (",
                                          those_there, ")?")))
      return absl::AbortedError("nothing was copied; -f does not ask, --dry-run only shows");
  }
  TableScanOptions options = filters.Options();
  options.expiry_times = ExpiryTimes::kReturn;
  Writes writes(at_once);
  int64_t not_copied = 0;
  RETURN_IF_ERROR(ForEachRecord(
      *records.table, options, records.count, "copied", writes, [&](const Row& row, Writes& all) {
        // CHECK_AND_SET takes no empty hash key.
        if (existing == Existing::kKept && row.hash_key.empty()) {
          ++not_copied;
          return all.End(Writes::Effect::kSkipped);
        }
        CopyOne(row, target.table->async(), existing, !arguments.Has("-e"), all);
      }));
  Outcome outcome{.answer = std::move(plan)};
  if (not_copied > 0) outcome.health = Health::kBad;
  const int64_t skipped = writes.skipped() - not_copied;
  std::string line = absl::StrCat(writes.written(), " records copied to ", target.name);
  if (skipped > 0) absl::StrAppend(&line, ", ", skipped, " skipped: there already, or expired");
  if (not_copied > 0)
    absl::StrAppend(&line, ", ", not_copied,
                    " not copied: -n can't take those whose hash key is empty");
  outcome.answer.Add("copied", writes.written())
      .Add("skipped", skipped)
      .Add("not_copied", not_copied)
      .Say(std::move(line));
  return outcome;
}

// ---- clear ----

absl::StatusOr<Outcome> ClearData(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-h", "-x", "-s", "-y", "-m"}, {"-f", "--dry-run"}));
  if (!arguments.words().empty()) return UsageError("options only; use TABLE chooses the table");
  ASSIGN_OR_RETURN(const TableFilters filters, TableFilters::Of(arguments));
  ASSIGN_OR_RETURN(const int at_once, AtOnceOf(arguments));
  ASSIGN_OR_RETURN(const Records records, CountOf(session, filters));
  Answer plan;
  plan.Add("table", Escape(session.table_name()))
      .Add("filter", filters.ToString())
      .Add("records", records.count);
  if (arguments.Has("--dry-run")) return Outcome{.answer = std::move(plan)};
  if (!arguments.Has("-f")) {
    RETURN_IF_ERROR(session.ShowPlan(plan));
    if (!session.IsConfirmed(absl::StrCat("remove ", records.count, " records of table ",
                                          Escape(session.table_name()), " for good?")))
      return absl::AbortedError("nothing was removed; -f does not ask, --dry-run only shows");
  }
  TableScanOptions options = filters.Options();
  options.values = Values::kOmit;
  Writes writes(at_once);
  AsyncTable& table = records.table->async();
  RETURN_IF_ERROR(ForEachRecord(
      *records.table, options, records.count, "removed", writes, [&](const Row& row, Writes& all) {
        table.Remove(row.hash_key, row.sort_key, {}, [&all](const absl::Status& removed) {
          if (!removed.ok()) return all.End(removed);
          all.End(Writes::Effect::kWritten);
        });
      }));
  Outcome outcome{.answer = std::move(plan)};
  outcome.answer.Add("removed", writes.written())
      .Say(absl::StrCat(writes.written(), " records removed"));
  return outcome;
}

// ---- count ----

absl::StatusOr<Outcome> CountData(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments arguments,
                   Arguments::Parse(words, {"-h", "-x", "-s", "-y"}, {"-c"}));
  if (!arguments.words().empty()) return UsageError("options only");
  ASSIGN_OR_RETURN(const TableFilters filters, TableFilters::Of(arguments));
  ASSIGN_OR_RETURN(const Records records, CountOf(session, filters));
  Outcome outcome;
  outcome.answer.Add("count", records.count).Say(absl::StrCat(records.count));
  return outcome;
}

}  // namespace

std::vector<Command> TableCopyCommands() {
  using Completes = Command::Completes;
  static const auto* const usages = new std::array<std::string, 3>{
      absl::StrCat("-a TABLE [-c META_SERVER,...] ", kTableFiltersUsage,
                   " [-n] [-e] [-m AT_ONCE] [-f] [--dry-run]"),
      absl::StrCat(kTableFiltersUsage, " [-m AT_ONCE] [-f] [--dry-run]"),
      absl::StrCat("[-c] ", kTableFiltersUsage)};
  return {{"copy_data", (*usages)[0],
           "copies the records of the table in use to another, of cluster -c or this; -n: those "
           "that are there stay (none with an empty hash key is copied), -e: without times to "
           "live, -f: does not ask",
           Completes::kNothing, CopyData},
          {"clear_data", (*usages)[1], "removes the records of the table in use; -f: does not ask",
           Completes::kNothing, ClearData},
          {"count_data", (*usages)[2],
           "how many records the table in use has, exactly (-c is understood)", Completes::kNothing,
           CountData}};
}

}  // namespace arion::shell
