// SPDX-License-Identifier: Apache-2.0
#include "sim_workloads/index_workload.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/crc.h"
#include "base/error_code.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "client/cluster_client.h"
#include "client/table_admin.h"
#include "rpc/thrift_codec.h"
#include "sim_checkers/data_history.h"
#include "sim_checkers/history.h"
#include "sim_workloads/data_workload.h"

namespace arion::sim {
namespace {

using Source = IndexDefinition::Source;

// What an index may be on, by its name.
constexpr std::pair<const char*, const char*> kDefinitions[] = {
    {"number", "$.n"}, {"text", "$.t"},        {"element", "$.o.a[1]"},
    {"all", "value"},  {"head", "bytes(0,2)"}, {"middle", "bytes(5,3)"},
};
// Notes of FINDs in one hash key's history.
constexpr int kNotedMax = 80;
constexpr int kFindLoops = 2;
constexpr int kWritesAtOnce = 12;
constexpr int32_t kPageOfAll = 50;

IndexDefinition Parsed(const char* text) { return *IndexDefinition::Parse(text); }

bool Is(const FindResponse& response, StorageError error) {
  return response.error == static_cast<int32_t>(error);
}

ClusterClientOptions OptionsOf(std::vector<Endpoint> metas) {
  ClusterClientOptions options;
  options.meta_servers = std::move(metas);
  options.timeout = absl::Seconds(2);
  // As Workload's: each value is written once at most.
  options.write_retries = WriteRetries::kAfterRefusals;
  return options;
}

int32_t PartitionOf(std::string_view hash_key, const WorkloadTable& table) {
  return static_cast<int32_t>(PartitionHash(hash_key, "") %
                              static_cast<uint64_t>(table.partitions_max));
}

}  // namespace

IndexPlan IndexPlan::Draw(uint64_t seed, int indexes) {
  IndexPlan plan{.seed = seed};
  SimRandom random(seed ^ 0x14d8);
  plan.are_set_at_creation = random.Coin();
  std::vector<std::pair<const char*, const char*>> left(std::begin(kDefinitions),
                                                        std::end(kDefinitions));
  for (int i = 0; i < indexes; ++i) {
    const auto drawn = left.begin() + static_cast<ptrdiff_t>(random.Below(left.size()));
    plan.indexes.push_back({drawn->first, Parsed(drawn->second)});
    left.erase(drawn);
  }
  return plan;
}

std::map<std::string, std::string> IndexPlan::Environments() const {
  std::map<std::string, std::string> environments;
  for (const NamedIndex& index : indexes)
    environments[IndexEnvKey(index.name)] = index.definition.Text();
  return environments;
}

IndexWorkload::IndexWorkload(SimWorld& world, SimNetwork& network, History& history,
                             DataHistory& data_history, DataWorkload& data, Coverage& coverage,
                             std::vector<Endpoint> metas, IndexPlan plan,
                             std::vector<WorkloadTable> tables)
    : world_(world),
      history_(history),
      data_history_(data_history),
      data_(data),
      coverage_(coverage),
      plan_(std::move(plan)),
      tables_(std::move(tables)),
      random_(plan_.seed ^ 0x14d9),
      node_(&world.AddNode("indexes")),
      environment_(&node_->Start()),
      transport_(std::make_unique<SimTransport>(network, *node_, Endpoint{0x0a0001fdu, 1000})),
      strand_(environment_->NewStrand("indexes")),
      client_(std::make_unique<SimClient>(*environment_, *transport_, strand_,
                                          OptionsOf(std::move(metas)))) {
  for (size_t table = 0; table < tables_.size(); ++table)
    for (const NamedIndex& named : plan_.indexes)
      indexes_.push_back({table, named, plan_.are_set_at_creation});
}

IndexWorkload::~IndexWorkload() {
  node_->Crash(CrashMode::kProcess);  // nothing calls back any more
}

void IndexWorkload::After(absl::Duration pause, absl::AnyInvocable<void()> task) {
  strand_->PostAfter(pause, std::move(task));
}

void IndexWorkload::Start() {
  is_running_ = true;
  ChangeLater();
  for (int i = 0; i < kFindLoops; ++i) FindLater();
}

// ---- the administrator ----

void IndexWorkload::ChangeLater() {
  const bool are_all_set = std::all_of(indexes_.begin(), indexes_.end(),
                                       [](const Index& index) { return index.is_set; });
  const absl::Duration most = are_all_set ? absl::Seconds(15) : absl::Seconds(5);
  After(random_.Between(absl::Milliseconds(200), most), [this] {
    if (is_running_) Change();
  });
}

void IndexWorkload::Change() {
  Index& index = indexes_[random_.Below(indexes_.size())];
  const uint64_t drawn = random_.Below(100);
  if (!index.is_set || drawn < 40) {
    index.named.definition.generation += !index.is_set && random_.Coin() ? 0 : 1;
    index.named.definition.is_paused = random_.Percent(25);
    index.is_set = true;
  } else if (drawn < 70) {
    index.named.definition.is_paused = !index.named.definition.is_paused;
  } else {
    index.is_set = false;
  }
  Update(index, [this](bool) {
    WriteAtOnce();
    ChangeLater();
  });
}

// What is written while the servers hear of it, and while they begin to build, is easily forgotten.
void IndexWorkload::WriteAtOnce() {
  for (int i = 0; i < kWritesAtOnce; ++i)
    After(random_.Between(absl::ZeroDuration(), absl::Milliseconds(20)), [this] {
      if (is_running_) data_.Operate(*client_, [](bool) {});
    });
}

// Until it is answered: what was asked before may come as late as this.
void IndexWorkload::Update(const Index& index, absl::AnyInvocable<void(bool ok)> done) {
  UpdateAppEnvRequest request;
  request.app_name = tables_[index.table].name;
  request.op = index.is_set ? EnvOperation::kSet : EnvOperation::kDelete;
  request.keys = {IndexEnvKey(index.named.name)};
  if (index.is_set) request.values = {index.named.definition.Text()};
  auto heard = client_->Heard(
      [done = std::move(done)](const absl::StatusOr<UpdateAppEnvResponse>& response) mutable {
        done(response.ok());
      });
  client_->Administer([request, heard = std::move(heard)](TableAdmin& admin) mutable {
    admin.UpdateEnvironments(request, std::move(heard));
  });
}

// ---- the client ----

void IndexWorkload::FindLater() {
  After(random_.Between(absl::Milliseconds(20), absl::Milliseconds(600)), [this] {
    if (is_running_) Ask(DrawFind());
  });
}

void IndexWorkload::DrawBounds(FindRequest* request, const IndexDefinition& definition) {
  const auto draw = [&]() -> FieldValue {
    if (definition.source == Source::kField) {
      constexpr const char* kTexts[] = {"a", "ab", "abc", "b", "c", "2", ""};
      const uint64_t drawn = random_.Below(10);
      if (drawn < 6) return FieldValue::Of(random_.Between(-2, 5));
      if (drawn < 7) return FieldValue::Of(static_cast<double>(random_.Between(0, 6)) / 2);
      if (drawn < 8) return FieldValue::Of(random_.Coin());
      return FieldValue::Of(std::string(kTexts[random_.Below(std::size(kTexts))]));
    }
    // Of values and their parts: how those begin.
    constexpr const char* kTexts[] = {"v", "{\"", "1", "v1", "2", "cl", "{\"n\":2", "00", "8", ""};
    return FieldValue::Of(std::string(kTexts[random_.Below(std::size(kTexts))]));
  };
  const uint64_t drawn = random_.Below(100);
  if (drawn < 20) return;  // the whole index
  FieldValue first = draw();
  if (drawn < 40) {  // equality
    request->lower = request->upper = std::move(first);
  } else if (first.kind == FieldValue::kString && drawn < 60) {
    request->prefix = first.string;
  } else if (drawn < 75) {
    request->lower = std::move(first);
  } else if (drawn < 85) {
    request->upper = std::move(first);
  } else {
    // Both of one kind, in either order; the second kind of number is of the same.
    FieldValue second = draw();
    const auto is_number = [](const FieldValue& field) {
      return field.kind == FieldValue::kInteger || field.kind == FieldValue::kDouble;
    };
    if (first.kind == second.kind || (is_number(first) && is_number(second)))
      request->upper = std::move(second);
    request->lower = std::move(first);
  }
  request->lower_inclusive = drawn < 40 || random_.Percent(70);
  request->upper_inclusive = drawn < 40 || random_.Percent(70);
}

IndexWorkload::Find IndexWorkload::DrawFind() {
  const Index& index = indexes_[random_.Below(indexes_.size())];
  const WorkloadTable& table = tables_[index.table];
  Find find{.table = index.table};
  find.partition = static_cast<int32_t>(random_.Below(static_cast<uint64_t>(table.partitions_max)));
  // Mostly where somebody writes.
  const auto& keys = data_.hash_keys();
  const auto& key = keys[keys.size() - 1 - random_.Below(std::min<size_t>(keys.size(), 4))];
  if (key.table == table.name && random_.Percent(80)) find.partition = PartitionOf(key.name, table);
  find.page.definition = index.named.definition;
  FindRequest& request = find.page.request;
  request.index = index.named.name;
  DrawBounds(&request, index.named.definition);
  request.descending = random_.Percent(30);
  request.limit = static_cast<int32_t>(random_.Coin() ? random_.Between(1, 10) : 100);
  request.with_value = random_.Percent(70);
  request.may_scan = random_.Percent(20);
  find.pages_left = static_cast<int>(random_.Between(1, 6));
  return find;
}

void IndexWorkload::Call(const Find& find, Answered done) {
  client_->Ask(tables_[find.table].name,
               {.name = kRpcFind,
                .partition_hash = static_cast<uint64_t>(find.partition),
                .body = EncodeWrapped(find.page.request)},
               client_->Heard([done = std::move(done)](absl::StatusOr<std::string> body) mutable {
                 if (!body.ok()) return done(body.status());
                 done(DecodeWrapped<FindResponse>(*body));
               }));
}

void IndexWorkload::Ask(Find find) {
  find.invoked = world_.now();
  find.page.next.reset();
  // A copy is asked: this one goes on.
  const Find asked = find;
  Call(asked, [this, find = std::move(find)](absl::StatusOr<FindResponse> response) mutable {
    if (!response.ok()) return FindLater();
    if (Is(*response, StorageError::kTryAgain)) coverage_.Hit(Probe::kIndexIsBeingBuilt);
    if (Is(*response, StorageError::kInvalidArgument))
      violations_.push_back(
          absl::StrCat("checkers/C10: a FIND was called invalid: ", DescribePage(find.page)));
    if (!Is(*response, StorageError::kOk)) return FindLater();
    Note(find, *response);
    if (!response->next || --find.pages_left <= 0) return FindLater();
    find.page.request.after = response->next;
    Ask(std::move(find));
  });
}

void IndexWorkload::Note(const Find& find, const FindResponse& response) {
  Find noted = find;
  if (response.next) noted.page.next = response.next->bytes;
  const Violations judged = JudgeRows(noted.page, response);
  violations_.insert(violations_.end(), judged.begin(), judged.end());
  if (!response.rows.empty() && response.built_percent == 100) coverage_.Hit(Probe::kFoundByIndex);
  NoteHashKeys(noted, response);
}

void IndexWorkload::NoteHashKeys(const Find& find, const FindResponse& response) {
  const auto page = std::make_shared<const FindPage>(find.page);
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> told;
  for (const FoundRow& row : response.rows) {
    const std::optional<KeyParts> parts = SplitRawKey(row.key);
    if (!parts) continue;  // its position was refused by JudgeRows, or is a key's of nobody
    const std::string hash_key(parts->hash_key);
    if (hash_key.starts_with('k') && row.value) {
      const size_t index = history_.Invoke(Operation::Kind::kRead, hash_key, "", find.invoked);
      history_.ReturnRead(index, row.value->bytes, world_.now());
    }
    told[hash_key].emplace_back(parts->sort_key, row.value ? row.value->bytes : row.position.bytes);
  }
  const WorkloadTable& table = tables_[find.table];
  for (const DataWorkload::HashKey& key : data_.hash_keys()) {
    if (key.table != table.name) continue;
    // Of others of an unsplit partition only what it shows is known to be its.
    if (PartitionOf(key.name, table) != find.partition && !told.contains(key.name)) continue;
    if (++noted_[key.name] > kNotedMax) continue;
    DataOperation operation;
    operation.kind = DataOperation::Kind::kFind;
    operation.hash_key = key.name;
    operation.find = page;
    operation.rows = told[key.name];
    std::sort(operation.rows.begin(), operation.rows.end());
    const size_t index = data_history_.Invoke(std::move(operation), find.invoked);
    data_history_.Return(index, DataOperation::Outcome::kAnswered, world_.now());
  }
}

// ---- after all troubles ----

struct IndexWorkload::Verification {
  Instant end;
  // By table.
  std::vector<int32_t> partition_counts;
  absl::AnyInvocable<void(std::string)> done;
  // The one that is verified.
  size_t index = 0;
  Find find;
  // By raw key; the table before and after, and what the index said between.
  Records before, after, found;
};

void IndexWorkload::Verify(absl::Duration limit, std::vector<int32_t> partition_counts,
                           absl::AnyInvocable<void(std::string)> done) {
  auto verification = std::make_shared<Verification>();
  verification->end = world_.now() + limit;
  verification->partition_counts = std::move(partition_counts);
  verification->done = std::move(done);
  for (Index& index : indexes_) {
    index.is_set = true;
    index.named.definition.is_paused = false;
  }
  strand_->Post([this, verification] { SetAll(verification, 0); });
}

void IndexWorkload::SetAll(const VerificationPtr& verification, size_t index) {
  if (index == indexes_.size()) return VerifyNext(verification);
  Update(indexes_[index], [this, verification, index](bool ok) {
    if (!ok) return AgainOrEnd(verification, "can't be set");
    SetAll(verification, index + 1);
  });
}

void IndexWorkload::AgainOrEnd(const VerificationPtr& verification, std::string why) {
  if (world_.now() >= verification->end) {
    const Index& index = indexes_[std::min(verification->index, indexes_.size() - 1)];
    return verification->done(absl::StrCat(
        "index_workload/I1: the index by ", index.named.definition.Text(), " of ",
        tables_[index.table].name, " ", why, ", partition ", verification->find.partition));
  }
  // A change that was asked for before may have come behind ours.
  After(absl::Milliseconds(500), [this, verification] { SetAll(verification, 0); });
}

void IndexWorkload::VerifyNext(const VerificationPtr& verification) {
  if (verification->index == indexes_.size()) return verification->done("");
  const Index& index = indexes_[verification->index];
  verification->find = {.table = index.table};
  verification->find.page = {.definition = index.named.definition, .request = {}, .next = {}};
  FindRequest& request = verification->find.page.request;
  request.index = index.named.name;
  request.limit = kPageOfAll;
  request.with_value = true;
  verification->found.clear();
  ReadRecords(verification, &Verification::before,
              [this, verification] { ReadIndex(verification); });
}

void IndexWorkload::ReadRecords(const VerificationPtr& verification, Records Verification::*records,
                                absl::AnyInvocable<void()> then) {
  (verification.get()->*records).clear();
  const std::string& table = tables_[verification->find.table].name;
  ReadBatches(verification, records, client_->table(table).ScanTable({}), std::move(then));
}

void IndexWorkload::ReadBatches(const VerificationPtr& verification, Records Verification::*records,
                                std::shared_ptr<AsyncScan> scan, absl::AnyInvocable<void()> then) {
  AsyncScan& asked = *scan;
  asked.Next(client_->Heard([this, verification, records, scan = std::move(scan),
                             then =
                                 std::move(then)](absl::StatusOr<std::vector<Row>> rows) mutable {
    if (!rows.ok())
      return AgainOrEnd(verification,
                        absl::StrCat("can't be compared: ", rows.status().ToString()));
    if (rows->empty()) return then();
    for (Row& row : *rows)
      (verification.get()->*records)[JoinRawKey(row.hash_key, row.sort_key)] = std::move(row.value);
    ReadBatches(verification, records, std::move(scan), std::move(then));
  }));
}

void IndexWorkload::ReadIndex(const VerificationPtr& verification) {
  Find& find = verification->find;
  if (find.partition == verification->partition_counts[find.table])
    return ReadRecords(verification, &Verification::after,
                       [this, verification] { Compare(verification); });
  Call(find, [this, verification](absl::StatusOr<FindResponse> response) {
    if (!response.ok())
      return AgainOrEnd(verification,
                        absl::StrCat("can't be asked: ", response.status().ToString()));
    if (!Is(*response, StorageError::kOk))
      return AgainOrEnd(verification,
                        absl::StrCat("is not whole: error ", response->error, ", ",
                                     response->built_percent, " % at ", response->server));
    Find& asked = verification->find;
    FindPage page = asked.page;
    if (response->next) page.next = response->next->bytes;
    const Violations judged = JudgeRows(page, *response);
    violations_.insert(violations_.end(), judged.begin(), judged.end());
    for (FoundRow& row : response->rows) {
      if (!verification->found.emplace(row.key.bytes, row.value ? std::move(row.value->bytes) : "")
               .second)
        violations_.push_back(absl::StrCat("index_workload/I1: shown twice, the second time by ",
                                           response->server, ": ", Text(row.key.bytes)));
    }
    asked.page.request.after = std::move(response->next);
    if (!asked.page.request.after) ++asked.partition;
    ReadIndex(verification);
  });
}

// Nobody writes any more; but a record may expire.
void IndexWorkload::Compare(const VerificationPtr& verification) {
  const FindPage whole{.definition = verification->find.page.definition, .request = {}, .next = {}};
  const auto differs = [&](const std::string& raw_key, const char* what) {
    const std::optional<KeyParts> parts = SplitRawKey(raw_key);
    verification->done(absl::StrCat("index_workload/I1: the index by ", whole.definition.Text(),
                                    " of ", tables_[verification->find.table].name, " ", what, ": ",
                                    parts ? Text(parts->hash_key) : "", ":",
                                    parts ? Text(parts->sort_key) : ""));
  };
  for (const auto& [raw_key, value] : verification->before) {
    const auto after = verification->after.find(raw_key);
    if (after == verification->after.end() || after->second != value) continue;
    if (!IndexedField(whole.definition, value)) continue;
    const auto found = verification->found.find(raw_key);
    if (found == verification->found.end()) return differs(raw_key, "lacks a record");
    if (found->second != value) return differs(raw_key, "shows another value of a record");
  }
  for (const auto& [raw_key, value] : verification->found) {
    const auto before = verification->before.find(raw_key);
    if (before == verification->before.end() || before->second != value)
      return differs(raw_key, "shows a record that is not there");
  }
  ++verification->index;
  VerifyNext(verification);
}

}  // namespace arion::sim
