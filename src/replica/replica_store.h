// ReplicaStore: what one replica has on disk, its engine, its log and its .init-info, and the
// changes of them that hold back all effects until they are durable: a new ballot or standing, a
// log made void, an engine exchanged, the end.
//
// Shapes    Between hold() and release() no effect is carried out. .init-info is stored by one
//           change at a time; its durable decree never falls while it marks mutations that came
//           from elsewhere and are not flushed (pacifica/PROTOCOL.md 9.4).
// Errors    Want of space is waited for. Else a store that fails fences, and what it held is
//           dropped.
// Threads   Strand-bound; work on the disk runs in its pool.
// Lifetime  A part of a replica. References to engine() and log() stay valid as long.
// Promises  replica_store/S1  The log is void on disk before an engine is exchanged; that happens
//               only while the disk's work is quiet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "pacifica/effects.h"
#include "recovery/replica_opener.h"
#include "replica/disk_work.h"
#include "replica/replica_host.h"
#include "stats/request_stats.h"
#include "wal/private_log.h"

namespace arion {

// Made first of the replica's parts, and emptied last, by Finish.
class ReplicaStore {
 public:
  struct Hooks {
    // Stops the carrying out of effects, and goes on with it. They are counted.
    std::function<void()> hold;
    std::function<void()> release;
    // As release, but they are not carried out any more.
    std::function<void()> drop_held;
    std::function<bool()> is_holding;
    // The engine is about to go, and its views with it.
    std::function<void()> end_views;
    // The former content is gone.
    std::function<void()> on_content;
    // The core's work is done; called before release.
    std::function<void(uint64_t serial)> on_exchanged;
    std::function<void(uint64_t serial, const absl::Status&)> on_exchange_failed;
    std::function<void(const std::string& why)> fence;
    // Names the replica in the log.
    std::function<std::string()> tag;
  };
  // Takes the engine and the log of `opened`. `work`: may be made later, as it is given engine().
  ReplicaStore(std::shared_ptr<const ReplicaHost> host, OpenedReplica& opened, DiskWork& work,
               ReplicaFigures& figures, Hooks hooks);

  // Null while it is exchanged.
  const std::shared_ptr<Engine>& engine() const { return engine_; }
  const std::shared_ptr<PrivateLog>& log() const { return log_; }
  // As on disk.
  const InitInfo& info() const { return info_; }
  // What was learned from elsewhere, is in no log of its own and not flushed either.
  bool IsInMemoryOnly() const {
    return engine_ != nullptr && engine_->last_flushed() < info_.durable;
  }

  // Makes both durable before any later effect is carried out. Neither ballot falls.
  void StoreBallot(Ballot ballot, std::optional<Standing> standing);
  // Voids the log: what is at or below `applied` is in the engine, what is above it does not count.
  // It begins anew behind `behind`.
  void RestartLogAt(Decree applied, Decree behind);
  // Makes the table's description durable before any later effect is carried out.
  void StoreApp(const AppInfo& app);
  // No shared log is left that .init-info would have to name.
  void ForgetSharedLog();
  // Closes the engine, lets `exchange` change what lies in data/, opens it again; it must then
  // stand at `expected`. The log is void from the first moment on. Waits for other stores of
  // .init-info, so that none of them comes behind its own.
  void ExchangeEngine(uint64_t serial, Decree expected, DiskWork::PoolWork exchange);

  // No hook is called any more.
  void Close() { is_closed_ = true; }
  // kFlushed: engine and log are closed cleanly. kAsIs: dropped as they are.
  enum class CloseMode { kFlushed, kAsIs };
  // When the work is quiet. `hot_keys`: kept for the next start.
  void Finish(CloseMode mode, std::vector<std::string> hot_keys,
              absl::AnyInvocable<void(absl::Status)> done);

 private:
  // Nothing is carried out until `store` has ended well.
  void StoreHeld(const char* what, DiskWork::PoolWork store, absl::AnyInvocable<void()> then);
  void StoreInfo(InitInfo info, absl::AnyInvocable<void()> then);
  void OnExchanged(uint64_t serial, const InitInfo& info, std::shared_ptr<Engine> engine,
                   const absl::Status& status);

  const std::shared_ptr<const ReplicaHost> host_;
  const std::string directory_;
  const size_t disk_;
  InitInfo info_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<PrivateLog> log_;
  DiskWork& work_;
  ReplicaFigures& figures_;
  const Hooks hooks_;
  bool is_closed_ = false;
};

}  // namespace arion
