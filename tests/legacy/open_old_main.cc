// open_old: starts a replica server (in-memory engine, real disk) on each directory given, waits until
// its replicas are open, prints a line of JSON each, and stops it. For tests against the model.
//
//   open_old clean|killed DIR...    DIR/d1 and DIR/d2 are data directories, DIR/d1/replica/slog the
//                                   shared log; killed: nothing is flushed or trimmed at the end
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <future>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/status.h"
#include "engine/memory_engine.h"
#include "legacy/shared_log_stats.h"
#include "posix/posix_environment.h"
#include "replica/replica_options.h"
#include "replica/replica_snapshot.h"
#include "replica_server/replica_server.h"
#include "rpc/asio_transport.h"

namespace arion {
namespace {

std::vector<ReplicaSnapshot> Snapshots(ReplicaServer& server) {
  std::promise<std::vector<ReplicaSnapshot>> all;
  server.Snapshot([&](std::vector<ReplicaSnapshot> some) { all.set_value(std::move(some)); });
  return all.get_future().get();
}

bool AllOpen(const std::vector<ReplicaSnapshot>& all) {
  for (const ReplicaSnapshot& one : all)
    if (one.loading) return false;
  return true;
}

void Print(const std::string& directory, const std::vector<ReplicaSnapshot>& all,
           const SharedLogStats& stats) {
  std::string text = absl::StrCat("{\"directory\":\"", directory,
                                  "\",\"taken\":", stats.mutations_taken.load(), ",\"replicas\":{");
  const char* separator = "";
  for (const ReplicaSnapshot& one : all) {
    absl::StrAppend(
        &text, separator, "\"", one.pid.ToString(), "\":{\"applied\":", one.last_applied.value(),
        ",\"prepared\":", one.last_prepared.value(), ",\"ballot\":", one.ballot.value(), "}");
    separator = ",";
  }
  printf("%s}}\n", text.c_str());
}

void OpenOne(PosixEnvironment& env, const std::string& directory, bool is_clean) {
  AsioTransport transport(&env.loops(), {.listen = *Endpoint::Parse("127.0.0.1:1")});
  MemoryEngineFactory engines(env);
  ReplicaServerOptions options;
  options.layout.data_directories = {{"d1", directory + "/d1/replica/reps"},
                                     {"d2", directory + "/d2/replica/reps"}};
  options.layout.new_data_directories = {"d1", "d2"};  // a small one may leave a disk empty
  options.layout.shared_log_directories = {directory + "/d1/replica/slog"};
  options.meta_servers = {*Endpoint::Parse("127.0.0.1:2")};
  options.log_preallocate = false;
  options.durability = Durability::kOs;  // what is looked at is content, not power cuts
  options.disk.reserve_bytes = 0;
  std::promise<absl::Status> refused;
  std::future<absl::Status> refusal = refused.get_future();
  {
    ReplicaServer server(env, transport, engines, options);
    server.OnRefused([&refused](const absl::Status& status) { refused.set_value(status); });
    absl::Status status = server.Start();
    if (status.ok())
      for (;;) {
        const auto all = Snapshots(server);
        if (AllOpen(all)) {
          Print(directory, all, server.shared_log());
          break;
        }
        if (refusal.wait_for(std::chrono::milliseconds(2)) == std::future_status::ready) {
          status = refusal.get();
          break;
        }
      }
    if (!status.ok())
      printf("{\"directory\":\"%s\",\"refused\":%d}\n", directory.c_str(),
             static_cast<int>(status.code()));
    if (is_clean) {
      std::promise<void> stopped;
      server.Stop([&](const absl::Status&) { stopped.set_value(); });
      stopped.get_future().wait();
    }
  }
  transport.Stop();
}

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  google::InitGoogleLogging(argv[0]);
  FLAGS_minloglevel = google::GLOG_ERROR;
  arion::PosixEnvironment env(
      {.event_loop_threads = 1,
       .log_device = {.method = arion::LogDeviceOptions::Method::kThreads}});
  for (int i = 2; i < argc; ++i) arion::OpenOne(env, argv[i], std::string_view(argv[1]) == "clean");
  fflush(stdout);
  env.StopLoops();
  _exit(0);  // logs of killed servers are not waited for
}
