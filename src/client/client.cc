// SPDX-License-Identifier: Apache-2.0
#include "arion/client.h"

#include <utility>

#include "base/status.h"
#include "client/client_threads.h"
#include "client/routed_table.h"

namespace arion {
inline namespace client_v1 {
namespace {

constexpr int kThreadsMax = 64;

// The only implementation. Tables share the runtime, so they may outlive the client; what they are
// asked then is dropped.
class RoutedClient : public Client {
 public:
  RoutedClient(const ClusterClientOptions& options, int threads) : threads_(options, threads) {}

  absl::StatusOr<std::shared_ptr<Table>> OpenTable(std::string_view name) override {
    const std::string text(name);
    // Asks for the table's partitions now: a wrong name or a silent cluster shows here, and not
    // with the first operation.
    RETURN_IF_ERROR(
        threads_.RunAndWait<absl::Status>([&](ClusterClient& client, TableAdmin&, auto done) {
          client.OpenTable(text, std::move(done));
        }));
    return std::make_shared<Table>(std::make_shared<RoutedTable>(threads_.runtime(), text));
  }

 private:
  ClientThreads threads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(ClientOptions options) {
  if (options.timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("the timeout must be above zero");
  }
  ASSIGN_OR_RETURN(std::vector<Endpoint> meta_servers,
                   ClientThreads::ParseEndpoints(options.meta_servers));
  if (options.threads < 1 || options.threads > kThreadsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("threads is ", options.threads, "; 1 to ", kThreadsMax));
  }
  const ClusterClientOptions core{.meta_servers = std::move(meta_servers),
                                  .timeout = options.timeout,
                                  .write_retries = options.write_retries};
  return std::make_unique<RoutedClient>(core, options.threads);
}

}  // namespace client_v1
}  // namespace arion
