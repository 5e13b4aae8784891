// SPDX-License-Identifier: Apache-2.0
#include "duplication/duplicate_batches.h"

#include <optional>
#include <utility>

#include "base/crc.h"
#include "data_api/duplicated_writes.h"
#include "data_api/write_operations.h"
#include "messages/duplicate_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

bool IsRepeatable(WriteCode code) {
  return code == WriteCode::kPut || code == WriteCode::kRemove || code == WriteCode::kMultiPut ||
         code == WriteCode::kMultiRemove;
}

// 0 of what names no key: the receiver refuses it.
uint64_t HashOf(const Update& update) {
  const auto operation = WriteOperation::Decode(update.code, update.data);
  uint64_t hash = 0;
  if (operation.ok() && operation->IsAcceptable())
    operation->ForEachHashKey([&hash](std::string_view hash_key) { hash = Crc64(hash_key); });
  return hash;
}

class Maker {
 public:
  Maker(int8_t cluster_id, int64_t duplication_id)
      : cluster_id_(cluster_id), duplication_id_(duplication_id) {}

  // `number`: of the mutation's updates, from 1 on.
  void Add(const Mutation& mutation, const Update& update, int32_t number) {
    if (bytes_ > 0 && bytes_ + update.data.size() > kBatchBytes) Close();
    if (request_.entries.empty()) batch_.timestamp_us = mutation.timestamp_us;
    request_.entries.push_back({.timestamp_us = mutation.timestamp_us,
                                .task_code = Blob{std::string(WriteCodeName(update.code))},
                                // What our log says beside it is this cluster's own business.
                                .raw_message = Blob{WithoutTombstoneMark(update.code, update.data)},
                                .cluster_id = cluster_id_,
                                .source_decree = mutation.decree.value(),
                                .source_update = number});
    bytes_ += update.data.size();
    batch_.last = mutation.decree;
    last_ = &update;
  }
  void Close() {
    if (request_.entries.empty()) return;
    batch_.updates = static_cast<int64_t>(request_.entries.size());
    batch_.partition_hash = HashOf(*last_);
    request_.duplication_id = duplication_id_;
    batch_.body = EncodeWrapped(std::exchange(request_, {}));
    made_.batches.push_back(std::exchange(batch_, {}));
    bytes_ = 0;
  }
  DuplicateBatches& made() { return made_; }

 private:
  const int8_t cluster_id_;
  const int64_t duplication_id_;
  DuplicateRequest request_;
  DuplicateBatch batch_;
  uint64_t bytes_ = 0;
  const Update* last_ = nullptr;
  DuplicateBatches made_;
};

}  // namespace

DuplicateBatches MakeDuplicateBatches(absl::Span<const MutationPtr> history, int8_t cluster_id,
                                      int64_t duplication_id) {
  Maker maker(cluster_id, duplication_id);
  for (const MutationPtr& mutation : history) {
    int32_t number = 0;
    for (const Update& update : mutation->updates) {
      ++number;
      if (IsRepeatable(update.code))
        maker.Add(*mutation, update, number);
      else if (update.code != WriteCode::kEmpty && update.code != WriteCode::kDuplicate)
        ++maker.made().left_out;
    }
  }
  maker.Close();
  return std::move(maker.made());
}

}  // namespace arion
