// The dashboard: /ui and the files below it, from the binary alone. Reads only; a page that a
// server adds with figures of its own (/ui/cluster.json) is that server's.
//
// Threads   As PageServer's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "http/page_server.h"

namespace arion {

struct UiAsset;

// What the page is told of its server once; nothing of it is secret. main/ fills it at the start.
struct UiFacts {
  // meta, replica.
  std::string role;
  std::string cluster;
  std::string address;
  std::string version;
  std::string commit;
  // Of a replica server.
  std::string durability;
  // As texts: "127.0.0.1:34601".
  std::vector<std::string> meta_servers;
};

// One of the files: packed or not, or nothing if the browser has it already (304).
HttpResponse AnswerAsset(const UiAsset& asset, const HttpRequest& request);

// Adds /ui and a page for each file. To be called once, before the server listens; the assets
// outlive it.
//
//   AddUi(pages, {.role = "meta", .cluster = "production", .address = "10.0.0.1:34601"});
void AddUi(PageServer& pages, const UiFacts& facts);

}  // namespace arion
