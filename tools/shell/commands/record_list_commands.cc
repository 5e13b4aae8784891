// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/commands/record_list_commands.h"

#include <absl/strings/numbers.h>

#include <algorithm>

#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/table_filters.h"

namespace arion::shell {
namespace {

constexpr int32_t kRecordsByDefault = 1000;

// Keys come first and are taken as they are, whatever they begin with; options follow.
Words Behind(const Words& words, size_t count) { return {words.begin() + count, words.end()}; }

std::vector<std::string_view> Views(const Words& words) { return {words.begin(), words.end()}; }

absl::StatusOr<int32_t> Number(const Arguments& options, const std::string& option,
                               int32_t by_default) {
  int32_t number = by_default;
  const std::string text = options.Value(option);
  if (!text.empty() && (!absl::SimpleAtoi(text, &number) || number <= 0))
    return UsageError(absl::StrCat(option, " needs a number above 0"));
  return number;
}

absl::StatusOr<Bound> BoundOf(const Arguments& options, const std::string& option,
                              Bound by_default) {
  const std::string text = options.Value(option);
  if (text.empty()) return by_default;
  if (text == "true") return Bound::kInclusive;
  if (text == "false") return Bound::kExclusive;
  return UsageError(absl::StrCat(option, " is true (inclusive) or false"));
}

enum class HashKeyColumn { kShown, kNotShown };

// What is said of an answer that is not all there is.
struct Part {
  std::string_view rest;  // how to get it
  int32_t asked = 0;      // by -n; 0: all were
  bool from_end = false;
};
constexpr std::string_view kMoreByCount = "-n COUNT shows more";
constexpr std::string_view kMoreByScan =
    "a server gives no more at once: hash_scan HASH_KEY \"\" \"\" -n COUNT shows more";

// The rows of an answer as a list; values are left out where they did not come.
class RowList {
 public:
  RowList(const Session& session, HashKeyColumn hash_key, Values values)
      : session_(session), hash_key_(hash_key), values_(values) {
    list_.name = "records";
    if (hash_key_ == HashKeyColumn::kShown) list_.columns.push_back("hash_key");
    list_.columns.push_back("sort_key");
    if (values_ == Values::kReturn) list_.columns.push_back("value");
  }
  void Add(const Row& row) {
    std::vector<Cell> cells;
    if (hash_key_ == HashKeyColumn::kShown) cells.push_back(session_.Shown(row.hash_key));
    cells.push_back(session_.Shown(row.sort_key));
    if (values_ == Values::kReturn) cells.push_back(session_.Shown(row.value));
    list_.rows.push_back(std::move(cells));
  }
  Outcome EndComplete() { return End("yes"); }
  // There may be more. Who did not ask for just so many has not got what was asked for.
  Outcome EndIncomplete(const Part& part) {
    const auto count = static_cast<int64_t>(list_.rows.size());
    Outcome outcome = End("no");
    if (count != part.asked) outcome.health = Health::kNotDone;
    outcome.part = absl::StrCat("only the ", part.from_end ? "last " : "first ", count,
                                " records are shown; ", Text(part.rest));
    return outcome;
  }

 private:
  Outcome End(const char* complete) {
    Outcome outcome;
    outcome.answer.Add("count", static_cast<int64_t>(list_.rows.size()))
        .Add("complete", std::string(complete))
        .AddList(std::move(list_));
    return outcome;
  }

