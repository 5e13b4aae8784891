// Messages as bytes: the Thrift binary protocol with its six raw types (spec/wire-protocol.md 2).
//
// Errors   InvalidArgument: what does not decode, with the struct's name. Known ids of another type are skipped; unknown
//          fields are skipped by their announced type; nothing allocates more than the input's size.
// Threads  Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "messages/client_messages.h"
#include "messages/configuration.h"
#include "messages/meta_messages.h"
#include "messages/replication_messages.h"

namespace arion {

// Which host_port fields the reader of these bytes knows (decision 3). THFT connections: always kNone.
enum class PeerGeneration { kNone, k25 = kNone, k26 };

// One value inside an anonymous struct with one field, id `field_id` (0 or 1), and its end byte. Instantiated in the .cc
// for every message, for Blob, PartitionId, Endpoint, int64_t and std::string.
template <class T>
std::string EncodeWrapped(const T& value, PeerGeneration generation = PeerGeneration::kNone, int16_t field_id = 0);
template <class T>
absl::StatusOr<T> DecodeWrapped(std::string_view bytes);

// RPC_PREPARE's three parts. Decode checks that pid and ballot agree in all of them.
std::string EncodePrepare(const PrepareRequest& request, PeerGeneration generation = PeerGeneration::kNone);
absl::StatusOr<PrepareRequest> DecodePrepare(std::string_view bytes);

}  // namespace arion
