// CZooKeeper: a real ZooKeeper ensemble, by ZooKeeper's own C client.
//
// Errors    Make: InvalidArgument, with what to write; ResourceExhausted: no threads. What goes
//           wrong later (names that can't be looked up, servers that are away) is logged, and tried
//           again for as long as somebody has a session.
// Threads   Connect is thread-safe; sessions as ZooKeeperSession says. A session has three threads:
//           one that may wait, and two of the client. Each server that is given by its name has one
//           that looks it up (posix/name_book.h).
// Lifetime  Outlives its sessions. Its end waits until they are closed: up to 5.5 s where a server
//           is connected and does not answer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "env/named_address.h"
#include "env/strand.h"
#include "posix/name_book.h"
#include "zookeeper/ensemble_address.h"
#include "zookeeper/zookeeper_session.h"

namespace arion {

class CConnection;

struct CZooKeeperOptions {
  // As ParseEnsembleAddress reads it: "zk1:2181,zk2:2181/root".
  std::string hosts;
  // What is asked for; a server takes 2 to 20 of its ticks.
  absl::Duration timeout = absl::Seconds(10);
  // Tests have one of their own.
  NameBook::LookUp look_up = LookUp;
};

// One for a process, as a rule.
class CZooKeeper : public ZooKeeper {
 public:
  static absl::StatusOr<std::unique_ptr<CZooKeeper>> Make(const CZooKeeperOptions& options);
  ~CZooKeeper() override;
  CZooKeeper(const CZooKeeper&) = delete;

  std::unique_ptr<ZooKeeperSession> Connect(
      StrandPtr strand, std::function<void(ZooKeeperSession::State)> on_state) override;
  // Those whose addresses are known now. Any thread.
  std::vector<Endpoint> Servers();

 private:
  CZooKeeper(EnsembleAddress ensemble, CZooKeeperOptions options);
  void ServersAre(const std::vector<Endpoint>& endpoints);

  const EnsembleAddress ensemble_;
  const CZooKeeperOptions options_;
  Mutex mutex_;
  std::vector<Endpoint> endpoints_ ABSL_GUARDED_BY(mutex_);
  // The same as CConnection::ServersAre has them.
  std::string servers_ ABSL_GUARDED_BY(mutex_);
  // Those that may not be closed yet.
  std::vector<std::weak_ptr<CConnection>> connections_ ABSL_GUARDED_BY(mutex_);
  NameBook names_;
};

}  // namespace arion
