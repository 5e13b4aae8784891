// IndexedEngineFactory: engines with indexes beside them (index_set.h): <replica>/index beside
// <replica>/data.
//
// Shapes    To all else an engine as the inner factory makes them. A content that is installed has
//           the indexes that were shipped with it, in index.<decree> beside it, or none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "indexes/index_set.h"

namespace arion {

class Environment;

// One for a server. `environment` and `inner` outlive it.
class IndexedEngineFactory : public EngineFactory {
 public:
  IndexedEngineFactory(Environment& environment, EngineFactory& inner,
                       const IndexOptions& options = {})
      : environment_(environment), inner_(inner), options_(options) {}

  absl::StatusOr<std::unique_ptr<Engine>> Open(const std::string& data_directory) override;
  absl::StatusOr<std::unique_ptr<IndexStore>> OpenIndexStore(const std::string& directory) override;
  absl::Status InstallCheckpoint(const std::string& checkpoint_directory, Decree decree,
                                 const std::string& data_directory) override;
  void LimitUnflushed(uint64_t bytes) override { inner_.LimitUnflushed(bytes); }
  uint64_t unflushed_bytes() const override { return inner_.unflushed_bytes(); }
  std::string description() const override { return inner_.description(); }

 private:
  Environment& environment_;
  EngineFactory& inner_;
  const IndexOptions options_;
};

}  // namespace arion
