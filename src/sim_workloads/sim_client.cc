// SPDX-License-Identifier: Apache-2.0
#include "sim_workloads/sim_client.h"

#include <vector>
#include "client/client_core.h"
#include "client/client_runtime.h"
#include "client/table_admin.h"

namespace arion::sim {

SimClient::SimClient(Environment& environment, Transport& transport, StrandPtr strand,
                     const ClusterClientOptions& options) {
  // One core: the world has one thread.
  std::vector<std::unique_ptr<ClientCore>> cores;
  cores.push_back(std::make_unique<ClientCore>(environment, transport, strand, options,
                                               [strand] { return strand->IsCurrent(); }));
  runtime_ = std::make_shared<ClientRuntime>(environment.clock(), std::move(cores));
}

SimClient::~SimClient() {
  // First, so that callbacks made with Heard keep silent when Drop calls them.
  alive_.reset();
  core().Close();
  core().Drop();
}

ClientCore& SimClient::core() { return *runtime_->cores().front(); }
const Clock& SimClient::clock() const { return runtime_->clock(); }

AsyncTable& SimClient::table(const std::string& name) {
  std::unique_ptr<AsyncTable>& table = tables_[name];
  if (table == nullptr) table = std::make_unique<RoutedTable>(runtime_, name);
  return *table;
}

void SimClient::OpenTable(const std::string& name, Callback<absl::Status> done) {
  core().Run([name, done = std::move(done)](ClusterClient& client, TableAdmin&) mutable {
    client.OpenTable(name, std::move(done));
  });
}

void SimClient::Ask(const std::string& table, Question question,
                    Callback<absl::StatusOr<std::string>> done) {
  core().Run([table, question = std::move(question), done = std::move(done)](ClusterClient& client,
                                                                             TableAdmin&) mutable {
    client.Ask(table, std::move(question), {}, std::move(done));
  });
}

void SimClient::Administer(absl::AnyInvocable<void(TableAdmin&)> start) {
  core().Run(
      [start = std::move(start)](ClusterClient&, TableAdmin& admin) mutable { start(admin); });
}

}  // namespace arion::sim
