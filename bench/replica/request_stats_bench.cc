// What counting, timing and sampling one request costs, beside what a server spends on it in all
// (bench/RESULTS.md: 15 us of CPU a GET, 126 us a PUT); 2 % are allowed.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "client_requests/client_request.h"
#include "copies/foreground_pace.h"
#include "posix/posix_clock.h"
#include "stats/hot_keys.h"
#include "stats/slow_requests.h"

namespace arion {
namespace {

struct Watched {
  PosixClock clock;
  std::shared_ptr<RequestStats> stats = std::make_shared<RequestStats>(42);
  std::shared_ptr<const RequestWatch> watch = std::make_shared<const RequestWatch>(
      RequestWatch{.clock = clock,
                   .pid = {2, 1},
                   .table = "t",
                   .stats = stats,
                   .slow = std::make_shared<SlowRequests>(),
                   .foreground = std::make_shared<ForegroundPace>(),
                   .kept_from = absl::Seconds(1),
                   .logged_from = absl::Seconds(1)});
  std::string key = "user000000000000";
  uint64_t asked = 0;

  std::string_view NextKey() {
    key[15] = static_cast<char>('a' + asked++ % 26);
    return key;
  }
};

Responder NoAnswer() {
  return Responder([](ErrorCode, std::string body) { benchmark::DoNotOptimize(body); });
}

// As before there were numbers: the answer, and the clock that deadlines are counted from.
void Uncounted(benchmark::State& state) {
  Watched watched;
  for (auto _ : state) {
    benchmark::DoNotOptimize(watched.clock.Now());
    benchmark::DoNotOptimize(watched.NextKey());
    NoAnswer().Reply(ErrorCode::kOk, "short");
  }
}
void CountedRead(benchmark::State& state) {
  Watched watched;
  for (auto _ : state) {
    const Instant now = watched.clock.Now();
    watched.stats->hot_keys().Note(KeyUse::kRead, watched.NextKey(), now);
    ClientAnswer(NoAnswer(), watched.watch, RequestKind::kGet, now, {}, 100)
        .Reply(ErrorCode::kOk, "short");
  }
}
// Alone in its mutation, as with no other writer: the worst case.
void CountedWrite(benchmark::State& state) {
  Watched watched;
  WriteTimes times;
  int64_t decree = 0;
  for (auto _ : state) {
    const Instant now = watched.clock.Now();
    watched.stats->hot_keys().Note(KeyUse::kWrite, watched.NextKey(), now);
    ++decree;
    times.Appended(Decree(decree), static_cast<uint64_t>(decree), now);
    times.Durable(static_cast<uint64_t>(decree), now, watched.clock.Now());
    times.Committed(Decree(decree), now);
    ClientAnswer(NoAnswer(), watched.watch, RequestKind::kPut, now, {}, 1100)
        .Reply("short", *times.Find(Decree(decree)), now);
  }
}
// What /metrics takes of it with 1,000 partitions of one table.
void ReadThousandPartitions(benchmark::State& state) {
  RequestBook book;
  for (int i = 0; i < 1000; ++i) {
    const auto stats = book.Open({2, i}, "t");
    for (RequestKind kind : {RequestKind::kGet, RequestKind::kPut, RequestKind::kScan})
      stats->Answered(kind, ErrorCode::kOk, 100'000 + i, 10, 10);
    stats->Staged({1000, 2000, 3000, 4000, 5000, 6000});
  }
  for (auto _ : state) benchmark::DoNotOptimize(book.Read(RequestBook::Level::kTable));
}

BENCHMARK(Uncounted);
BENCHMARK(CountedRead);
BENCHMARK(CountedWrite);
BENCHMARK(ReadThousandPartitions)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace arion
