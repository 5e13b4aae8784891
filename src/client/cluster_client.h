// ClusterClient: the caller of data requests. It routes questions to primaries, follows them when
// they move, and retries. What the questions are and what the answers say is not its concern
// (client/question.h); RoutedTable asks them for users and for the simulator alike.
//
// Errors    Of a write: a body; DeadlineExceeded = undecided; anything else = refused. Of a read: a
//           body; DeadlineExceeded: no answer. Both: NotFound: the table does not exist;
//           InvalidArgument, ResourceExhausted, PermissionDenied, Unavailable as in
//           include/arion/table.h. Aborted: the table was split since the question was made
//           (Question::present_count); nothing came of it.
// Threads   Strand-bound: call on the strand given; callbacks come back on it, each once, never
//           inline, unless this is destroyed first.
// Promises  cluster_client/K3  A write whose status is neither OK nor DeadlineExceeded has not
//               happened and will not.
//           cluster_client/K4  With WriteRetries::kAfterRefusals what may have happened is not sent
//               again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <arion/client_options.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/question.h"
#include "client/retry_policy.h"
#include "client/table_router.h"
#include "env/clock.h"
#include "env/environment.h"

namespace arion {

class MetaCaller;
struct OutboundRequest;
struct QueryConfigResponse;
struct RpcResult;
class Transport;

// How a client behaves. The meta servers are not empty.
struct ClusterClientOptions {
  std::vector<Endpoint> meta_servers;
  // Of one operation, retries included.
  absl::Duration timeout = absl::Seconds(5);
  // How long one attempt may stay silent before the route is looked up again, where another attempt
  // may follow. If another server is the primary by then, it is asked at once, beside the silent
  // attempt. The same server is asked again after this long, then after twice as long each time;
  // for a write these pauses begin at twice this value.
  absl::Duration attempt_timeout = absl::Milliseconds(1500);
  // For writes whose AskOptions do not say.
  WriteRetries write_retries = WriteRetries::kAlways;
  // Between attempts that were refused for the moment.
  RetryPause pause;
  // Authenticates those who change tables; empty: no token is sent.
  std::string admin_token;
};

// What one question may decide for itself. No value: as the client's options say.
struct AskOptions {
  std::optional<absl::Duration> timeout;
  std::optional<WriteRetries> write_retries;
  // A read that the primary has not answered after this long is sent to a secondary too. Infinite:
  // never. Ignored for writes.
  absl::Duration backup_after = absl::InfiniteDuration();
};

// One client's view of one cluster: routes of every table it was asked for, and the operations
// under way. Held by shared_ptr; callbacks of its own work hold it weakly, so the last owner may
// drop it at any time on its strand.
//
// An operation ends when an attempt is answered, when it is refused for good, or at its deadline.
// Its life: Start, Advance (is the primary known?), Send, OnAnswer, and back to Advance after a
// pause.
class ClusterClient : public std::enable_shared_from_this<ClusterClient> {
 public:
  // Called once with the outcome.
  using StatusCallback = absl::AnyInvocable<void(absl::Status)>;
  // The answer's body, or why there is none.
  using BodyCallback = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

  // `environment` and `transport` outlive it. `strand` is where all of it runs.
  static std::shared_ptr<ClusterClient> Create(Environment& environment, Transport& transport,
                                               StrandPtr strand, ClusterClientOptions options);
  ~ClusterClient();

