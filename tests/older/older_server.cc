// older_server: a replica server of Apache Pegasus 2.5.0 as far as servers of Arion meet one, by the
// specification only: sim::OldServer (src/sim_older/old_server.h) over the real network and disk. Never
// installed.
//
// Disk        --data_directory/replica/reps, as 2.5.0 has it, so that arion_replica can take it over,
//             and give it back.
// Exit codes  0 stopped by SIGTERM or SIGINT · 1 could not start · 2 command line · 70: what it heard,
//             or found on its disk, would have ended a process of 2.5.0. Standard error says which row
//             of src/replica/README.md A1 to A21 it was, as "2.5.0 would end here: ...".
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>
#include <absl/time/clock.h>
#include <absl/time/time.h>
#include <gflags/gflags.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "engine/rocksdb_engine.h"
#include "http/page_server.h"
#include "posix/posix_environment.h"
#include "rpc/asio_transport.h"
#include "sim/sim_random.h"
#include "sim_older/old_server.h"
#include "tests/older/blocking_strand.h"
#include "tests/older/older_disk.h"
#include "tests/older/older_engines.h"

DEFINE_int32(port, 0, "of 127.0.0.1, that it listens on");
DEFINE_string(meta_servers, "", "the meta server, HOST:PORT; one");
DEFINE_string(data_directory, "", "as data_dirs names one: replicas lie in replica/reps below it");
DEFINE_string(lease, "9s", "fd_lease_seconds; how long others wait is the meta server's");
DEFINE_string(beacon_interval, "3s", "fd_beacon_interval_seconds");
DEFINE_string(config_sync_interval, "30s", "config_sync_interval_ms");
DEFINE_string(group_check_interval, "10s", "group_check_interval_ms");
DEFINE_string(checkpoint_interval, "100s", "checkpoint_interval_seconds");
DEFINE_string(closed_replica_linger, "10m", "gc_memory_replica_interval_ms");
DEFINE_uint64(log_file_bytes, 32 << 20, "log_private_file_size_mb, in bytes");

namespace arion {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitWouldEnd = 70;

// Whose one strand may wait for disks.
class OlderEnvironment : public Environment {
 public:
  OlderEnvironment(Environment& world, std::shared_ptr<BlockingStrand> strand)
      : world_(world), strand_(std::move(strand)) {}
  const Clock& clock() const override { return world_.clock(); }
  FileSystem& files() override { return world_.files(); }
  Random& random() override { return world_.random(); }
  StrandPtr NewStrand(std::string_view) override { return strand_; }
  DiskPool& disk_pool(const std::string& path) override { return world_.disk_pool(path); }
  LogDevice& log_device(const std::string& path) override { return world_.log_device(path); }

 private:
  Environment& world_;
  const std::shared_ptr<BlockingStrand> strand_;
};

[[noreturn]] void Exit(const std::string& why, int code) {
  fprintf(stderr, "older_server: %s\n", why.c_str());
  exit(code);
}

[[noreturn]] void WouldEnd(const std::string& what) {
  fprintf(stderr, "2.5.0 would end here: %s\n", what.c_str());
  _exit(kExitWouldEnd);
}

absl::Duration LengthOf(const char* flag, const std::string& text) {
  absl::Duration length;
  if (!absl::ParseDuration(text, &length) || length <= absl::ZeroDuration())
    Exit(absl::StrCat("--", flag, "=", text, " is no length of time"), kExitUsage);
  return length;
}

sim::OldServerOptions Options() {
  const std::optional<Endpoint> meta = Endpoint::Parse(FLAGS_meta_servers);
  if (!meta) Exit("--meta_servers=HOST:PORT is needed", kExitUsage);
  if (FLAGS_data_directory.empty()) Exit("--data_directory is needed", kExitUsage);
  return {.meta_server = *meta,
          .data_directory = JoinPath(FLAGS_data_directory, "replica/reps"),
          .beacon_interval = LengthOf("beacon_interval", FLAGS_beacon_interval),
          .lease = LengthOf("lease", FLAGS_lease),
          .config_sync_interval = LengthOf("config_sync_interval", FLAGS_config_sync_interval),
          .group_check_interval = LengthOf("group_check_interval", FLAGS_group_check_interval),
          .prepare_timeout = absl::Seconds(3),
          .learner_prepare_timeout = absl::Seconds(5),
          .checkpoint_interval = LengthOf("checkpoint_interval", FLAGS_checkpoint_interval),
          .closed_replica_linger = LengthOf("closed_replica_linger", FLAGS_closed_replica_linger),
          .log_file_bytes = FLAGS_log_file_bytes};
}

int Run() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const sim::OldServerOptions options = Options();
  const std::optional<Endpoint> listen = Endpoint::Parse(absl::StrCat("127.0.0.1:", FLAGS_port));
  if (!listen || FLAGS_port <= 0) Exit("--port is needed", kExitUsage);
  PosixEnvironment env({});
  const auto strand = std::make_shared<BlockingStrand>();
  OlderEnvironment world(env, strand);
  AsioTransport transport(&env.loops(), {.listen = *listen});
  RocksdbEngineFactory rocksdb(env, {.block_cache_bytes = 64 << 20});
  OlderEngines engines(rocksdb);
  OlderDisk store(env.files(), env.clock(), options.data_directory);
  sim::OldDisk disk;
  if (const absl::Status status = store.Load(&disk); !status.ok())
    Exit(std::string(status.message()), kExitFailed);
  PageServer pages(env.disk_pool(options.data_directory));
  pages.Add("/version", "", [](const HttpRequest&) {
    return HttpResponse{.content_type = "application/json",
                        .body = R"({"Version":"2.5.0","GitCommit":"0"})"};
  });
  const std::string started =
      absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::Now(), absl::LocalTimeZone());
  pages.Add("/recentStartTime", "", [&](const HttpRequest&) {
    return HttpResponse{.content_type = "application/json",
                        .body = absl::StrCat("{\"RecentStartTime\":\"", started, "\"}")};
  });
  transport.SetByteSessions(pages.Sessions());
  sim::SimRandom random(env.random().Next());
  sim::OldServer server(world, transport, engines, random, disk, options, WouldEnd, &store);
  strand->Run([&] { server.Start(); });
  if (const absl::Status status = transport.Listen(); !status.ok())
    Exit(std::string(status.message()), kExitFailed);
  LOG(INFO) << "2.5.0: listens on " << transport.local() << ", " << disk.size() << " replicas";

  int signal = 0;
  sigwait(&stop, &signal);
  strand->Run([&] { server.Stop(); });
  transport.Stop();
  strand->Stop();
  env.StopLoops();
  LOG(INFO) << "2.5.0: stopped";
  return 0;
}

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  gflags::SetUsageMessage("a stand-in for a replica server of Apache Pegasus 2.5.0; for tests");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  return arion::Run();
}
