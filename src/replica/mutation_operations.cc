// SPDX-License-Identifier: Apache-2.0
#include "replica/mutation_operations.h"

#include "base/coding.h"
#include "base/status.h"
#include "rpc/thrift_codec.h"

namespace arion {

absl::StatusOr<MutationOperations> MutationOperations::Decode(const Mutation& mutation) {
  MutationOperations decoded;
  decoded.requests_.reserve(mutation.updates.size());
  decoded.ops_.reserve(mutation.updates.size());
  for (const Update& update : mutation.updates) {
    WriteOp::Kind kind = WriteOp::Kind::kPut;
    UpdateRequest request;
    switch (update.code) {
      case WriteCode::kEmpty:
        continue;
      case WriteCode::kPut: {
        ASSIGN_OR_RETURN(request, DecodeWrapped<UpdateRequest>(update.data));
        break;
      }
      case WriteCode::kRemove: {
        ASSIGN_OR_RETURN(request.key, DecodeWrapped<Blob>(update.data));
        kind = WriteOp::Kind::kRemove;
        break;
      }
      default:
        return absl::UnimplementedError(absl::StrCat("decree ", mutation.decree.value(),
                                                     " holds a ", Text(WriteCodeName(update.code)),
                                                     ", which this version does not apply"));
    }
    if (!IsWellFormedRawKey(request.key.bytes))
      return absl::InvalidArgumentError(absl::StrCat("decree ", mutation.decree.value(),
                                                     " holds a key shorter than it declares"));
    decoded.requests_.push_back(std::move(request));
    const UpdateRequest& kept = decoded.requests_.back();
    decoded.ops_.push_back({.kind = kind,
                            .key = kept.key.bytes,
                            .value = kept.value.bytes,
                            .expire_ts = static_cast<uint32_t>(kept.expire_ts_seconds)});
  }
  return decoded;
}

bool IsWellFormedRawKey(std::string_view raw_key) {
  return raw_key.size() >= 2 && raw_key.size() - 2 >= LoadBig<uint16_t>(raw_key.data());
}

}  // namespace arion
