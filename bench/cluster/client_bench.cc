// A fixed number of operations through Arion's C++ client, so many at a time, and a line of figures.
// What is read was written by --op=put or --op=fill with the same --keys and --size.
// SPDX-License-Identifier: Apache-2.0
#include <arion/client.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

DEFINE_string(meta, "127.0.0.1:34601", "meta server");
DEFINE_string(table, "temp", "table");
DEFINE_string(
    op, "get",
    "put, get: one record each, of --rows to a hash key; check_and_set: the one record of a hash "
    "key; multi_get: --rows sort keys of one hash key; "
    "fill: --keys hash keys of --rows sort keys, whatever --ops; scan: the whole table");
DEFINE_int64(ops, 100000, "operations; of scan: scans");
DEFINE_int32(outstanding, 50, "operations under way");
DEFINE_int32(keys, 100000, "hash keys");
DEFINE_int32(rows, 1, "sort keys of a hash key");
DEFINE_int32(size, 1000, "bytes of a value");
DEFINE_bool(json, false, "values of put are JSON objects with members f0 to f11, small numbers");

namespace {

// Of all records the one that the n-th operation is for.
uint64_t RecordOf(uint64_t n, uint64_t count) { return n * 2654435761 % count; }
std::string HashKeyAt(uint64_t index) {
  char text[32];
  snprintf(text, sizeof(text), "bench-%016d", static_cast<int>(index));
  return text;
}
std::string HashKey(uint64_t n) { return HashKeyAt(RecordOf(n, FLAGS_keys)); }
std::string SortKey(uint64_t row) {
  char text[16];
  snprintf(text, sizeof(text), "s%05d", static_cast<int>(row));
  return text;
}

// Starts operation after operation, --outstanding under way, and waits for all.
class Run {
 public:
  explicit Run(arion::AsyncTable& table) : table_(table), value_(FLAGS_size, 'v') {}

  // MULTI_PUTs that fill one hash key: a request holds at most 1 MiB.
  static int PartsOfKey() { return (FLAGS_rows + kRowsOfPart - 1) / kRowsOfPart; }
  void All(uint64_t count) {
    count_ = count;
    for (int i = 0; i < FLAGS_outstanding; ++i) Start();
    std::unique_lock<std::mutex> lock(mutex_);
    all_done_.wait(lock, [this] { return done_ == count_; });
  }
  uint64_t failed() const { return failed_; }
  uint64_t bytes() const { return bytes_; }

 private:
  // Of --size bytes.
  static std::string Object(uint64_t n) {
    std::string object = "{";
    for (int i = 0; i < 12; ++i)
      object += "\"f" + std::to_string(i) + "\":" + std::to_string(n * (i + 7) % 1000) + ",";
    object += "\"text\":\"";
    const size_t size = static_cast<size_t>(FLAGS_size);
    if (object.size() + 2 < size) object.append(size - 2 - object.size(), 'v');
    return object + "\"}";
  }

  void Start() {
    const uint64_t n = next_++;
    if (n >= count_) return;
    const uint64_t record = RecordOf(n, uint64_t{1} * FLAGS_keys * FLAGS_rows);
    const std::string key = HashKeyAt(record / FLAGS_rows);
    const std::string sort_key = FLAGS_rows == 1 ? "s" : SortKey(record % FLAGS_rows);
    if (FLAGS_op == "put") {
      table_.Put(key, sort_key, FLAGS_json ? Object(n) : value_, {},
                 [this](absl::Status status) { Done(status, 0); });
    } else if (FLAGS_op == "get") {
      table_.Get(key, sort_key, {}, [this](absl::StatusOr<std::string> value) {
        Done(value.status(), value.ok() ? value->size() : 0);
      });
    } else if (FLAGS_op == "check_and_set") {
      table_.CheckAndSet({.hash_key = key,
                          .check_sort_key = "s",
                          .check = arion::Check::Exist(),
                          .set_value = value_},
                         [this](absl::StatusOr<arion::CheckOutcome> outcome) {
                           Done(outcome.ok() && !outcome->is_passed
                                    ? absl::NotFoundError("there is no such record")
                                    : outcome.status(),
                                0);
                         });
    } else if (FLAGS_op == "multi_get") {
      table_.MultiGet(key, {}, [this](absl::StatusOr<arion::MultiGetResult> result) {
        uint64_t bytes = 0;
        if (result.ok())
          for (const arion::Row& row : result->rows)
            bytes += row.sort_key.size() + row.value.size();
        const bool is_short = result.ok() && result->rows.size() != static_cast<size_t>(FLAGS_rows);
        Done(is_short ? absl::NotFoundError("rows are missing") : result.status(), bytes);
      });
    } else {
      Fill(n);
    }
  }

