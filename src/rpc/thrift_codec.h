// Messages as bytes: the Thrift binary protocol with its six raw types (rpc/PROTOCOL.md 3).
//
//   std::string body = EncodeWrapped(QueryConfigRequest{.app_name = "temp"});
//   ASSIGN_OR_RETURN(QueryConfigResponse answer, DecodeWrapped<QueryConfigResponse>(result.body));
//
// Errors    InvalidArgument: what does not decode, with the struct's name. Known ids of another
//           type are skipped; unknown fields are skipped by their announced type; nothing allocates
//           much more than the input's size (thrift_reader.h).
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "base/ids.h"

namespace arion {

struct PrepareRequest;

// Which host_port fields the reader of these bytes knows (decision 3). THFT connections: always
// kNone.
enum class PeerGeneration { kNone, k25 = kNone, k26 };

// One value inside an anonymous struct with one field, id `field_id` (0 or 1), and its end byte.
// Instantiated in the .cc for every message, for Blob, PartitionId, Endpoint, int64_t and
// std::string.
template <class T>
std::string EncodeWrapped(const T& value, PeerGeneration generation = PeerGeneration::kNone,
                          int16_t field_id = 0);
// What becomes of host_port twins (messages/fields.h) after decoding. kEmpty, for all who act on a
// message: the address has what the twin said. kKeep is for echoing them and for tests.
enum class HostPortTwins { kEmpty, kKeep };
// The value of a wrapped argument or result. What follows its end byte is not looked at.
template <class T>
absl::StatusOr<T> DecodeWrapped(std::string_view bytes,
                                HostPortTwins twins = HostPortTwins::kEmpty);

// RPC_PREPARE's three parts.
std::string EncodePrepare(const PrepareRequest& request,
                          PeerGeneration generation = PeerGeneration::kNone);
// Checks that pid and ballot agree in all of them. DataLoss: the mutation can't be read (unknown
// code, cut short).
absl::StatusOr<PrepareRequest> DecodePrepare(std::string_view bytes,
                                             HostPortTwins twins = HostPortTwins::kEmpty);
// After such a DataLoss: the partition for which ERR_INVALID_DATA is to be answered.
absl::StatusOr<PartitionId> PreparePid(std::string_view bytes);

// The meta struct of THFT header version 1 (rpc/PROTOCOL.md 2.2), not wrapped.
struct ThriftRequestMeta {
  int32_t app_id = 0;
  int32_t partition_index = 0;
  int32_t client_timeout = 0;
  int64_t client_partition_hash = 0;
  bool is_backup_request = false;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1, s.app_id), v(2, s.partition_index), v(3, s.client_timeout), v(4, s.client_partition_hash);
    v(5, s.is_backup_request);
  }
  bool operator==(const ThriftRequestMeta&) const = default;
};
std::string EncodeThriftRequestMeta(const ThriftRequestMeta& meta);
absl::StatusOr<ThriftRequestMeta> DecodeThriftRequestMeta(std::string_view bytes);

}  // namespace arion
