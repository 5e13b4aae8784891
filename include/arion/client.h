// Arion's C++ client: a table by name, its partitions found and followed by itself.
//
//   auto client = arion::Client::Create({.meta_servers = {"127.0.0.1:34601"}});
//   if (!client.ok()) return client.status();
//   auto table = (*client)->OpenTable("temp");
//   if (!table.ok()) return table.status();
//   absl::Status status = (*table)->Put("hash", "sort", "value", {.ttl = absl::Hours(1)});
//
// Threads   Thread-safe. Lifetime: tables may outlive their Client. When it goes, what is under way and
//           what is asked later ends in DeadlineExceeded; after the destructor no callback runs. It is
//           not destroyed in a callback.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <arion/options.h>
#include <arion/table.h>

#include <memory>
#include <string_view>

namespace arion {
inline namespace client_v1 {

class Client {
 public:
  // InvalidArgument: an option that can't be. Nothing is sent yet.
  static absl::StatusOr<std::unique_ptr<Client>> Create(ClientOptions options);
  virtual ~Client() = default;
  // NotFound: there is no such table. Unavailable, DeadlineExceeded: no meta server says so in time.
  // A table that is renamed stays the same Table until a server does not answer or says no; from
  // then on it is whichever table has `name`. Who must not confuse them opens it anew.
  virtual absl::StatusOr<std::shared_ptr<Table>> OpenTable(std::string_view name) = 0;
};

}  // namespace client_v1
}  // namespace arion
