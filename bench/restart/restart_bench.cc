// A restart that replays: a raw harness (read, check, parse, apply and nothing else) beside a
// replica server, one replica at a time and in parallel, over copies of the same logs.
//
//   restart_bench --replicas 16 --log_mib 64 --threads 2 --rounds 3
//
// Each round runs raw-1, raw-N, sequential, parallel in turn; a line of JSON each, which
// bench/figures/restart.py reads. The page cache is warm: it is copied just before. TMPDIR chooses
// the disk.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <gflags/gflags.h>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <thread>

#include "base/log.h"
#include "base/raw_key.h"
#include "engine/rocksdb_engine.h"
#include "env/posix_environment.h"
#include "replica/app_info_file.h"
#include "replica/log_place.h"
#include "replica/mutation_operations.h"
#include "replica/recovery_text.h"
#include "replica/replica_opener.h"
#include "replica/replica_server.h"
#include "rpc/asio_transport.h"
#include "rpc/thrift_codec.h"
#include "wal/log_reader.h"
#include "wal/log_survey.h"

DEFINE_int32(replicas, 16, "replicas");
DEFINE_int32(log_mib, 64, "log of each to replay");
DEFINE_int32(value_bytes, 1000, "of a record");
DEFINE_int32(directories, 2, "data directories, on one disk");
DEFINE_int32(threads, 2, "of the raw harness and of the parallel recovery");
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

PosixEnvironmentOptions EnvOptions() {
  return {.event_loop_threads = 2, .disk_threads_per_device = std::max(4, FLAGS_threads + 2)};
}

// The data directories with replicas whose engines are empty and whose logs are full.
class Template {
 public:
  Template() {
    const char* base = std::getenv("TMPDIR");
    root_ = std::string(base != nullptr ? base : "/tmp") + "/arion_bench_XXXXXX";
    CHECK(mkdtemp(root_.data()) != nullptr);
    PosixEnvironment env(EnvOptions());
    for (int i = 0; i < FLAGS_replicas; ++i) Fill(env, i);
    env.StopLoops();
  }
  ~Template() { fs::remove_all(root_); }

  // A copy to recover in, which the next call replaces.
  std::string Copy() const {
    fs::remove_all(root_ + "/run");
    fs::copy(root_ + "/full", root_ + "/run", fs::copy_options::recursive);
    return root_ + "/run";
  }
  double bytes() const { return static_cast<double>(bytes_); }

 private:
  void Fill(PosixEnvironment& env, int index) {
    const PartitionId pid{1, index};
    const std::string directory =
        absl::StrCat(root_, "/full/d", index % FLAGS_directories, "/1.", index, ".pegasus");
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
  uint64_t bytes_ = 0;
};

void ReplayRaw(PosixEnvironment& env, EngineFactory& engines, const std::string& directory) {
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
}

struct Measured {
  double seconds = 0, first_seconds = 0, cpu_seconds = 0;
};

Measured RunRaw(const Template& full, int threads) {
  const std::string run = full.Copy();
  PosixEnvironment env(EnvOptions());
  RocksdbEngineFactory engines(env);
  std::vector<std::string> replicas;
  for (const auto& disk : fs::directory_iterator(run))
    for (const auto& replica : fs::directory_iterator(disk)) replicas.push_back(replica.path());
  const double cpu = CpuSeconds();
  const auto begun = Clock::now();
  std::atomic<size_t> next = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i)
    workers.emplace_back([&] {
      for (size_t at; (at = next.fetch_add(1)) < replicas.size();)
        ReplayRaw(env, engines, replicas[at]);
    });
  for (std::thread& worker : workers) worker.join();
  const Measured result{.seconds = SecondsSince(begun), .cpu_seconds = CpuSeconds() - cpu};
  env.StopLoops();
  return result;
}

Measured RunServer(const Template& full, RecoveryMode mode) {
  const std::string run = full.Copy();
  PosixEnvironment env(EnvOptions());
  AsioTransport transport(&env.loops(), {.listen = Endpoint::Parse("127.0.0.1:1")});
  RocksdbEngineFactory engines(env);
  ReplicaServerOptions options{.meta_servers = {*Endpoint::Parse("127.0.0.1:2")},
                               .durability = Durability::kOs,
                               .recovery_mode = mode,
                               .recovery_threads_per_disk = FLAGS_threads};
  options.disk.reserve_bytes = 0;
  for (int i = 0; i < FLAGS_directories; ++i)
    options.data_directories.push_back({absl::StrCat("d", i), absl::StrCat(run, "/d", i)});
  RecoveryReport report;
  {
    ReplicaServer server(env, transport, engines, options);
    const double cpu = CpuSeconds();
    const auto begun = Clock::now();
    MustBeOk(server.Start());
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
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

int Main() {
  const Template full;
  for (int round = 0; round < FLAGS_rounds; ++round) {
    Tell("raw_1", full, RunRaw(full, 1));
    Tell("raw_n", full, RunRaw(full, FLAGS_threads));
    Tell("sequential", full, RunServer(full, RecoveryMode::kSequential));
    Tell("parallel", full, RunServer(full, RecoveryMode::kParallel));
  }
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
