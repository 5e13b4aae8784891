// MutationView: a mutation's raw form (base/mutation.h), checked, nothing copied. Smaller than the
// smallest mutation, so a list of views costs less than the bytes they point to.
//
// Threads   Pure.
// Lifetime  Points into the bytes it was taken from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string_view>

#include "base/coding.h"
#include "base/ids.h"
#include "base/mutation.h"

namespace arion {

// Made by TakeMutationView; a default one may only be assigned to. A log's reader makes a list of
// them for each block, judges, and copies only what is wanted.
//
//   MutationView view;
//   while (!body.empty()) {
//     RETURN_IF_ERROR(TakeMutationView(&body, &view));
//     if (view.decree() >= first) learned.push_back(view.ToMutation());
//   }
class MutationView {
 public:
  PartitionId pid() const { return {Load<int32_t>(8), Load<int32_t>(12)}; }
  Ballot ballot() const { return Ballot(Load<int64_t>(16)); }
  Decree decree() const { return Decree(Load<int64_t>(24)); }
  int64_t log_offset() const { return Load<int64_t>(32); }
  Decree last_committed() const { return Decree(Load<int64_t>(40)); }
  // Of the raw form.
  size_t size() const { return size_; }

  // A copy that owns its bytes.
  Mutation ToMutation() const;
  // The same into *mutation, whose content is replaced and whose memory is used again.
  void CopyTo(Mutation* mutation) const;

 private:
  friend absl::Status TakeMutationView(std::string_view* bytes, MutationView* view);
  template <class T>
  T Load(size_t at) const {
    return LoadLittle<T>(raw_ + at);
  }

  const char* raw_ = nullptr;
  size_t size_ = 0;
  // Where the updates' data begin.
  uint32_t data_at_ = 0;
  // Of the first update.
  WriteCode first_code_ = WriteCode::kEmpty;
};
static_assert(sizeof(MutationView) < kMutationHeaderBytes / 2);

// Takes one mutation from the front of *bytes (up to 4 GiB); errors as TakeMutation.
absl::Status TakeMutationView(std::string_view* bytes, MutationView* view);

}  // namespace arion
