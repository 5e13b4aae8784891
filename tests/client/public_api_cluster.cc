// Every operation of the public client against real servers: public_api_test.py starts them and names
// the meta server in ARION_META. Table temp, 8 partitions. SPDX-License-Identifier: Apache-2.0
#include <arion/client.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <mutex>
#include <set>
#include <thread>

namespace arion {
namespace {

std::string MetaServer() {
  const char* meta = std::getenv("ARION_META");
  return meta != nullptr ? meta : "127.0.0.1:34601";
}

class PublicApi : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto client = Client::Create({.meta_servers = {MetaServer()}, .timeout = absl::Seconds(20)});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    auto table = client_->OpenTable("temp");
    ASSERT_TRUE(table.ok()) << table.status();
    table_ = *std::move(table);
  }
  static void TearDownTestSuite() {
    table_.reset();
    client_.reset();
  }
  // Each test has hash keys of its own, also when it is repeated.
  void SetUp() override {
    static int test = 0;
    hash_key_ = "api-" + std::to_string(++test);
    for (const char* sort_key : {"a1", "a2", "b1", "b2", "c1"})
      ASSERT_TRUE(table_->Put(hash_key_, sort_key, std::string("v") + sort_key).ok());
  }
  static std::string Keys(const absl::StatusOr<MultiGetResult>& result) {
    if (!result.ok()) return result.status().ToString();
    std::string keys;
    for (const Row& row : result->rows) keys += row.sort_key + "=" + row.value + " ";
    return keys + (result->is_complete ? "." : "...");
  }
  static std::string Keys(RowRange range) {
    std::string keys;
    for (absl::StatusOr<Row>& row : range) {
      if (!row.ok()) return keys + row.status().ToString();
      keys += row->sort_key + "=" + row->value + " ";
    }
    return keys;
  }

  static std::unique_ptr<Client> client_;
  static std::shared_ptr<Table> table_;
  std::string hash_key_;
};
std::unique_ptr<Client> PublicApi::client_;
std::shared_ptr<Table> PublicApi::table_;

TEST_F(PublicApi, OneRecord) {
  EXPECT_EQ(*table_->Get(hash_key_, "a1"), "va1");
  EXPECT_EQ(*table_->Ttl(hash_key_, "a1"), absl::InfiniteDuration());
  ASSERT_TRUE(table_->Put(hash_key_, "a1", "", {.ttl = absl::Minutes(10)}).ok());
  EXPECT_EQ(*table_->Get(hash_key_, "a1"), "");
  EXPECT_NEAR(absl::ToDoubleSeconds(*table_->Ttl(hash_key_, "a1")), 600, 30);
  ASSERT_TRUE(table_->Remove(hash_key_, "a1").ok());
  EXPECT_TRUE(absl::IsNotFound(table_->Get(hash_key_, "a1").status()));
  EXPECT_TRUE(absl::IsNotFound(table_->Ttl(hash_key_, "a1").status()));
  EXPECT_TRUE(absl::IsNotFound(client_->OpenTable("none").status()));
}

TEST_F(PublicApi, RecordsOfOneHashKey) {
  ASSERT_TRUE(table_->MultiPut(hash_key_, {{"d1", "new"}, {"a1", "over"}}).ok());
  EXPECT_EQ(Keys(table_->MultiGet(hash_key_)), "a1=over a2=va2 b1=vb1 b2=vb2 c1=vc1 d1=new .");
  EXPECT_EQ(Keys(table_->MultiGet(hash_key_, {.range = {.start = "a2", .stop = "c1"}})),
            "a2=va2 b1=vb1 b2=vb2 .");
  EXPECT_EQ(Keys(table_->MultiGet(
                hash_key_, {.sort_key_filter = KeyFilter::Postfix("1"), .values = Values::kOmit})),
            "a1= b1= c1= d1= .");
  EXPECT_EQ(Keys(table_->MultiGet(hash_key_, {.count_max = 2})), "a1=over a2=va2 ...");
  EXPECT_EQ(
      Keys(table_->MultiGet(hash_key_, {.count_max = 2, .from = MultiGetOptions::From::kStop})),
      "c1=vc1 d1=new ...");
  EXPECT_EQ(Keys(table_->MultiGetKeys(hash_key_, {"c1", "none", "a2"})), "c1=vc1 a2=va2 .");
  EXPECT_EQ(*table_->SortKeyCount(hash_key_), 6);
  ASSERT_TRUE(table_->MultiRemove(hash_key_, {"a1", "none", "d1"}).ok());
  EXPECT_EQ(*table_->SortKeyCount(hash_key_), 4);
  EXPECT_EQ(Keys(table_->MultiGet(hash_key_ + "none")), ".");
}

