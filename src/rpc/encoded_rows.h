// EncodedRows: an answer whose rows are encoded one by one, as they are found: the bytes that
// EncodeWrapped gives for a MultiGetResponse or ScanResponse with these rows in `kvs`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace arion {

class EncodedRows {
 public:
  explicit EncodedRows(size_t bytes_expected = 0);

  void Add(std::string_view key, std::string_view value,
           std::optional<int32_t> expire_ts_seconds = std::nullopt);
  size_t bytes() const { return bytes_.size(); }
  // The last row becomes the first.
  void Reverse();
  // The whole answer; `response` has no rows of its own.
  template <class Response>
  std::string Finish(const Response& response) &&;

 private:
  std::string bytes_;
  std::vector<uint32_t> starts_;  // of the rows in bytes_
};

}  // namespace arion
