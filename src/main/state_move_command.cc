// SPDX-License-Identifier: Apache-2.0
#include "main/state_move_command.h"

#include <absl/strings/str_cat.h>
#include <signal.h>

#include <cstdio>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cluster_identity.h"
#include "base/status.h"
#include "config/server_config.h"
#include "main/cluster_file.h"
#include "main/descriptor_limit.h"
#include "main/server_process.h"
#include "meta_ensemble/state_move.h"
#include "posix/posix_environment.h"
#include "zookeeper/c_client.h"

namespace arion {
namespace {

constexpr std::string_view kCommand = "move-state";
constexpr char kUsage[] =
    "arion_meta move-state --to zookeeper|journal --config FILE\n"
    "  Moves the meta server's state from the journal in meta_data_dir to zookeeper_root, or "
    "back.\n"
    "  Stop all meta servers before.\n";

// Takes "--to PLACE" out of the words; nullopt: it is not there, or is none of the two.
std::optional<StateMark::To> TakeTo(std::vector<char*>* words) {
  std::string value;
  for (size_t i = 0; i < words->size(); ++i) {
    const std::string_view word = (*words)[i];
    size_t count = 0;
    if (word == "--to" && i + 1 < words->size()) {
      value = (*words)[i + 1];
      count = 2;
    } else if (word.starts_with("--to=")) {
      value = word.substr(5);
      count = 1;
    }
    if (count == 0) continue;
    words->erase(words->begin() + static_cast<ptrdiff_t>(i),
                 words->begin() + static_cast<ptrdiff_t>(i + count));
    break;
  }
  if (value == "zookeeper") return StateMark::To::kZooKeeper;
  if (value == "journal") return StateMark::To::kJournal;
  return std::nullopt;
}

absl::Status KeepClusterId(uint32_t id, const std::string& directory, PosixEnvironment& env,
                           ClusterIdentity& cluster) {
  if (cluster.id() == id) return absl::OkStatus();
  if (!cluster.Adopt(id)) return absl::FailedPreconditionError("it has another cluster's id");
  return RememberClusterId(env.files(), directory, cluster);
}

void Print(const StateMoveOptions& options, const MovedState& moved) {
  const bool is_to_zookeeper = options.to == StateMark::To::kZooKeeper;
  printf("%s: %zu tables, %zu partitions, the sum of their ballots is %lld; %zu entries, %s\n",
         moved.was_there ? "is there already" : "moved", moved.tables, moved.partitions,
         static_cast<long long>(moved.ballots), moved.entries,
         moved.was_there ? "as they are now" : "each read back and compared");
  if (is_to_zookeeper)
    printf(
        "the state is in ZooKeeper at %s; set state = zookeeper and start the meta servers. "
        "What the journal was is %s\n",
        options.zookeeper.c_str(), MovedJournalPath(options.directory).c_str());
  else
    printf(
        "the state is in %s/meta.journal; set state = journal and start this meta server alone. "
        "In ZooKeeper at %s%s says so\n",
        options.directory.c_str(), options.zookeeper.c_str(), kStateMarkKey);
}

int Move(StateMark::To to, const ServerConfig& config) {
  if (config.zookeeper.hosts.empty()) {
    fprintf(stderr,
            "nothing says where ZooKeeper is; write zookeeper_hosts = HOST:PORT,... into "
            "[arion.meta]\n");
    return kExitUsage;
  }
  PosixEnvironment env({.event_loop_threads = 1, .descriptors_held = kDescriptorsHeld});
  ClusterIdentity cluster(config.cluster_name);
  const std::string& directory = config.meta_data_directory;
  if (const absl::Status taken = TakeOrMakeClusterId(env, directory, NewCluster::kLearn, &cluster);
      !taken.ok())
    return FailedToStart(taken);
  auto zookeeper = CZooKeeper::Make(
      {.hosts = config.zookeeper.hosts, .timeout = config.zookeeper.session_timeout});
  if (!zookeeper.ok()) return FailedToStart(zookeeper.status());
  const StateMoveOptions options{
      .to = to,
      .directory = directory,
      .root = config.zookeeper.root,
      .lock_root = config.zookeeper.lock_root,
      .journal = absl::StrCat(config.advertised.ToString(), " ", directory),
      .zookeeper = absl::StrCat(config.zookeeper.hosts, " ", config.zookeeper.root),
      .cluster_id = cluster.id(),
      .keep_cluster_id = [&](uint32_t id) { return KeepClusterId(id, directory, env, cluster); },
  };
  env.disk_pool(directory);  // found here, where one may wait for a disk
  StateMove move(env, **zookeeper, options);
  std::promise<absl::StatusOr<MovedState>> result;
  move.Start([&](absl::StatusOr<MovedState> moved) { result.set_value(std::move(moved)); });
  const absl::StatusOr<MovedState> moved = result.get_future().get();
  env.StopLoops();
  if (!moved.ok()) {
    fprintf(stderr, "not moved: %s\n", std::string(moved.status().message()).c_str());
    return kExitFailed;
  }
  Print(options, *moved);
  return kExitOk;
}

}  // namespace

bool IsStateMove(int argc, char** argv) { return argc > 1 && argv[1] == kCommand; }

int RunStateMove(int argc, char** argv) {
  PrepareProcess();
  std::vector<char*> words(argv, argv + argc);
  words.erase(words.begin() + 1);
  const std::optional<StateMark::To> to = TakeTo(&words);
  if (!to) {
    fputs(kUsage, stderr);
    return kExitUsage;
  }
  int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  char** rest = words.data();
  const ServerConfig config = ConfigureServerOrExit(ServerKind::kMeta, &count, &rest);
  // Before any thread is made: interrupted anywhere, the same command goes on.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return Move(*to, config);
}

}  // namespace arion
