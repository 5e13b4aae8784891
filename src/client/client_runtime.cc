// SPDX-License-Identifier: Apache-2.0
#include "client/client_runtime.h"

#include <algorithm>

#include "base/status.h"

namespace arion {

absl::StatusOr<std::vector<Endpoint>> ClientRuntime::ParseEndpoints(
    const std::vector<std::string>& texts) {
  std::vector<Endpoint> endpoints;
  for (const std::string& text : texts) {
    std::optional<Endpoint> endpoint = Endpoint::Parse(text);
    if (!endpoint.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("meta server \"", text, "\" is not IPv4:port, as in 127.0.0.1:34601"));
    }
    endpoints.push_back(*endpoint);
  }
  if (endpoints.empty()) return absl::InvalidArgumentError("no meta server given");
  return endpoints;
}

ClientRuntime::ClientRuntime(ClusterClientOptions options, int threads)
    : environment_(std::make_unique<PosixEnvironment>(
          PosixEnvironmentOptions{.event_loop_threads = std::max(1, threads)})),
      transport_(std::make_unique<AsioTransport>(&environment_->loops(), AsioTransportOptions())),
      strand_(environment_->NewStrand("client")),
      client_(ClusterClient::Create(*environment_, *transport_, strand_, options)),
      admin_(std::make_shared<TableAdmin>(*environment_, *transport_, strand_,
                                          MetaCallerOptions{.meta_servers = options.meta_servers},
                                          options.timeout)) {}

void ClientRuntime::Post(Work work) {
  std::unique_lock lock(mutex_);
  if (strand_ == nullptr) {
    lock.unlock();  // dropping the work may call back
    return;
  }
  strand_->Post([client = client_, admin = admin_, work = std::move(work)]() mutable {
    work(*client, *admin);
  });
}

bool ClientRuntime::IsOnStrand() const {
  std::lock_guard lock(mutex_);
  return strand_ != nullptr && strand_->IsCurrent();
}

void ClientRuntime::Stop() {
  std::unique_ptr<PosixEnvironment> environment;
  std::unique_ptr<AsioTransport> transport;
  std::shared_ptr<ClusterClient> client;
  std::shared_ptr<TableAdmin> admin;
  {
    std::lock_guard lock(mutex_);
    strand_ = nullptr;
    environment = std::move(environment_);
    transport = std::move(transport_);
    client = std::move(client_);
    admin = std::move(admin_);
  }
  if (environment == nullptr) return;
  transport->Stop();
  environment->StopLoops();
  client.reset();
  admin.reset();
  transport.reset();
}

}  // namespace arion
