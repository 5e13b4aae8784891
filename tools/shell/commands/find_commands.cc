// Records by an index.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>

#include "base/status.h"
#include "tools/shell/arguments.h"
#include "tools/shell/commands/index_commands.h"
#include "tools/shell/commands/record_list_commands.h"
#include "tools/shell/literals.h"

namespace arion::shell {
namespace {

absl::StatusOr<Outcome> Find(Session& session, const Words& words) {
  ASSIGN_OR_RETURN(
      const Arguments arguments,
      Arguments::Parse(words, {"-n", "--after"}, {"--values", "--descending", "--scan"}));
  const Words& rest = arguments.words();
  if (rest.size() < 2) return UsageError("a table and the name of one of its indexes");
  ASSIGN_OR_RETURN(FindOptions options, ParseCondition(rest, 2));
  if (const std::string limit = arguments.Value("-n");
      !limit.empty() && (!absl::SimpleAtoi(limit, &options.limit) || options.limit < 1))
    return UsageError("-n takes a number of rows, at least 1");
  const bool with_values = arguments.Has("--values");
  if (with_values) options.values = Values::kReturn;
  if (arguments.Has("--descending")) options.order = FindOptions::Order::kDescending;
  if (arguments.Has("--scan")) options.while_building = FindOptions::WhileBuilding::kScan;
  const std::string after = arguments.Value("--after");
  options.after = after;
  // The table that has the name now.
  session.cluster().ForgetOpenTable(rest[0]);
  ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, session.cluster().OpenTable(rest[0]));
  ASSIGN_OR_RETURN(const FindResult found, Refusal(table->Find(rest[1], options)));

  Answer::List list{"rows", {"field", "type", "hash_key", "sort_key"}, {}};
  if (with_values) list.columns.emplace_back("value");
  for (const IndexedRow& row : found.rows) {
    std::vector<Cell>& cells = list.rows.emplace_back();
    cells = {LiteralText(row.field, [&](std::string_view text) { return session.Shown(text); }),
             std::string(TypeOf(row.field)), session.Shown(row.hash_key),
             session.Shown(row.sort_key)};
    if (with_values) cells.emplace_back(session.Shown(row.value));
  }
  Outcome outcome;
  // All bytes escaped: it goes through terminals and scripts unharmed.
  const std::string next = EscapeAll(found.next);
  outcome.answer.Add("count", static_cast<int64_t>(found.rows.size()))
      .Add("complete", std::string(next.empty() ? "yes" : "no"))
      .Add("next", next)
      .AddList(std::move(list));
  if (!next.empty()) outcome.part = absl::StrCat("there are more rows: --after ", next);
  return outcome;
}

}  // namespace

Command FindCommand() {
  return {"find",
          "TABLE NAME [=|<|<=|>|>= LITERAL | prefix TEXT | between LITERAL LITERAL] [-n COUNT] "
          "[--values] [--descending] [--scan] [--after NEXT]",
          "records by an index, in its order, 100 without -n; LITERAL: 5, 1.5, true, a word, or "
          "'\"5\"' for a text; --scan reads all records while the index is being built",
          Command::Completes::kIndexes, Find};
}

}  // namespace arion::shell