  void Fill(uint64_t n) {
    const int first = static_cast<int>(n % PartsOfKey()) * kRowsOfPart;
    std::vector<std::string> sort_keys;
    for (int row = first; row < std::min(first + kRowsOfPart, FLAGS_rows); ++row)
      sort_keys.push_back(SortKey(row));
    std::vector<arion::SortKeyValue> rows;
    for (const std::string& sort_key : sort_keys) rows.push_back({sort_key, value_});
    table_.MultiPut(HashKey(n / PartsOfKey()), rows, {},
                    [this](absl::Status status) { Done(status, 0); });
  }

  void Done(const absl::Status& status, uint64_t bytes) {
    if (!status.ok() && failed_++ == 0) fprintf(stderr, "%s\n", status.ToString().c_str());
    bytes_ += bytes;
    Start();
    std::lock_guard<std::mutex> lock(mutex_);
    if (++done_ == count_) all_done_.notify_one();
  }

  static constexpr int kRowsOfPart = 500;
  arion::AsyncTable& table_;
  const std::string value_;
  uint64_t count_ = 0;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> failed_{0};
  std::atomic<uint64_t> bytes_{0};
  std::mutex mutex_;
  std::condition_variable all_done_;
  uint64_t done_ = 0;
};

// Rows and bytes of the whole table.
absl::StatusOr<std::pair<uint64_t, uint64_t>> Scan(arion::Table& table) {
  uint64_t rows = 0, bytes = 0;
  arion::RowRange range = table.ScanTable({});
  for (const absl::StatusOr<arion::Row>& row : range) {
    if (!row.ok()) return row.status();
    ++rows;
    bytes += row->hash_key.size() + row->sort_key.size() + row->value.size();
  }
  return std::make_pair(rows, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  auto client = arion::Client::Create({.meta_servers = {FLAGS_meta}, .timeout = absl::Seconds(30)});
  auto table = client.ok() ? (*client)->OpenTable(FLAGS_table) : client.status();
  if (!table.ok()) {
    fprintf(stderr, "%s\n", table.status().ToString().c_str());
    return 1;
  }
  const auto started = std::chrono::steady_clock::now();
  uint64_t ops = FLAGS_ops, failed = 0, bytes = 0;
  if (FLAGS_op == "scan") {
    ops = 0;
    for (int i = 0; i < FLAGS_ops; ++i) {
      const auto scanned = Scan(**table);
      if (!scanned.ok()) {
        fprintf(stderr, "%s\n", scanned.status().ToString().c_str());
        return 1;
      }
      ops += scanned->first, bytes += scanned->second;
    }
  } else {
    if (FLAGS_op == "fill") ops = uint64_t{1} * FLAGS_keys * Run::PartsOfKey();
    Run run((*table)->async());
    run.All(ops);
    failed = run.failed(), bytes = run.bytes();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  printf("bench: %s ops=%llu errors=%llu seconds=%.3f ops/s=%.0f bytes=%llu\n", FLAGS_op.c_str(),
         static_cast<unsigned long long>(ops), static_cast<unsigned long long>(failed),
         took.count(), ops / took.count(), static_cast<unsigned long long>(bytes));
  return failed == 0 ? 0 : 1;
}
