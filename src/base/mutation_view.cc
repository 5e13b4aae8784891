// SPDX-License-Identifier: Apache-2.0
#include "base/mutation_view.h"

#include <optional>

#include "base/status.h"

namespace arion {
namespace {

constexpr size_t kNamelessUpdateBytes = 12;  // without the name
constexpr int64_t kLastUnknownVersion = 64;  // what is above was written before 2017

// Out of line: the way of sound mutations stays short.
[[gnu::cold, gnu::noinline]] absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(absl::StrCat("mutation: ", Text(what)));
}
[[gnu::cold, gnu::noinline]] absl::Status UnknownVersion(int64_t version) {
  return Damaged(absl::StrCat("unknown version ", version));
}
[[gnu::cold, gnu::noinline]] absl::Status CountDoesNotFit(int32_t count) {
  return Damaged(absl::StrCat("update count ", count, " does not fit"));
}
[[gnu::cold, gnu::noinline]] absl::Status UnknownCode(std::string_view name) {
  return Damaged(absl::StrCat("unknown code '", Text(name.substr(0, 48)), "'"));
}

// Most are puts, and a comparison with a name that is known here costs no call.
std::optional<WriteCode> CodeOf(std::string_view name) {
  if (name == "RPC_RRDB_RRDB_PUT") [[likely]]
    return WriteCode::kPut;
  return FindWriteCode(name);
}

}  // namespace

// Walks the descriptors once and adds up the data's lengths, and only then looks whether they fit:
// a prepare or a log block is judged without touching its data. *bytes moves on only when all of it
// is sound.
absl::Status TakeMutationView(std::string_view* bytes, MutationView* view) {
  const char* const raw = bytes->data();
  const size_t size = bytes->size();
  if (size < kMutationHeaderBytes) return Damaged("shorter than its header");
  const auto version = LoadLittle<int64_t>(raw);
  if (version < 0 || (version > 0 && version <= kLastUnknownVersion))
    return UnknownVersion(version);
  // The count is bounded by the bytes there are, before anything is made of it: it may be hostile.
  const auto count = LoadLittle<int32_t>(raw + 56);
  if (count < 0 ||
      static_cast<size_t>(count) > (size - kMutationHeaderBytes) / kNamelessUpdateBytes)
    return CountDoesNotFit(count);

  size_t at = kMutationHeaderBytes;
  uint64_t data_bytes = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (size - at < kNamelessUpdateBytes) return Damaged("update descriptor does not fit");
    const auto name_size = LoadLittle<int32_t>(raw + at);
    if (name_size < 0) return Damaged("update name does not fit");
    const auto name_bytes = static_cast<size_t>(name_size);
    if (size - at - kNamelessUpdateBytes < name_bytes)
      return Damaged("update descriptor does not fit");
    const std::string_view name(raw + at + 4, name_bytes);
    const auto data_size = LoadLittle<int32_t>(raw + at + 8 + name_bytes);
    if (data_size < 0) return Damaged("update descriptor does not fit");
    const std::optional<WriteCode> code = CodeOf(name);
    if (!code) return UnknownCode(name);
    if (i == 0) view->first_code_ = *code;
    // 64 bits: 2^31 sizes of 2 GiB do not overflow it.
    data_bytes += static_cast<uint64_t>(data_size);
    at += kNamelessUpdateBytes + name_bytes;
  }
  if (data_bytes > size - at) return Damaged("update data does not fit");
  view->raw_ = raw;
  view->size_ = at + static_cast<size_t>(data_bytes);
  view->data_at_ = static_cast<uint32_t>(at);
  bytes->remove_prefix(view->size_);
  return absl::OkStatus();
}

Mutation MutationView::ToMutation() const {
  Mutation mutation;
  CopyTo(&mutation);
  return mutation;
}

void MutationView::CopyTo(Mutation* mutation) const {
  mutation->pid = pid();
  mutation->ballot = ballot();
  mutation->decree = decree();
  mutation->log_offset = log_offset();
  mutation->last_committed = last_committed();
  // Of a version above 64 the first field is a time of before 2017, and there is no timestamp.
  mutation->timestamp_us = Load<int64_t>(0) > kLastUnknownVersion ? 0 : Load<int64_t>(48);
  const auto count = static_cast<size_t>(Load<int32_t>(56));
  mutation->updates.resize(count);
  const char* descriptor = raw_ + kMutationHeaderBytes;
  const char* data = raw_ + data_at_;
  for (Update& update : mutation->updates) {
    const auto name_bytes = static_cast<size_t>(LoadLittle<int32_t>(descriptor));
    // One update is the usual case, and its code is known already. Others were found when the view
    // was taken, so the search cannot fail.
    update.code = count == 1 ? first_code_ : *FindWriteCode({descriptor + 4, name_bytes});
    update.serialization = LoadLittle<int32_t>(descriptor + 4 + name_bytes);
    const auto data_bytes = static_cast<size_t>(LoadLittle<int32_t>(descriptor + 8 + name_bytes));
    update.data.assign(data, data_bytes);
    descriptor += kNamelessUpdateBytes + name_bytes;
    data += data_bytes;
  }
}

}  // namespace arion
