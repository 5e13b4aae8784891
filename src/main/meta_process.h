// MetaProcess: the meta server of this process, the only one of its cluster or one of several, as it
// was configured.
//
// Threads   Start and Stop: main's thread.
// Lifetime  What it is given outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>

#include "admin/server_commands.h"
#include "meta/meta_service.h"
#include "rpc/transport.h"

namespace arion {

class Clock;
class ClusterIdentity;
class CZooKeeper;
class Environment;
class MetaMember;
class MetaServer;
struct ServerConfig;
class Transport;

// One for arion_meta.
class MetaProcess {
 public:
  // InvalidArgument: what is wrong with the settings. FailedPrecondition: the state was moved
  // elsewhere (meta_ensemble/state_mark.h). Waits for the disk.
  static absl::StatusOr<std::unique_ptr<MetaProcess>> Make(const ServerConfig& config,
                                                           Environment& env, Transport& transport,
                                                           ClusterIdentity& cluster);
  ~MetaProcess();

  MetaService& service();
  RequestHandler Handler() const;
  // An error: it can't serve, and a person is needed. Where ZooKeeper can't be reached there is
  // none: it is waited for.
  absl::Status Start();
  void Stop(std::function<void()> done);
  // The page that only one of several has. Before the transport listens.
  void AddPages(const AddPage& add, const Clock& clock);
  // The cluster has another id than was made for it: its replica servers know it.
  void StoreClusterId(uint32_t id);
  // Where the state is, for the banner.
  static std::string WhereStateIs(const ServerConfig& config);

 private:
  MetaProcess();

  // One of the two.
  std::unique_ptr<MetaServer> server_;
  std::unique_ptr<CZooKeeper> zookeeper_;
  std::unique_ptr<MetaMember> member_;
};

}  // namespace arion
