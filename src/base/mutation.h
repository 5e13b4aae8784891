// Mutation: what a primary orders, every member logs, and every member applies.
//
// Shapes   (ballot, decree) names it; equal names mean equal content. `updates` holds either
//          several PUT/REMOVE or exactly one of any other code. Raw bytes (wal/FORMAT.md 3.1;
//          the same in logs, prepares, LT_CACHE):
//            0 i64 version 0 · 8 i32 app_id · 12 i32 index · 16 i64 ballot · 24 i64 decree ·
//            32 i64 log_offset · 40 i64 last_committed · 48 i64 timestamp us · 56 i32 n ·
//            60 n x {i32 length, name, i32 serialization, i32 length}, then n payloads;
//          all little endian.
// Threads  Immutable once it is a MutationPtr: strands and pools share it freely.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace arion {

// The operations a mutation may carry; their text is what is stored and sent.
enum class WriteCode : uint8_t {
  kEmpty,  // RPC_REPLICATION_WRITE_EMPTY: only advances the decree
  kPut,
  kRemove,
  kMultiPut,
  kMultiRemove,
  kIncr,
  kCheckAndSet,
  kCheckAndMutate,
  kDuplicate,
  kBulkLoad,
};
constexpr int kWriteCodeCount = 10;

std::string_view WriteCodeName(WriteCode code);                 // "RPC_RRDB_RRDB_PUT"
std::optional<WriteCode> FindWriteCode(std::string_view name);  // nullopt: unknown
inline bool IsBatchable(WriteCode code) {
  return code == WriteCode::kPut || code == WriteCode::kRemove;
}

struct Update {
  WriteCode code = WriteCode::kEmpty;
  int32_t serialization = 0;  // 1 = Thrift binary; 0 for the empty write
  // the client's request body unchanged: wrapper struct with one field, id 0 or 1
  std::string data;

  bool operator==(const Update&) const = default;
};

struct Mutation {
  PartitionId pid;
  Ballot ballot;
  Decree decree;
  int64_t log_offset = -1;  // global offset of byte 0 in the log it was read from; -1 elsewhere
  Decree last_committed;    // the primary's committed decree when it started this one
  int64_t timestamp_us = 0;
  std::vector<Update> updates;

  bool operator==(const Mutation&) const = default;
};
using MutationPtr = std::shared_ptr<const Mutation>;

constexpr size_t kMutationHeaderBytes = 60;

// Size of the raw form.
size_t EncodedSize(const Mutation& mutation);
// Appends the raw form with `log_offset` in its place.
void AppendMutation(const Mutation& mutation, int64_t log_offset, std::string* out);
// Writes the raw form to `to`, which has EncodedSize(mutation) bytes of room.
void StoreMutation(const Mutation& mutation, int64_t log_offset, char* to);
// Takes one mutation from the front of *bytes. DataLoss: truncated, an unknown code name, version
// 1..64, counts that do not fit; *bytes is then unchanged. Versions above 64 (before 2017) are read
// with timestamp 0.
absl::StatusOr<Mutation> TakeMutation(std::string_view* bytes);

}  // namespace arion
