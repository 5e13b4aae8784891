// A restart that replays: a raw harness (read, check, parse, apply and nothing else) beside a
// replica server, over copies of the same logs.
//
//   restart_bench --replicas 16 --log_mib 64 --runs raw_one,raw:2,sequential,parallel:2 --rounds 3
//
// Each round does the runs in turn: a line of JSON each, which bench/figures/restart.py reads. raw:2
// and parallel:2 have two threads a disk, raw_one one in all. raw drops each engine with what is in
// its memory; flushed:2 keeps them as a server does: what is more than a server may keep unflushed
// is flushed, behind the replay. The page cache is warm, for it is copied just before, unless
// --cold. TMPDIR chooses the disk.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <gflags/gflags.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "base/raw_key.h"
#include "data_api/mutation_operations.h"
#include "disks/app_info_file.h"
#include "disks/log_place.h"
#include "engine/rocksdb_engine.h"
#include "posix/posix_environment.h"
#include "recovery/recovery_plan.h"
#include "recovery/recovery_progress.h"
#include "recovery/recovery_text.h"
#include "recovery/replica_opener.h"
#include "replica/replica_options.h"
#include "replica_server/replica_server.h"
#include "rpc/asio_transport.h"
#include "rpc/thrift_codec.h"
#include "wal/log_reader.h"
#include "wal/log_survey.h"
#include "wal/private_log.h"

DEFINE_int32(replicas, 16, "replicas");
DEFINE_int32(log_mib, 64, "log of each to replay");
DEFINE_int32(value_bytes, 1000, "of a record");
DEFINE_int32(directories, 2, "data directories, on one disk");
DEFINE_string(disks, "", "data directories instead, each on a disk of its own, commas between");
DEFINE_string(runs, "raw_one,raw:2,sequential,parallel:2", "what each round runs");
DEFINE_bool(cold, false, "logs are not in the page cache");
DEFINE_string(control_group, "", "a control group, joined for each run");
DEFINE_int32(rounds, 3, "rounds");

