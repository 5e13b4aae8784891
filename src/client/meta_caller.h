// MetaCaller: asks the meta servers, whichever of them leads.
//
//   caller->Call<QueryConfigResponse>(kRpcQueryConfig, QueryConfigRequest{.app_name = "temp"},
//       deadline, [](absl::StatusOr<QueryConfigResponse> answer) { ... });
//
// Errors    DeadlineExceeded: no meta server answered in time. Other RPC-level refusals as
//           StatusOfMetaError. An answer's own `err` is left to the caller, but for "ask another"
//           and "not active yet", which are followed here. A question whose attempt was not
//           answered is sent again. Where a repetition is refused because the first attempt was
//           carried out (Again::kRefusal), a refusal proves nothing, and is DeadlineExceeded too.
// Threads   Strand-bound: call on the strand given; callbacks come back on it, each once, unless
//           this is destroyed first.
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
#include "rpc/admin_token.h"
#include "rpc/thrift_codec.h"
#include "rpc/transport.h"

namespace arion {

class Environment;
struct QueryConfigResponse;

// Whom to ask and how patiently.
struct MetaCallerOptions {
  // At least one.
  std::vector<Endpoint> meta_servers;
  // For the answer of one server. Then the next one is asked.
  absl::Duration attempt_timeout = absl::Seconds(1);
  // After every server was asked in vain, before the next round.
  absl::Duration round_pause = absl::Milliseconds(200);
  // What changes need where servers ask for one. It goes with each question; empty: none.
  std::string admin_token;
};

// Begins with the server that answered last, follows a server's hint at its leader, else goes
// through the list round robin. It sends one attempt of a question at a time. Questions do not wait
// for each other. Owned by a shared_ptr: answers refer to it weakly, and come to nothing when it is
// gone.
class MetaCaller : public std::enable_shared_from_this<MetaCaller> {
 public:
  // `environment` and `transport` outlive it.
  MetaCaller(Environment& environment, Transport& transport, StrandPtr strand,
             MetaCallerOptions options);

  // What the meta server answers to a question that it has carried out already: the same as the
  // first time, or a refusal ("exists already").
  enum class Again { kTheSame, kRefusal };

  // Sends `request` under the RPC code `name`. `deadline` bounds all attempts together. `Response`
  // has an ErrorCode `err`. `done` is not called before this returns unless the deadline has
  // passed.
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
  // What this class must know of an answer.
  struct Header {
    ErrorCode err = ErrorCode::kOk;
    // The server to ask instead, where the answer names it.
    Endpoint leader;
  };
  // One question under way.
  struct Question {
    std::string name;
    std::string body;
    Instant deadline;
    Again again = Again::kTheSame;
    // Decodes the answer's body into the caller's slot.
    std::function<absl::StatusOr<Header>(const std::string&)> parse;
    absl::AnyInvocable<void(absl::Status)> done;
    // Attempts so far.
    int asked = 0;
    // An attempt reached the network and was not answered.
    bool may_have_happened = false;
    // For the text of DeadlineExceeded.
    std::string last_error = "not asked";
  };

  // Where an answer of this type names the leader; only a configuration's query does.
  template <class Response>
  static Endpoint LeaderIn(const Response&) {
    return {};
  }
  static Endpoint LeaderIn(const QueryConfigResponse& answer);

  // One question: Ask, then Send and OnAnswer for each attempt, AskNext between them.
  void Ask(Question question);
  void Send(std::shared_ptr<Question> question, Endpoint to);
  void OnAnswer(std::shared_ptr<Question> question, Endpoint from, const RpcResult& result);
  // Whether a refusal may be the echo of an earlier attempt.
  static bool IsUndecided(const Question& question) {
    return question.may_have_happened && question.again == Again::kRefusal;
  }
  void AskNext(std::shared_ptr<Question> question, Endpoint not_this_one, Endpoint hint);

  Environment& environment_;
  Transport& transport_;
  const StrandPtr strand_;
  const MetaCallerOptions options_;
  // The index of the server that answered last.
  size_t favourite_ = 0;
};

}  // namespace arion
