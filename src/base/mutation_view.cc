// SPDX-License-Identifier: Apache-2.0
#include "base/mutation_view.h"

#include "base/coding.h"
#include "base/status.h"

namespace arion {
namespace {

constexpr size_t kUpdateDescriptorBytes = 12;  // without the name

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("mutation: ", Text(what)));
}

}  // namespace

absl::Status TakeMutationView(std::string_view* bytes, MutationView* view) {
  const char* const raw = bytes->data();
  const size_t size = bytes->size();
  if (size < kMutationHeaderBytes) return Damaged("shorter than its header");
  const auto version = LoadLittle<int64_t>(raw);
  if (version < 0 || (version > 0 && version <= 64))
    return Damaged(absl::StrCat("unknown version ", version));
  view->pid = {LoadLittle<int32_t>(raw + 8), LoadLittle<int32_t>(raw + 12)};
  view->ballot = Ballot(LoadLittle<int64_t>(raw + 16));
  view->decree = Decree(LoadLittle<int64_t>(raw + 24));
  view->log_offset = LoadLittle<int64_t>(raw + 32);
  view->last_committed = Decree(LoadLittle<int64_t>(raw + 40));
  view->timestamp_us = version > 64 ? 0 : LoadLittle<int64_t>(raw + 48);
  const auto count = LoadLittle<int32_t>(raw + 56);
  if (count < 0 ||
      static_cast<size_t>(count) > (size - kMutationHeaderBytes) / kUpdateDescriptorBytes)
    return Damaged(absl::StrCat("update count ", count, " does not fit"));
  view->update_count = count;

  size_t at = kMutationHeaderBytes;
  uint64_t data_bytes = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (size - at < kUpdateDescriptorBytes) return Damaged("update descriptor does not fit");
    const auto name_size = LoadLittle<int32_t>(raw + at);
    if (name_size < 0) return Damaged("update name does not fit");
    const auto name_bytes = static_cast<size_t>(name_size);
    if (size - at - kUpdateDescriptorBytes < name_bytes)
      return Damaged("update descriptor does not fit");
    const std::string_view name(raw + at + 4, name_bytes);
    const auto data_size = LoadLittle<int32_t>(raw + at + 8 + name_bytes);
    if (data_size < 0) return Damaged("update descriptor does not fit");
    if (!FindWriteCode(name))
      return Damaged(absl::StrCat("unknown code '", Text(name.substr(0, 48)), "'"));
    data_bytes += static_cast<uint64_t>(data_size);
    at += kUpdateDescriptorBytes + name_bytes;
  }
  if (data_bytes > size - at) return Damaged("update data does not fit");
  view->data = {raw + at, static_cast<size_t>(data_bytes)};
  view->raw = {raw, at + static_cast<size_t>(data_bytes)};
  bytes->remove_prefix(view->raw.size());
  return absl::OkStatus();
}

Mutation MutationView::ToMutation() const {
  Mutation mutation;
  mutation.pid = pid;
  mutation.ballot = ballot;
  mutation.decree = decree;
  mutation.log_offset = log_offset;
  mutation.last_committed = last_committed;
  mutation.timestamp_us = timestamp_us;
  mutation.updates.resize(static_cast<size_t>(update_count));
  ByteReader descriptors(raw.substr(kMutationHeaderBytes));
  ByteReader datas(data);
  for (Update& update : mutation.updates) {
    const auto name_size = descriptors.Little<int32_t>();
    update.code = *FindWriteCode(descriptors.Bytes(static_cast<size_t>(name_size)));
    update.serialization = descriptors.Little<int32_t>();
    update.data = datas.Bytes(static_cast<size_t>(descriptors.Little<int32_t>()));
  }
  return mutation;
}

}  // namespace arion
