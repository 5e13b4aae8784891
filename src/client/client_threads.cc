// SPDX-License-Identifier: Apache-2.0
#include "client/client_threads.h"

#include <optional>
#include <thread>

#include "base/status.h"
#include "posix/posix_clock.h"

namespace arion {
namespace {

// Tables may outlive their client, so its clock belongs to none.
const Clock& WallClock() {
  static const PosixClock clock;
  return clock;
}

}  // namespace

absl::StatusOr<std::vector<Endpoint>> ClientThreads::ParseEndpoints(
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

ClientThreads::ClientThreads(const ClusterClientOptions& options, int threads) {
  std::vector<std::unique_ptr<ClientCore>> cores;
  for (int i = 0; i < threads; ++i) {
    Thread& thread = threads_.emplace_back();
    thread.environment =
        std::make_unique<PosixEnvironment>(PosixEnvironmentOptions{.event_loop_threads = 1});
    EventLoops& loops = thread.environment->loops();
    thread.transport = std::make_unique<AsioTransport>(&loops, AsioTransportOptions());
    std::thread::id id;
    loops.RunOnEach([&id](int) { id = std::this_thread::get_id(); });
    cores.push_back(std::make_unique<ClientCore>(
        *thread.environment, *thread.transport, thread.environment->NewStrand("client"), options,
        [id] { return std::this_thread::get_id() == id; }));
  }
  runtime_ = std::make_shared<ClientRuntime>(WallClock(), std::move(cores));
}

void ClientThreads::Stop() {
  for (size_t i = 0; i < threads_.size(); ++i) {
    ClientCore& core = *runtime_->cores()[i];
    // First nothing may come in any more, then nothing runs any more.
    if (!core.Close()) continue;
    threads_[i].transport->Stop();
    threads_[i].environment->StopLoops();
    core.Drop();
    threads_[i].transport.reset();
    threads_[i].environment.reset();
  }
}

}  // namespace arion
