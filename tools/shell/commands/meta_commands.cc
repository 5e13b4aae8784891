// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/time/clock.h>

#include <algorithm>
#include <optional>

#include "base/status.h"
#include "messages/admin_messages.h"
#include "rpc/thrift_codec.h"
#include "tools/shell/session.h"

namespace arion::shell {
namespace {

// For one server's answer: a dead one is not to hold up the others.
constexpr absl::Duration kAnswerIn = absl::Seconds(1);
constexpr absl::Duration kNextLeadsIn = absl::Seconds(10);
constexpr absl::Duration kLookAgainAfter = absl::Milliseconds(10);

// What one meta server says of itself.
struct MetaServerState {
  Endpoint address;
  enum class Role { kLeader, kFollower, kSilent } role = Role::kSilent;
  QueryLeadResponse said;
  // Why nothing is known.
  std::string error;
};

bool Says(const absl::Status& status, ErrorCode error) {
  return absl::StrContains(status.message(), Text(ErrorCodeName(error)));
}

// One that does not know the question: only who does not lead names another, or says "ask others".
absl::Status AskOlder(AdminClient& admin, MetaServerState* state) {
  ASSIGN_OR_RETURN(const std::string body, admin.AskServer(state->address, kRpcQueryConfig,
                                                           EncodeWrapped(QueryConfigRequest())));
  ASSIGN_OR_RETURN(const auto answer, DecodeWrapped<QueryConfigResponse>(body));
  state->said.is_leader = answer.err == ErrorCode::kObjectNotFound;
  if (answer.err != ErrorCode::kForwardToOthers && !state->said.is_leader)
    return absl::UnavailableError(
        absl::StrCat(state->address.ToString(), ": ", Text(ErrorCodeName(answer.err))));
  if (state->said.is_leader) state->said.leader = state->address;
  if (!answer.partitions.empty()) state->said.leader = answer.partitions[0].primary;
  return absl::OkStatus();
}

absl::Status AskNew(AdminClient& admin, MetaServerState* state) {
  ASSIGN_OR_RETURN(const std::string body, admin.AskServer(state->address, kRpcQueryLead,
                                                           EncodeWrapped(QueryLeadRequest())));
  ASSIGN_OR_RETURN(state->said, DecodeWrapped<QueryLeadResponse>(body));
  return absl::OkStatus();
}

MetaServerState Ask(AdminClient& admin, Endpoint server) {
  MetaServerState state{.address = server};
  absl::Status asked = AskNew(admin, &state);
  // An older one of ours that does not lead answers so whatever it is asked.
  if (Says(asked, ErrorCode::kHandlerNotFound) || Says(asked, ErrorCode::kForwardToOthers))
    asked = AskOlder(admin, &state);
  if (!asked.ok())
    state.error = std::string(asked.message());
  else
    state.role =
        state.said.is_leader ? MetaServerState::Role::kLeader : MetaServerState::Role::kFollower;
  return state;
}

// All that the shell was given, and whoever leads beside them.
std::vector<MetaServerState> AskAll(AdminClient& admin, const std::vector<Endpoint>& servers) {
  std::vector<MetaServerState> states;
  for (const Endpoint& server : servers) states.push_back(Ask(admin, server));
  for (size_t i = 0; i < states.size(); ++i) {
    const Endpoint leader = states[i].said.leader;
    const bool is_there = std::any_of(states.begin(), states.end(),
                                      [&](const auto& state) { return state.address == leader; });
    if (leader.IsValid() && !is_there) states.push_back(Ask(admin, leader));
  }
  return states;
}

const MetaServerState* LeaderOf(const std::vector<MetaServerState>& states) {
  const auto found = std::find_if(states.begin(), states.end(), [](const MetaServerState& state) {
    return state.role == MetaServerState::Role::kLeader;
  });
  return found == states.end() ? nullptr : &*found;
}

std::string RoleOf(const MetaServerState& state) {
  switch (state.role) {
    case MetaServerState::Role::kLeader:
      return state.said.is_single ? "leader, the only one" : "leader";
    case MetaServerState::Role::kFollower:
      return state.said.leader.IsValid() ? "follows " + state.said.leader.ToString()
                                         : "follows, knows no leader";
    case MetaServerState::Role::kSilent:
      return "does not answer: " + state.error;
  }
  return "";
}

std::string SinceOf(const MetaServerState& state) {
  if (state.said.since_unix_ms == 0) return "";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixMillis(state.said.since_unix_ms),
                          absl::LocalTimeZone());
}

Outcome Shown(const std::vector<MetaServerState>& states) {
  Outcome outcome;
  const MetaServerState* leader = LeaderOf(states);
  outcome.answer.Add("leader", leader != nullptr ? leader->address.ToString() : "");
  outcome.answer.Add("since", leader != nullptr ? SinceOf(*leader) : "");
  if (leader == nullptr) outcome.health = Health::kBad;
  Answer::List list{"meta_servers", {"address", "role"}, {}};
  for (const MetaServerState& state : states) {
    const bool is_well = state.role != MetaServerState::Role::kSilent &&
                         (leader == nullptr || state.said.leader == leader->address);
    if (!is_well) outcome.health = Health::kBad;
    list.rows.push_back({state.address.ToString(), RoleOf(state)});
  }
  outcome.answer.AddList(std::move(list));
  return outcome;
}

// An error: it leads on, and why. An answer that did not come proves nothing.
absl::Status GiveUp(AdminClient& admin, Endpoint leader) {
  const absl::StatusOr<std::string> body =
      admin.AskServer(leader, kRpcHandOverLead, EncodeWrapped(HandOverLeadRequest()));
  if (Says(body.status(), ErrorCode::kHandlerNotFound))
    return absl::FailedPreconditionError(absl::StrCat(
        leader.ToString(), " is of a version that can't hand over: stop it (SIGTERM) instead"));
  for (const ErrorCode refusal : {ErrorCode::kAclDeny, ErrorCode::kInvalidData})
    if (Says(body.status(), refusal)) return absl::PermissionDeniedError(body.status().message());
  if (!body.ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto answer, DecodeWrapped<HandOverLeadResponse>(*body));
  // To whom it says "ask others" it has handed over before.
  if (answer.err == ErrorCode::kOk || answer.err == ErrorCode::kForwardToOthers)
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(leader.ToString(), " leads on: ", answer.hint_message));
}