TEST_F(PublicApi, PagesOfAMultiGetGoOnBehindTheLastRow) {
  std::string keys, last;
  MultiGetOptions options{.count_max = 2};
  for (bool is_complete = false; !is_complete;) {
    auto page = table_->MultiGet(hash_key_, options);
    ASSERT_TRUE(page.ok() && !page->rows.empty()) << page.status();
    for (const Row& row : page->rows) keys += row.sort_key;
    is_complete = page->is_complete;
    last = page->rows.back().sort_key;
    options.range = {.start = last, .start_bound = Bound::kExclusive};
  }
  EXPECT_EQ(keys, "a1a2b1b2c1");
}

TEST_F(PublicApi, Incr) {
  EXPECT_EQ(*table_->Incr(hash_key_, "n", 40), 40);
  EXPECT_EQ(*table_->Incr(hash_key_, "n", 2, {.ttl = absl::Hours(1)}), 42);
  EXPECT_LT(*table_->Ttl(hash_key_, "n"), absl::Hours(2));
  EXPECT_EQ(*table_->Incr(hash_key_, "n", 0), 42);
  EXPECT_LT(*table_->Ttl(hash_key_, "n"), absl::Hours(2)) << "kept";
  EXPECT_EQ(*table_->Incr(hash_key_, "n", -2, {.ttl = absl::InfiniteDuration()}), 40);
  EXPECT_EQ(*table_->Ttl(hash_key_, "n"), absl::InfiniteDuration());
  EXPECT_TRUE(absl::IsInvalidArgument(table_->Incr(hash_key_, "a1", 1).status())) << "text";
  EXPECT_TRUE(absl::IsInvalidArgument(table_->Incr(hash_key_, "n", INT64_MAX).status()));
  EXPECT_EQ(*table_->Get(hash_key_, "n"), "40");
}

TEST_F(PublicApi, EveryCheckPassesAndFails) {
  struct Case {
    Check::Type type;
    const char* value;  // nullptr: no record
    const char* operand;
    bool passes;
  };
  using enum Check::Type;
  const Case cases[] = {{kNone, nullptr, "", true},
                        {kNone, "x", "", true},
                        {kNotExist, nullptr, "", true},
                        {kNotExist, "", "", false},
                        {kNotExistOrEmpty, "", "", true},
                        {kNotExistOrEmpty, "x", "", false},
                        {kExist, "", "", true},
                        {kExist, nullptr, "", false},
                        {kNotEmpty, "x", "", true},
                        {kNotEmpty, "", "", false},
                        {kContains, "abc", "b", true},
                        {kContains, "abc", "d", false},
                        {kHasPrefix, "abc", "ab", true},
                        {kHasPrefix, "abc", "b", false},
                        {kHasPostfix, "abc", "bc", true},
                        {kHasPostfix, "abc", "b", false},
                        {kBytesLess, "a", "b", true},
                        {kBytesLess, "b", "b", false},
                        {kBytesLessOrEqual, "b", "b", true},
                        {kBytesLessOrEqual, "c", "b", false},
                        {kBytesEqual, "b", "b", true},
                        {kBytesEqual, "b", "bb", false},
                        {kBytesGreaterOrEqual, "b", "b", true},
                        {kBytesGreaterOrEqual, "a", "b", false},
                        {kBytesGreater, "bb", "b", true},
                        {kBytesGreater, "b", "b", false},
                        {kNumberLess, "9", "10", true},
                        {kNumberLess, "10", "10", false},
                        {kNumberLessOrEqual, "10", "0xa", true},
                        {kNumberLessOrEqual, "11", "10", false},
                        {kNumberEqual, "010", "8", true},
                        {kNumberEqual, nullptr, "0", false},
                        {kNumberGreaterOrEqual, "10", "9", true},
                        {kNumberGreaterOrEqual, "-1", "0", false},
                        {kNumberGreater, "10", "9", true},
                        {kNumberGreater, "9", "9", false}};
  for (const Case& c : cases) {
    ASSERT_TRUE(table_->Remove(hash_key_, "c").ok());
    if (c.value != nullptr) {
      ASSERT_TRUE(table_->Put(hash_key_, "c", c.value).ok());
    }
    const std::string expected = c.passes ? "set" : c.value != nullptr ? c.value : "none";
    auto outcome = table_->CheckAndSet({.hash_key = hash_key_,
                                        .check_sort_key = "c",
                                        .check = {c.type, c.operand},
                                        .set_value = "set",
                                        .checked_value = CheckedValue::kReturn});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_EQ(outcome->is_passed, c.passes) << static_cast<int>(c.type);
    EXPECT_EQ(outcome->value.has_value(), c.value != nullptr);
    EXPECT_EQ(outcome->value.value_or(""), c.value != nullptr ? c.value : "");
    EXPECT_EQ(table_->Get(hash_key_, "c").value_or("none"), expected) << static_cast<int>(c.type);
  }
  auto text = table_->CheckAndSet(
      {.hash_key = hash_key_, .check_sort_key = "a1", .check = {kNumberEqual, "1"}});
  EXPECT_TRUE(absl::IsInvalidArgument(text.status())) << text.status();
}

