// Writes distinct records through Arion's C++ client until standard input closes. Each acknowledged
// key is a line on standard output, written after the acknowledgement came. The values are those of
// go/driver/write.go. SPDX-License-Identifier: Apache-2.0
#include <arion/client.h>
#include <gflags/gflags.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

DEFINE_string(meta, "127.0.0.1:34601", "meta servers, with commas between");
DEFINE_string(table, "temp", "table");
DEFINE_string(prefix, "cc", "prefix of the keys");
DEFINE_int32(threads, 4, "writing threads");

namespace {

std::string ValueOf(const std::string& key) {
  return key + "|" + std::string(50 + key.size() * 7 % 200, 'x');
}

class Writer {
 public:
  explicit Writer(std::shared_ptr<arion::Table> table) : table_(std::move(table)) {}

  void Run(const std::atomic<bool>& stopped) {
    while (!stopped) {
      char number[32];
      snprintf(number, sizeof(number), "-%08d", next_++);
      std::string key = FLAGS_prefix + number;
      if (!table_->Put(key, "s", ValueOf(key)).ok())
        continue;  // not acknowledged: it may be there or not
      std::lock_guard<std::mutex> lock(output_);
      printf("%s\n", key.c_str());
      fflush(stdout);
    }
  }

 private:
  std::shared_ptr<arion::Table> table_;
  std::atomic<int> next_{0};
  std::mutex output_;
};

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::vector<std::string> metas;
  std::stringstream all(FLAGS_meta);
  for (std::string one; std::getline(all, one, ',');) metas.push_back(one);
  auto client = arion::Client::Create({.meta_servers = metas});
  if (!client.ok()) {
    fprintf(stderr, "%s\n", client.status().ToString().c_str());
    return 1;
  }
  auto table = (*client)->OpenTable(FLAGS_table);
  if (!table.ok()) {
    fprintf(stderr, "%s\n", table.status().ToString().c_str());
    return 1;
  }
  Writer writer(*table);
  std::atomic<bool> stopped{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < FLAGS_threads; ++i) threads.emplace_back([&] { writer.Run(stopped); });
  while (getchar() != EOF) {
  }
  stopped = true;
  for (std::thread& thread : threads) thread.join();
  return 0;
}