  const Session& session_;
  const HashKeyColumn hash_key_;
  const Values values_;
  Answer::List list_;
};

Outcome Show(const Session& session, const MultiGetResult& result, Values values,
             const Part& part) {
  RowList list(session, HashKeyColumn::kNotShown, values);
  for (const Row& row : result.rows) list.Add(row);
  return result.is_complete ? list.EndComplete() : list.EndIncomplete(part);
}

absl::StatusOr<Outcome> Show(const Session& session, RowRange range, HashKeyColumn hash_key,
                             Values values, int32_t asked) {
  RowList list(session, hash_key, values);
  // A bound also where nobody asked for one: a table may be of any size.
  const int32_t most = asked > 0 ? asked : kRecordsByDefault;
  int32_t count = 0;
  for (absl::StatusOr<Row>& row : range) {
    RETURN_IF_ERROR(row.status());
    // One record more than is shown is read: otherwise nobody knows whether there is more.
    if (count++ == most) return list.EndIncomplete({.rest = kMoreByCount, .asked = asked});
    list.Add(*row);
  }
  return list.EndComplete();
}

Outcome Ok(const Session& session, const std::string& hash_key) {
  Outcome outcome;
  outcome.answer.Add("hash_key", session.Shown(hash_key)).Say("ok");
  return outcome;
}

absl::StatusOr<Outcome> MultiSet(Session& session, const Words& words) {
  if (words.size() < 3 || words.size() % 2 == 0)
    return UsageError("a hash key, and a sort key and a value for each record");
  std::vector<SortKeyValue> values;
  for (size_t i = 1; i < words.size(); i += 2) values.push_back({words[i], words[i + 1]});
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  RETURN_IF_ERROR(Refusal(table->MultiPut(words[0], values)));
  return Ok(session, words[0]);
}

absl::StatusOr<Outcome> MultiGet(Session& session, const Words& words) {
  if (words.empty()) return UsageError("a hash key; without sort keys all of its records");
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  const Words sort_keys = Behind(words, 1);
  ASSIGN_OR_RETURN(const MultiGetResult result,
                   sort_keys.empty() ? table->MultiGet(words[0])
                                     : table->MultiGetKeys(words[0], Views(sort_keys)));
  return Show(session, result, Values::kReturn,
              {.rest = sort_keys.empty() ? kMoreByScan : "name fewer sort keys at once"});
}

absl::StatusOr<Outcome> MultiGetSortKeys(Session& session, const Words& words) {
  if (words.size() != 1) return UsageError("a hash key");
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  ASSIGN_OR_RETURN(const MultiGetResult result,
                   table->MultiGet(words[0], {.values = Values::kOmit}));
  return Show(session, result, Values::kOmit, {.rest = kMoreByScan});
}

absl::StatusOr<Outcome> MultiDelete(Session& session, const Words& words) {
  if (words.size() < 2) return UsageError("a hash key and sort keys");
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  RETURN_IF_ERROR(Refusal(table->MultiRemove(words[0], Views(Behind(words, 1)))));
  return Ok(session, words[0]);
}

// What multi_get_range and hash_scan have in common. The words and options outlive it.
struct RangeWords {
  static absl::StatusOr<RangeWords> Parse(const Words& words) {
    if (words.size() < 3)
      return UsageError("a hash key, the first sort key and the last (\"\": to the end)");
    RangeWords parsed;
    ASSIGN_OR_RETURN(
        parsed.options,
        Arguments::Parse(Behind(words, 3), {"-a", "-b", "-s", "-y", "-n"}, {"-i", "-r"}));
    if (!parsed.options.words().empty()) return UsageError("options only after the two sort keys");
    parsed.range = {.start = words[1], .stop = words[2]};
    ASSIGN_OR_RETURN(parsed.range.start_bound, BoundOf(parsed.options, "-a", Bound::kInclusive));
    ASSIGN_OR_RETURN(parsed.range.stop_bound, BoundOf(parsed.options, "-b", Bound::kExclusive));
    parsed.pattern = parsed.options.Value("-y");
    parsed.values = parsed.options.Has("-i") ? Values::kOmit : Values::kReturn;
    ASSIGN_OR_RETURN(parsed.asked, Number(parsed.options, "-n", 0));
    return parsed;
  }
  absl::StatusOr<KeyFilter> Filter() const { return FilterOf(options, "-s", "-y", pattern); }

