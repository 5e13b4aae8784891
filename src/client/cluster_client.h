// ClusterClient: the client's core: routes operations to primaries, follows them when they move,
// retries. The simulator uses it as it is; users have it behind include/arion/client.h.
//
// Shapes    Keys and values are any bytes; hash key <= 65534 bytes; ttl_seconds 0 = never expires.
// Errors    Of a write: OK; DeadlineExceeded = undecided; anything else = refused. Of a read:
//           NotFound: no such record; DeadlineExceeded: no answer. Both: NotFound also for a table
//           that does not exist; InvalidArgument, ResourceExhausted, PermissionDenied, Unavailable
//           as in include/arion/client.h.
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
#include <string_view>
#include <vector>

#include "client/meta_caller.h"
#include "client/question.h"
#include "client/retry_policy.h"
#include "client/table_router.h"
#include "env/environment.h"
#include "rpc/transport.h"

namespace arion {

struct ClusterClientOptions {
  std::vector<Endpoint> meta_servers;
  absl::Duration timeout = absl::Seconds(5);  // of one operation, retries included
  // After it, where another attempt may follow, one begins beside that which says nothing: at once
  // where another server is the primary by now, ever less often where it is the same.
  absl::Duration attempt_timeout = absl::Milliseconds(1500);
  WriteRetries write_retries = WriteRetries::kAlways;
  RetryPause pause;
  std::string admin_token;  // of who changes tables; empty: none
};

// What one question asks beside; none: as the client's options say.
struct AskOptions {
  std::optional<absl::Duration> timeout;
  std::optional<WriteRetries> write_retries;
  // A read that the primary has not answered after this long is put to a secondary too.
  absl::Duration backup_after = absl::InfiniteDuration();
};

class ClusterClient : public std::enable_shared_from_this<ClusterClient> {
 public:
  using StatusCallback = absl::AnyInvocable<void(absl::Status)>;
  using ValueCallback = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;
  using TtlCallback = absl::AnyInvocable<void(absl::StatusOr<int32_t>)>;  // -1: never expires
  // The answer's body, or why there is none.
  using BodyCallback = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

  // `environment` and `transport` outlive it.
  static std::shared_ptr<ClusterClient> Create(Environment& environment, Transport& transport,
                                               StrandPtr strand, ClusterClientOptions options);
  ~ClusterClient();

  // Learns the table's partitions; NotFound: there is no such table.
  void OpenTable(const std::string& table, StatusCallback done);
  void Put(const std::string& table, std::string_view hash_key, std::string_view sort_key,
           std::string_view value, int32_t ttl_seconds, StatusCallback done);
  void Remove(const std::string& table, std::string_view hash_key, std::string_view sort_key,
              StatusCallback done);
  void Get(const std::string& table, std::string_view hash_key, std::string_view sort_key,
           ValueCallback done);
  void Ttl(const std::string& table, std::string_view hash_key, std::string_view sort_key,
           TtlCallback done);

  // Any data request. One that is decided from what is there is never sent again once it may have
  // happened, whatever the options say.
  void Ask(const std::string& table, Question question, const AskOptions& options,
           BodyCallback done) {
    Start(table, Prepare(std::move(question), options, std::move(done)));
  }
  void Ask(const std::string& table, const char* name, std::string body, uint64_t partition_hash,
           BodyCallback done);
  // The same in two steps. Prepare and StartLater may be called on any thread; `table` then lives
  // until the operation has started.
  struct Operation;
  using OperationPtr = std::shared_ptr<Operation>;
  static OperationPtr Prepare(Question question, const AskOptions& options, BodyCallback done);
  void Start(const std::string& table, OperationPtr operation);
  void StartLater(const std::string& table, OperationPtr operation);
  // The same, of a request that is never answered; lost where its server is not known.
  void Tell(const std::string& table, const char* name, std::string body, uint64_t partition_hash);
  const StrandPtr& strand() const { return strand_; }
  // When what is asked now with `options` ends, and how long that is from now. An endless timeout
  // is a year, which clocks and timers can count.
  Instant Deadline(const AskOptions& options) const {
    constexpr absl::Duration kYear = absl::Hours(365 * 24);
    const absl::Duration timeout = options.timeout.value_or(options_.timeout);
    return environment_.clock().Now() + std::clamp(timeout, absl::ZeroDuration(), kYear);
  }
  absl::Duration TimeLeft(Instant deadline) const { return deadline - environment_.clock().Now(); }
  // 0: the table's partitions are not known now.
  int32_t PartitionCount(const std::string& table);
  // How many partitions the table has, asked for only when that is not known.
  void LearnPartitionCount(const std::string& table, const AskOptions& options,
                           absl::AnyInvocable<void(absl::StatusOr<int32_t>)> done);

 private:
  struct Table;

  ClusterClient(Environment& environment, Transport& transport, StrandPtr strand,
                ClusterClientOptions options);

  Table& TableNamed(const std::string& name);
  void AskOfKey(const std::string& table, Question (*ask)(std::string raw_key),
                std::string_view hash_key, std::string_view sort_key, BodyCallback done);
  void Advance(const OperationPtr& operation);
  void Send(const OperationPtr& operation, TableRouter::Route route);
  OutboundRequest RequestOf(const Operation& operation, PartitionId pid,
                            absl::Duration timeout) const;
  void OnAnswer(const OperationPtr& operation, int attempt, const TableRouter::Route& asked,
                RpcResult result);
  void Watch(const OperationPtr& operation);
  void Unwatch(Operation& operation);
  void WatchLater();
  void OnSilence(const OperationPtr& operation);
  void AskSecondaryLater(const OperationPtr& operation);
  void AskSecondary(const OperationPtr& operation);
  void RetryLater(const OperationPtr& operation, const RetryPause& limits);
  void WaitForRoutes(const OperationPtr& operation);
  void Refresh(Table& table);
  void OnRoutes(Table& table, absl::StatusOr<QueryConfigResponse> answer);
  void Forget(const OperationPtr& operation, const TableRouter::Route& asked,
              AttemptVerdict::Routes routes);
  void Refuse(const OperationPtr& operation, absl::Status why);
  void Expire(const OperationPtr& operation);
  void Finish(const OperationPtr& operation, absl::StatusOr<std::string> body);

  Environment& environment_;
  Transport& transport_;
  const StrandPtr strand_;
  const ClusterClientOptions options_;
  const std::shared_ptr<MetaCaller> meta_;
  std::map<std::string, std::unique_ptr<Table>> tables_;  // a Table stays where it is
  struct Watched {
    Instant until;
    OperationPtr operation;
  };
  using WatchList = std::list<Watched>;
  WatchList watched_;               // whose servers have said nothing yet; in the order of `until`
  TimerId watch_timer_ = kNoTimer;  // one for all of them
};

}  // namespace arion
