// EncodedRows: an answer whose rows are encoded one by one, as they are found. The bytes are those
// that EncodeWrapped gives for a MultiGetResponse or ScanResponse with these rows in `kvs`.
//
//   EncodedRows rows;
//   rows.Add(key, value);
//   std::string body = std::move(rows).Finish(response);  // response.kvs is empty
//
// Threads   One.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace arion {

// One answer's rows, made for one request and used up by Finish. Memory is that of the encoded
// bytes, once.
class EncodedRows {
 public:
  // `bytes_expected`: how much to make room for.
  explicit EncodedRows(size_t bytes_expected = 0);

  // One more row, behind the others.
  void Add(std::string_view key, std::string_view value,
           std::optional<int32_t> expire_ts_seconds = std::nullopt);
  // Of the rows so far, as they will be sent.
  size_t bytes() const { return bytes_.size(); }
  // The last row becomes the first.
  void Reverse();
  // The whole answer. `response` has no rows of its own.
  template <class Response>
  std::string Finish(const Response& response) &&;

 private:
  std::string bytes_;
  // Of the rows in bytes_.
  std::vector<uint32_t> starts_;
};

}  // namespace arion
