// Arion's C++ client: a table by name, its partitions found and followed by itself.
//
//   arion::ClientOptions options{.meta_servers = {"127.0.0.1:34601"}};
//   auto client = arion::Client::Create(options);
//   auto table = (*client)->OpenTable("temp");
//   absl::Status status = (*table)->Put("hash", "sort", "value");
//
// Shapes   Keys and values are any bytes; hash key <= 65534 bytes. ttl_seconds 0 = never expires.
// Errors   NotFound: no such record (or table). DeadlineExceeded: no answer in time; a write may
//          or may not have happened (after any other error it has not). InvalidArgument: the
//          request can't be right. ResourceExhausted: refused, busy. Unavailable: refused by
//          every server asked. PermissionDenied, FailedPrecondition, Unimplemented: refused. A
//          synchronous call from a callback: FailedPrecondition.
// Threads  Thread-safe. Callbacks run on the client's own thread: they must not block.
// Lifetime A Table may outlive its Client. Operations under way when the Client goes, and later
//          ones, end in DeadlineExceeded. The Client is not destroyed in a callback.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace arion {
inline namespace client_v1 {  // names in libraries; the servers have tables too

struct ClientOptions {
  std::vector<std::string> meta_servers;      // "127.0.0.1:34601"
  absl::Duration timeout = absl::Seconds(5);  // of one operation, retries included
  // After a time-out or lost connection a write is sent again: it may happen twice.
  bool retry_writes = true;
  int threads = 1;
};

class Table {
 public:
  virtual ~Table() = default;
  virtual absl::Status Put(std::string_view hash_key, std::string_view sort_key,
                           std::string_view value, int32_t ttl_seconds = 0) = 0;
  virtual absl::StatusOr<std::string> Get(std::string_view hash_key, std::string_view sort_key) = 0;
  virtual absl::Status Remove(std::string_view hash_key, std::string_view sort_key) = 0;
  // Seconds left; -1: never expires.
  virtual absl::StatusOr<int32_t> Ttl(std::string_view hash_key, std::string_view sort_key) = 0;

  using StatusCallback = std::function<void(absl::Status)>;
  using ValueCallback = std::function<void(absl::StatusOr<std::string>)>;
  virtual void PutAsync(std::string hash_key, std::string sort_key, std::string value,
                        int32_t ttl_seconds, StatusCallback done) = 0;
  virtual void GetAsync(std::string hash_key, std::string sort_key, ValueCallback done) = 0;
  virtual void RemoveAsync(std::string hash_key, std::string sort_key, StatusCallback done) = 0;
};

class Client {
 public:
  static absl::StatusOr<std::unique_ptr<Client>> Create(ClientOptions options);
  virtual ~Client() = default;
  virtual absl::StatusOr<std::shared_ptr<Table>> OpenTable(std::string_view name) = 0;
};

}  // namespace client_v1
}  // namespace arion