TEST_F(PublicApi, CheckAndMutateIsAllOrNothing) {
  const auto mutate = [&](Check check) {
    return table_->CheckAndMutate(
        {.hash_key = hash_key_,
         .check_sort_key = "a1",
         .check = check,
         .mutations = {SortKeyMutation::Put("x", "1"),
                       SortKeyMutation::Put("y", "2", absl::Hours(1)),
                       SortKeyMutation::Remove("a2"), SortKeyMutation::Remove("x")}});
  };
  EXPECT_FALSE(mutate(Check::NotExist())->is_passed);
  EXPECT_EQ(*table_->SortKeyCount(hash_key_), 5);
  EXPECT_TRUE(mutate(Check::Equals("va1"))->is_passed);
  EXPECT_EQ(Keys(table_->MultiGet(hash_key_)), "a1=va1 b1=vb1 b2=vb2 c1=vc1 y=2 .");
  EXPECT_LT(*table_->Ttl(hash_key_, "y"), absl::Hours(2));
  auto other = table_->CheckAndSet({.hash_key = hash_key_,
                                    .check_sort_key = "none",
                                    .check = Check::NotExist(),
                                    .set_sort_key = "other",
                                    .set_value = "o",
                                    .ttl = absl::Hours(1)});
  EXPECT_TRUE(other->is_passed);
  EXPECT_FALSE(other->value.has_value());
  EXPECT_EQ(*table_->Get(hash_key_, "other"), "o");
}

TEST_F(PublicApi, BatchesOverAllPartitions) {
  std::vector<std::string> hash_keys;
  for (int i = 0; i < 1000; ++i) hash_keys.push_back(hash_key_ + "-" + std::to_string(i));
  std::vector<RowToPut> rows;
  std::vector<Key> keys;
  for (const std::string& key : hash_keys) {
    rows.push_back({key, "s", key});
    keys.push_back({key, "s"});
  }
  for (const absl::Status& status : table_->BatchPut(rows)) ASSERT_TRUE(status.ok()) << status;
  keys.push_back({hash_key_, "none"});
  const std::string long_key(65535, 'x');
  keys.push_back({long_key, "s"});
  auto values = table_->BatchGet(keys);
  ASSERT_EQ(values.size(), 1002u);
  for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(values[i].value_or("none"), hash_keys[i]);
  EXPECT_TRUE(absl::IsNotFound(values[1000].status()));
  EXPECT_TRUE(absl::IsInvalidArgument(values[1001].status()));
  keys.resize(1000);
  for (const absl::Status& status : table_->BatchRemove(keys)) ASSERT_TRUE(status.ok()) << status;
  for (const auto& value : table_->BatchGet(keys)) ASSERT_TRUE(absl::IsNotFound(value.status()));
}

TEST_F(PublicApi, ScansOfOneHashKey) {
  EXPECT_EQ(Keys(table_->Scan(hash_key_, {.batch_size = 2})),
            "a1=va1 a2=va2 b1=vb1 b2=vb2 c1=vc1 ");
  EXPECT_EQ(Keys(table_->Scan(hash_key_, {.range = {.start = "a1",
                                                    .stop = "b2",
                                                    .start_bound = Bound::kExclusive,
                                                    .stop_bound = Bound::kInclusive}})),
            "a2=va2 b1=vb1 b2=vb2 ");
  EXPECT_EQ(Keys(table_->Scan(
                hash_key_, {.sort_key_filter = KeyFilter::Prefix("b"), .values = Values::kOmit})),
            "b1= b2= ");
  EXPECT_EQ(*table_->Count(hash_key_), 5);
  EXPECT_EQ(*table_->Count(hash_key_, {.sort_key_filter = KeyFilter::Postfix("1")}), 3);
  ASSERT_TRUE(table_->Put(hash_key_, "t", "", {.ttl = absl::Hours(1)}).ok());
  for (absl::StatusOr<Row>& row : table_->Scan(hash_key_, {.expiry_times = ExpiryTimes::kReturn})) {
    ASSERT_TRUE(row.ok());
    EXPECT_EQ(*row->expires < absl::InfiniteFuture(), row->sort_key == "t");
  }
  for (absl::StatusOr<Row>& row : table_->Scan(hash_key_, {.batch_size = 1})) {
    EXPECT_EQ(row->sort_key, "a1");
    break;  // the rest is given up
  }
  EXPECT_EQ(Keys(table_->Scan("")),
            "INVALID_ARGUMENT: the hash key is empty; here it has 1 to 65534 bytes");
}

