// SPDX-License-Identifier: Apache-2.0
#include "main/meta_process.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "base/cluster_identity.h"
#include "base/status.h"
#include "config/server_config.h"
#include "env/environment.h"
#include "main/cluster_file.h"
#include "main/ensemble_page.h"
#include "meta/meta_server.h"
#include "meta_ensemble/meta_member.h"
#include "meta_state/journal_meta_store.h"
#include "zookeeper/c_client.h"

namespace arion {
namespace {

bool IsOneOfSeveral(const ServerConfig& config) {
  return config.meta_state == ServerConfig::MetaState::kZooKeeper;
}

// The id that ZooKeeper has.
absl::Status Take(uint32_t id, const std::string& directory, Environment& env,
                  ClusterIdentity& cluster) {
  const bool is_new = cluster.id() == 0;
  if (!cluster.Adopt(id))
    return absl::FailedPreconditionError(
        absl::StrCat("cluster ", cluster.ToString(), " is what ", directory,
                     "/.arion-cluster says, and ZooKeeper has id ", FormatClusterId(id),
                     " below zookeeper_root: one of the two is another cluster's; set the right "
                     "zookeeper_root or meta_data_dir"));
  if (is_new) ReplaceClusterIdLater(env, directory, cluster);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetaProcess>> MetaProcess::Make(const ServerConfig& config,
                                                               Environment& env,
                                                               Transport& transport,
                                                               ClusterIdentity& cluster) {
  std::unique_ptr<MetaProcess> process(new MetaProcess());
  ASSIGN_OR_RETURN(StateDirectory directory,
                   LookAtStateDirectory(env.files(), config.meta_data_directory));
  if (!IsOneOfSeveral(config)) {
    RETURN_IF_ERROR(MayBeginFromJournal(directory));
    process->server_ = std::make_unique<MetaServer>(
        env, transport,
        std::make_shared<JournalMetaStore>(
            env, config.meta_data_directory,
            JournalMetaStoreOptions{.reserve_bytes = config.meta_disk_reserve_bytes}),
        config.meta);
    return process;
  }
  // Found here, where one may wait for a disk: the cluster's id is written from a loop's thread.
  env.disk_pool(config.meta_data_directory);
  const ServerConfig::ZooKeeperPlace& place = config.zookeeper;
  ASSIGN_OR_RETURN(process->zookeeper_,
                   CZooKeeper::Make({.hosts = place.hosts, .timeout = place.session_timeout}));
  process->member_ = std::make_unique<MetaMember>(
      env, transport, *process->zookeeper_,
      MetaMemberOptions{
          .root = place.root,
          .lock_root = place.lock_root,
          .known_cluster_id = [&cluster] { return cluster.id(); },
          .may_make_cluster_id = !config.meta.recover_from_replica_servers,
          .directory = std::move(directory),
          .on_cluster_id = [&env, &cluster, directory = config.meta_data_directory](
                               uint32_t id) { return Take(id, directory, env, cluster); }},
      config.meta);
  return process;
}

MetaProcess::MetaProcess() = default;
MetaProcess::~MetaProcess() = default;

MetaService& MetaProcess::service() {
  return server_ ? static_cast<MetaService&>(*server_) : static_cast<MetaService&>(*member_);
}

RequestHandler MetaProcess::Handler() const {
  return server_ ? server_->Handler() : member_->Handler();
}

absl::Status MetaProcess::Start() {
  if (server_) return server_->Start();
  member_->Start();
  return absl::OkStatus();
}

void MetaProcess::Stop(std::function<void()> done) {
  server_ ? server_->Stop(std::move(done)) : member_->Stop(std::move(done));
}

void MetaProcess::AddPages(const AddPage& add, const Clock& clock) {
  if (member_) AddEnsemblePage(add, *member_, clock, [this] { return zookeeper_->Servers(); });
}

void MetaProcess::StoreClusterId(uint32_t id) {
  if (member_) member_->StoreClusterId(id);
}

std::string MetaProcess::WhereStateIs(const ServerConfig& config) {
  return IsOneOfSeveral(config)
             ? absl::StrCat("ZooKeeper at ", config.zookeeper.hosts, ", below ",
                            config.zookeeper.root)
             : config.meta_data_directory + "/meta.journal, synced before it is answered";
}

}  // namespace arion
