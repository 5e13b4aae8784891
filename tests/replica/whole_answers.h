// The answers of data_api/read_operations.h together with their rows, as a client decodes them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <utility>

#include "base/status.h"
#include "data_api/read_operations.h"
#include "rpc/encoded_rows.h"
#include "rpc/thrift_codec.h"

namespace arion {

// All turns of it; how many they were.
inline absl::StatusOr<MultiGetResponse> WholeMultiGet(const EngineView& view,
                                                      const MultiGetRequest& request,
                                                      const ReadTerms& terms,
                                                      int* turns = nullptr) {
  ReadPlace place;
  for (;;) {
    EncodedRows rows;
    ASSIGN_OR_RETURN(const auto response,
                     MultiGet(view, request, terms, ReadTier::kAll, &rows, &place));
    if (turns != nullptr) ++*turns;
    if (response) return DecodeWrapped<MultiGetResponse>(std::move(rows).Finish(*response));
  }
}
inline absl::StatusOr<CountResponse> WholeCount(const EngineView& view, std::string_view hash_key,
                                                const ReadTerms& terms, int* turns = nullptr) {
  ReadPlace place;
  for (;;) {
    ASSIGN_OR_RETURN(const auto response, CountSortKeys(view, hash_key, terms, &place));
    if (turns != nullptr) ++*turns;
    if (response) return *response;
  }
}

inline absl::StatusOr<ScanResponse> WholeBatch(ScanCursor& cursor, const ReadTerms& terms,
                                               int64_t next_id) {
  EncodedRows rows;
  ASSIGN_OR_RETURN(const ScanResponse response, cursor.NextBatch(terms, next_id, &rows));
  return DecodeWrapped<ScanResponse>(std::move(rows).Finish(response));
}

}  // namespace arion
