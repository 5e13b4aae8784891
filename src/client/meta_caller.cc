// SPDX-License-Identifier: Apache-2.0
#include "client/meta_caller.h"

#include <algorithm>

#include "base/log.h"
#include "client/retry_policy.h"
#include "env/clock.h"
#include "env/environment.h"
#include "messages/meta_messages.h"

namespace arion {
namespace {

// A refusal that may be the echo of an attempt whose answer was lost.
absl::Status Undecided(const std::string& name, Endpoint from, ErrorCode now) {
  return absl::DeadlineExceededError(
      absl::StrCat(name, " may have been done by an attempt that was not answered; now ",
                   from.ToString(), " says ", Text(ErrorCodeName(now))));
}

}  // namespace

MetaCaller::MetaCaller(Environment& environment, Transport& transport, StrandPtr strand,
                       MetaCallerOptions options)
    : environment_(environment),
      transport_(transport),
      strand_(std::move(strand)),
      options_(std::move(options)) {
  CHECK(!options_.meta_servers.empty());
}

Endpoint MetaCaller::LeaderIn(const QueryConfigResponse& answer) {
  return answer.err == ErrorCode::kForwardToOthers && !answer.partitions.empty()
             ? answer.partitions[0].primary
             : Endpoint();
}

void MetaCaller::Ask(Question question) {
  CHECK_ON_STRAND(strand_);
  Send(std::make_shared<Question>(std::move(question)), options_.meta_servers[favourite_]);
}

void MetaCaller::Send(std::shared_ptr<Question> question, Endpoint to) {
  // One deadline for all attempts, so it is checked before each.
  const absl::Duration left = question->deadline - environment_.clock().Now();
  if (left <= absl::ZeroDuration()) {
    question->done(absl::DeadlineExceededError(
        absl::StrCat("no meta server answered ", question->name,
                     " in time; the last said: ", question->last_error)));
    return;
  }
  ++question->asked;
  OutboundRequest request{.name = question->name,
                          .body = question->body,
                          .timeout = std::min(left, options_.attempt_timeout)};
  transport_.Call(to, std::move(request), strand_,
                  [weak = weak_from_this(), question, to](RpcResult result) {
                    if (auto self = weak.lock()) self->OnAnswer(question, to, result);
                  });
}

void MetaCaller::OnAnswer(std::shared_ptr<Question> question, Endpoint from,
                          const RpcResult& result) {
  question->last_error = absl::StrCat(from.ToString(), " ", Text(ErrorCodeName(result.error)));
  switch (result.error) {
    case ErrorCode::kOk:
      break;
    // A follower; its answer's body names the leader, if it knows one.
    case ErrorCode::kForwardToOthers: {
      absl::StatusOr<Endpoint> leader = DecodeWrapped<Endpoint>(result.body);
      return AskNext(question, from, leader.ok() ? *leader : Endpoint());
    }
    // It may have been carried out without an answer.
    case ErrorCode::kTimeout:
    case ErrorCode::kNetworkFailure:
      if (!result.was_never_sent) question->may_have_happened = true;
      return AskNext(question, from, Endpoint());
    // It does not serve yet, or is overloaded: nothing was done, and another one may lead by now.
    case ErrorCode::kServiceNotActive:
    case ErrorCode::kBusy:
      return AskNext(question, from, Endpoint());
    default:
      if (IsUndecided(*question))
        return question->done(Undecided(question->name, from, result.error));
      return question->done(StatusOfMetaError(result.error, question->name));
  }
  absl::StatusOr<Header> header = question->parse(result.body);
  if (!header.ok()) {
    return question->done(
        absl::InternalError(absl::StrCat("the answer to ", question->name, " of ", from.ToString(),
                                         " can't be read: ", header.status().message())));
  }
  // The same said inside the answer.
  if (header->err == ErrorCode::kForwardToOthers || header->err == ErrorCode::kServiceNotActive) {
    question->last_error = absl::StrCat(from.ToString(), " ", Text(ErrorCodeName(header->err)));
    const auto forward = DecodeWrapped<ForwardResponse>(result.body);
    const auto told =
        forward.ok() ? Endpoint::Parse(forward->arion_leader.value_or("")) : std::nullopt;
    return AskNext(question, from, told.value_or(header->leader));
  }
  const auto& servers = options_.meta_servers;
  // This one leads: the next question begins with it.
  if (auto it = std::find(servers.begin(), servers.end(), from); it != servers.end()) {
    favourite_ = static_cast<size_t>(it - servers.begin());
  }
  if (header->err != ErrorCode::kOk && IsUndecided(*question))
    return question->done(Undecided(question->name, from, header->err));
  question->done(absl::OkStatus());
}

void MetaCaller::AskNext(std::shared_ptr<Question> question, Endpoint not_this_one, Endpoint hint) {
  const auto& servers = options_.meta_servers;
  Endpoint next = hint;
  // No hint, or one that points back: the next of the list.
  if (!next.IsValid() || next == not_this_one) {
    auto it = std::find(servers.begin(), servers.end(), not_this_one);
    // A hinted server may be none of the list.
    const size_t index = it == servers.end() ? favourite_ : it - servers.begin() + 1;
    favourite_ = index % servers.size();
    next = servers[favourite_];
  }
  // One who points elsewhere costs an attempt as well, so that two who point at each other end in a
  // pause.
  if (question->asked % (servers.size() + 1) < servers.size()) return Send(question, next);
  strand_->PostAfter(options_.round_pause, [weak = weak_from_this(), question, next] {
    if (auto self = weak.lock()) self->Send(question, next);
  });
}

}  // namespace arion