absl::StatusOr<Outcome> HandOver(AdminClient& admin, const std::vector<MetaServerState>& states) {
  const MetaServerState* former = LeaderOf(states);
  if (former == nullptr)
    return absl::FailedPreconditionError(
        "nobody leads now, of those that answer; meta_leader shows them");
  const absl::Time begun = absl::Now();
  RETURN_IF_ERROR(GiveUp(admin, former->address));
  // Those that answer at once: whoever is silent does not come to lead now.
  std::vector<Endpoint> others;
  for (const MetaServerState& state : states)
    if (state.role == MetaServerState::Role::kFollower) others.push_back(state.address);
  while (absl::Now() < begun + kNextLeadsIn) {
    const std::vector<MetaServerState> now = AskAll(admin, others);
    const MetaServerState* leader = LeaderOf(now);
    if (leader != nullptr && leader->address != former->address) {
      Outcome outcome;
      outcome.answer.Add("leader", leader->address.ToString())
          .Add("former_leader", former->address.ToString())
          .Add("took_ms", absl::ToInt64Milliseconds(absl::Now() - begun));
      return outcome;
    }
    absl::SleepFor(kLookAgainAfter);
  }
  return absl::FailedPreconditionError(absl::StrCat("after ", absl::FormatDuration(kNextLeadsIn),
                                                    " no other than ", former->address.ToString(),
                                                    " leads; meta_leader shows who answers"));
}

absl::StatusOr<Outcome> MetaLeader(Session& session, const Words& words) {
  if (words.size() > 1 || (words.size() == 1 && words[0] != "hand-over"))
    return UsageError("it takes nothing, or hand-over");
  std::vector<std::string> servers;
  for (const Endpoint& server : session.cluster().meta_servers())
    servers.push_back(server.ToString());
  ASSIGN_OR_RETURN(const auto admin,
                   AdminClient::Create(servers, kAnswerIn, session.cluster().admin_token()));
  const std::vector<MetaServerState> states = AskAll(*admin, session.cluster().meta_servers());
  if (!words.empty()) return HandOver(*admin, states);
  const bool is_silent = std::all_of(states.begin(), states.end(), [](const auto& state) {
    return state.role == MetaServerState::Role::kSilent;
  });
  if (is_silent) return absl::UnavailableError("no meta server answers: " + states[0].error);
  return Shown(states);
}

}  // namespace

std::vector<Command> MetaCommands() {
  return {{"meta_leader", "[hand-over]",
           "which of several meta servers leads, since when, and what each of them says; "
           "hand-over: the leader gives the lead to another one, and this waits until that leads",
           Command::Completes::kNothing, MetaLeader}};
}

}  // namespace arion::shell