namespace arion {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

void MustBeOk(const absl::Status& status) { CHECK(status.ok()) << status; }

// Of the process, all threads.
double CpuSeconds() {
  struct rusage used {};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double SecondsSince(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

PosixEnvironmentOptions EnvOptions(int threads) {
  return {.event_loop_threads = 2, .disk_threads_per_device = std::max(4, threads + 3)};
}

// This process, for as long as it lives.
class InControlGroup {
 public:
  InControlGroup() { Join(FLAGS_control_group); }
  ~InControlGroup() {
    if (!FLAGS_control_group.empty()) Join(fs::path(FLAGS_control_group).parent_path());
  }

 private:
  static void Join(const std::string& group) {
    if (!group.empty()) std::ofstream(group + "/cgroup.procs") << getpid() << std::flush;
  }
};

// The data directories with replicas whose engines are empty and whose logs are full.
class Template {
 public:
  Template() {
    const char* base = std::getenv("TMPDIR");
    root_ = std::string(base != nullptr ? base : "/tmp") + "/arion_bench_XXXXXX";
    CHECK(mkdtemp(root_.data()) != nullptr);
    if (!FLAGS_disks.empty()) disks_ = absl::StrSplit(FLAGS_disks, ',');
    directories_ = disks_.empty() ? FLAGS_directories : static_cast<int>(disks_.size());
    PosixEnvironment env(EnvOptions(1));
    for (int i = 0; i < FLAGS_replicas; ++i) Fill(env, i);
    env.StopLoops();
  }
  ~Template() { fs::remove_all(root_); }

  // A copy to recover in, which the next call replaces.
  std::vector<std::string> Copy() const {
    std::vector<std::string> copies;
    for (int i = 0; i < directories_; ++i) {
      copies.push_back(disks_.empty() ? absl::StrCat(root_, "/run/d", i) : disks_[i] + "/run");
      fs::remove_all(copies.back());
      fs::create_directories(copies.back());
      fs::copy(absl::StrCat(root_, "/full/d", i), copies.back(), fs::copy_options::recursive);
    }
    if (FLAGS_cold) DropFromCache(copies);
    return copies;
  }
  // Where each of these lies.
  bool ShareADisk() const { return disks_.empty(); }
  double bytes() const { return static_cast<double>(bytes_); }

 private:
  static void DropFromCache(const std::vector<std::string>& copies) {
    sync();
    for (const std::string& copy : copies)
      for (const auto& entry : fs::recursive_directory_iterator(copy)) {
        if (!entry.is_regular_file()) continue;
        const int fd = open(entry.path().c_str(), O_RDONLY);
        CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
        close(fd);
      }
  }

  void Fill(PosixEnvironment& env, int index) {
    const PartitionId pid{1, index};
    const std::string directory =
        absl::StrCat(root_, "/full/d", index % directories_, "/1.", index, ".pegasus");
    fs::create_directories(directory);
    AppInfo app{.status = AppStatus::kAvailable,
                .app_type = "pegasus",
                .app_name = "t",
                .app_id = 1,
                .partition_count = FLAGS_replicas,
                .is_stateful = true,
                .max_replica_count = 1};
    MustBeOk(StoreAppInfo(env.files(), directory, app));
    MustBeOk(StoreInitInfo(env.files(), directory, InitInfo{.ballot = Ballot(1)}));
    const LogPlace place = LogPlaceOf("", directory);
    const StrandPtr strand = env.NewStrand("log");
    auto log = PrivateLog::Open(
        env, strand,
        {.directory = place.directory,
         .identity_path = place.identity_path,
         .pid = pid,
         .durability = Durability::kOs},
        [](MutationPtr) { return absl::OkStatus(); }, nullptr);
    MustBeOk(log.status());
    std::latch written(1);
    strand->Post([&] { Append(**log, pid, &written); });
    written.wait();
    std::latch drained(1);
    strand->Post([&] { (*log)->Drain([&] { drained.count_down(); }); });
    drained.wait();
    MustBeOk((*log)->Close());
    const auto names = ListLogFolder(env.files(), place.directory);
    MustBeOk(names.status());
    for (const auto& file : names->logs) bytes_ += file.size;
  }

  static void Append(PrivateLog& log, PartitionId pid, std::latch* written) {
    const int64_t count = (int64_t{FLAGS_log_mib} << 20) / (FLAGS_value_bytes + 120);
    for (int64_t decree = 1; decree <= count; ++decree) {
      auto m = std::make_shared<Mutation>();
      m->pid = pid;
      m->ballot = Ballot(1);
      m->decree = Decree(decree);
      m->last_committed = Decree(decree - 1);
      m->timestamp_us = 1790000000000000 + decree;
      const UpdateRequest put{JoinRawKey(absl::StrCat("user", decree * 7919 % count), "s"),
                              std::string(static_cast<size_t>(FLAGS_value_bytes), 'v'), 0};
      m->updates.push_back({.code = WriteCode::kPut, .data = EncodeWrapped(put)});
      const bool is_last = decree == count;
      log.Append(std::move(m), [is_last, written](const absl::Status& status) {
        MustBeOk(status);
        if (is_last) written->count_down();
      });
    }
  }

  std::string root_;
  std::vector<std::string> disks_;
  int directories_ = 0;
  uint64_t bytes_ = 0;
};

std::unique_ptr<Engine> ReplayRaw(PosixEnvironment& env, EngineFactory& engines,
                                  const std::string& directory) {
  auto engine = engines.Open(DataPathOf(directory));
  MustBeOk(engine.status());
  const std::string log = LogPlaceOf("", directory).directory;
  const auto names = ListLogFolder(env.files(), log);
  MustBeOk(names.status());
  LogBlock block;
  for (const auto& name : names->logs) {
    const auto file = env.files().OpenForRead(JoinPath(log, name.file_name));
    MustBeOk(file.status());
    LogReader reader(**file, name.size, name.name.start_offset);
    while (true) {
      const auto more = reader.Next(&block);
      MustBeOk(more.status());
      if (!*more) break;
      for (const auto& m : block.mutations) {
        const auto operations = MutationOperations::Decode(*m, **engine, ReadTier::kAll);
        MustBeOk(operations.status());
        MustBeOk((*engine)->Apply(m->decree, m->timestamp_us, operations->ops()));
      }
    }
  }
  return *std::move(engine);
}

// Of one disk: keeps engines, and flushes one at a time, two waiting at most.
class Flusher {
 public:
  Flusher() : thread_([this] { Run(); }) {}
  ~Flusher() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void Take(std::unique_ptr<Engine> engine, uint64_t bytes_max) {
    std::unique_lock lock(mutex_);
    if (kept_bytes_ + (uint64_t{1} << 20) * FLAGS_log_mib <= bytes_max) {
      kept_bytes_ += (uint64_t{1} << 20) * FLAGS_log_mib;
      return kept_.push_back(std::move(engine));
    }
    changed_.wait(lock, [this] { return waiting_.size() < 2; });
    waiting_.push_back(std::move(engine));
    changed_.notify_all();
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      Engine& engine = *waiting_.front();
      lock.unlock();
      MustBeOk(engine.Flush());
      lock.lock();
      kept_.push_back(std::move(waiting_.front()));
      waiting_.erase(waiting_.begin());
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t kept_bytes_ = 0;                       // guarded by mutex_, as the rest
  std::vector<std::unique_ptr<Engine>> kept_;     // as a server's that serve
  std::vector<std::unique_ptr<Engine>> waiting_;  // front: it is being flushed
  bool ends_ = false;
  std::thread thread_;
};

struct Measured {
  double seconds = 0, first_seconds = 0, cpu_seconds = 0;
};

// The replicas of one disk, in turn.
struct DiskOfReplicas {
  std::vector<std::string> replicas;
  std::atomic<size_t> next = 0;
  std::unique_ptr<Flusher> flusher;
};

enum class Engines { kDropped, kFlushed };

// `threads` a disk; 0: one in all.
Measured RunRaw(const Template& full, int threads, Engines fate) {
  const std::vector<std::string> copies = full.Copy();
  std::vector<DiskOfReplicas> disks(full.ShareADisk() || threads == 0 ? 1 : copies.size());
  for (size_t i = 0; i < copies.size(); ++i)
    for (const auto& replica : fs::directory_iterator(copies[i]))
      disks[i % disks.size()].replicas.push_back(replica.path());
  const InControlGroup limited;
  PosixEnvironment env(EnvOptions(threads));
  RocksdbEngineFactory engines(env);
  const uint64_t keep_bytes = RecoveryLimits{}.memory_bytes_kept / disks.size();
  if (fate == Engines::kFlushed)
    for (DiskOfReplicas& disk : disks) disk.flusher = std::make_unique<Flusher>();
  const double cpu = CpuSeconds();
  const auto begun = Clock::now();
  std::vector<std::thread> workers;
  for (DiskOfReplicas& disk : disks)
    for (int i = 0; i < std::max(1, threads); ++i)
      workers.emplace_back([&] {
        for (size_t at; (at = disk.next.fetch_add(1)) < disk.replicas.size();) {
          auto engine = ReplayRaw(env, engines, disk.replicas[at]);
          if (fate == Engines::kFlushed) disk.flusher->Take(std::move(engine), keep_bytes);
        }
      });
  for (std::thread& worker : workers) worker.join();
  const Measured result{.seconds = SecondsSince(begun), .cpu_seconds = CpuSeconds() - cpu};
  disks.clear();  // with the engines
  env.StopLoops();
  return result;
}

Measured RunServer(const Template& full, RecoveryMode mode, int threads) {
  const std::vector<std::string> copies = full.Copy();
  const InControlGroup limited;
  PosixEnvironment env(EnvOptions(threads));
  AsioTransport transport(&env.loops(), {.listen = Endpoint::Parse("127.0.0.1:1")});
  RocksdbEngineFactory engines(env);
  ReplicaServerOptions options{.meta_servers = {*Endpoint::Parse("127.0.0.1:2")},
                               .durability = Durability::kOs,
                               .recovery = {.mode = mode, .threads_per_disk = threads}};
  options.disk.reserve_bytes = 0;
  for (size_t i = 0; i < copies.size(); ++i)
    options.layout.data_directories.push_back({absl::StrCat("d", i), copies[i]});
  RecoveryReport report;
  {
    ReplicaServer server(env, transport, engines, options);
    const double cpu = CpuSeconds();
    const auto begun = Clock::now();
    MustBeOk(server.Start());
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      report = server.RecoveryNow();
    } while (report.phase != RecoveryReport::Phase::kDone);
    const Measured result{.seconds = SecondsSince(begun),
                          .first_seconds = absl::ToDoubleSeconds(report.first_served_after),
                          .cpu_seconds = CpuSeconds() - cpu};
    CHECK_EQ(report.all.done, static_cast<size_t>(FLAGS_replicas));
    CHECK_GT(server.replay().mutations.value(), 0);
    std::latch stopped(1);
    server.Stop([&](const absl::Status&) { stopped.count_down(); });
    stopped.wait();
    transport.Stop();
    env.StopLoops();
    return result;
  }
}

void Tell(std::string_view run, const Template& full, Measured measured) {
  absl::PrintF(
      "{\"run\":\"%s\",\"bytes\":%.0f,\"seconds\":%.3f,\"first_seconds\":%.3f,\"cpu_seconds\":%.3f}"
      "\n",
      std::string(run), full.bytes(), measured.seconds, measured.first_seconds,
      measured.cpu_seconds);
  std::fflush(stdout);
}

Measured Do(const Template& full, const std::string& run) {
  const std::vector<std::string> parts = absl::StrSplit(run, ':');
  int threads = 0;
  CHECK(parts.size() == 1 || absl::SimpleAtoi(parts[1], &threads)) << run;
  if (parts[0] == "raw_one") return RunRaw(full, 0, Engines::kDropped);
  if (parts[0] == "flushed_one") return RunRaw(full, 0, Engines::kFlushed);
  if (parts[0] == "raw") return RunRaw(full, threads, Engines::kDropped);
  if (parts[0] == "flushed") return RunRaw(full, threads, Engines::kFlushed);
  if (parts[0] == "sequential") return RunServer(full, RecoveryMode::kSequential, 1);
  CHECK_EQ(parts[0], "parallel") << run;
  return RunServer(full, RecoveryMode::kParallel, threads);
}

int Main() {
  const Template full;
  const std::vector<std::string> runs = absl::StrSplit(FLAGS_runs, ',');
  for (int round = 0; round < FLAGS_rounds; ++round)
    for (const std::string& run : runs) Tell(run, full, Do(full, run));
  return 0;
}

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = 1;
  google::InitGoogleLogging(argv[0]);
  return arion::Main();
}
