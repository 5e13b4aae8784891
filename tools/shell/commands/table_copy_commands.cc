// A table's records: removed, counted. It takes a while and can be stopped; said again, it begins
// anew and comes to the same.
// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/commands/table_copy_commands.h"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/copy/copy_command.h"
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
  void End(const absl::Status& written) {
    const MutexLock lock(mutex_);
    --under_way_;
    if (written.ok())
      ++written_;
    else if (first_error_.ok())
      first_error_ = written;
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

 private:
  const int at_once_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status first_error_ ABSL_GUARDED_BY(mutex_);
};

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
    progress.Show(writes.written());
  }
  writes.AwaitAll();
  progress.Show(writes.written());
  if (ended.ok()) ended = writes.first_error();
  if (ended.ok()) return ended;
  return absl::AbortedError(
      absl::StrCat(ended.message(), "; ", so_far(), "; said again, it begins anew"));
}

// What clear_data and count_data have in common.
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
  ASSIGN_OR_RETURN(
      const std::optional<int64_t> count,
      CountRecords(*records.table, filters.Options(), records.partitions, 0, records.partitions));
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
        table.Remove(row.hash_key, row.sort_key, {},
                     [&all](const absl::Status& removed) { all.End(removed); });
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

absl::StatusOr<std::optional<int64_t>> CountRecords(Table& table, TableScanOptions options,
                                                    int32_t partitions, int32_t first,
                                                    int32_t end) {
  int64_t count = 0;
  Progress progress(end - first, "partitions counted");
  options.parts = partitions;
  // Partition by partition, so that there is progress to show and a place to stop.
  for (options.part = first; options.part < end; ++options.part) {
    ASSIGN_OR_RETURN(const int64_t more, table.CountTable(options));
    count += more;
    progress.Show(options.part + 1 - first);
    if (progress.IsDetached()) return std::nullopt;
  }
  return count;
}

std::vector<Command> TableCopyCommands() {
  using Completes = Command::Completes;
  static const auto* const usages = new std::array<std::string, 2>{
      absl::StrCat(kTableFiltersUsage, " [-m AT_ONCE] [-f] [--dry-run]"),
      absl::StrCat("[-c] ", kTableFiltersUsage)};
  return {CopyCommand(),
          {"clear_data", (*usages)[0], "removes the records of the table in use; -f: does not ask",
           Completes::kNothing, ClearData},
          {"count_data", (*usages)[1],
           "how many records the table in use has, exactly (-c is understood)", Completes::kNothing,
           CountData}};
}

}  // namespace arion::shell
