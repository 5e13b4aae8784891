// SPDX-License-Identifier: Apache-2.0
#include "base/mutation.h"

#include <array>
#include <cstring>

#include "base/coding.h"
#include "base/log.h"
#include "base/mutation_view.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr std::array<std::string_view, kWriteCodeCount> kWriteCodeNames = {
    "RPC_REPLICATION_WRITE_EMPTY", "RPC_RRDB_RRDB_PUT",
    "RPC_RRDB_RRDB_REMOVE",        "RPC_RRDB_RRDB_MULTI_PUT",
    "RPC_RRDB_RRDB_MULTI_REMOVE",  "RPC_RRDB_RRDB_INCR",
    "RPC_RRDB_RRDB_CHECK_AND_SET", "RPC_RRDB_RRDB_CHECK_AND_MUTATE",
    "RPC_RRDB_RRDB_DUPLICATE",     "RPC_RRDB_RRDB_BULK_LOAD"};

// Three i32: the name's length, the serialization, the data's length.
constexpr size_t kUpdateDescriptorBytes = 12;  // without the name

}  // namespace

std::string_view WriteCodeName(WriteCode code) {
  return kWriteCodeNames[static_cast<size_t>(code)];
}

std::optional<WriteCode> FindWriteCode(std::string_view name) {
  for (size_t i = 0; i < kWriteCodeNames.size(); ++i)
    if (kWriteCodeNames[i] == name) return static_cast<WriteCode>(i);
  return std::nullopt;
}

size_t EncodedSize(const Mutation& mutation) {
  size_t size = kMutationHeaderBytes;
  for (const Update& update : mutation.updates)
    size += kUpdateDescriptorBytes + WriteCodeName(update.code).size() + update.data.size();
  return size;
}

void StoreMutation(const Mutation& mutation, int64_t log_offset, char* to) {
  const auto put = [&to](auto v) {
    StoreLittle(v, to);
    to += sizeof(v);
  };
  const auto put_bytes = [&to](std::string_view bytes) {
    std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  };
  // The order of fields is the format's (base/mutation.h). All descriptors precede all data.
  // The format's version.
  put(int64_t{0});
  put(mutation.pid.app_id);
  put(mutation.pid.index);
  put(mutation.ballot.value());
  put(mutation.decree.value());
  put(log_offset);
  put(mutation.last_committed.value());
  put(mutation.timestamp_us);
  put(static_cast<int32_t>(mutation.updates.size()));
  for (const Update& update : mutation.updates) {
    const std::string_view name = WriteCodeName(update.code);
    put(static_cast<int32_t>(name.size()));
    put_bytes(name);
    put(update.serialization);
    put(static_cast<int32_t>(update.data.size()));
  }
  for (const Update& update : mutation.updates) put_bytes(update.data);
}

void AppendMutation(const Mutation& mutation, int64_t log_offset, std::string* out) {
  const size_t before = out->size();
  // Once, at its final size: a mutation may hold megabytes.
  out->resize(before + EncodedSize(mutation));
  StoreMutation(mutation, log_offset, out->data() + before);
}

absl::StatusOr<Mutation> TakeMutation(std::string_view* bytes) {
  MutationView view;
  RETURN_IF_ERROR(TakeMutationView(bytes, &view));
  return view.ToMutation();
}

}  // namespace arion
