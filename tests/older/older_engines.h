// OlderEngines: engines as a 2.5.0 server opens them: one whose files hold more than its newest
// checkpoint makes a checkpoint at once (engine/FORMAT.md 7).
//
// Threads   As EngineFactory. Lifetime: `engines` outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/index_store.h"

namespace arion {

class OlderEngines : public EngineFactory {
 public:
  explicit OlderEngines(EngineFactory& engines) : engines_(engines) {}

  absl::StatusOr<std::unique_ptr<Engine>> Open(const std::string& data_directory) override {
    ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, engines_.Open(data_directory));
    if (engine->last_durable() != engine->last_applied())
      RETURN_IF_ERROR(engine->Checkpoint().status());
    return engine;
  }
  absl::Status InstallCheckpoint(const std::string& checkpoint_directory, Decree decree,
                                 const std::string& data_directory) override {
    return engines_.InstallCheckpoint(checkpoint_directory, decree, data_directory);
  }
  absl::StatusOr<std::unique_ptr<IndexStore>> OpenIndexStore(
      const std::string& directory) override {
    return engines_.OpenIndexStore(directory);
  }
  std::string description() const override { return engines_.description(); }

 private:
  EngineFactory& engines_;
};

}  // namespace arion
