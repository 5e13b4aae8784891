// SPDX-License-Identifier: Apache-2.0
#include "sim_workloads/data_workload.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "env/clock.h"
#include "sim/sim_world.h"
#include "sim_checkers/data_history.h"

namespace arion::sim {
namespace {

using Kind = DataOperation::Kind;
using Outcome = DataOperation::Outcome;
using Verdict = DataOperation::Verdict;

// Few, so that operations often meet on one record.
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

// What is left until `expire_ts`, which the client makes the same expiry time of again: no time passes
// between.
absl::Duration TtlOf(int32_t expire_ts, const Clock& clock) {
  if (expire_ts == 0) return absl::InfiniteDuration();
  return absl::Seconds(expire_ts - static_cast<int64_t>(ExpiryNow(clock)));
}

// Members that indexes are on: of several kinds, or not there. The last one makes it distinct.
std::string DrawObject(SimRandom& random, int64_t number) {
  constexpr const char* kNumbers[] = {"0", "1", "2",     "3",    "1.5",   "-2",
                                      "3", "2", "\"2\"", "true", "false", "null"};
  constexpr const char* kTexts[] = {"a", "b", "ab", "abc", "c", "", "b"};
  std::string object = "{";
  if (!random.Percent(10))
    absl::StrAppend(&object, "\"n\":", kNumbers[random.Below(std::size(kNumbers))], ",");
  if (!random.Percent(10))
    absl::StrAppend(&object, "\"t\":\"", kTexts[random.Below(std::size(kTexts))], "\",");
  if (random.Coin()) {
    const uint64_t first = random.Below(3);
    absl::StrAppend(&object, "\"o\":{\"a\":[", first, ",", random.Below(5), "]},");
  }
  absl::StrAppend(&object, "\"v\":\"v", number, "\"}");
  return object;
}

void TakeRows(std::vector<Row> rows, DataOperation* operation) {
  for (Row& row : rows) operation->rows.emplace_back(std::move(row.sort_key), std::move(row.value));
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
  // A reference: a key that is used up is replaced in its place.
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
  // The empty value is a value, and NotExistOrEmpty and NotEmpty turn on it.
  if (random.Percent(3)) return "";
  const int64_t number = next_value_++;
  if (options_.object_percent > 0 && random.Percent(options_.object_percent))
    return DrawObject(random, number);
  return random.Percent(40) ? absl::StrCat(number * 1000) : absl::StrCat("v", number);
}

int32_t DataWorkload::DrawExpiry(const Clock& clock) {
  SimRandom& random = world_.random();
  if (!random.Percent(options_.expiry_percent)) return 0;
  // Short enough that many expire while their hash key is still in use.
  return static_cast<int32_t>(ExpiryNow(clock) + random.Between(1, 40));
}

void DataWorkload::DrawCheck(DataOperation* operation) {
  SimRandom& random = world_.random();
  operation->sort_key = AnySortKey();
  operation->check =
      static_cast<CheckType>(random.Below(static_cast<uint64_t>(CheckType::kIntGreater) + 1));
  operation->told_value = random.Coin();  // asked for; the answer says whether it was told
  // A number near those written lately, so that comparisons go either way about as often.
  const int64_t about = random.Between(std::max<int64_t>(1, next_value_ - 30), next_value_);
  if (operation->check >= CheckType::kIntLess) {
    operation->operand = absl::StrCat(about * 1000);
  } else if (operation->check >= CheckType::kMatchAnywhere) {
    // Short operands: they begin, end or lie in many of the values.
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
      // -1: it never expires; 0: the record keeps its expiry time.
      operation.expire_ts = random.Percent(10) ? -1 : DrawExpiry(clock);
      break;
    case Kind::kCheckAndSet:
      DrawCheck(&operation);
      put();
      // The record that is written is often the one that is checked, as users do it.
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
    case Kind::kFind:  // of a partition: another workload's
      break;
    case Kind::kGet:
    case Kind::kTtl:
      operation.sort_key = AnySortKey();
      break;
  }
  return operation;
}

void DataWorkload::Operate(SimClient& client, Done done) {
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
  DataOperation operation = Draw(client.clock());
  operation.hash_key = key.name;
  if (operation.IsRead()) return Send(client, key.table, std::move(operation), std::move(done));
  // Counted until it ends, for Pick. Those of a client that died are counted for ever, which is
  // right: they may happen at any time.
  ++key.writes_under_way;
  Send(client, key.table, std::move(operation),
       [this, index, done = std::move(done)](bool answered) mutable {
         --hash_keys_[index].writes_under_way;
         done(answered);
       });
}

void DataWorkload::ReadAll(SimClient& client, Done done) {
  struct Tally {
    size_t left = 0;
    bool all_answered = true;
    Done done;
  };
  auto tally = std::make_shared<Tally>();
  // All at once; the client spreads them.
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
  // cluster_client/K3: every error but this one promises that nothing was written.
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

void DataWorkload::Send(SimClient& client, const std::string& table, DataOperation operation,
                        Done done) {
  const bool is_read = operation.IsRead();
  // Recorded before it is sent. References into the history do not last, since it grows: what comes
  // back finds the operation by its index.
  const size_t index = history_.Invoke(std::move(operation), world_.now());
  if (is_read) {
    SendRead(client, table, index, std::move(done));
  } else {
    SendWrite(client, table, index, std::move(done));
  }
}

void DataWorkload::SendWrite(SimClient& client, const std::string& table, size_t index, Done done) {
  const DataOperation& o = history_[index];
  AsyncTable& to = client.table(table);
  Callback<absl::Status> end =
      client.Heard([this, index, done = std::move(done)](const absl::Status& status) mutable {
        done(EndWrite(index, status));
      });
  switch (o.kind) {
    case Kind::kPut:
      return to.Put(o.hash_key, o.writes[0].sort_key, *o.writes[0].value,
                    {.ttl = TtlOf(o.writes[0].expire_ts, client.clock())}, std::move(end));
    case Kind::kRemove:
      return to.Remove(o.hash_key, o.writes[0].sort_key, {}, std::move(end));
    case Kind::kMultiPut: {
      std::vector<SortKeyValue> values;
      for (const auto& write : o.writes) values.push_back({write.sort_key, *write.value});
      return to.MultiPut(o.hash_key, values, {.ttl = TtlOf(o.writes[0].expire_ts, client.clock())},
                         std::move(end));
    }
    case Kind::kMultiRemove: {
      std::vector<std::string_view> sort_keys;
      for (const auto& write : o.writes) sort_keys.push_back(write.sort_key);
      return to.MultiRemove(o.hash_key, sort_keys, {}, std::move(end));
    }
    case Kind::kIncr:
      return SendIncr(client, table, index, std::move(end));
    default:
      return SendCheck(client, table, index, std::move(end));
  }
}

void DataWorkload::SendIncr(SimClient& client, const std::string& table, size_t index,
                            Callback<absl::Status> done) {
  const DataOperation& o = history_[index];
  IncrOptions options;
  if (o.expire_ts < 0) options.ttl = absl::InfiniteDuration();
  if (o.expire_ts > 0) options.ttl = TtlOf(o.expire_ts, client.clock());
  client.table(table).Incr(
      o.hash_key, o.sort_key, o.amount, options,
      client.Heard([this, index, done = std::move(done)](absl::StatusOr<int64_t> value) mutable {
        if (value.ok()) history_[index].number = *value;
        done(value.status());
      }));
}

void DataWorkload::SendCheck(SimClient& client, const std::string& table, size_t index,
                             Callback<absl::Status> done) {
  const DataOperation& o = history_[index];
  AsyncTable& to = client.table(table);
  const Check check{static_cast<Check::Type>(o.check), o.operand};
  const CheckedValue value = o.told_value ? CheckedValue::kReturn : CheckedValue::kOmit;
  auto end = client.Heard(
      [this, index, done = std::move(done)](absl::StatusOr<CheckOutcome> outcome) mutable {
        if (outcome.ok() && !outcome->is_passed) history_[index].verdict = Verdict::kCheckFailed;
        if (outcome.ok()) history_[index].value = std::move(outcome->value);
        done(outcome.status());
      });
  if (o.kind == Kind::kCheckAndMutate) {
    CheckedMutations request{.hash_key = o.hash_key,
                             .check_sort_key = o.sort_key,
                             .check = check,
                             .checked_value = value};
    for (const DataOperation::Write& write : o.writes)
      request.mutations.push_back(write.value
                                      ? SortKeyMutation::Put(write.sort_key, *write.value,
                                                             TtlOf(write.expire_ts, client.clock()))
                                      : SortKeyMutation::Remove(write.sort_key));
    return to.CheckAndMutate(request, std::move(end));
  }
  CheckedSet request{.hash_key = o.hash_key,
                     .check_sort_key = o.sort_key,
                     .check = check,
                     .set_value = *o.writes[0].value,
                     .ttl = TtlOf(o.writes[0].expire_ts, client.clock()),
                     .checked_value = value};
  if (o.writes[0].sort_key != o.sort_key) request.set_sort_key = o.writes[0].sort_key;
  to.CheckAndSet(request, std::move(end));
}

// Its first batch, which holds all there is under a hash key of this workload.
void DataWorkload::SendScan(SimClient& client, const std::string& table, size_t index,
                            Callback<absl::Status> done) {
  std::shared_ptr<AsyncScan> scan = client.table(table).Scan(history_[index].hash_key, {});
  // The callback owns the scan, so that it lives until the batch is there; the call needs it
  // before.
  AsyncScan& asked = *scan;
  asked.Next(client.Heard([this, index, scan = std::move(scan),
                           done = std::move(done)](absl::StatusOr<std::vector<Row>> rows) mutable {
    if (rows.ok()) TakeRows(*std::move(rows), &history_[index]);
    done(rows.status());
  }));
}

void DataWorkload::SendRead(SimClient& client, const std::string& table, size_t index, Done done) {
  const DataOperation& o = history_[index];
  AsyncTable& from = client.table(table);
  Callback<absl::Status> end =
      client.Heard([this, index, done = std::move(done)](const absl::Status& status) mutable {
        done(EndRead(index, status));
      });
  switch (o.kind) {
    case Kind::kGet:
      return from.Get(
          o.hash_key, o.sort_key, {},
          client.Heard([this, index, end = std::move(end)](absl::StatusOr<std::string> v) mutable {
            // No record is an answer, and the operation's value stays empty.
            if (absl::IsNotFound(v.status())) return end(absl::OkStatus());
            if (v.ok()) history_[index].value = *std::move(v);
            end(v.status());
          }));
    case Kind::kTtl:
      return from.Ttl(o.hash_key, o.sort_key, {},
                      client.Heard([this, index, end = std::move(end)](
                                       absl::StatusOr<absl::Duration> t) mutable {
                        if (absl::IsNotFound(t.status())) {
                          history_[index].verdict = Verdict::kCheckFailed;
                          return end(absl::OkStatus());
                        }
                        if (t.ok())
                          history_[index].number =
                              *t == absl::InfiniteDuration() ? -1 : absl::ToInt64Seconds(*t);
                        end(t.status());
                      }));
    case Kind::kMultiGet:
      return from.MultiGet(o.hash_key, {.count_max = o.rows_max},
                           client.Heard([this, index, end = std::move(end)](
                                            absl::StatusOr<MultiGetResult> r) mutable {
                             if (!r.ok()) return end(r.status());
                             TakeRows(std::move(r->rows), &history_[index]);
                             history_[index].is_incomplete = !r->is_complete;
                             end(absl::OkStatus());
                           }));
    case Kind::kBatchGet: {
      std::vector<Key> keys;
      for (const std::string& sort_key : o.sort_keys) keys.push_back({o.hash_key, sort_key});
      return from.BatchGet(
          keys, {}, client.Heard([this, index, end = std::move(end)](auto values) mutable {
            DataOperation& operation = history_[index];
            for (size_t i = 0; i < values.size(); ++i) {
              if (absl::IsNotFound(values[i].status())) continue;
              // One key without an answer spoils the read: what is left out would be taken for
              // missing records.
              if (!values[i].ok()) return end(values[i].status());
              operation.rows.emplace_back(operation.sort_keys[i], *std::move(values[i]));
            }
            end(absl::OkStatus());
          }));
    }
    case Kind::kScan:
      return SendScan(client, table, index, std::move(end));
    default:
      return from.SortKeyCount(
          o.hash_key, {},
          client.Heard([this, index, end = std::move(end)](absl::StatusOr<int64_t> count) mutable {
            if (count.ok()) history_[index].number = *count;
            end(count.status());
          }));
  }
}

}  // namespace arion::sim
