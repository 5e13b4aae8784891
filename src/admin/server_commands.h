// The remote commands and pages about a server itself: its build, its log, its settings; and those
// of each kind of server.
//
// Lifetime  What is given outlives the commands' and pages' last request.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "http/page_server.h"

namespace arion {

class Clock;
class LiveSettings;
class MetaService;
class PerfCounters;
class RemoteCommands;
class ReplicaServer;

// Adds a page, as PageServer::Add does.
using AddPage = std::function<void(std::string path, std::string help, Page page)>;

// Commands that both kinds of servers have.
void AddServerCommands(RemoteCommands& commands, LiveSettings& settings, const Clock& clock,
                       const char* program, int64_t started_unix_seconds);
// /configs, /config, /updateConfig, /recentStartTime.
void AddServerPages(PageServer& pages, LiveSettings& settings, int64_t started_unix_seconds);

// Commands of meta servers.
void AddMetaCommands(RemoteCommands& commands, LiveSettings& settings, MetaService& server);
// Commands of replica servers. `pools`: what /pools shows.
void AddReplicaCommands(RemoteCommands& commands, LiveSettings& settings, ReplicaServer& server,
                        Endpoint self, const PerfCounters& counters,
                        std::function<std::string()> pools);
// /replica/manual_compaction.
void AddReplicaPages(const AddPage& add, ReplicaServer& server);

}  // namespace arion
