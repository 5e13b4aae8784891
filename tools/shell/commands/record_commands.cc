// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>

#include "base/status.h"
#include "tools/shell/commands/record_list_commands.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

absl::StatusOr<Outcome> Set(Session& session, const Words& arguments) {
  if (arguments.size() < 3 || arguments.size() > 4)
    return UsageError("a hash key, a sort key and a value");
  PutOptions options;
  if (int32_t seconds = 0; arguments.size() == 4) {
    if (!absl::SimpleAtoi(arguments[3], &seconds) || seconds <= 0)
      return UsageError("the time to live is a number of seconds");
    options.ttl = absl::Seconds(seconds);
  }
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  RETURN_IF_ERROR(Refusal(table->Put(arguments[0], arguments[1], arguments[2], options)));
  Outcome outcome;
  outcome.answer.Add("hash_key", session.Shown(arguments[0]))
      .Add("sort_key", session.Shown(arguments[1]))
      .Say("ok");
  return outcome;
}

absl::StatusOr<Outcome> Get(Session& session, const Words& arguments) {
  if (arguments.size() != 2) return UsageError("a hash key and a sort key (\"\" when it is empty)");
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  absl::StatusOr<std::string> value = table->Get(arguments[0], arguments[1]);
  if (absl::IsNotFound(value.status())) return absl::NotFoundError("there is no such record");
  RETURN_IF_ERROR(value.status());
  Outcome outcome;
  outcome.answer.Add("hash_key", session.Shown(arguments[0]))
      .Add("sort_key", session.Shown(arguments[1]))
      .Add("value", session.Shown(*value))
      .Say(absl::StrCat("\"", session.Shown(*value), "\""));
  return outcome;
}

absl::StatusOr<Outcome> Delete(Session& session, const Words& arguments) {
  if (arguments.size() != 2) return UsageError("a hash key and a sort key (\"\" when it is empty)");
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  RETURN_IF_ERROR(table->Remove(arguments[0], arguments[1]));
  Outcome outcome;
  outcome.answer.Add("hash_key", session.Shown(arguments[0]))
      .Add("sort_key", session.Shown(arguments[1]))
      .Say("ok");
  return outcome;
}

absl::StatusOr<Outcome> Ttl(Session& session, const Words& arguments) {
  if (arguments.size() != 2) return UsageError("a hash key and a sort key (\"\" when it is empty)");
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  absl::StatusOr<absl::Duration> left = table->Ttl(arguments[0], arguments[1]);
  if (absl::IsNotFound(left.status())) return absl::NotFoundError("there is no such record");
  RETURN_IF_ERROR(left.status());
  const bool expires = *left < absl::InfiniteDuration();
  const int64_t seconds = expires ? absl::ToInt64Seconds(*left) : -1;
  Outcome outcome;
  outcome.answer.Add("hash_key", session.Shown(arguments[0]))
      .Add("sort_key", session.Shown(arguments[1]))
      .Add("ttl_seconds", seconds)
      .Say(expires ? absl::StrCat(seconds, " s left") : "never expires");
  return outcome;
}

absl::StatusOr<Outcome> Exist(Session& session, const Words& arguments) {
  if (arguments.size() != 2) return UsageError("a hash key and a sort key (\"\" when it is empty)");
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  const absl::Status found = table->Ttl(arguments[0], arguments[1]).status();
  if (!absl::IsNotFound(found)) RETURN_IF_ERROR(found);
  Outcome outcome;
  outcome.answer.Add("hash_key", session.Shown(arguments[0]))
      .Add("sort_key", session.Shown(arguments[1]))
      .Add("exists", std::string(found.ok() ? "yes" : "no"))
      .Say(found.ok() ? "true" : "false");
  return outcome;
}

absl::StatusOr<Outcome> Increment(Session& session, const Words& arguments) {
  int64_t by = 1;
  if (arguments.size() < 2 || arguments.size() > 3 ||
      (arguments.size() == 3 && !absl::SimpleAtoi(arguments[2], &by)))
    return UsageError("a hash key, a sort key and a number to add (1 without one)");
  ASSIGN_OR_RETURN(std::shared_ptr<Table> table, session.CurrentTable());
  ASSIGN_OR_RETURN(const int64_t value, Refusal(table->Incr(arguments[0], arguments[1], by)));
  Outcome outcome;
  outcome.answer.Add("hash_key", session.Shown(arguments[0]))
      .Add("sort_key", session.Shown(arguments[1]))
      .Add("value", value)
      .Say(absl::StrCat(value));
  return outcome;
}

}  // namespace

std::vector<Command> RecordCommands() {
  using Completes = Command::Completes;
  std::vector<Command> commands = {
      {"set", "HASH_KEY SORT_KEY VALUE [TTL_SECONDS]", "writes a record", Completes::kNothing, Set},
      {"get", "HASH_KEY SORT_KEY", "reads a record", Completes::kNothing, Get},
      {"del", "HASH_KEY SORT_KEY", "removes a record", Completes::kNothing, Delete},
      {"exist", "HASH_KEY SORT_KEY", "whether a record is there", Completes::kNothing, Exist},
      {"ttl", "HASH_KEY SORT_KEY", "how long a record lives", Completes::kNothing, Ttl},
      {"incr", "HASH_KEY SORT_KEY [NUMBER]", "adds to a number", Completes::kNothing, Increment}};
  for (Command& command : RecordListCommands()) commands.push_back(std::move(command));
  return commands;
}

}  // namespace arion::shell
