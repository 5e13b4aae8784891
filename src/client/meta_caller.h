// MetaCaller: asks the meta servers, whichever of them leads.
//
// Errors   DeadlineExceeded: no meta server answered in time. Other RPC-level refusals as
//          StatusOfMetaError. An answer's own `err` is left to the caller, but for "ask another"
//          and "not active yet", which are followed here. A question whose attempt was not answered
//          is sent again; where that is refused because the first was carried out (Again::kRefusal),
//          a refusal says nothing, and is DeadlineExceeded too.
// Threads  Strand-bound: call on the strand given; callbacks come back on it, each once, unless
//          this is destroyed first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "base/status.h"
#include "env/environment.h"
#include "rpc/admin_token.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {

struct MetaCallerOptions {
  std::vector<Endpoint> meta_servers;                    // at least one
  absl::Duration attempt_timeout = absl::Seconds(1);     // of one server's answer
  absl::Duration round_pause = absl::Milliseconds(200);  // after all of them were asked in vain
  std::string admin_token;                               // goes with each question; empty: none
};

class MetaCaller : public std::enable_shared_from_this<MetaCaller> {
 public:
  // `environment` and `transport` outlive it.
  MetaCaller(Environment& environment, Transport& transport, StrandPtr strand,
             MetaCallerOptions options);

  // What a question that was carried out is answered when it comes again.
  enum class Again { kTheSame, kRefusal };

  // `deadline` bounds everything. `Response` has an ErrorCode `err`.
  template <class Response, class Request>
  void Call(const char* name, const Request& request, Instant deadline,
            absl::AnyInvocable<void(absl::StatusOr<Response>)> done,
            Again again = Again::kTheSame) {
    auto slot = std::make_shared<absl::StatusOr<Response>>(absl::UnknownError(""));
    std::string body = EncodeWrapped(request);
    if (!options_.admin_token.empty()) AddAdminToken(options_.admin_token, &body);
    Ask({.name = name,
         .body = std::move(body),
         .deadline = deadline,
         .again = again,
         .parse = [slot](const std::string& body) -> absl::StatusOr<Header> {
           *slot = DecodeWrapped<Response>(body);
           if (!slot->ok()) return slot->status();
           return Header{.err = (*slot)->err, .leader = LeaderIn(**slot)};
         },
         .done =
             [slot, done = std::move(done)](absl::Status status) mutable {
               if (!status.ok()) *slot = std::move(status);
               done(std::move(*slot));
             }});
  }

 private:
  struct Header {
    ErrorCode err = ErrorCode::kOk;
    Endpoint leader;  // whom to ask instead, where the answer says so
  };
  struct Question {
    std::string name;
    std::string body;
    Instant deadline;
    Again again = Again::kTheSame;
    std::function<absl::StatusOr<Header>(const std::string&)> parse;
    absl::AnyInvocable<void(absl::Status)> done;
    int asked = 0;
    bool may_have_happened = false;
    std::string last_error = "not asked";
  };

  template <class Response>
  static Endpoint LeaderIn(const Response&) {
    return {};
  }
  static Endpoint LeaderIn(const QueryConfigResponse& answer) {
    return answer.err == ErrorCode::kForwardToOthers && !answer.partitions.empty()
               ? answer.partitions[0].primary
               : Endpoint();
  }

  void Ask(Question question);
  void Send(std::shared_ptr<Question> question, Endpoint to);
  void OnAnswer(std::shared_ptr<Question> question, Endpoint from, const RpcResult& result);
  static bool IsUndecided(const Question& question) {
    return question.may_have_happened && question.again == Again::kRefusal;
  }
  void AskNext(std::shared_ptr<Question> question, Endpoint not_this_one, Endpoint hint);

  Environment& environment_;
  Transport& transport_;
  const StrandPtr strand_;
  const MetaCallerOptions options_;
  size_t favourite_ = 0;  // who answered last
};

}  // namespace arion
