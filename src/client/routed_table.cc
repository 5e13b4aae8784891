// SPDX-License-Identifier: Apache-2.0
#include "client/routed_table.h"

#include <utility>

#include "base/raw_key.h"
#include "base/status.h"
#include "client/batches.h"
#include "client/client_core.h"
#include "client/client_runtime.h"
#include "client/index_find.h"
#include "client/table_admin.h"
#include "client/table_scan.h"
#include "client/user_requests.h"

namespace arion {
namespace {

template <class T>
using Once = ClientRuntime::Once<T>;

constexpr size_t kRequestBytesMax = 60 << 20;  // what a server's connection takes, with some room

absl::Status CheckSize(const Question& question) {
  if (question.body.size() <= kRequestBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the request has ", question.body.size(), " bytes; at most ", kRequestBytesMax));
}

AskOptions Asked(const ReadOptions& options) {
  return {.timeout = options.timeout, .backup_after = options.backup_after};
}
AskOptions Asked(const MultiGetOptions& options) {
  return {.timeout = options.timeout, .backup_after = options.backup_after};
}
AskOptions Asked(const WriteOptions& options) {
  return {.timeout = options.timeout, .write_retries = options.write_retries};
}
AskOptions Asked(const PutOptions& options) {
  return {.timeout = options.timeout, .write_retries = options.write_retries};
}

// Fills the places that are still OK with `answers`, in order.
// Answers come for the questions that were sent only; the places of those that were refused before
// keep their reason.
template <class Outcomes>
Outcomes Merge(const std::vector<absl::Status>& refused, Outcomes answers) {
  Outcomes outcomes;
  outcomes.reserve(refused.size());
  auto next = answers.begin();
  for (const absl::Status& status : refused) {
    if (status.ok()) {
      outcomes.push_back(std::move(*next++));
    } else {
      outcomes.push_back(status);
    }
  }
  return outcomes;
}

absl::StatusOr<CheckOutcome> ReadCheck(const Body& body) {
  ASSIGN_OR_RETURN(CheckResponse answer, CheckAnswer(body));
  return OutcomeOf(std::move(answer));
}

// The protocol says -1 for a record that does not expire.
absl::StatusOr<absl::Duration> ReadTtl(const Body& body) {
  ASSIGN_OR_RETURN(const int32_t seconds, TtlAnswer(body));
  return seconds < 0 ? absl::InfiniteDuration() : absl::Seconds(seconds);
}

// The protocol knows times only; a TTL is counted from `now`, as this is.
absl::Duration LifetimeOf(absl::Duration ttl, const std::optional<absl::Time>& expires,
                          uint32_t now) {
  return expires ? *expires - absl::FromUnixSeconds(kExpiryEpochUnixSeconds + now) : ttl;
}

// What a scan is to be, before it is begun on its core.
struct ScanPlan {
  absl::StatusOr<GetScannerRequest> request;
  AskOptions options;
  std::optional<ScanPart> part;  // none: of one hash key

  // Null: it can't be.
  std::shared_ptr<TableScan> Begin(ClusterClient& client, const std::string& table) const {
    if (!request.ok()) return nullptr;
    if (!part.has_value())
      return TableScan::OfHashKey(client.shared_from_this(), table, *request, options);
    return TableScan::OfTable(client.shared_from_this(), table, *request, options, *part);
  }
};

ScanPlan PlanOf(std::string_view hash_key, const ScanOptions& options) {
  return {AskToScan(hash_key, options), {.timeout = options.timeout}, std::nullopt};
}
ScanPlan PlanOf(const TableScanOptions& options) {
  ScanPart part{.part = options.part,
                .parts = options.parts,
                .is_exact = options.partitions == TableScanOptions::Partitions::kExact};
  absl::StatusOr<GetScannerRequest> request = AskToScanTable(options);
  if (request.ok() && options.after)
    part.after = JoinRawKey(options.after->hash_key, options.after->sort_key);
  return {std::move(request), {.timeout = options.timeout}, std::move(part)};
}

template <class T>
// Posted, so that the callback does not run inside the call that starts the scan or the operation.
void RefuseLater(ClusterClient& client, absl::Status why, Once<T> done) {
  client.strand()->Post(
      [why = std::move(why), done = std::move(done)]() mutable { done(std::move(why)); });
}

// A scan lives on one core for all its batches: its state is touched there only, so it needs no
// lock. The object itself belongs to the user's thread and holds no more than a reference to that
// state.
class RoutedScan : public AsyncScan {
 public:
  RoutedScan(std::shared_ptr<ClientRuntime> runtime, const std::string& table, ScanPlan plan)
      : runtime_(std::move(runtime)),
        core_(runtime_->NearestCore()),
        state_(std::make_shared<State>(State{table, std::move(plan)})) {}
  ~RoutedScan() override {
    // The server keeps an open scan until it is told or its time is over.
    core_.Run([state = state_](ClusterClient&, TableAdmin&) {
      if (state->scan != nullptr) state->scan->Close();
    });
  }

  void Next(Callback<absl::StatusOr<std::vector<Row>>> done) override {
    core_.Run([state = state_, done = Once<absl::StatusOr<std::vector<Row>>>(std::move(done))](
                  ClusterClient& client, TableAdmin&) mutable {
      if (state->scan == nullptr) state->scan = state->plan.Begin(client, state->table);
      if (state->scan == nullptr)
        return RefuseLater(client, state->plan.request.status(), std::move(done));
      state->scan->Next([state, done = std::move(done)](auto records) mutable {
        auto rows = records.ok() ? RowsOf(*std::move(records)) : records.status();
        // An error ends the scan; the server need not keep it.
        if (!rows.ok()) state->scan->Close();
        done(std::move(rows));
      });
    });
  }

 private:
  struct State {  // on the core
    const std::string& table;
    ScanPlan plan;
    std::shared_ptr<TableScan> scan;
  };
  const std::shared_ptr<ClientRuntime> runtime_;
  ClientCore& core_;
  const std::shared_ptr<State> state_;
};

void CountPlanned(ClientRuntime& runtime, const std::string& table, ScanPlan plan,
                  Callback<absl::StatusOr<int64_t>> done) {
  runtime.NearestCore().Run(
      [&table, plan = std::move(plan), done = Once<absl::StatusOr<int64_t>>(std::move(done))](
          ClusterClient& client, TableAdmin&) mutable {
        auto scan = plan.Begin(client, table);
        if (scan == nullptr) return RefuseLater(client, plan.request.status(), std::move(done));
        scan->Count(std::move(done));
      });
}

}  // namespace

RoutedTable::RoutedTable(std::shared_ptr<ClientRuntime> runtime, std::string_view name)
    : runtime_(std::move(runtime)), name_(runtime_->Keep(name)) {}

uint32_t RoutedTable::Now() const { return ExpiryNow(runtime_->clock()); }

template <class T, class Read>
void RoutedTable::Ask(absl::StatusOr<Question> question, const AskOptions& options,
                      Callback<T> done, Read read) {
  Once<T> once(std::move(done));
  ClientCore& core = runtime_->NearestCore();
  // Refusals are answered on the core too, so that no callback runs inside the call.
  absl::Status refused = question.ok() ? CheckSize(*question) : question.status();
  if (!refused.ok()) {
    return core.Run([refused = std::move(refused), once = std::move(once)](ClusterClient& client,
                                                                           TableAdmin&) mutable {
      RefuseLater(client, std::move(refused), std::move(once));
    });
  }
  // Prepared on the caller's thread: the core's thread only sends.
  core.Start(name_, ClusterClient::Prepare(
                        *std::move(question), options,
                        [once = std::move(once), read](Body body) mutable { once(read(body)); }));
}

void RoutedTable::Put(std::string_view hash_key, std::string_view sort_key, std::string_view value,
                      const PutOptions& options, Callback<absl::Status> done) {
  const uint32_t now = Now();
  Ask(AskToPut(hash_key, sort_key, value, LifetimeOf(options.ttl, options.expires, now), now),
      Asked(options), std::move(done), PutAnswer);
}

void RoutedTable::Get(std::string_view hash_key, std::string_view sort_key,
                      const ReadOptions& options, Callback<absl::StatusOr<std::string>> done) {
  Ask(AskOfKey(GetQuestion, hash_key, sort_key), Asked(options), std::move(done), GetAnswer);
}

void RoutedTable::Remove(std::string_view hash_key, std::string_view sort_key,
                         const WriteOptions& options, Callback<absl::Status> done) {
  Ask(AskOfKey(RemoveQuestion, hash_key, sort_key), Asked(options), std::move(done), PutAnswer);
}

void RoutedTable::Ttl(std::string_view hash_key, std::string_view sort_key,
                      const ReadOptions& options, Callback<absl::StatusOr<absl::Duration>> done) {
  Ask(AskOfKey(TtlQuestion, hash_key, sort_key), Asked(options), std::move(done), ReadTtl);
}

void RoutedTable::MultiPut(std::string_view hash_key, absl::Span<const SortKeyValue> values,
                           const PutOptions& options, Callback<absl::Status> done) {
  const uint32_t now = Now();
  Ask(AskToMultiPut(hash_key, values, LifetimeOf(options.ttl, options.expires, now), now),
      Asked(options), std::move(done), PutAnswer);
}

void RoutedTable::MultiGet(std::string_view hash_key, const MultiGetOptions& options,
                           Callback<absl::StatusOr<MultiGetResult>> done) {
  Ask(AskToMultiGet(hash_key, options), Asked(options), std::move(done),
      [hash_key = std::string(hash_key)](const Body& body) -> absl::StatusOr<MultiGetResult> {
        ASSIGN_OR_RETURN(MultiGetResponse answer, MultiGetAnswer(body));
        return ResultOf(hash_key, std::move(answer));
      });
}

void RoutedTable::MultiGetKeys(std::string_view hash_key,
                               absl::Span<const std::string_view> sort_keys,
                               const MultiGetOptions& options,
                               Callback<absl::StatusOr<MultiGetResult>> done) {
  Ask(AskToMultiGetKeys(hash_key, sort_keys, options), Asked(options), std::move(done),
      [hash_key = std::string(hash_key)](const Body& body) -> absl::StatusOr<MultiGetResult> {
        ASSIGN_OR_RETURN(MultiGetResponse answer, MultiGetAnswer(body));
        return ResultOf(hash_key, std::move(answer));
      });
}

void RoutedTable::MultiRemove(std::string_view hash_key,
                              absl::Span<const std::string_view> sort_keys,
                              const WriteOptions& options, Callback<absl::Status> done) {
  Ask(AskToMultiRemove(hash_key, sort_keys), Asked(options), std::move(done), MultiRemoveAnswer);
}

void RoutedTable::SortKeyCount(std::string_view hash_key, const ReadOptions& options,
                               Callback<absl::StatusOr<int64_t>> done) {
  Ask(AskToCount(hash_key), Asked(options), std::move(done), CountAnswer);
}

void RoutedTable::Incr(std::string_view hash_key, std::string_view sort_key, int64_t by,
                       const IncrOptions& options, Callback<absl::StatusOr<int64_t>> done) {
  Ask(AskToIncr(hash_key, sort_key, by, options, Now()), {.timeout = options.timeout},
      std::move(done), IncrAnswer);
}

void RoutedTable::CheckAndSet(const CheckedSet& set, Callback<absl::StatusOr<CheckOutcome>> done) {
  const uint32_t now = Now();
  CheckedSet lasting = set;
  lasting.ttl = LifetimeOf(set.ttl, set.expires, now);
  Ask(AskToCheckAndSet(lasting, now), {.timeout = set.timeout}, std::move(done), ReadCheck);
}

void RoutedTable::CheckAndMutate(const CheckedMutations& mutations,
                                 Callback<absl::StatusOr<CheckOutcome>> done) {
  Ask(AskToCheckAndMutate(mutations, Now()), {.timeout = mutations.timeout}, std::move(done),
      ReadCheck);
}

void RoutedTable::BatchGet(absl::Span<const Key> keys, const ReadOptions& options,
                           Callback<std::vector<absl::StatusOr<std::string>>> done) {
  // A bad key costs its own place only; the others are asked.
  std::vector<absl::Status> refused;
  std::vector<FullKey> asked;
  for (const Key& key : keys) {
    refused.push_back(CheckHashKey(key.hash_key));
    if (refused.back().ok()) asked.push_back({.hash_key = key.hash_key, .sort_key = key.sort_key});
  }
  runtime_->NearestCore().Run([&table = name_, refused = std::move(refused),
                               asked = std::move(asked), options = Asked(options),
                               done = Once<BatchValues>(std::move(done), keys.size())](
                                  ClusterClient& client, TableAdmin&) mutable {
    arion::BatchGet(client, table, std::move(asked), options,
                    [refused = std::move(refused), done = std::move(done)](
                        BatchValues values) mutable { done(Merge(refused, std::move(values))); });
  });
}

void RoutedTable::WriteAll(std::vector<absl::Status> outcomes, std::vector<Question> writes,
                           const AskOptions& options, Callback<std::vector<absl::Status>> done) {
  // Read before the vector is moved: a dropped batch still has one outcome for each record.
  const size_t count = outcomes.size();
  runtime_->NearestCore().Run([&table = name_, outcomes = std::move(outcomes),
                               writes = std::move(writes), options,
                               done = Once<std::vector<absl::Status>>(std::move(done), count)](
                                  ClusterClient& client, TableAdmin&) mutable {
    BatchWrite(client, table, std::move(writes), options,
               [outcomes = std::move(outcomes),
                done = std::move(done)](std::vector<absl::Status> answers) mutable {
                 done(Merge(outcomes, std::move(answers)));
               });
  });
}

void RoutedTable::BatchPut(absl::Span<const RowToPut> rows, const PutOptions& options,
                           Callback<std::vector<absl::Status>> done) {
  std::vector<absl::Status> outcomes;
  std::vector<Question> writes;
  for (const RowToPut& row : rows) {
    const uint32_t now = Now();
    auto question = AskToPut(row.hash_key, row.sort_key, row.value,
                             LifetimeOf(options.ttl, options.expires, now), now);
    outcomes.push_back(question.ok() ? CheckSize(*question) : question.status());
    if (outcomes.back().ok()) writes.push_back(*std::move(question));
  }
  WriteAll(std::move(outcomes), std::move(writes), Asked(options), std::move(done));
}

void RoutedTable::BatchRemove(absl::Span<const Key> keys, const WriteOptions& options,
                              Callback<std::vector<absl::Status>> done) {
  std::vector<absl::Status> outcomes;
  std::vector<Question> writes;
  for (const Key& key : keys) {
    auto question = AskOfKey(RemoveQuestion, key.hash_key, key.sort_key);
    outcomes.push_back(question.status());
    if (question.ok()) writes.push_back(*std::move(question));
  }
  WriteAll(std::move(outcomes), std::move(writes), Asked(options), std::move(done));
}

std::unique_ptr<AsyncScan> RoutedTable::Scan(std::string_view hash_key,
                                             const ScanOptions& options) {
  return std::make_unique<RoutedScan>(runtime_, name_, PlanOf(hash_key, options));
}

std::unique_ptr<AsyncScan> RoutedTable::ScanTable(const TableScanOptions& options) {
  return std::make_unique<RoutedScan>(runtime_, name_, PlanOf(options));
}

void RoutedTable::Count(std::string_view hash_key, const ScanOptions& options,
                        Callback<absl::StatusOr<int64_t>> done) {
  CountPlanned(*runtime_, name_, PlanOf(hash_key, options), std::move(done));
}

void RoutedTable::CountTable(const TableScanOptions& options,
                             Callback<absl::StatusOr<int64_t>> done) {
  CountPlanned(*runtime_, name_, PlanOf(options), std::move(done));
}

void RoutedTable::Find(std::string_view index, const FindOptions& options,
                       Callback<absl::StatusOr<FindResult>> done) {
  runtime_->NearestCore().Run([&table = name_, request = AskToFind(index, options),
                               ask = AskOptions{.timeout = options.timeout},
                               done = Once<absl::StatusOr<FindResult>>(std::move(done))](
                                  ClusterClient& client, TableAdmin&) mutable {
    if (!request.ok()) return RefuseLater(client, request.status(), std::move(done));
    FindByIndex(client, table, *std::move(request), ask, std::move(done));
  });
}

void RoutedTable::DescribeIndex(std::string_view index, const ReadOptions& options,
                                Callback<absl::StatusOr<IndexOverview>> done) {
  runtime_->NearestCore().Run([&table = name_, index = std::string(index),
                               ask = AskOptions{.timeout = options.timeout},
                               done = Once<absl::StatusOr<IndexOverview>>(std::move(done))](
                                  ClusterClient& client, TableAdmin&) mutable {
    arion::DescribeIndex(client, table, std::move(index), ask, std::move(done));
  });
}

}  // namespace arion