  Arguments options;
  SortKeyRange range;
  std::string pattern;
  Values values = Values::kReturn;
  int32_t asked = 0;  // by -n; 0: all
};

absl::StatusOr<Outcome> MultiGetRange(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const RangeWords parsed, RangeWords::Parse(words));
  using From = MultiGetOptions::From;
  MultiGetOptions options{.range = parsed.range,
                          .count_max = parsed.asked > 0 ? parsed.asked : kRecordsByDefault,
                          .from = parsed.options.Has("-r") ? From::kStop : From::kStart,
                          .values = parsed.values};
  ASSIGN_OR_RETURN(options.sort_key_filter, parsed.Filter());
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  ASSIGN_OR_RETURN(const MultiGetResult result, table->MultiGet(words[0], options));
  const auto shown = static_cast<int32_t>(result.rows.size());
  return Show(session, result, parsed.values,
              {.rest = shown < options.count_max ? kMoreByScan : kMoreByCount,
               .asked = parsed.asked,
               .from_end = parsed.options.Has("-r")});
}

// Removes what a scan of the range finds, some at a time: others may see a part of it gone.
absl::StatusOr<Outcome> MultiDeleteRange(Session& session, const Words& words) {
  constexpr size_t kAtOnce = 100;
  ASSIGN_OR_RETURN(const RangeWords parsed, RangeWords::Parse(words));
  for (const char* option : {"-n", "-i", "-r"})
    if (parsed.options.Has(option))
      return UsageError(absl::StrCat(option, " means nothing here: the whole range is removed"));
  ScanOptions options{.range = parsed.range, .values = Values::kOmit};
  ASSIGN_OR_RETURN(options.sort_key_filter, parsed.Filter());
  // It removes: it must mean the table that has the name now.
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.ReopenTable());
  int64_t removed = 0;
  Words sort_keys;
  const auto remove = [&]() -> absl::Status {
    if (sort_keys.empty()) return absl::OkStatus();
    const absl::Status status = Refusal(table->MultiRemove(words[0], Views(sort_keys)));
    if (!status.ok()) return Annotate(status, absl::StrCat("after ", removed, " were removed"));
    removed += static_cast<int64_t>(sort_keys.size());
    sort_keys.clear();
    return absl::OkStatus();
  };
  RowRange range = table->Scan(words[0], options);
  for (absl::StatusOr<Row>& row : range) {
    RETURN_IF_ERROR(row.status());
    sort_keys.push_back(std::move(row->sort_key));
    if (sort_keys.size() == kAtOnce) RETURN_IF_ERROR(remove());
  }
  RETURN_IF_ERROR(remove());
  Outcome outcome;
  outcome.answer.Add("hash_key", session.Shown(words[0]))
      .Add("removed", removed)
      .Say(absl::StrCat(removed, " removed"));
  return outcome;
}

absl::StatusOr<Outcome> HashScan(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const RangeWords parsed, RangeWords::Parse(words));
  if (parsed.options.Has("-r")) return UsageError("a scan does not go backwards");
  ScanOptions options{.range = parsed.range, .values = parsed.values};
  ASSIGN_OR_RETURN(options.sort_key_filter, parsed.Filter());
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  return Show(session, table->Scan(words[0], options), HashKeyColumn::kNotShown, parsed.values,
              parsed.asked);
}

absl::StatusOr<Outcome> FullScan(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(const Arguments parsed,
                   Arguments::Parse(words, {"-h", "-x", "-s", "-y", "-n"}, {"-i"}));
  if (!parsed.words().empty()) return UsageError("options only");
  ASSIGN_OR_RETURN(const TableFilters filters, TableFilters::Of(parsed));
  TableScanOptions options = filters.Options();
  ASSIGN_OR_RETURN(const int32_t asked, Number(parsed, "-n", 0));
  options.values = parsed.Has("-i") ? Values::kOmit : Values::kReturn;
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  return Show(session, table->ScanTable(options), HashKeyColumn::kShown, options.values, asked);
}

absl::StatusOr<Outcome> Count(Session& session, const Words& words) {
  if (words.size() != 1) return UsageError("a hash key");
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  ASSIGN_OR_RETURN(const int64_t count, table->SortKeyCount(words[0]));
  Outcome outcome;
  outcome.answer.Add("count", count).Say(absl::StrCat(count));
  return outcome;
}

