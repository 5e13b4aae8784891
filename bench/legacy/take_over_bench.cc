// take_over_bench: how fast an older version's shared log is taken over, by a real replica server (RocksDB, fsync),
// beside a plain sequential read of the same files with their CRC, and beside the same server on one processor.
// README.md says how to read it.
//
//   take_over_bench --directory=/disk/scratch --megabytes=1024 --replicas=64
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gflags/gflags.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/crc.h"
#include "base/log.h"
#include "base/raw_key.h"
#include "base/status.h"
#include "disks/app_info_file.h"
#include "disks/init_info.h"
#include "engine/rocksdb_engine.h"
#include "legacy/shared_log_catalog.h"
#include "legacy/shared_log_stats.h"
#include "posix/posix_environment.h"
#include "replica/replica_options.h"
#include "replica/replica_snapshot.h"
#include "replica_server/replica_server.h"
#include "rpc/asio_transport.h"
#include "tests/legacy/shared_log_bytes.h"

DEFINE_string(directory, "",
              "existing directory on the disk to measure; all below it/arion-take-over is removed");
DEFINE_int32(megabytes, 1024, "of shared log");
DEFINE_int32(replicas, 64, "that share it");
DEFINE_int32(write_buffers_megabytes, 512,
             "that all engines' unflushed records may take; 512 is the server's");
DEFINE_int32(rounds, 3, "of each run; medians count");
DEFINE_string(need, "nothing,all", "what replicas need of the log: nothing, all or both");

