// Mutation: what a primary orders, every member logs, and every member applies.
//
// Shapes    (ballot, decree) names it; equal names mean equal content. `updates` holds either
//           several PUT/REMOVE or exactly one of any other code. Raw bytes (wal/FORMAT.md 3.1;
//           the same in logs, prepares, LT_CACHE):
//             0 i64 version 0 · 8 i32 app_id · 12 i32 index · 16 i64 ballot · 24 i64 decree ·
//             32 i64 log_offset · 40 i64 last_committed · 48 i64 timestamp us · 56 i32 n ·
//             60 n x {i32 length, name, i32 serialization, i32 length}, then n payloads;
//           all little endian.
// Threads   Immutable once it is a MutationPtr: strands and pools share it freely.
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

// The operations a mutation may carry. Their text is what is stored and sent.
enum class WriteCode : uint8_t {
  // RPC_REPLICATION_WRITE_EMPTY: only advances the decree.
  kEmpty,
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

// "RPC_RRDB_RRDB_PUT"
std::string_view WriteCodeName(WriteCode code);
// nullopt: unknown.
std::optional<WriteCode> FindWriteCode(std::string_view name);
// Whether several updates of this code may share a mutation (Shapes).
inline bool IsBatchable(WriteCode code) {
  return code == WriteCode::kPut || code == WriteCode::kRemove;
}

// One client's write.
struct Update {
  WriteCode code = WriteCode::kEmpty;
  // 1: Thrift binary; 0 for the empty write.
  int32_t serialization = 0;
  // The client's request body unchanged: a wrapper struct with one field, id 0 or 1.
  std::string data;

  bool operator==(const Update&) const = default;
};

// One mutation, by value: the primary fills one, or a reader of a log or a message does. It becomes
// shared and immutable as a MutationPtr, which lives as long as the prepare list, a log's write or
// a message holds it.
struct Mutation {
  PartitionId pid;
  Ballot ballot;
  Decree decree;
  // The global offset of byte 0 in the log it was read from; -1 elsewhere.
  int64_t log_offset = -1;
  // The primary's committed decree when it started this mutation.
  Decree last_committed;
  // When the primary ordered it, by its wall clock since 1970. Values' time tags get it; 0: not
  // known.
  int64_t timestamp_us = 0;
  std::vector<Update> updates;

  bool operator==(const Mutation&) const = default;
};
// Never null where one is passed on.
using MutationPtr = std::shared_ptr<const Mutation>;

constexpr size_t kMutationHeaderBytes = 60;

// The size of the raw form.
size_t EncodedSize(const Mutation& mutation);
// Appends the raw form with `log_offset` in its place.
void AppendMutation(const Mutation& mutation, int64_t log_offset, std::string* out);
// Writes the raw form to `to`, which has EncodedSize(mutation) bytes of room.
void StoreMutation(const Mutation& mutation, int64_t log_offset, char* to);
// Takes one mutation from the front of *bytes. DataLoss: cut short, an unknown code name, version
// 1..64, counts that do not fit; *bytes is then unchanged. Versions above 64 (before 2017) are read
// with timestamp 0.
absl::StatusOr<Mutation> TakeMutation(std::string_view* bytes);

}  // namespace arion
