// CheckedEngineFactory: engines that tell the CommitChecker what is applied where, and can be asked
// what they hold. Now and then they would have to wait, or lack space while their disk is full.
//
// Lifetime  The inner factory, the node, the checker and the set of engines outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "engine/index_store.h"

namespace arion::sim {

class CommitChecker;
class SimNode;

// The open engines of a cluster, by server and partition.
using OpenEngines = std::map<std::pair<std::string, PartitionId>, Engine*>;

// One for each life of a simulated server, in place of its engines' factory. Engines that it opens
// refer to what it was given.
class CheckedEngineFactory : public EngineFactory {
 public:
  using OnApplied = std::function<void(PartitionId pid, Decree decree, int64_t timestamp_us,
                                       absl::Span<const WriteOp> ops)>;
  // What else wants to know: engines that open, checkpoints that are installed, and, unless it is
  // empty, what is applied by any member.
  struct Events {
    std::function<void(PartitionId pid, Decree decree)> opened;
    std::function<void()> installed;
    OnApplied applied;
  };
  // Whether members that applied a mutation under other times applied other content: a 2.5.0 server
  // prepares it again without one (pacifica/PROTOCOL.md 2.2).
  enum class Times : uint8_t { kCount, kDoNotCount };
  CheckedEngineFactory(EngineFactory& inner, SimNode& node, std::string server,
                       CommitChecker& checker, OpenEngines& open, Events events,
                       Times times = Times::kCount)
      : inner_(inner),
        node_(node),
        server_(std::move(server)),
        checker_(checker),
        open_(open),
        events_(std::move(events)),
        times_(times) {}

  absl::StatusOr<std::unique_ptr<Engine>> Open(const std::string& data_directory) override;
  absl::Status InstallCheckpoint(const std::string& checkpoint_directory, Decree decree,
                                 const std::string& data_directory) override {
    events_.installed();
    return inner_.InstallCheckpoint(checkpoint_directory, decree, data_directory);
  }
  absl::StatusOr<std::unique_ptr<IndexStore>> OpenIndexStore(
      const std::string& directory) override {
    return inner_.OpenIndexStore(directory);
  }
  std::string description() const override { return inner_.description(); }

 private:
  EngineFactory& inner_;
  SimNode& node_;
  std::string server_;
  CommitChecker& checker_;
  OpenEngines& open_;
  const Events events_;
  const Times times_;
};

}  // namespace arion::sim