  // Asks a meta server for the table's partitions, even if they are known. NotFound: there is no
  // such table.
  void OpenTable(const std::string& table, StatusCallback done);
  // Any data request. A request that the server decides from what it holds (INCR, CHECK_AND_SET,
  // CHECK_AND_MUTATE) is never sent again once it may have happened, whatever the options say.
  void Ask(const std::string& table, Question question, const AskOptions& options,
           BodyCallback done) {
    Start(table, Prepare(std::move(question), options, std::move(done)));
  }
  // Ask in two steps, so that another thread can do the first. Prepare may be called on any thread;
  // Start on the strand. StartLater may be called on any thread and posts Start; `table` then lives
  // until the operation has started.
  struct Operation;
  using OperationPtr = std::shared_ptr<Operation>;
  static OperationPtr Prepare(Question question, const AskOptions& options, BodyCallback done);
  void Start(const std::string& table, OperationPtr operation);
  void StartLater(const std::string& table, OperationPtr operation);
  // Sends a request that is never answered. It is dropped where the partition's primary is not
  // known.
  void Tell(const std::string& table, const char* name, std::string body, uint64_t partition_hash);
  const StrandPtr& strand() const { return strand_; }
  // When an operation that is asked now with `options` ends. Endless timeouts count as one year,
  // which clocks and timers can express; negative ones as zero.
  Instant Deadline(const AskOptions& options) const {
    constexpr absl::Duration kYear = absl::Hours(365 * 24);
    const absl::Duration timeout = options.timeout.value_or(options_.timeout);
    return environment_.clock().Now() + std::clamp(timeout, absl::ZeroDuration(), kYear);
  }
  // Below zero after the deadline.
  absl::Duration TimeLeft(Instant deadline) const { return deadline - environment_.clock().Now(); }
  using Shares = std::vector<TableRouter::Share>;
  // Which partitions the table has. A meta server is asked only where that is not known.
  void LearnShares(const std::string& table, const AskOptions& options,
                   absl::AnyInvocable<void(absl::StatusOr<Shares>)> done);
  // As known now; empty: they are not known. Nothing is asked.
  Shares SharesOf(const std::string& table);

 private:
  struct Table;

  ClusterClient(Environment& environment, Transport& transport, StrandPtr strand,
                ClusterClientOptions options);

  // Makes the table's entry where there is none yet. It stays where it is.
  Table& TableNamed(const std::string& name);
  // The steps of an operation. Each may end it.
  void Advance(const OperationPtr& operation);
  void Send(const OperationPtr& operation, TableRouter::Route route);
  OutboundRequest RequestOf(const Operation& operation, PartitionId pid,
                            absl::Duration timeout) const;
  void OnAnswer(const OperationPtr& operation, int attempt, const TableRouter::Route& asked,
                RpcResult result);
  // Silence: an operation whose server has not answered within attempt_timeout looks for its route
  // anew.
  void Watch(const OperationPtr& operation);
  void Unwatch(Operation& operation);
  void WatchLater();
  void OnSilence(const OperationPtr& operation);
  void AskSecondaryLater(const OperationPtr& operation);
  void AskSecondary(const OperationPtr& operation);
  void RetryLater(const OperationPtr& operation, const RetryPause& limits);
  // Routes: one question to the meta servers serves all operations of a table that wait for it.
  void WaitForRoutes(const OperationPtr& operation);
  void Refresh(Table& table);
  void OnRoutes(Table& table, absl::StatusOr<QueryConfigResponse> answer);
  void Forget(const OperationPtr& operation, const TableRouter::Route& asked,
              AttemptVerdict::Routes routes);
  // The ends of an operation. Refuse and Expire turn into DeadlineExceeded what may have happened.
  void Refuse(const OperationPtr& operation, absl::Status why);
  void Expire(const OperationPtr& operation);
  void Finish(const OperationPtr& operation, absl::StatusOr<std::string> body);

  Environment& environment_;
  Transport& transport_;
  const StrandPtr strand_;
  const ClusterClientOptions options_;
  const std::shared_ptr<MetaCaller> meta_;
  // By name. A Table stays where it is: operations point to it.
  std::map<std::string, std::unique_ptr<Table>> tables_;
  struct Watched {
    Instant until;
    OperationPtr operation;
  };
  using WatchList = std::list<Watched>;
  // Operations whose servers have said nothing yet, ascending by `until`.
  WatchList watched_;
  // One timer for all of them.
  TimerId watch_timer_ = kNoTimer;
};

}  // namespace arion
