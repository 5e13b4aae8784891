// SPDX-License-Identifier: Apache-2.0
#include "client/client_core.h"

#include <utility>

namespace arion {

ClientCore::ClientCore(const ClusterClientOptions& options)
    : environment_(
          std::make_unique<PosixEnvironment>(PosixEnvironmentOptions{.event_loop_threads = 1})),
      transport_(std::make_unique<AsioTransport>(&environment_->loops(), AsioTransportOptions())),
      strand_(environment_->NewStrand("client")),
      client_(ClusterClient::Create(*environment_, *transport_, strand_, options)),
      admin_(std::make_shared<TableAdmin>(*environment_, *transport_, strand_,
                                          MetaCallerOptions{.meta_servers = options.meta_servers,
                                                            .admin_token = options.admin_token},
                                          options.timeout)) {
  environment_->loops().RunOnEach([this](int) { thread_ = std::this_thread::get_id(); });
}

void ClientCore::Run(Work work) {
  // A callback of this core: no hop, and no lock that Stop could hold.
  if (IsMine()) return work(*client_, *admin_);
  const MutexLock lock(mutex_);
  if (is_stopping_) return;  // it is dropped behind the lock: that may call back
  strand_->Post([client = client_.get(), admin = admin_.get(), work = std::move(work)]() mutable {
    work(*client, *admin);
  });
}

void ClientCore::Start(const std::string& table, ClusterClient::OperationPtr operation) {
  if (IsMine()) return client_->Start(table, std::move(operation));
  const MutexLock lock(mutex_);
  if (is_stopping_) return;
  client_->StartLater(table, std::move(operation));
}

void ClientCore::Stop() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(is_stopping_, true)) return;
  }
  // First nothing may come in any more, then nothing runs any more.
  transport_->Stop();
  environment_->StopLoops();
  is_stopped_ = true;
  // What they hold is dropped, which calls back. The strand's timers go last with its loop.
  strand_.reset();
  admin_.reset();
  client_.reset();
  transport_.reset();
  environment_.reset();
}

}  // namespace arion
