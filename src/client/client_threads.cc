// SPDX-License-Identifier: Apache-2.0
#include "client/client_threads.h"

#include <optional>
#include <thread>

#include "base/status.h"
#include "posix/posix_clock.h"
#include "posix/posix_environment.h"
#include "rpc/asio_transport.h"

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
    // A core knows its thread by the id: whose core a thread is may be asked at any time, also when
    // the loop is gone.
    loops.RunOnEach([&id](int) { id = std::this_thread::get_id(); });
    // One loop a thread and one core a loop: cores share nothing, so an operation takes no lock but
    // the core's own.
    cores.push_back(std::make_unique<ClientCore>(
        *thread.environment, *thread.transport, thread.environment->NewStrand("client"), options,
        [id] { return std::this_thread::get_id() == id; }));
  }
  // Made last and shared: tables keep it when the threads are gone.
  runtime_ = std::make_shared<ClientRuntime>(WallClock(), std::move(cores));
}

ClientThreads::~ClientThreads() { Stop(); }

void ClientThreads::Stop() {
  for (size_t i = 0; i < threads_.size(); ++i) {
    ClientCore& core = *runtime_->cores()[i];
    // First nothing may come in any more, then nothing runs any more.
    if (!core.Close()) continue;
    threads_[i].transport->Stop();
    threads_[i].environment->StopLoops();
    // Dropping calls back what is still waited for. So it comes when the loop runs nothing any
    // more, and before the transport and the environment go, to which the core refers.
    core.Drop();
    threads_[i].transport.reset();
    threads_[i].environment.reset();
  }
}

}  // namespace arion