// In the order of Check::Type, under the names of the older shell.
constexpr std::string_view kCheckNames[] = {"no_check",
                                            "not_exist",
                                            "not_exist_or_empty",
                                            "exist",
                                            "not_empty",
                                            "match_anywhere",
                                            "match_prefix",
                                            "match_postfix",
                                            "bytes_less",
                                            "bytes_less_or_equal",
                                            "bytes_equal",
                                            "bytes_greater_or_equal",
                                            "bytes_greater",
                                            "int_less",
                                            "int_less_or_equal",
                                            "int_equal",
                                            "int_greater_or_equal",
                                            "int_greater"};
static_assert(std::size(kCheckNames) == static_cast<size_t>(Check::Type::kNumberGreater) + 1);

absl::StatusOr<Check::Type> CheckNamed(const std::string& name) {
  const auto* at = std::find(std::begin(kCheckNames), std::end(kCheckNames), name);
  if (at != std::end(kCheckNames)) return static_cast<Check::Type>(at - std::begin(kCheckNames));
  std::string all;
  for (std::string_view other : kCheckNames)
    absl::StrAppend(&all, all.empty() ? "" : ", ", Text(other));
  return UsageError(absl::StrCat("-t is one of ", all));
}

Outcome Show(const Session& session, const CheckOutcome& checked, CheckedValue asked) {
  Outcome outcome;
  outcome.answer.Add("passed", std::string(checked.is_passed ? "yes" : "no"));
  std::string line = checked.is_passed ? "passed, written" : "not passed, nothing written";
  if (asked == CheckedValue::kReturn) {
    const std::string value = checked.value.has_value()
                                  ? absl::StrCat("\"", session.Shown(*checked.value), "\"")
                                  : "none";
    outcome.answer.Add("checked_value", value);
    absl::StrAppend(&line, "; the value was ", value);
  }
  outcome.answer.Say(line);
  return outcome;
}

absl::StatusOr<absl::Duration> TtlOf(const Arguments& parsed) {
  if (parsed.Value("-l").empty()) return absl::InfiniteDuration();
  ASSIGN_OR_RETURN(const int32_t seconds, Number(parsed, "-l", 0));
  return absl::Seconds(seconds);
}

absl::StatusOr<Outcome> CheckAndSet(Session& session, const Words& words) {
  if (words.empty()) return UsageError("a hash key");
  ASSIGN_OR_RETURN(const Arguments parsed,
                   Arguments::Parse(Behind(words, 1), {"-c", "-t", "-o", "-s", "-v", "-l"}, {"-r"},
                                    {"-c", "-o", "-s", "-v"}));
  if (!parsed.words().empty()) return UsageError("options only after the hash key");
  const std::string check_key = parsed.Value("-c"), operand = parsed.Value("-o"),
                    set_key = parsed.Value("-s"), value = parsed.Value("-v");
  CheckedSet set{.hash_key = words[0], .check_sort_key = check_key, .set_value = value};
  ASSIGN_OR_RETURN(set.check.type, CheckNamed(parsed.Value("-t")));
  set.check.operand = operand;
  // Without -s the record that was checked is written; an empty -s names the empty sort key.
  if (parsed.Has("-s")) set.set_sort_key = set_key;
  ASSIGN_OR_RETURN(set.ttl, TtlOf(parsed));
  set.checked_value = parsed.Has("-r") ? CheckedValue::kReturn : CheckedValue::kOmit;
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  ASSIGN_OR_RETURN(const CheckOutcome outcome, Refusal(table->CheckAndSet(set)));
  return Show(session, outcome, set.checked_value);
}

absl::StatusOr<std::vector<SortKeyMutation>> MutationsOf(const Words& words) {
  std::vector<SortKeyMutation> mutations;
  for (size_t i = 0; i < words.size();) {
    if (words[i] == "set" && i + 2 < words.size()) {
      mutations.push_back(SortKeyMutation::Put(words[i + 1], words[i + 2]));
      i += 3;
    } else if (words[i] == "del" && i + 1 < words.size()) {
      mutations.push_back(SortKeyMutation::Remove(words[i + 1]));
      i += 2;
    } else {
      return UsageError("what is written is: set SORT_KEY VALUE, or del SORT_KEY, one or more");
    }
  }
  return mutations;
}

