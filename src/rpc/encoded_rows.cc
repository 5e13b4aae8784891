// The fields before and after the rows are taken from EncodeWrapped of the answer without rows.
// Between them stand the rows, which alone are encoded by hand, each as it is found.
// SPDX-License-Identifier: Apache-2.0
#include "rpc/encoded_rows.h"

#include <utility>

#include "base/coding.h"
#include "base/log.h"
#include "messages/client_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

// Types of fields in Thrift's binary protocol; a blob is bytes that claim to be a struct.
constexpr char kI32 = 8;
constexpr char kBlob = 12;

// What is before the rows: the wrapper's field, `error`, and the list's field with its element type
// and count.
constexpr size_t kFieldBytes = 1 + 2;
constexpr size_t kCountAt = kFieldBytes + (kFieldBytes + 4) + kFieldBytes + 1;
constexpr size_t kRowsAt = kCountAt + 4;

// A field's beginning, and four bytes of it or of its length.
struct Field {
  Field(char type, char id, uint32_t number) : bytes{type, 0, id} {
    StoreBig(number, bytes + kFieldBytes);
  }
  char bytes[kFieldBytes + 4];
};

}  // namespace

EncodedRows::EncodedRows(size_t bytes_expected) {
  bytes_.reserve(kRowsAt + bytes_expected);
  // Room for what stands before the rows, which only Finish knows.
  bytes_.assign(kRowsAt, '\0');
}

void EncodedRows::Add(std::string_view key, std::string_view value,
                      std::optional<int32_t> expire_ts_seconds) {
  starts_.push_back(static_cast<uint32_t>(bytes_.size()));
  const Field of_key(kBlob, 1, static_cast<uint32_t>(key.size()));
  const Field of_value(kBlob, 2, static_cast<uint32_t>(value.size()));
  bytes_.append(of_key.bytes, sizeof(of_key)).append(key);
  bytes_.append(of_value.bytes, sizeof(of_value)).append(value);
  if (expire_ts_seconds) {
    const Field of_expiry(kI32, 3, static_cast<uint32_t>(*expire_ts_seconds));
    bytes_.append(of_expiry.bytes, sizeof(of_expiry));
  }
  bytes_.push_back('\0');
}

void EncodedRows::Reverse() {
  // Row by row into a second string: rows differ in length, so they can't change places where they
  // are.
  std::string reversed;
  reversed.reserve(bytes_.size());
  reversed.append(bytes_, 0, kRowsAt);
  std::vector<uint32_t> starts;
  size_t end = bytes_.size();
  for (size_t i = starts_.size(); i-- > 0; end = starts_[i]) {
    starts.push_back(static_cast<uint32_t>(reversed.size()));
    reversed.append(bytes_, starts_[i], end - starts_[i]);
  }
  bytes_ = std::move(reversed);
  starts_ = std::move(starts);
}

template <class Response>
std::string EncodedRows::Finish(const Response& response) && {
  CHECK(response.kvs.empty());
  // An empty list is written too: up to its count the bytes are what precedes the rows, behind it
  // what follows them.
  const std::string others = EncodeWrapped(response);
  others.copy(bytes_.data(), kCountAt);
  StoreBig(static_cast<uint32_t>(starts_.size()), bytes_.data() + kCountAt);
  bytes_.append(others, kRowsAt);
  return std::move(bytes_);
}

template std::string EncodedRows::Finish(const MultiGetResponse& response) &&;
template std::string EncodedRows::Finish(const ScanResponse& response) &&;

}  // namespace arion
