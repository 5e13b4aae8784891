// Arion's C++ client: opens tables by name, finds their partitions and follows them when they move.
//
//   auto client = arion::Client::Create({.meta_servers = {"127.0.0.1:34601"}});
//   if (!client.ok()) return client.status();
//   auto table = (*client)->OpenTable("temp");
//   if (!table.ok()) return table.status();
//   absl::Status status = (*table)->Put("hash", "sort", "value", {.ttl = absl::Hours(1)});
//
// Threads   Thread-safe.
// Lifetime  Tables may outlive their Client. When it is destroyed, what is under way ends in
//           DeadlineExceeded before the destructor returns; what is asked later ends so at once. A
//           callback must not destroy the Client: the destructor waits for the client's threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <arion/options.h>
#include <arion/table.h>

#include <memory>
#include <string_view>

namespace arion {
inline namespace client_v1 {

// A connection to one cluster: its threads, its connections to servers, and what it knows of where
// partitions are. One for a whole program is enough; more threads are an option, not more clients.
class Client {
 public:
  // Makes a client and starts its threads. Nothing is sent yet, so a cluster that is down is not an
  // error here. InvalidArgument: an option is out of range, or a meta server is not "IPv4:port".
  static absl::StatusOr<std::unique_ptr<Client>> Create(ClientOptions options);
  // Ends all operations and joins the client's threads.
  virtual ~Client() = default;
  // Looks the table up and returns it. Waits for a meta server, ClientOptions::timeout at most.
  // NotFound: there is no such table. Unavailable, DeadlineExceeded: no meta server could say in
  // time. FailedPrecondition: called in a callback, which must not wait.
  //
  // A table that is renamed stays the same Table until a server does not answer or refuses a
  // request; from then on it is whichever table has `name`. To exclude such a mix-up, open the
  // table anew.
  virtual absl::StatusOr<std::shared_ptr<Table>> OpenTable(std::string_view name) = 0;
};

}  // namespace client_v1
}  // namespace arion
