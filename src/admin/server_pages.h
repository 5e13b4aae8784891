// ServerPages: the pages of a server program, their threads, and what /metrics reads.
//
// Lifetime  Made before the transport listens. Stop comes after the transport has stopped and
//           before what was registered goes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "admin/remote_commands.h"
#include "config/live_settings.h"
#include "config/server_config.h"
#include "env/environment.h"
#include "exposition/process_metrics.h"
#include "http/page_server.h"
#include "metrics/metric_registry.h"
#include "posix/posix_disk_pool.h"

namespace arion {

class AccessControl;
class AsioTransport;

// Owns the pages' threads, the registry, the live settings and the remote commands of one server
// program.
class ServerPages {
 public:
  // Adds the pages and commands that both kinds of servers have.
  ServerPages(ServerKind kind, const ServerConfig& config, Environment& env,
              AsioTransport& transport, AccessControl& access);

  MetricRegistry& registry() { return registry_; }
  // Before the transport listens.
  void Add(std::string path, std::string help, Page page) {
    pages_.Add(std::move(path), std::move(help), std::move(page));
  }
  // What the server's settings are now.
  LiveSettings& settings() { return settings_; }
  RemoteCommands& commands() { return commands_; }
  // `refresh` runs before each reading of the registry, on a page's thread. Before the transport
  // listens.
  void BeforeReading(std::function<void()> refresh) { refresh_ = std::move(refresh); }

  // Waits for pages that are being made.
  void Stop() { threads_.reset(); }

 private:
  // Set by BeforeReading; may be empty.
  std::function<void()> refresh_;
  MetricRegistry registry_;
  // What this registered itself: the process, the transport, access.
  MetricRegistrations held_;
  std::unique_ptr<PosixDiskPool> threads_;
  PageServer pages_;
  LiveSettings settings_;
  RemoteCommands commands_;
};

}  // namespace arion
