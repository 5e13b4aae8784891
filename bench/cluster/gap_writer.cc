// One closed loop of PUTs a thread, each to a record of its own, until standard input closes. Every
// pause between two acknowledgements of a record that is long enough is a line on standard output:
// record, milliseconds of the monotonic clock at its begin and at its end.
// SPDX-License-Identifier: Apache-2.0
#include <arion/client.h>
#include <gflags/gflags.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

DEFINE_string(meta, "127.0.0.1:34601", "meta server");
DEFINE_string(table, "temp", "table");
DEFINE_int32(records, 16, "records, and threads");
DEFINE_double(at_least_ms, 5, "shorter pauses are not told");

namespace {

double NowMs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

std::mutex output;

void Write(arion::Table& table, int record, const std::atomic<bool>& stopped) {
  const std::string key = "gap" + std::to_string(record);
  double last = NowMs();
  int64_t value = 0;
  while (!stopped) {
    if (!table.Put(key, "s", std::to_string(++value)).ok()) continue;
    const double now = NowMs();
    if (now - last >= FLAGS_at_least_ms) {
      std::lock_guard<std::mutex> lock(output);
      printf("%s %.1f %.1f\n", key.c_str(), last, now);
      fflush(stdout);
    }
    last = now;
  }
}

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  auto client = arion::Client::Create({.meta_servers = {FLAGS_meta}});
  if (!client.ok()) {
    fprintf(stderr, "%s\n", client.status().ToString().c_str());
    return 1;
  }
  auto table = (*client)->OpenTable(FLAGS_table);
  if (!table.ok()) {
    fprintf(stderr, "%s\n", table.status().ToString().c_str());
    return 1;
  }
  std::atomic<bool> stopped{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < FLAGS_records; ++i)
    threads.emplace_back([&table, &stopped, i] { Write(**table, i, stopped); });
  while (getchar() != EOF) {
  }
  stopped = true;
  for (std::thread& thread : threads) thread.join();
  return 0;
}
