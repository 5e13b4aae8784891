// Clients that never send again add distinct amounts to a few records, by INCR and by CHECK_AND_SET
// in turn, until standard input closes; to other records every few seconds and where some are
// undecided, so that no record gathers more of these than can be told apart. Then a line for each
// amount on standard output: "added <record> <amount>", or "undecided <record> <amount>" where no
// answer came. What was refused is not listed: it did not happen. Of all clients at most 16 are at one
// record: the slowest would gather them all, and its server's end leave as many undecided.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>
#include <arion/client.h>
#include <gflags/gflags.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

DEFINE_string(meta, "127.0.0.1:34601", "meta server");
DEFINE_string(table, "temp", "table");
DEFINE_string(prefix, "sum", "prefix of the records' hash keys");
DEFINE_int32(clients, 64, "clients, each with a connection of its own to every server");
DEFINE_int32(records, 10, "records they add to at a time");
DEFINE_double(period, 2, "seconds until they turn to other records");

namespace {

// Amounts look random, so that no two sets of a few of them have the same sum.
uint64_t Amount(uint64_t number) {
  uint64_t x = number * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return ((x ^ x >> 31) & ((uint64_t{1} << 48) - 1)) | 1;
}

constexpr int kUndecidedOfARecord = 8;  // more are under way by then
constexpr int kUnderWayOfASlot = 16;

struct Slot {
  std::atomic<int> undecided{0};
  std::atomic<int> under_way{0};

  bool Enter() {
    if (++under_way <= kUnderWayOfASlot) return true;
    --under_way;
    return false;
  }
};
std::vector<Slot>* slots = nullptr;

enum class Outcome { kAdded, kRefused, kUndecided };

class Adder {
 public:
  Adder(int number, std::unique_ptr<arion::Client> client, std::shared_ptr<arion::Table> table)
      : number_(number), client_(std::move(client)), table_(std::move(table)) {}

  void Run(const std::atomic<bool>& stopped) {
    for (uint64_t i = 0; !stopped; ++i) {
      const uint64_t amount = Amount(uint64_t{1} + number_ + i * FLAGS_clients);
      const size_t number = TakeSlot(Amount(~amount) % slots->size());
      Slot& slot = (*slots)[number];
      const std::string record = Record(number);
      const Outcome outcome =
          i % 2 == 0 ? Incr(record, amount) : CheckAndSet(record, amount, stopped);
      if (outcome == Outcome::kUndecided) ++slot.undecided;
      --slot.under_way;
      if (outcome == Outcome::kRefused) continue;
      results_ += (outcome == Outcome::kAdded ? "added " : "undecided ") + record + " " +
                  std::to_string(amount) + "\n";
    }
  }

  const std::string& results() const { return results_; }

 private:
  // The first from there on that has room; not all are full.
  static size_t TakeSlot(size_t number) {
    while (!(*slots)[number].Enter()) number = (number + 1) % slots->size();
    return number;
  }

  std::string Record(size_t slot) const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started_;
    return FLAGS_prefix + "-" + std::to_string(static_cast<int>(elapsed.count() / FLAGS_period)) +
           "-" + std::to_string(slot) + "-" +
           std::to_string((*slots)[slot].undecided / kUndecidedOfARecord);
  }

  static Outcome OutcomeOf(const absl::Status& status) {
    if (status.ok()) return Outcome::kAdded;
    return absl::IsDeadlineExceeded(status) ? Outcome::kUndecided : Outcome::kRefused;
  }

  Outcome Incr(const std::string& record, uint64_t amount) {
    return OutcomeOf(table_->Incr(record, "n", static_cast<int64_t>(amount)).status());
  }

  Outcome CheckAndSet(const std::string& record, uint64_t amount,
                      const std::atomic<bool>& stopped) {
    while (!stopped) {
      const absl::StatusOr<std::string> value = table_->Get(record, "n");
      int64_t old_sum = 0;
      if (!value.ok() && !absl::IsNotFound(value.status())) return Outcome::kRefused;
      if (value.ok() && !absl::SimpleAtoi(*value, &old_sum)) return Outcome::kRefused;
      const std::string new_sum = std::to_string(old_sum + static_cast<int64_t>(amount));
      const auto outcome = table_->CheckAndSet(
          {.hash_key = record,
           .check_sort_key = "n",
           .check = value.ok() ? arion::Check::Equals(*value) : arion::Check::NotExist(),
           .set_value = new_sum});
      if (!outcome.ok() || outcome->is_passed) return OutcomeOf(outcome.status());
    }
    return Outcome::kRefused;
  }

  const int number_;
  const std::unique_ptr<arion::Client> client_;
  const std::shared_ptr<arion::Table> table_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::string results_;
};

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (FLAGS_records * kUnderWayOfASlot <= FLAGS_clients) {
    fprintf(stderr, "--records %d are too few for %d clients\n", FLAGS_records, FLAGS_clients);
    return 1;
  }
  std::vector<Slot> all(static_cast<size_t>(FLAGS_records));
  slots = &all;
  std::vector<std::unique_ptr<Adder>> adders;
  for (int i = 0; i < FLAGS_clients; ++i) {
    auto client = arion::Client::Create({.meta_servers = {FLAGS_meta},
                                         .timeout = absl::Seconds(10),
                                         .write_retries = arion::WriteRetries::kAfterRefusals});
    auto table = client.ok() ? (*client)->OpenTable(FLAGS_table) : client.status();
    if (!table.ok()) {
      fprintf(stderr, "%s\n", table.status().ToString().c_str());
      return 1;
    }
    adders.push_back(std::make_unique<Adder>(i, *std::move(client), *std::move(table)));
  }
  std::atomic<bool> stopped{false};
  std::vector<std::thread> threads;
  for (auto& adder : adders) threads.emplace_back([&] { adder->Run(stopped); });
  while (getchar() != EOF) {
  }
  stopped = true;
  for (std::thread& thread : threads) thread.join();
  for (const auto& adder : adders) fputs(adder->results().c_str(), stdout);
  return 0;
}