namespace arion {
namespace {

constexpr size_t kFileBytes = 128 << 20;  // as shipped by older versions
constexpr int kBlockMutations = 16;
constexpr size_t kValueBytes = 1000;

enum class Need { kAll, kNothing };

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
std::string Root() { return FLAGS_directory + "/arion-take-over"; }
std::string SharedLogPath() { return Root() + "/replica/slog"; }
std::string RepsPath() { return Root() + "/replica/reps"; }
std::string MadePath() { return Root() + "/made"; }  // the log as it was made; a run gets links

void CheckOk(const absl::Status& status) {
  if (status.ok()) return;
  fprintf(stderr, "%s\n", status.ToString().c_str());
  _exit(1);
}

Mutation Record(int replica, int64_t decree, const std::string& value) {
  const std::string key = JoinRawKey("user" + std::to_string(decree * 7919 % 1000003), "s");
  return {.pid = {1, replica},
          .ballot = Ballot(3),
          .decree = Decree(decree),
          .last_committed = Decree(decree - 1),
          .timestamp_us = 1700000000000000 + decree,
          .updates = {{WriteCode::kPut, 1, PutRequest(key, value)}}};
}

// Makes the shared log, a file at a time; kNothing: replica 0 has one record at the beginning, so that every file is
// read, and all others' records are void.
void Generate(Need need) {
  PosixEnvironment env({.event_loop_threads = 1});
  FileSystem& files = env.files();
  if (files.Stat(Root()).ok()) CheckOk(files.RemoveAll(Root()));
  CheckOk(files.CreateDirectories(MadePath()));
  const std::string value(kValueBytes, 'v');
  SharedLogBytes log(5, 7000);
  for (int r = 0; r < FLAGS_replicas; ++r) log.Register({1, r});
  std::vector<int64_t> decrees(FLAGS_replicas, 0);
  uint64_t written = 0;
  int next = 0;
  while (written < static_cast<uint64_t>(FLAGS_megabytes) << 20) {
    log.files().clear();
    log.NewFile();
    while (log.files().back().bytes.size() < kFileBytes) {
      std::vector<Mutation> block;
      for (int i = 0; i < kBlockMutations; ++i, ++next) {
        const int replica = next % FLAGS_replicas;
        if (need == Need::kNothing && replica == 0 && decrees[0] == 1) continue;
        block.push_back(Record(replica, ++decrees[replica], value));
      }
      log.Add(std::move(block));
    }
    written += log.files().back().bytes.size();
    CheckOk(log.Store(files, MadePath()));
  }
  env.StopLoops();
}

// A server's directories that nobody has opened yet, with that log.
void Prepare(Need need) {
  PosixEnvironment env({.event_loop_threads = 1});
  FileSystem& files = env.files();
  const std::string server = Root() + "/replica";
  if (files.Stat(server).ok()) CheckOk(files.RemoveAll(server));
  CheckOk(files.CreateDirectories(SharedLogPath()));
  const auto made = ListSharedLog(files, MadePath());
  CheckOk(made.status());
  for (const SharedLogFile& file : made->files)
    CheckOk(files.Link(made->PathOf(file), JoinPath(SharedLogPath(), file.file_name)));
  for (int r = 0; r < FLAGS_replicas; ++r) {
    const std::string directory = RepsPath() + "/1." + std::to_string(r) + ".pegasus";
    CheckOk(files.CreateDirectories(directory));
    CheckOk(StoreAppInfo(files, directory,
                         {.status = AppStatus::kAvailable,
                          .app_type = "pegasus",
                          .app_name = "t",
                          .app_id = 1,
                          .partition_count = FLAGS_replicas,
                          .is_stateful = true,
                          .max_replica_count = 3}));
    const bool is_void = need == Need::kNothing && r != 0;
    CheckOk(StoreInitInfo(files, directory,
                          {.ballot = Ballot(3),
                           .offset_in_shared_log = is_void ? made->files.back().end_offset() : 0}));
  }
  env.StopLoops();
}

void DropFromCache(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
}

std::vector<SharedLogFile> LogFiles(FileSystem& files) {
  auto catalog = ListSharedLog(files, SharedLogPath());
  CheckOk(catalog.status());
  for (const SharedLogFile& file : catalog->files)
    DropFromCache(SharedLogPath() + "/" + file.name.ToString());
  return catalog->files;
}

// Where a machine's host takes freed memory back after a moment, whoever reads into it next pays for
// that. A server's start takes longer than the moment, so the plain read waits that long, too.
constexpr auto kHostTakesMemory = std::chrono::seconds(5);

// MB/s.
double ReadPlainly() {
  PosixEnvironment env({.event_loop_threads = 1});
  std::vector<char> piece(4 << 20);
  uint64_t bytes = 0;
  uint32_t crc = 0;
  const auto log = LogFiles(env.files());
  std::this_thread::sleep_for(kHostTakesMemory);
  const double begun = Seconds();
  for (const SharedLogFile& each : log) {
    const int file = open((SharedLogPath() + "/" + each.name.ToString()).c_str(), O_RDONLY);
    ssize_t got;
    while ((got = read(file, piece.data(), piece.size())) > 0) {
      crc = Crc32c({piece.data(), static_cast<size_t>(got)}, crc);
      bytes += static_cast<uint64_t>(got);
    }
    close(file);
  }
  const double rate = static_cast<double>(bytes) / 1e6 / (Seconds() - begun);
  env.StopLoops();
  return crc == 0 ? 0 : rate;
}

bool AllOpen(ReplicaServer& server) {
  std::promise<bool> all_open;
  server.Snapshot([&](const std::vector<ReplicaSnapshot>& all) {
    bool open = static_cast<int>(all.size()) == FLAGS_replicas;
    for (const ReplicaSnapshot& one : all) open = open && !one.loading;
    all_open.set_value(open);
  });
  return all_open.get_future().get();
}

// MB/s from the first piece read until every replica is open.
double TakeOver() {
  PosixEnvironment env({.event_loop_threads = 2});
  LogFiles(env.files());
  AsioTransport transport(&env.loops(), {.listen = *Endpoint::Parse("127.0.0.1:1")});
  RocksdbEngineFactory engines(
      env,
      {.write_buffers_total_bytes = static_cast<uint64_t>(FLAGS_write_buffers_megabytes) << 20});
  ReplicaServerOptions options;
  options.layout.data_directories = {{"d", RepsPath()}};
  options.layout.shared_log_directories = {SharedLogPath()};
  options.meta_servers = {*Endpoint::Parse("127.0.0.1:2")};
  options.disk.reserve_bytes = 0;
  ReplicaServer server(env, transport, engines, options);
  CheckOk(server.Start());
  const SharedLogStats& stats = server.shared_log();
  while (stats.bytes_read == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  const double begun = Seconds();
  const double already = static_cast<double>(stats.bytes_read);
  while (stats.bytes_read < stats.bytes) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  while (!AllOpen(server)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return (static_cast<double>(stats.bytes) - already) / 1e6 / (Seconds() - begun);
}

struct Result {
  double rate = 0;
  long memory_kilobytes = 0;
};
// In a process of its own, so that its memory is its own.
Result InChild(const std::function<double()>& run) {
  int ends[2];
  PCHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const double rate = run();
    PCHECK(write(ends[1], &rate, sizeof rate) == sizeof rate);
    _exit(0);
  }
  close(ends[1]);
  Result result;
  PCHECK(read(ends[0], &result.rate, sizeof result.rate) == sizeof result.rate) << "a run failed";
  close(ends[0]);
  rusage usage{};
  int status = 0;
  PCHECK(wait4(child, &status, 0, &usage) == child);
  result.memory_kilobytes = usage.ru_maxrss;
  return result;
}

double OnOneProcessor() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  PCHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  return TakeOver();
}

Result Median(std::vector<Result> results) {
  std::sort(results.begin(), results.end(),
            [](const Result& a, const Result& b) { return a.rate < b.rate; });
  Result median = results[results.size() / 2];
  for (const Result& each : results)
    median.memory_kilobytes = std::max(median.memory_kilobytes, each.memory_kilobytes);
  return median;
}

void Measure(Need need) {
  std::vector<Result> plain, two, one;
  const auto prepare = [need] { InChild([need] { return Prepare(need), 1.0; }); };
  InChild([need] { return Generate(need), 1.0; });
  for (int round = 0; round < FLAGS_rounds; ++round) {
    prepare();
    plain.push_back(InChild(ReadPlainly));
    two.push_back(InChild(TakeOver));
    fprintf(stderr, "  round %d: plain %.0f MB/s, take-over %.0f MB/s\n", round, plain.back().rate,
            two.back().rate);
    if (need == Need::kNothing) continue;
    prepare();
    one.push_back(InChild(OnOneProcessor));
  }
  const Result a = Median(plain), taken = Median(two);
  printf(
      "%s: plain read with CRC %.0f MB/s; take-over %.0f MB/s = %.2f of it, at most %ld MB of "
      "memory\n",
      need == Need::kAll ? "all replicas need all" : "no replica needs anything", a.rate,
      taken.rate, taken.rate / a.rate, taken.memory_kilobytes / 1024);
  fflush(stdout);
  if (need == Need::kNothing) return;
  const Result b = Median(one);
  printf("  on one processor %.0f MB/s; two are %.2f times as fast\n", b.rate, taken.rate / b.rate);
  fflush(stdout);
}

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_minloglevel = google::GLOG_ERROR;
  if (FLAGS_directory.empty()) {
    fprintf(stderr, "--directory names the disk\n");
    return 2;
  }
  printf("%d MB of shared log, %d replicas, %s\n", FLAGS_megabytes, FLAGS_replicas,
         FLAGS_directory.c_str());
  fflush(stdout);
  const auto wanted = [](const char* need) { return FLAGS_need.find(need) != std::string::npos; };
  if (wanted("nothing")) arion::Measure(arion::Need::kNothing);
  if (wanted("all")) arion::Measure(arion::Need::kAll);
  std::filesystem::remove_all(arion::Root());
  return 0;
}
