// SPDX-License-Identifier: Apache-2.0
#include "sim_workloads/data_workload.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/crc.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "env/clock.h"
#include "rpc/thrift_codec.h"

namespace arion::sim {
namespace {

using Kind = DataOperation::Kind;
using Outcome = DataOperation::Outcome;
using Verdict = DataOperation::Verdict;

constexpr int kSortKeys = 4;
// Of one hash key: what waits together may happen in any order, and each must be tried.
constexpr int kWritesAtOnceMax = 10;

// How often each kind is drawn.
struct Weight {
  Kind kind;
  int weight;
};
constexpr Weight kWeights[] = {
    {Kind::kPut, 14},     {Kind::kRemove, 6},       {Kind::kMultiPut, 10},
    {Kind::kIncr, 12},    {Kind::kMultiRemove, 6},  {Kind::kCheckAndSet, 12},
    {Kind::kGet, 8},      {Kind::kMultiGet, 10},    {Kind::kCheckAndMutate, 10},
    {Kind::kBatchGet, 4}, {Kind::kSortKeyCount, 4}, {Kind::kScan, 3},
    {Kind::kTtl, 3},
};

Kind DrawKind(SimRandom& random) {
  int sum = 0;
  for (const Weight& one : kWeights) sum += one.weight;
  int drawn = static_cast<int>(random.Below(static_cast<uint64_t>(sum)));
  for (const Weight& one : kWeights)
    if ((drawn -= one.weight) < 0) return one.kind;
  return Kind::kGet;
}

std::vector<Mutate> Mutates(const DataOperation& operation) {
  std::vector<Mutate> list;
  for (const DataOperation::Write& write : operation.writes) {
    Mutate& m = list.emplace_back();
    m.operation = write.value ? Mutate::kPut : Mutate::kDelete;
    m.sort_key = write.sort_key;
    m.value = write.value.value_or("");
    m.set_expire_ts_seconds = write.expire_ts;
  }
  return list;
}

void TakeRows(const std::vector<KeyValue>& kvs, DataOperation* operation) {
  for (const KeyValue& kv : kvs) operation->rows.emplace_back(kv.key.bytes, kv.value.bytes);
}

void TakeCheck(const CheckResponse& response, DataOperation* operation) {
  if (response.error != 0) operation->verdict = Verdict::kCheckFailed;
  operation->told_value = response.check_value_returned;
  if (response.check_value_exist) operation->value = response.check_value.bytes;
}

void AskForBatch(ClusterClient& client, const std::string& table, const DataOperation& operation,
                 Answered<BatchGetResponse> done) {
  BatchGetRequest request;
  for (const std::string& sort_key : operation.sort_keys)
    request.keys.push_back({operation.hash_key, sort_key});
  client.Ask(table, kRpcBatchGet, EncodeWrapped(request),
             PartitionHash(JoinRawKey(operation.hash_key, "")),
             [done = std::move(done)](absl::StatusOr<std::string> body) mutable {
               if (!body.ok()) return done(body.status());
               auto response = DecodeWrapped<BatchGetResponse>(*body);
               if (response.ok() && response->error != 0)
                 return done(absl::InternalError("storage"));
               done(std::move(response));
             });
}

// Its records under their sort keys.
void ScanHashKey(ClusterClient& client, const std::string& table, const std::string& hash_key,
                 Answered<std::vector<KeyValue>> done) {
  GetScannerRequest request;
  request.start_key = JoinRawKey(hash_key, "");
  request.stop_key = EndOfPrefix(request.start_key);
  request.start_inclusive = true;
  auto scan = TableScan::OfHashKey(client.shared_from_this(), table, request);
  scan->Next([scan, done = std::move(done)](auto kvs) mutable {
    if (kvs.ok())
      for (KeyValue& kv : *kvs) kv.key.bytes = SplitRawKey(kv.key)->sort_key;
    done(std::move(kvs));
  });
}

}  // namespace

DataWorkload::DataWorkload(SimWorld& world, DataHistory& history, DataWorkloadOptions options)
    : world_(world), history_(history), options_(std::move(options)) {
  for (int i = 0; i < options_.hash_keys; ++i) in_use_.push_back(NewHashKey());
}

size_t DataWorkload::NewHashKey() {
  const size_t index = hash_keys_.size();
  const int about = options_.operations_per_key;
  hash_keys_.push_back({absl::StrCat("h", index), options_.tables[index % options_.tables.size()],
                        static_cast<int>(world_.random().Between(about / 2, about * 3 / 2))});
  return index;
}

size_t DataWorkload::Pick() {
  size_t& index = in_use_[world_.random().Below(in_use_.size())];
  HashKey& key = hash_keys_[index];
  if (--key.operations_left < 0 || key.writes_under_way >= kWritesAtOnceMax) index = NewHashKey();
  return index;
}

std::string DataWorkload::AnySortKey() {
  return std::string(1, static_cast<char>('a' + world_.random().Below(kSortKeys)));
}

// Mostly texts, each once; numbers for what counts and compares.
std::string DataWorkload::NewValue() {
  SimRandom& random = world_.random();
  if (random.Percent(3)) return "";
  const int64_t number = next_value_++;
  return random.Percent(40) ? absl::StrCat(number * 1000) : absl::StrCat("v", number);
}

int32_t DataWorkload::DrawExpiry(const Clock& clock) {
  SimRandom& random = world_.random();
  if (!random.Percent(options_.expiry_percent)) return 0;
  return static_cast<int32_t>(ExpiryNow(clock) + random.Between(1, 40));
}

void DataWorkload::DrawCheck(DataOperation* operation) {
  SimRandom& random = world_.random();
  operation->sort_key = AnySortKey();
  operation->check =
      static_cast<CheckType>(random.Below(static_cast<uint64_t>(CheckType::kIntGreater) + 1));
  operation->told_value = random.Coin();  // asked for; the answer says whether it was told
  const int64_t about = random.Between(std::max<int64_t>(1, next_value_ - 30), next_value_);
  if (operation->check >= CheckType::kIntLess) {
    operation->operand = absl::StrCat(about * 1000);
  } else if (operation->check >= CheckType::kMatchAnywhere) {
    operation->operand = absl::StrCat(random.Coin() ? "v" : "", about % 10);
  }
}

DataOperation DataWorkload::Draw(const Clock& clock) {
  SimRandom& random = world_.random();
  DataOperation operation;
  operation.kind = DrawKind(random);
  const auto put = [&] {
    operation.writes.push_back({AnySortKey(), NewValue(), DrawExpiry(clock)});
  };
  const auto remove = [&] { operation.writes.push_back({AnySortKey(), std::nullopt, 0}); };
  const int64_t several = random.Between(1, kSortKeys);
  switch (operation.kind) {
    case Kind::kPut:
      put();
      break;
    case Kind::kRemove:
      remove();
      break;
    case Kind::kMultiPut: {
      const int32_t expiry = DrawExpiry(clock);  // one for all
      for (int64_t i = 0; i < several; ++i)
        operation.writes.push_back({AnySortKey(), NewValue(), expiry});
      break;
    }
    case Kind::kMultiRemove:
      for (int64_t i = 0; i < several; ++i) remove();
      break;
    case Kind::kIncr:
      operation.sort_key = AnySortKey();
      operation.amount = random.Between(-3, 9);
      operation.expire_ts = random.Percent(10) ? -1 : DrawExpiry(clock);
      break;
    case Kind::kCheckAndSet:
      DrawCheck(&operation);
      put();
      if (random.Coin()) operation.writes[0].sort_key = operation.sort_key;
      break;
    case Kind::kCheckAndMutate:
      DrawCheck(&operation);
      for (int64_t i = 0; i < several; ++i) random.Percent(70) ? put() : remove();
      break;
    case Kind::kMultiGet:
      if (random.Percent(30)) operation.rows_max = static_cast<int32_t>(random.Between(1, 3));
      break;
    case Kind::kBatchGet:
      for (char c = 'a'; c < 'a' + kSortKeys; ++c)
        if (random.Percent(70)) operation.sort_keys.emplace_back(1, c);
      if (operation.sort_keys.empty()) operation.sort_keys.push_back("a");
      break;
    case Kind::kScan:
    case Kind::kSortKeyCount:
      break;
    case Kind::kGet:
    case Kind::kTtl:
      operation.sort_key = AnySortKey();
      break;
  }
  return operation;
}

void DataWorkload::Operate(ClusterClient& client, const Clock& clock, Done done) {
  SimRandom& random = world_.random();
  if (random.Percent(4)) {  // one that was replaced may have been lost since
    const HashKey& old = hash_keys_[random.Below(hash_keys_.size())];
    DataOperation operation;
    operation.kind = Kind::kMultiGet;
    operation.hash_key = old.name;
    return Send(client, old.table, std::move(operation), std::move(done));
  }
  const size_t index = Pick();
  HashKey& key = hash_keys_[index];
  DataOperation operation = Draw(clock);
  operation.hash_key = key.name;
  if (operation.IsRead()) return Send(client, key.table, std::move(operation), std::move(done));
  ++key.writes_under_way;
  Send(client, key.table, std::move(operation),
       [this, index, done = std::move(done)](bool answered) mutable {
         --hash_keys_[index].writes_under_way;
         done(answered);
       });
}

void DataWorkload::ReadAll(ClusterClient& client, Done done) {
  struct Tally {
    size_t left = 0;
    bool all_answered = true;
    Done done;
  };
  auto tally = std::make_shared<Tally>();
  tally->left = hash_keys_.size();
  tally->done = std::move(done);
  for (const HashKey& key : hash_keys_) {
    DataOperation operation;
    operation.kind = Kind::kMultiGet;
    operation.hash_key = key.name;
    Send(client, key.table, std::move(operation), [tally](bool answered) {
      tally->all_answered &= answered;
      if (--tally->left == 0) tally->done(tally->all_answered);
    });
  }
}

// A key with much that is undecided takes the checker for ever; a few operations show what became of it.
void DataWorkload::ReplaceSoon(const std::string& hash_key) {
  for (size_t index : in_use_) {
    HashKey& key = hash_keys_[index];
    if (key.name == hash_key) key.operations_left = std::min(key.operations_left, 4);
  }
}

bool DataWorkload::EndWrite(size_t index, const absl::Status& status) {
  const Kind kind = history_[index].kind;
  const bool is_decided_by_server =
      kind == Kind::kIncr || kind == Kind::kCheckAndSet || kind == Kind::kCheckAndMutate;
  Outcome outcome = absl::IsDeadlineExceeded(status) ? Outcome::kUndecided : Outcome::kRefused;
  if (status.ok()) outcome = Outcome::kAnswered;
  if (absl::IsInvalidArgument(status) && is_decided_by_server) {  // no number where one must be
    history_[index].verdict = Verdict::kInvalid;
    history_[index].told_value = false;
    outcome = Outcome::kAnswered;
  }
  history_.Return(index, outcome, world_.now());
  if (outcome == Outcome::kUndecided) ReplaceSoon(history_[index].hash_key);
  return outcome == Outcome::kAnswered;
}

bool DataWorkload::EndRead(size_t index, const absl::Status& status) {
  history_.Return(index, status.ok() ? Outcome::kAnswered : Outcome::kRefused, world_.now());
  return status.ok();
}

void DataWorkload::Send(ClusterClient& client, const std::string& table, DataOperation operation,
                        Done done) {
  const bool is_read = operation.IsRead();
  const size_t index = history_.Invoke(std::move(operation), world_.now());
  if (is_read) {
    SendRead(client, table, index, std::move(done));
  } else {
    SendWrite(client, table, index, std::move(done));
  }
}

void DataWorkload::SendWrite(ClusterClient& client, const std::string& table, size_t index,
                             Done done) {
  const DataOperation& o = history_[index];
  auto end = [this, index, done = std::move(done)](const absl::Status& status) mutable {
    done(EndWrite(index, status));
  };
  switch (o.kind) {
    case Kind::kPut: {
      UpdateRequest request;
      request.key = JoinRawKey(o.hash_key, o.writes[0].sort_key);
      request.value = *o.writes[0].value;
      request.expire_ts_seconds = o.writes[0].expire_ts;
      return client.Ask(table, kRpcPut, EncodeWrapped(request), PartitionHash(request.key),
                        [end = std::move(end)](absl::StatusOr<std::string> body) mutable {
                          if (!body.ok()) return end(body.status());
                          auto response = DecodeWrapped<UpdateResponse>(*body);
                          end(response.ok() && response->error == 0
                                  ? absl::OkStatus()
                                  : absl::DeadlineExceededError("an error in the answer"));
                        });
    }
    case Kind::kRemove:
      return client.Remove(table, o.hash_key, o.writes[0].sort_key, std::move(end));
    case Kind::kMultiPut: {
      MultiPutRequest request;
      request.hash_key = o.hash_key;
      request.expire_ts_seconds = o.writes[0].expire_ts;
      for (const auto& write : o.writes)
        request.kvs.push_back({write.sort_key, *write.value, std::nullopt});
      return MultiPut(client, table, request, std::move(end));
    }
    case Kind::kMultiRemove: {
      MultiRemoveRequest request;
      request.hash_key = o.hash_key;
      for (const auto& write : o.writes) request.sort_keys.emplace_back(write.sort_key);
      return MultiRemove(client, table, request, std::move(end));
    }
    case Kind::kIncr: {
      IncrRequest request;
      request.key = JoinRawKey(o.hash_key, o.sort_key);
      request.increment = o.amount;
      request.expire_ts_seconds = o.expire_ts;
      return Incr(client, table, request,
                  [this, index, end = std::move(end)](absl::StatusOr<int64_t> value) mutable {
                    if (value.ok()) history_[index].number = *value;
                    end(value.status());
                  });
    }
    default:
      return SendCheck(client, table, index,
                       [this, index, end = std::move(end)](auto response) mutable {
                         if (response.ok()) TakeCheck(*response, &history_[index]);
                         end(response.status());
                       });
  }
}

void DataWorkload::SendCheck(ClusterClient& client, const std::string& table, size_t index,
                             Answered<CheckResponse> done) {
  const DataOperation& o = history_[index];
  const auto fill = [&o](auto* request) {
    request->hash_key = o.hash_key;
    request->check_sort_key = o.sort_key;
    request->check_type = static_cast<int32_t>(o.check);
    request->check_operand = o.operand;
    request->return_check_value = o.told_value;
  };
  if (o.kind == Kind::kCheckAndMutate) {
    CheckAndMutateRequest request;
    fill(&request);
    request.mutate_list = Mutates(o);
    return CheckAndMutate(client, table, request, std::move(done));
  }
  CheckAndSetRequest request;
  fill(&request);
  request.set_diff_sort_key = o.writes[0].sort_key != o.sort_key;
  request.set_sort_key = o.writes[0].sort_key;
  request.set_value = *o.writes[0].value;
  request.set_expire_ts_seconds = o.writes[0].expire_ts;
  CheckAndSet(client, table, request, std::move(done));
}

void DataWorkload::SendRead(ClusterClient& client, const std::string& table, size_t index,
                            Done done) {
  const DataOperation& o = history_[index];
  auto end = [this, index, done = std::move(done)](const absl::Status& status) mutable {
    done(EndRead(index, status));
  };
  switch (o.kind) {
    case Kind::kGet:
      client.Get(table, o.hash_key, o.sort_key,
                 [this, index, end = std::move(end)](absl::StatusOr<std::string> value) mutable {
                   if (absl::IsNotFound(value.status())) return end(absl::OkStatus());
                   if (value.ok()) history_[index].value = *std::move(value);
                   end(value.status());
                 });
      return;
    case Kind::kTtl:
      client.Ttl(table, o.hash_key, o.sort_key,
                 [this, index, end = std::move(end)](absl::StatusOr<int32_t> ttl) mutable {
                   if (absl::IsNotFound(ttl.status())) {
                     history_[index].verdict = Verdict::kCheckFailed;
                     return end(absl::OkStatus());
                   }
                   if (ttl.ok()) history_[index].number = *ttl;
                   end(ttl.status());
                 });
      return;
    case Kind::kMultiGet: {
      MultiGetRequest request;
      request.hash_key = o.hash_key;
      request.start_inclusive = true;
      request.max_kv_count = o.rows_max;
      return MultiGet(client, table, request,
                      [this, index, end = std::move(end)](auto response) mutable {
                        if (!response.ok()) return end(response.status());
                        TakeRows(response->kvs, &history_[index]);
                        history_[index].is_incomplete = response->error != 0;
                        end(absl::OkStatus());
                      });
    }
    case Kind::kBatchGet:
      return AskForBatch(client, table, o,
                         [this, index, end = std::move(end)](auto response) mutable {
                           if (!response.ok()) return end(response.status());
                           for (const FullData& one : response->data)
                             history_[index].rows.emplace_back(one.sort_key.bytes, one.value.bytes);
                           end(absl::OkStatus());
                         });
    case Kind::kScan:
      return ScanHashKey(client, table, o.hash_key,
                         [this, index, end = std::move(end)](auto kvs) mutable {
                           if (!kvs.ok()) return end(kvs.status());
                           TakeRows(*kvs, &history_[index]);
                           end(absl::OkStatus());
                         });
    default:
      return CountSortKeys(client, table, o.hash_key,
                           [this, index, end = std::move(end)](auto count) mutable {
                             if (count.ok()) history_[index].number = *count;
                             end(count.status());
                           });
  }
}

}  // namespace arion::sim
