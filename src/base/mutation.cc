// SPDX-License-Identifier: Apache-2.0
#include "base/mutation.h"

#include <array>
#include <cstring>

#include "base/coding.h"
#include "base/log.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr std::array<std::string_view, kWriteCodeCount> kWriteCodeNames = {
    "RPC_REPLICATION_WRITE_EMPTY", "RPC_RRDB_RRDB_PUT",
    "RPC_RRDB_RRDB_REMOVE",        "RPC_RRDB_RRDB_MULTI_PUT",
    "RPC_RRDB_RRDB_MULTI_REMOVE",  "RPC_RRDB_RRDB_INCR",
    "RPC_RRDB_RRDB_CHECK_AND_SET", "RPC_RRDB_RRDB_CHECK_AND_MUTATE",
    "RPC_RRDB_RRDB_DUPLICATE",     "RPC_RRDB_RRDB_BULK_LOAD"};

constexpr size_t kUpdateDescriptorBytes = 12;  // without the name

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("mutation: ", Text(what)));
}

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
  out->resize(before + EncodedSize(mutation));
  StoreMutation(mutation, log_offset, out->data() + before);
}

absl::StatusOr<Mutation> TakeMutation(std::string_view* bytes) {
  ByteReader reader(*bytes);
  const auto version = reader.Little<int64_t>();
  Mutation mutation;
  mutation.pid.app_id = reader.Little<int32_t>();
  mutation.pid.index = reader.Little<int32_t>();
  mutation.ballot = Ballot(reader.Little<int64_t>());
  mutation.decree = Decree(reader.Little<int64_t>());
  mutation.log_offset = reader.Little<int64_t>();
  mutation.last_committed = Decree(reader.Little<int64_t>());
  mutation.timestamp_us = reader.Little<int64_t>();
  const auto count = reader.Little<int32_t>();
  if (!reader.ok()) return Damaged("shorter than its header");
  if (version < 0 || (version > 0 && version <= 64))
    return Damaged(absl::StrCat("unknown version ", version));
  if (version > 64) mutation.timestamp_us = 0;
  if (count < 0 || static_cast<size_t>(count) > reader.rest().size() / kUpdateDescriptorBytes)
    return Damaged(absl::StrCat("update count ", count, " does not fit"));

  std::vector<size_t> sizes;
  mutation.updates.resize(static_cast<size_t>(count));
  sizes.reserve(static_cast<size_t>(count));
  for (Update& update : mutation.updates) {
    const auto name_size = reader.Little<int32_t>();
    if (!reader.ok() || name_size < 0) return Damaged("update name does not fit");
    const std::string_view name = reader.Bytes(static_cast<size_t>(name_size));
    update.serialization = reader.Little<int32_t>();
    const auto data_size = reader.Little<int32_t>();
    if (!reader.ok() || data_size < 0) return Damaged("update descriptor does not fit");
    const std::optional<WriteCode> code = FindWriteCode(name);
    if (!code) return Damaged(absl::StrCat("unknown code '", Text(name.substr(0, 48)), "'"));
    update.code = *code;
    sizes.push_back(static_cast<size_t>(data_size));
  }
  for (size_t i = 0; i < sizes.size(); ++i)
    mutation.updates[i].data = std::string(reader.Bytes(sizes[i]));
  if (!reader.ok()) return Damaged("update data does not fit");
  *bytes = reader.rest();
  return mutation;
}

}  // namespace arion
