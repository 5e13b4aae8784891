// MetaService: a meta server as its process sees it, whether it is the only one or one of several.
//
// Threads   Any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/counter.h"

namespace arion {

struct ClusterOverview;
struct InboundRequest;
struct MetaServerOptions;

// Since the process began. Any thread may read them; the exposition does.
struct MetaServerStats {
  Counter configuration_changes;
  // Looks at a partition of which nobody could be made primary.
  Counter primary_choice_failures;
  Counter server_deaths;
};

// Pages, commands and metrics ask it. MetaServer and MetaMember (meta_ensemble) are ones.
class MetaService {
 public:
  virtual ~MetaService() = default;
  // As one that came in by the transport.
  virtual void Handle(InboundRequest request) = 0;
  // Takes over what is changeable in operation (config/server_config.h).
  virtual void Reconfigure(const MetaServerOptions& options) = 0;
  // `done` runs on a strand.
  virtual void Overview(std::function<void(ClusterOverview)> done) = 0;
  virtual const MetaServerStats& stats() const = 0;
};

}  // namespace arion
