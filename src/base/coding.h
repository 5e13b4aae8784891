// Fixed-width integers in byte strings, both byte orders. Readers never read past the end.
//
//   ByteReader reader(bytes);
//   const auto length = reader.Big<uint16_t>();
//   const std::string_view key = reader.Bytes(length);
//   if (!reader.ok()) return absl::DataLossError("cut short");
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace arion {

static_assert(std::endian::native == std::endian::little,
              "log files and RDSN headers are written as they lie in memory");

// The bytes of an integer in reverse order.
template <class T>
T ByteSwap(T v) {
  static_assert(std::is_integral_v<T>);
  if constexpr (sizeof(T) == 1) return v;
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<uint16_t>(v)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(v)));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<uint64_t>(v)));
}

// Load and Store need sizeof(T) bytes at the pointer, at any alignment. T is an integer, or for the
// Little ones any type that may be copied as bytes.
template <class T>
void StoreLittle(T v, char* to) {
  std::memcpy(to, &v, sizeof(T));
}
template <class T>
void StoreBig(T v, char* to) {
  v = ByteSwap(v);
  std::memcpy(to, &v, sizeof(T));
}
template <class T>
T LoadLittle(const char* from) {
  T v;
  std::memcpy(&v, from, sizeof(T));
  return v;
}
template <class T>
T LoadBig(const char* from) {
  return ByteSwap(LoadLittle<T>(from));
}
// Append adds sizeof(T) bytes at the end.
template <class T>
void AppendLittle(T v, std::string* out) {
  char buffer[sizeof(T)];
  StoreLittle(v, buffer);
  out->append(buffer, sizeof(T));
}
template <class T>
void AppendBig(T v, std::string* out) {
  char buffer[sizeof(T)];
  StoreBig(v, buffer);
  out->append(buffer, sizeof(T));
}

// Reads from the front of a byte string. After the first read past the end every read fails and
// yields zero, so the caller asks ok() once, at the end. Loops that take a count from the bytes ask
// it each time, or a hostile count costs time.
class ByteReader {
 public:
  // The bytes outlive the reader and the views it returns.
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  // The next sizeof(T) bytes as an integer; 0 past the end.
  template <class T>
  T Little() {
    std::string_view b = Bytes(sizeof(T));
    return ok_ ? LoadLittle<T>(b.data()) : T{};
  }
  template <class T>
  T Big() {
    std::string_view b = Bytes(sizeof(T));
    return ok_ ? LoadBig<T>(b.data()) : T{};
  }
  // The next n bytes, as views of the input. Empty past the end, where nothing is consumed.
  std::string_view Bytes(size_t n) {
    if (!ok_ || n > rest_.size()) {
      ok_ = false;
      return {};
    }
    std::string_view b = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return b;
  }
  // False from the first read past the end on.
  bool ok() const { return ok_; }
  // What was not read.
  std::string_view rest() const { return rest_; }

 private:
  // What was not read; once ok_ is false it stays as it is.
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace arion