absl::StatusOr<Outcome> CheckAndMutate(Session& session, const Words& words) {
  if (words.empty()) return UsageError("a hash key");
  ASSIGN_OR_RETURN(const Arguments parsed,
                   Arguments::Parse(Behind(words, 1), {"-c", "-t", "-o"}, {"-r"}, {"-c", "-o"}));
  const std::string check_key = parsed.Value("-c"), operand = parsed.Value("-o");
  CheckedMutations asked{.hash_key = words[0], .check_sort_key = check_key};
  ASSIGN_OR_RETURN(asked.check.type, CheckNamed(parsed.Value("-t")));
  asked.check.operand = operand;
  ASSIGN_OR_RETURN(asked.mutations, MutationsOf(parsed.words()));
  asked.checked_value = parsed.Has("-r") ? CheckedValue::kReturn : CheckedValue::kOmit;
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  ASSIGN_OR_RETURN(const CheckOutcome outcome, Refusal(table->CheckAndMutate(asked)));
  return Show(session, outcome, asked.checked_value);
}

}  // namespace

std::vector<Command> RecordListCommands() {
  constexpr auto kNothing = Command::Completes::kNothing;
  return {
      {"multi_set", "HASH_KEY SORT_KEY VALUE [SORT_KEY VALUE]...", "writes records, all or none",
       kNothing, MultiSet},
      {"multi_get", "HASH_KEY [SORT_KEY]...", "reads records of a hash key", kNothing, MultiGet},
      {"multi_get_range",
       "HASH_KEY START STOP [-a true|false] [-b true|false] [-s anywhere|prefix|postfix -y "
       "PATTERN] "
       "[-n COUNT] [-i] [-r]",
       "reads a range; -a, -b: bounds inclusive; -i: keys only; -r: from its end", kNothing,
       MultiGetRange},
      {"multi_get_sortkeys", "HASH_KEY", "the sort keys of a hash key's records", kNothing,
       MultiGetSortKeys},
      {"multi_del_range",
       "HASH_KEY START STOP [-a true|false] [-b true|false] [-s anywhere|prefix|postfix -y "
       "PATTERN]",
       "removes a range; -a, -b: bounds inclusive", kNothing, MultiDeleteRange},
      {"multi_del", "HASH_KEY SORT_KEY [SORT_KEY]...", "removes records, all or none", kNothing,
       MultiDelete},
      {"count", "HASH_KEY", "how many records a hash key has", kNothing, Count},
      {"check_and_set",
       "HASH_KEY -t CHECK [-c SORT_KEY] [-o OPERAND] [-s SET_SORT_KEY] [-v VALUE] [-l TTL_SECONDS] "
       "[-r]",
       "writes if a record passes a check; -r: shows what was checked", kNothing, CheckAndSet},
      {"check_and_mutate",
       "HASH_KEY -t CHECK [-c SORT_KEY] [-o OPERAND] [-r] set SORT_KEY VALUE | del SORT_KEY ...",
       "writes several if a record passes a check", kNothing, CheckAndMutate},
      {"hash_scan",
       "HASH_KEY START STOP [-a true|false] [-b true|false] [-s anywhere|prefix|postfix -y "
       "PATTERN] "
       "[-n COUNT] [-i]",
       "reads a hash key's records, 1000 or COUNT", kNothing, HashScan},
      {"full_scan",
       "[-h anywhere|prefix|postfix -x PATTERN] [-s anywhere|prefix|postfix -y PATTERN] [-n COUNT] "
       "[-i]",
       "reads the table's records, 1000 or COUNT; -h, -x: of the hash key; -s, -y: of the sort key",
       kNothing, FullScan}};
}

}  // namespace arion::shell
