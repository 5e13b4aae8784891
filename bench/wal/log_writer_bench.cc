// Durable appends, closed loop: PrivateLog beside a raw loop that writes, copies and checksums the
// same bytes through the same device. Arguments: logs, outstanding records in all, bytes a record.
// TMPDIR chooses the disk. SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "base/crc.h"
#include "env/posix_environment.h"
#include "wal/log_format.h"
#include "wal/private_log.h"

namespace arion {
namespace {

constexpr int64_t kRecordsPerIteration = 20000;

class Scratch {
 public:
  Scratch() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/arion_bench_XXXXXX";
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

MutationPtr Record(size_t bytes) {
  Mutation m;
  m.pid = {1, 0};
  m.ballot = Ballot(1);
  m.decree = Decree(1);
  m.updates.push_back(
      {.code = WriteCode::kPut, .serialization = 1, .data = std::string(bytes, 'x')});
  return std::make_shared<Mutation>(std::move(m));
}

// Shares `records` among the logs; each keeps `outstanding` of its own in flight.
struct Feed {
  std::atomic<int64_t> left;
  std::latch done;
  Feed(int64_t records, int logs) : left(records), done(logs) {}
};

void BM_PrivateLog(benchmark::State& state) {
  const auto logs = static_cast<int>(state.range(0));
  const auto outstanding = static_cast<int>(state.range(1)) / logs;
  const MutationPtr record = Record(static_cast<size_t>(state.range(2)));
  Scratch scratch;
  PosixEnvironment env({});
  struct One {
    StrandPtr strand;
    std::unique_ptr<PrivateLog> log;
    int in_flight = 0;
  };
  std::vector<One> all(static_cast<size_t>(logs));
  for (int i = 0; i < logs; ++i) {
    One& one = all[static_cast<size_t>(i)];
    one.strand = env.NewStrand("log");
    PrivateLogOptions options;
    options.directory = absl::StrCat(scratch.path(), "/", i, "/plog");
    options.identity_path = absl::StrCat(scratch.path(), "/", i, "/.arion-log");
    options.pid = {1, 0};
    auto log = PrivateLog::Open(
        env, one.strand, options, [](MutationPtr) { return absl::OkStatus(); }, nullptr);
    CHECK(log.ok()) << log.status();
    one.log = *std::move(log);
  }
  std::function<void(One&, Feed&)> feed = [&](One& one, Feed& shared) {
    while (one.in_flight < outstanding && shared.left.fetch_sub(1) > 0) {
      ++one.in_flight;
      one.log->Append(record, [&](const absl::Status& status) {
        CHECK(status.ok()) << status;
        --one.in_flight;
        feed(one, shared);
      });
    }
    if (one.in_flight == 0) shared.done.count_down();
  };
  for (auto _ : state) {
    Feed shared(kRecordsPerIteration, logs);
    for (One& one : all) one.strand->Post([&] { feed(one, shared); });
    shared.done.wait();
  }
  state.SetItemsProcessed(state.iterations() * kRecordsPerIteration);
  state.SetLabel(all[0].log->stats().method);
  env.StopLoops();
}

// The least a log must do: copy, checksum, one write at a time into pre-written space.
void BM_RawLoop(benchmark::State& state) {
  const auto logs = static_cast<int>(state.range(0));
  const auto outstanding = static_cast<int64_t>(state.range(1)) / logs;
  const MutationPtr record = Record(static_cast<size_t>(state.range(2)));
  const size_t record_bytes = EncodedSize(*record);
  constexpr uint64_t kFileBytes = 32 << 20;
  Scratch scratch;
  PosixEnvironment env({});
  LogDevice& device = env.log_device(scratch.path());
  struct One {
    StrandPtr strand;
    std::shared_ptr<LogFile> file;
    uint64_t offset = 0;
    AlignedBuffer buffer;
  };
  std::vector<One> all(static_cast<size_t>(logs));
  for (int i = 0; i < logs; ++i) {
    One& one = all[static_cast<size_t>(i)];
    one.strand = env.NewStrand("log");
    one.file = *device.Open(absl::StrCat(scratch.path(), "/", i), /*direct=*/true);
    CHECK(device.FillWithZeros(*one.file, 0, kFileBytes).ok());
  }
  std::function<void(One&, Feed&)> write = [&](One& one, Feed& shared) {
    const int64_t before = shared.left.fetch_sub(outstanding);
    if (before <= 0) return shared.done.count_down();
    const int64_t records = std::min(before, outstanding);
    const size_t bytes = kBlockHeaderBytes + static_cast<size_t>(records) * record_bytes;
    one.buffer.Resize(0);
    one.buffer.Resize((bytes + 4095) / 4096 * 4096);
    for (int64_t r = 0; r < records; ++r)
      StoreMutation(*record, 0,
                    one.buffer.data() + kBlockHeaderBytes + static_cast<size_t>(r) * record_bytes);
    benchmark::DoNotOptimize(Crc32c(one.buffer.view()));
    if (one.offset + one.buffer.size() > kFileBytes) one.offset = 0;
    LogDevice::WriteRequest request;
    request.file = one.file;
    request.offset = one.offset;
    one.offset += one.buffer.size();
    request.buffer = std::move(one.buffer);
    request.coverage = Coverage::kPrewritten;
    request.reply_on = one.strand;
    request.done = [&](absl::Status status, AlignedBuffer buffer) {
      CHECK(status.ok()) << status;
      one.buffer = std::move(buffer);
      write(one, shared);
    };
    device.Write(std::move(request));
  };
  for (auto _ : state) {
    Feed shared(kRecordsPerIteration, logs);
    for (One& one : all) one.strand->Post([&] { write(one, shared); });
    shared.done.wait();
  }
  state.SetItemsProcessed(state.iterations() * kRecordsPerIteration);
  state.SetLabel(device.method());
  env.StopLoops();
}

void Shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"logs", "outstanding", "bytes"});
  for (const int64_t logs : {1, 8, 64})
    for (const int64_t bytes : {128, 1024, 16384}) b->Args({logs, 64, bytes});
  b->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_PrivateLog)->Apply(Shapes);
BENCHMARK(BM_RawLoop)->Apply(Shapes);

}  // namespace
}  // namespace arion
