// ProbeClient: a client without judgement. It asks one server for one key and tells what came back;
// beside the real client it looks at servers that a well-behaved client would not ask any more.
//
// Threads  Strand-bound to the strand given. Lifetime: the transport outlives it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <string>
#include <string_view>

#include "messages/meta_messages.h"
#include "rpc/transport.h"

namespace arion {
struct AddDuplicationRequest;
struct AddDuplicationResponse;
struct RecallAppRequest;
}  // namespace arion

namespace arion::sim {

// The workload has one on each client's node, and SimCluster makes its first tables by one. It
// never tries again and keeps no routes, so every answer is that of the server that was named.
class ProbeClient {
 public:
  ProbeClient(Transport& transport, StrandPtr strand)
      : transport_(transport), strand_(std::move(strand)) {}

  // kOk with an empty value: no such record.
  using ReadDone = absl::AnyInvocable<void(ErrorCode, std::string value)>;
  using WriteDone = absl::AnyInvocable<void(ErrorCode)>;
  // `partition_count` is the table's: the key's partition follows from it, as in a client. kTimeout
  // or kNetworkFailure: nothing came back.
  void Get(Endpoint server, int32_t app_id, int32_t partition_count, std::string_view raw_key,
           absl::Duration timeout, ReadDone done);
  void Put(Endpoint server, int32_t app_id, int32_t partition_count, std::string_view raw_key,
           std::string value, absl::Duration timeout, WriteDone done);

  // Sent once each. An answer other than kOk leaves open whether the change was made.
  void CreateTable(Endpoint meta, const CreateAppRequest& request,
                   absl::AnyInvocable<void(CreateAppResponse)> done);
  void DropTable(Endpoint meta, const DropAppRequest& request,
                 absl::AnyInvocable<void(ErrorCode)> done);
  void RecallTable(Endpoint meta, const RecallAppRequest& request,
                   absl::AnyInvocable<void(ErrorCode)> done);
  void AddDuplication(Endpoint meta, const AddDuplicationRequest& request,
                      absl::AnyInvocable<void(AddDuplicationResponse)> done);

 private:
  template <class Response>
  void Ask(Endpoint meta, const char* name, std::string body,
           absl::AnyInvocable<void(Response)> done);
  // What an administrator asks for; kOk: it is so.
  template <class Response>
  void Change(Endpoint meta, const char* name, std::string body,
              absl::AnyInvocable<void(ErrorCode)> done);
  OutboundRequest Request(const char* name, int32_t app_id, int32_t partition_count,
                          std::string_view raw_key, absl::Duration timeout) const;

  Transport& transport_;
  StrandPtr strand_;
};

}  // namespace arion::sim
