// The answers of replica/read_operations.h together with their rows, as a client decodes them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <utility>

#include "base/status.h"
#include "replica/read_operations.h"
#include "rpc/thrift_codec.h"

namespace arion {

inline absl::StatusOr<MultiGetResponse> WholeMultiGet(const EngineView& view,
                                                      const MultiGetRequest& request,
                                                      const ReadTerms& terms) {
  EncodedRows rows;
  ASSIGN_OR_RETURN(const MultiGetResponse response,
                   MultiGet(view, request, terms, ReadTier::kAll, &rows));
  return DecodeWrapped<MultiGetResponse>(std::move(rows).Finish(response));
}

inline absl::StatusOr<ScanResponse> WholeBatch(ScanCursor& cursor, const ReadTerms& terms,
                                               int64_t next_id) {
  EncodedRows rows;
  ASSIGN_OR_RETURN(const ScanResponse response, cursor.NextBatch(terms, next_id, &rows));
  return DecodeWrapped<ScanResponse>(std::move(rows).Finish(response));
}

}  // namespace arion