TEST_F(PublicApi, ScansOfTheTableInPartsAndWhole) {
  const std::string prefix = hash_key_ + "-";
  std::vector<std::string> hash_keys;
  std::vector<RowToPut> rows;
  for (int i = 0; i < 500; ++i) hash_keys.push_back(prefix + std::to_string(i));
  for (const std::string& key : hash_keys) rows.push_back({key, "s", "v"});
  for (const absl::Status& status : table_->BatchPut(rows)) ASSERT_TRUE(status.ok()) << status;
  const TableScanOptions options{.hash_key_filter = KeyFilter::Prefix(prefix), .batch_size = 20};
  for (int32_t parts : {1, 3, 20}) {
    std::mutex mutex;
    std::multiset<std::string> found;
    std::vector<std::thread> threads;
    std::vector<RowRange> ranges = table_->SplitScan(parts, options);
    ASSERT_EQ(ranges.size(), static_cast<size_t>(parts));
    for (RowRange& range : ranges) {
      threads.emplace_back([&] {
        for (absl::StatusOr<Row>& row : range) {
          std::lock_guard lock(mutex);
          found.insert(row.ok() ? row->hash_key : row.status().ToString());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(found, std::multiset<std::string>(hash_keys.begin(), hash_keys.end())) << parts;
  }
  EXPECT_EQ(*table_->CountTable(options), 500);
}

TEST_F(PublicApi, ALargeValueIsRefusedWithItsSize) {
  const absl::Status refused = table_->Put(hash_key_, "large", std::string(3 << 20, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_TRUE(absl::IsNotFound(table_->Get(hash_key_, "large").status()));
}

TEST_F(PublicApi, ThousandsUnderWayFromCallbacks) {
  struct Loop {
    void Next(absl::Status status) {
      if (!status.ok() || left == 0) return end.set_value(status);
      --left;
      table->Put(hash_key, std::to_string(left), "v", {}, [this](absl::Status s) { Next(s); });
    }
    AsyncTable* table;
    std::string hash_key;
    int left = 40;
    std::promise<absl::Status> end;
  };
  std::vector<std::unique_ptr<Loop>> loops;
  for (int i = 0; i < 50; ++i) {
    loops.push_back(std::make_unique<Loop>());
    loops.back()->table = &table_->async();
    loops.back()->hash_key = hash_key_ + "-" + std::to_string(i);
  }
  for (auto& loop : loops) loop->Next(absl::OkStatus());
  for (auto& loop : loops) EXPECT_TRUE(loop->end.get_future().get().ok());
  EXPECT_EQ(*table_->SortKeyCount(hash_key_ + "-7"), 40);
}

// Run by itself, in two steps, with a server stopped between them.
TEST_F(PublicApi, DISABLED_Writes64RecordsForBackupReads) {
  for (int i = 0; i < 64; ++i)
    ASSERT_TRUE(table_->Put("backup-" + std::to_string(i), "s", "v" + std::to_string(i)).ok());
  // A secondary applies a write when it hears of the next.
  for (int i = 0; i < 64; ++i)
    ASSERT_TRUE(table_->Put("backup-" + std::to_string(i), "next", "").ok());
}

TEST(BackupReads, DISABLED_SecondariesAnswerForAStoppedPrimary) {
  auto client = *Client::Create({.meta_servers = {MetaServer()}, .timeout = absl::Seconds(20)});
  auto table = *client->OpenTable("temp");
  int slow = 0;
  for (int i = 0; i < 64; ++i) {
    const absl::Time start = absl::Now();
    auto value = table->Get("backup-" + std::to_string(i), "s",
                            {.timeout = absl::Seconds(5), .backup_after = absl::Milliseconds(50)});
    EXPECT_EQ(value.value_or(value.status().ToString()), "v" + std::to_string(i));
    slow += absl::Now() - start >= absl::Milliseconds(50);
  }
  EXPECT_GT(slow, 0) << "no partition's primary was stopped";
}

}  // namespace
}  // namespace arion
