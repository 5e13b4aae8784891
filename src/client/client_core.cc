// SPDX-License-Identifier: Apache-2.0
#include "client/client_core.h"

#include <utility>

#include "client/table_admin.h"

namespace arion {

ClientCore::ClientCore(Environment& environment, Transport& transport, StrandPtr strand,
                       const ClusterClientOptions& options, std::function<bool()> runs_here)
    : runs_here_(std::move(runs_here)),
      strand_(std::move(strand)),
      client_(ClusterClient::Create(environment, transport, strand_, options)),
      admin_(std::make_shared<TableAdmin>(environment, transport, strand_,
                                          MetaCallerOptions{.meta_servers = options.meta_servers,
                                                            .admin_token = options.admin_token},
                                          options.timeout)) {}

ClientCore::~ClientCore() {
  Close();
  Drop();
}

void ClientCore::Run(Work work) {
  // A callback of this core: no hop, and no lock that Close could hold.
  if (IsMine()) return work(*client_, *admin_);
  const MutexLock lock(mutex_);
  if (is_closed_) return;  // it is dropped behind the lock: that may call back
  strand_->Post([client = client_.get(), admin = admin_.get(), work = std::move(work)]() mutable {
    work(*client, *admin);
  });
}

void ClientCore::Start(const std::string& table, ClusterClient::OperationPtr operation) {
  // As in Run. An operation carries what its start needs, so it is posted by itself.
  if (IsMine()) return client_->Start(table, std::move(operation));
  const MutexLock lock(mutex_);
  if (is_closed_) return;
  client_->StartLater(table, std::move(operation));
}

bool ClientCore::Close() {
  const MutexLock lock(mutex_);
  return !std::exchange(is_closed_, true);
}

void ClientCore::Drop() {
  if (is_dropped_.exchange(true)) return;
  // What they hold is dropped, which calls back. The strand's timers go last with its loop.
  strand_.reset();
  admin_.reset();
  client_.reset();
}

}  // namespace arion
