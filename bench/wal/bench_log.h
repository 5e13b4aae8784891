// Pieces of the log benchmarks: closed loops over private logs and over a raw loop beside them, and
// what a run cost.
//
// Private logs are measured in the steady state of a server: decrees rise, a checkpoint now and then
// drops files, and these are written again (BenchLog). The raw loop's files are written beforehand,
// too.
//
// Shapes    A loop keeps `outstanding` records in flight, shared evenly by its logs. Log i lies in
//           directories[i % n]: several directories may be several (emulated) disks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/strings/str_cat.h>
#include <absl/time/clock.h>
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/crc.h"
#include "base/histogram.h"
#include "env/environment.h"
#include "env/log_device.h"
#include "wal/log_format.h"
#include "wal/private_log.h"

namespace arion {

// A directory of its own under TMPDIR. At the end it is removed and the file system synced, so that
// the disk is not busy with it (discards) when the next run begins.
class Scratch {
 public:
  Scratch() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/arion_bench_XXXXXX";
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~Scratch() {
    const int parent = ::open(std::filesystem::path(path_).parent_path().c_str(), O_RDONLY);
    std::filesystem::remove_all(path_);
    ::syncfs(parent);
    ::close(parent);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline MutationPtr BenchRecord(size_t bytes) {
  Mutation m;
  m.pid = {1, 0};
  m.ballot = Ballot(1);
  m.decree = Decree(1);
  m.updates.push_back(
      {.code = WriteCode::kPut, .serialization = 1, .data = std::string(bytes, 'x')});
  return std::make_shared<Mutation>(std::move(m));
}

// With many logs files are small, so that a steady state is reached soon: they switch more often
// than a server's do.
inline uint64_t BenchSegmentBytes(int logs) { return logs > 8 ? 8 << 20 : 32 << 20; }

// A PrivateLog as a replica uses it: each record has the next decree, and whenever half a file was
// appended what was appended before that counts as held by a checkpoint.
class BenchLog {
 public:
  BenchLog(Environment& env, StrandPtr strand, const std::string& home, PartitionId pid,
           Durability durability, uint64_t segment_bytes)
      : strand_(std::move(strand)), pid_(pid), segment_bytes_(segment_bytes) {
    PrivateLogOptions options;
    options.directory = home + "/plog";
    options.identity_path = home + "/.arion-log";
    options.pid = pid;
    options.durability = durability;
    options.segment_bytes_max = segment_bytes;
    auto log = PrivateLog::Open(
        env, strand_, options, [](MutationPtr) { return absl::OkStatus(); }, nullptr);
    CHECK(log.ok()) << log.status();
    log_ = *std::move(log);
  }

  // Writes files full and drops them until each log has one to write again whenever it needs one:
  // its first files are filled with zeros while they are written, which would be measured, too. In
  // the end each log is at another place in the first half of its file, as logs are that nobody
  // began together: all would change their files at once.
  static void ReachSteadyState(const std::vector<BenchLog*>& logs) {
    constexpr uint64_t kFiles = 9;
    constexpr uint64_t kRecordBytes = 256 << 10;  // a larger one would leave large buffers behind
    const MutationPtr large = BenchRecord(kRecordBytes);
    const uint64_t segment = logs[0]->segment_bytes_;
    const uint64_t rounds = kFiles * segment / kRecordBytes;
    for (uint64_t round = 0; round < rounds + segment / 2 / kRecordBytes; ++round) {
      // How many go on: all, then fewer and fewer.
      const size_t all = logs.size();
      const size_t going =
          round < rounds ? all : all - all * (round - rounds) * kRecordBytes / (segment / 2);
      std::latch durable(static_cast<ptrdiff_t>(going));
      for (size_t i = 0; i < going; ++i) {
        logs[i]->strand_->Post([log = logs[i], &large, &durable] {
          log->Append(large, [&durable](const absl::Status& status) {
            CHECK(status.ok()) << status;
            durable.count_down();
          });
        });
      }
      durable.wait();
    }
    for (BenchLog* log : logs) log->record_.reset();
    absl::SleepFor(absl::Milliseconds(300));  // what their folders still have to do
  }

  void Append(const MutationPtr& like, PrivateLog::DurableCallback on_durable) {
    if (record_ == nullptr) record_ = std::make_shared<Mutation>(*like);
    record_->pid = pid_;
    record_->decree = Decree(++decree_);
    appended_bytes_ += EncodedSize(*record_);
    log_->Append(record_, std::move(on_durable));
    if (appended_bytes_ < segment_bytes_ / 2) return;
    appended_bytes_ = 0;
    log_->DropThrough(Decree(std::exchange(checkpoint_, decree_)));
  }

  const StrandPtr& strand() const { return strand_; }
  PrivateLog::Stats stats() const { return log_->stats(); }

 private:
  const StrandPtr strand_;
  const PartitionId pid_;
  const uint64_t segment_bytes_;
  std::unique_ptr<PrivateLog> log_;
  std::shared_ptr<Mutation> record_;  // encoded by Append, so one does for all
  int64_t decree_ = 0;
  int64_t checkpoint_ = 0;
  uint64_t appended_bytes_ = 0;
};

inline int64_t BenchNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What the machine and this process have spent of their CPUs.
struct CpuSpent {
  double machine_micros = 0;  // all that is not idle or waiting, kernel's work for others included
  double process_micros = 0;

  static CpuSpent Now() {
    std::ifstream stat("/proc/stat");
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
    stat >> cpu >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal;
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return {.machine_micros = (user + nice + system + irq + soft) * 1e6 /
                              static_cast<double>(::sysconf(_SC_CLK_TCK)),
            .process_micros =
                static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3};
  }
};

// Sets items per second, p50, p99, and CPU per record of a run that began at `begun`.
inline void ReportRecords(benchmark::State& state, int64_t records, const Histogram& latency,
                          const CpuSpent& begun) {
  const CpuSpent spent = CpuSpent::Now();
  const Histogram::Snapshot nanos = latency.Read();
  const auto n = static_cast<double>(records);
  state.SetItemsProcessed(records);
  state.counters["p50_us"] = static_cast<double>(nanos.Quantile(0.5)) / 1e3;
  state.counters["p99_us"] = static_cast<double>(nanos.Quantile(0.99)) / 1e3;
  state.counters["cpu_us"] = (spent.machine_micros - begun.machine_micros) / n;
  state.counters["process_cpu_us"] = (spent.process_micros - begun.process_micros) / n;
}

// What a record costs of what other work on the machine does not change: writes, flushes, task
// switches.
struct DeviceWork {
  int64_t writes = 0;
  int64_t syncs = 0;
  int64_t bytes = 0;
  int64_t switches = 0;

  static DeviceWork Of(const LogDeviceStats& device) {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return {.writes = device.writes.value(),
            .syncs = device.syncs.value(),
            .bytes = device.bytes.value(),
            .switches = used.ru_nvcsw};
  }
};

// Sets records a write, writes a flush, bytes written and voluntary task switches a record.
inline void ReportDeviceWork(benchmark::State& state, int64_t records, const LogDeviceStats& device,
                             const DeviceWork& begun) {
  const DeviceWork now = DeviceWork::Of(device);
  const auto n = static_cast<double>(records);
  const auto writes = static_cast<double>(std::max<int64_t>(1, now.writes - begun.writes));
  const auto syncs = static_cast<double>(std::max<int64_t>(1, now.syncs - begun.syncs));
  state.counters["records_per_write"] = n / writes;
  state.counters["writes_per_sync"] = writes / syncs;
  state.counters["written_bytes"] = static_cast<double>(now.bytes - begun.bytes) / n;
  state.counters["switches"] = static_cast<double>(now.switches - begun.switches) / n;
}

struct LoopShape {
  int logs = 1;
  int outstanding = 64;
  size_t record_bytes = 1024;
  Durability durability = Durability::kFsync;
};

// Records left to be written, and when all logs are through.
struct Feed {
  std::atomic<int64_t> left;
  std::latch done;
  Feed(int64_t records, int logs) : left(records), done(logs) {}
};

// Private logs: whenever a record is durable the next is appended.
class PrivateLogLoop {
 public:
  PrivateLogLoop(Environment& env, const std::vector<std::string>& directories, LoopShape shape)
      : record_(BenchRecord(shape.record_bytes)),
        outstanding_(std::max(1, shape.outstanding / shape.logs)),
        all_(static_cast<size_t>(shape.logs)) {
    std::vector<BenchLog*> logs;
    for (size_t i = 0; i < all_.size(); ++i) {
      One& one = all_[i];
      one.loop = this;
      one.begun.resize(static_cast<size_t>(outstanding_));
      one.log = std::make_unique<BenchLog>(
          env, env.NewStrand("log"), absl::StrCat(directories[i % directories.size()], "/", i),
          PartitionId{1, 0}, shape.durability, BenchSegmentBytes(shape.logs));
      logs.push_back(one.log.get());
    }
    if (shape.durability == Durability::kFsync) BenchLog::ReachSteadyState(logs);
  }

  // Writes `records` and waits until all are durable.
  void Run(int64_t records, Histogram& latency) {
    Feed feed(records, static_cast<int>(all_.size()));
    feed_ = &feed;
    latency_ = &latency;
    for (One& one : all_) one.log->strand()->Post([this, &one] { Append(one); });
    feed.done.wait();
  }
  std::string method() const { return all_[0].log->stats().method; }

 private:
  struct One {
    PrivateLogLoop* loop = nullptr;
    std::unique_ptr<BenchLog> log;
    int in_flight = 0;
    std::vector<int64_t> begun;  // a ring: reports come in the order of appends
    size_t next = 0;
    size_t oldest = 0;
  };

  void Append(One& one) {
    while (one.in_flight < outstanding_ && feed_->left.fetch_sub(1) > 0) {
      ++one.in_flight;
      one.begun[one.next++ % one.begun.size()] = BenchNanos();
      // It holds one pointer: a callback with more of them would allocate.
      one.log->Append(record_, [&one](const absl::Status& status) {
        CHECK(status.ok()) << status;
        one.loop->OnDurable(one);
      });
    }
    if (one.in_flight == 0) feed_->done.count_down();
  }

  void OnDurable(One& one) {
    latency_->Record(
        static_cast<uint64_t>(BenchNanos() - one.begun[one.oldest++ % one.begun.size()]));
    --one.in_flight;
    Append(one);
  }

  const MutationPtr record_;
  const int outstanding_;
  std::vector<One> all_;
  Feed* feed_ = nullptr;  // of the run that is under way
  Histogram* latency_ = nullptr;
};

// Bytes of each raw file, which is written from the front again when it is full: as much of the disk
// as a log in its steady state goes round in: a file that is written, one that is kept and a spare.
inline uint64_t RawFileBytes(int logs) { return 3 * BenchSegmentBytes(logs); }

// The least a log of this method must do: copy, checksum, one write at a time into
// pre-written space, blocks packed behind each other. The load is the private logs': each record has
// its own beginning and end. It names no files: it writes one from the front again.
class RawLoop {
 public:
  RawLoop(Environment& env, const std::vector<std::string>& directories, LoopShape shape)
      : record_(BenchRecord(shape.record_bytes)),
        record_bytes_(EncodedSize(*record_)),
        outstanding_(std::max(1, shape.outstanding / shape.logs)),
        durability_(shape.durability),
        file_bytes_(RawFileBytes(shape.logs)),
        all_(static_cast<size_t>(shape.logs)) {
    for (size_t i = 0; i < all_.size(); ++i) {
      One& one = all_[i];
      const std::string& directory = directories[i % directories.size()];
      one.strand = env.NewStrand("log");
      one.device = &env.log_device(directory);
      const bool direct = durability_ == Durability::kFsync;
      one.file = *one.device->Open(absl::StrCat(directory, "/", i), direct);
      CHECK(one.device->FillWithZeros(*one.file, 0, file_bytes_).ok());
      one.begun.resize(static_cast<size_t>(outstanding_));
    }
  }

  void Run(int64_t records, Histogram& latency) {
    Feed feed(records, static_cast<int>(all_.size()));
    for (One& one : all_)
      one.strand->Post([this, &one, &feed, &latency] { Write(one, feed, latency); });
    feed.done.wait();
  }
  std::string method() const { return all_[0].device->method(); }

 private:
  struct One {
    StrandPtr strand;
    LogDevice* device = nullptr;
    std::shared_ptr<LogFile> file;
    uint64_t position = 0;
    AlignedBuffer buffer;
    std::vector<int64_t> begun;                   // of the records in flight
    char last_page[AlignedBuffer::kAlignment]{};  // that holds the end of the last block
  };

  void Write(One& one, Feed& feed, Histogram& latency) {
    const int64_t before = feed.left.fetch_sub(outstanding_);
    if (before <= 0) return feed.done.count_down();
    const int64_t records = std::min<int64_t>(before, outstanding_);
    constexpr size_t kPage = AlignedBuffer::kAlignment;
    const size_t block_bytes = kBlockHeaderBytes + static_cast<size_t>(records) * record_bytes_;
    if (one.position + block_bytes + kPage > file_bytes_) one.position = 0;
    const size_t prefix = one.position % kPage;
    one.buffer.Resize(0);
    one.buffer.Resize(prefix + kBlockHeaderBytes);
    for (int64_t r = 0; r < records; ++r) {
      one.begun[static_cast<size_t>(r)] = BenchNanos();
      StoreMutation(*record_, 0, one.buffer.Extend(record_bytes_));
    }
    benchmark::DoNotOptimize(Crc32c(one.buffer.view().substr(prefix)));
    std::memcpy(one.buffer.data(), one.last_page, prefix);
    const size_t end = prefix + block_bytes;
    const size_t last = end / kPage * kPage;
    std::memcpy(one.last_page, one.buffer.data() + last, end - last);
    one.buffer.Resize((end + kPage - 1) / kPage * kPage);
    LogDevice::WriteRequest request;
    request.file = one.file;
    request.offset = one.position - prefix;
    one.position += block_bytes;
    request.buffer = std::move(one.buffer);
    request.records = static_cast<uint32_t>(records);
    request.coverage = Coverage::kPrewritten;
    request.durability = durability_;
    request.reply_on = one.strand;
    request.done = [this, &one, &feed, &latency, records](absl::Status status,
                                                          AlignedBuffer buffer) {
      CHECK(status.ok()) << status;
      one.buffer = std::move(buffer);
      for (int64_t r = 0; r < records; ++r)
        latency.Record(static_cast<uint64_t>(BenchNanos() - one.begun[static_cast<size_t>(r)]));
      Write(one, feed, latency);
    };
    one.device->Write(std::move(request));
  }

  const MutationPtr record_;
  const size_t record_bytes_;
  const int outstanding_;
  const Durability durability_;
  const uint64_t file_bytes_;
  std::vector<One> all_;
};

}  // namespace arion
