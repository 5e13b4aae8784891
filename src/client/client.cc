// SPDX-License-Identifier: Apache-2.0
#include "arion/client.h"

#include <utility>

#include "base/status.h"
#include "client/client_runtime.h"

namespace arion {
inline namespace client_v1 {
namespace {

using RuntimePtr = std::shared_ptr<ClientRuntime>;

class RoutedTable : public Table {
 public:
  RoutedTable(RuntimePtr runtime, std::string name)
      : runtime_(std::move(runtime)), name_(std::move(name)) {}

  // The arguments of a call that waits outlive the operation's start.
  absl::Status Put(std::string_view hash_key, std::string_view sort_key, std::string_view value,
                   int32_t ttl_seconds) override {
    return runtime_->RunAndWait<absl::Status>([&](ClusterClient& client, TableAdmin&, auto done) {
      client.Put(name_, hash_key, sort_key, value, ttl_seconds, std::move(done));
    });
  }
  absl::StatusOr<std::string> Get(std::string_view hash_key, std::string_view sort_key) override {
    return runtime_->RunAndWait<absl::StatusOr<std::string>>(
        [&](ClusterClient& client, TableAdmin&, auto done) {
          client.Get(name_, hash_key, sort_key, std::move(done));
        });
  }
  absl::Status Remove(std::string_view hash_key, std::string_view sort_key) override {
    return runtime_->RunAndWait<absl::Status>([&](ClusterClient& client, TableAdmin&, auto done) {
      client.Remove(name_, hash_key, sort_key, std::move(done));
    });
  }
  absl::StatusOr<int32_t> Ttl(std::string_view hash_key, std::string_view sort_key) override {
    return runtime_->RunAndWait<absl::StatusOr<int32_t>>(
        [&](ClusterClient& client, TableAdmin&, auto done) {
          client.Ttl(name_, hash_key, sort_key, std::move(done));
        });
  }

  void PutAsync(std::string hash_key, std::string sort_key, std::string value, int32_t ttl_seconds,
                StatusCallback done) override {
    runtime_->Post(
        [name = name_, hash_key = std::move(hash_key), sort_key = std::move(sort_key),
         value = std::move(value), ttl_seconds,
         done = ClientRuntime::Once<absl::Status>(ClientRuntime::Closed(), std::move(done))](
            ClusterClient& client, TableAdmin&) mutable {
          client.Put(name, hash_key, sort_key, value, ttl_seconds, std::move(done));
        });
  }
  void GetAsync(std::string hash_key, std::string sort_key, ValueCallback done) override {
    runtime_->Post([name = name_, hash_key = std::move(hash_key), sort_key = std::move(sort_key),
                    done = ClientRuntime::Once<absl::StatusOr<std::string>>(
                        ClientRuntime::Closed(), std::move(done))](ClusterClient& client,
                                                                   TableAdmin&) mutable {
      client.Get(name, hash_key, sort_key, std::move(done));
    });
  }
  void RemoveAsync(std::string hash_key, std::string sort_key, StatusCallback done) override {
    runtime_->Post(
        [name = name_, hash_key = std::move(hash_key), sort_key = std::move(sort_key),
         done = ClientRuntime::Once<absl::Status>(ClientRuntime::Closed(), std::move(done))](
            ClusterClient& client, TableAdmin&) mutable {
          client.Remove(name, hash_key, sort_key, std::move(done));
        });
  }

 private:
  const RuntimePtr runtime_;
  const std::string name_;
};

class RoutedClient : public Client {
 public:
  explicit RoutedClient(RuntimePtr runtime) : runtime_(std::move(runtime)) {}
  ~RoutedClient() override { runtime_->Stop(); }

  absl::StatusOr<std::shared_ptr<Table>> OpenTable(std::string_view name) override {
    std::string text(name);
    RETURN_IF_ERROR(
        runtime_->RunAndWait<absl::Status>([&](ClusterClient& client, TableAdmin&, auto done) {
          client.OpenTable(text, std::move(done));
        }));
    return std::make_shared<RoutedTable>(runtime_, std::move(text));
  }

 private:
  const RuntimePtr runtime_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(ClientOptions options) {
  if (options.timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("the timeout must be above zero");
  }
  ASSIGN_OR_RETURN(std::vector<Endpoint> meta_servers,
                   ClientRuntime::ParseEndpoints(options.meta_servers));
  ClusterClientOptions core{
      .meta_servers = std::move(meta_servers),
      .timeout = options.timeout,
      .write_retries = options.retry_writes ? WriteRetries::kAlways : WriteRetries::kAfterRefusals};
  return std::make_unique<RoutedClient>(
      std::make_shared<ClientRuntime>(std::move(core), options.threads));
}

}  // namespace client_v1
}  // namespace arion
