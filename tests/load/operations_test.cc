// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/operations.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace arion::load {
namespace {

Workload WorkloadOf(std::string_view text) {
  Properties properties;
  EXPECT_EQ(properties.Parse(text, "file"), absl::OkStatus());
  absl::StatusOr<Workload> workload = Workload::From(properties);
  EXPECT_TRUE(workload.ok()) << workload.status();
  return *workload;
}

std::vector<Operation> Take(OperationSource& source, int count) {
  std::vector<Operation> operations;
  for (int i = 0; i < count; ++i) operations.push_back(*source.Next());
  return operations;
}

constexpr char kAll[] =
    "recordcount=1000\nreadproportion=0.3\nupdateproportion=0.1\ninsertproportion=0.1\n"
    "scanproportion=0.1\nreadmodifywriteproportion=0.1\ndeleteproportion=0.1\n"
    "multigetproportion=0.1\nmultiputproportion=0.1\nfieldlengthdistribution=uniform\n"
    "ttlproportion=0.5\nttlseconds=60\n";

TEST(Operations, TheSameSeedGivesTheSameOperations) {
  for (const char* request :
       {"uniform", "zipfian", "ranked_zipfian", "latest", "hotspot", "exponential", "sequential"}) {
    const Workload workload = WorkloadOf(std::string(kAll) + "requestdistribution=" + request);
    OperationSource one(workload, {.seed = 7, .settling = 5});
    OperationSource same(workload, {.seed = 7, .settling = 5});
    OperationSource other(workload, {.seed = 8, .settling = 5});
    const std::vector<Operation> operations = Take(one, 2000);
    EXPECT_EQ(operations, Take(same, 2000)) << request;
    EXPECT_NE(operations, Take(other, 2000)) << request;
  }
}

TEST(Operations, TheMixIsTheOneAskedFor) {
  OperationSource source(WorkloadOf(kAll), {});
  std::map<Kind, int> counts;
  int with_ttl = 0;
  int writes = 0;
  for (const Operation& operation : Take(source, 100'000)) {
    ++counts[operation.kind];
    writes += operation.value_bytes > 0;
    with_ttl += operation.ttl_seconds == 60;
  }
  EXPECT_NEAR(counts[Kind::kRead], 30'000, 5 * 145);
  for (Kind kind : {Kind::kUpdate, Kind::kInsert, Kind::kScan, Kind::kReadModifyWrite,
                    Kind::kDelete, Kind::kMultiGet, Kind::kMultiPut}) {
    EXPECT_NEAR(counts[kind], 10'000, 5 * 95) << NameOf(kind);
  }
  EXPECT_NEAR(with_ttl, writes / 2, 5 * 100);
}

TEST(Operations, LoadingInsertsEachRecordOnce) {
  OperationSource source(WorkloadOf("recordcount=100\ninsertstart=20\ninsertcount=30\n"),
                         {.phase = Phase::kLoad});
  std::set<int64_t> records;
  while (std::optional<Operation> operation = source.Next()) {
    EXPECT_EQ(operation->kind, Kind::kInsert);
    EXPECT_EQ(operation->value_bytes, 1000);
    EXPECT_TRUE(records.insert(operation->record).second);
  }
  EXPECT_EQ(records.size(), 30u);
  EXPECT_EQ(*records.begin(), 20);
  EXPECT_EQ(*records.rbegin(), 49);
}

TEST(Operations, ReadsStayBehindInsertsThatMayBeUnderWay) {
  for (const char* request : {"latest", "exponential", "zipfian"}) {
    OperationSource source(
        WorkloadOf(std::string("recordcount=100\noperationcount=5000\nreadproportion=0.5\n"
                               "insertproportion=0.5\nrequestdistribution=") +
                   request),
        {.settling = 10});
    int64_t last_insert = 99;
    int64_t largest_read = 0;
    for (const Operation& operation : Take(source, 5000)) {
      if (operation.kind == Kind::kInsert) {
        EXPECT_EQ(operation.record, ++last_insert);
      } else {
        EXPECT_LE(operation.record, std::max<int64_t>(99, last_insert - 10));
        EXPECT_GE(operation.record, 0);
        largest_read = std::max(largest_read, operation.record);
      }
    }
    EXPECT_GT(largest_read, 1000) << request << " never reads what was inserted";
  }
}

TEST(Operations, LatestPrefersWhatCameLast) {
  OperationSource source(
      WorkloadOf("recordcount=1000\nreadproportion=1\nrequestdistribution=latest\n"), {});
  std::map<int64_t, int> counts;
  for (const Operation& operation : Take(source, 50'000)) ++counts[operation.record];
  EXPECT_GT(counts[999], counts[998]);
  EXPECT_GT(counts[998], 10 * counts[0]);
}

TEST(Operations, MultiOperationsStayInTheirHashKey) {
  OperationSource source(
      WorkloadOf("recordcount=995\nmultiputproportion=1\nrecordsperhashkey=10\nmultisize=4\n"), {});
  for (const Operation& operation : Take(source, 5000)) {
    EXPECT_GE(operation.count, 1);
    EXPECT_LE(operation.count, 4);
    EXPECT_EQ(operation.record / 10, (operation.record + operation.count - 1) / 10);
    EXPECT_LT(operation.record + operation.count - 1, 995);
  }
}

TEST(KeyNames, AreYcsbs) {
  EXPECT_EQ(
      KeyNames(WorkloadOf("recordcount=1\ninsertorder=ordered\nzeropadding=5\n")).Of(42).hash_key,
      "user00042");
  const RecordKey hashed = KeyNames(WorkloadOf("recordcount=1\n")).Of(0);
  EXPECT_EQ(hashed.hash_key, "user6284781860667377211");  // as Java's YCSB names record 0
  EXPECT_EQ(hashed.sort_key, "");
}

TEST(KeyNames, GroupsAreToldApartAndBack) {
  const KeyNames keys(WorkloadOf("recordcount=1000\nrecordsperhashkey=100\n"));
  EXPECT_EQ(keys.Of(100).hash_key, keys.Of(199).hash_key);
  EXPECT_NE(keys.Of(100).hash_key, keys.Of(200).hash_key);
  EXPECT_EQ(keys.Of(107).sort_key, "07");
  EXPECT_EQ(keys.RecordOf(150, "07"), 107);
  EXPECT_EQ(keys.RecordOf(150, "7"), std::nullopt);
  EXPECT_EQ(keys.RecordOf(150, "x7"), std::nullopt);
}

TEST(KeyNames, LengthsAreDrawnByTheKeyItself) {
  const Workload workload =
      WorkloadOf("recordcount=10\nminkeylength=40\nkeylength=80\nkeylengthdistribution=uniform\n");
  std::set<size_t> lengths;
  std::set<std::string> names;
  for (int64_t record = 0; record < 500; ++record) {
    const std::string key = KeyNames(workload).Of(record).hash_key;
    EXPECT_EQ(key, KeyNames(workload).Of(record).hash_key);
    lengths.insert(key.size());
    names.insert(key);
  }
  EXPECT_EQ(lengths.size(), 41u);
  EXPECT_EQ(*lengths.begin(), 40u);
  EXPECT_EQ(*lengths.rbegin(), 80u);
  EXPECT_EQ(names.size(), 500u);
}

}  // namespace
}  // namespace arion::load
