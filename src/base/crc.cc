// SPDX-License-Identifier: Apache-2.0
#include "base/crc.h"

#include <array>

#include "base/coding.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace arion {
namespace {

template <class Word, Word kReflected, size_t kSlices>
constexpr std::array<std::array<Word, 256>, kSlices> MakeTables() {
  std::array<std::array<Word, 256>, kSlices> tables{};
  for (size_t i = 0; i < 256; ++i) {
    Word crc = static_cast<Word>(i);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kReflected : 0);
    tables[0][i] = crc;
  }
  for (size_t slice = 1; slice < kSlices; ++slice)
    for (size_t i = 0; i < 256; ++i)
      tables[slice][i] = (tables[slice - 1][i] >> 8) ^ tables[0][tables[slice - 1][i] & 255];
  return tables;
}

constexpr auto kCrc32cTables = MakeTables<uint32_t, 0x82F63B78u, 8>();
constexpr auto kCrc64Tables = MakeTables<uint64_t, 0x9A6C9329AC4BC9B5ull, 1>();

uint32_t Crc32cTable(std::string_view bytes, uint32_t crc) {
  const char* p = bytes.data();
  size_t n = bytes.size();
  for (; n >= 8; p += 8, n -= 8) {
    const uint64_t word = LoadLittle<uint64_t>(p) ^ crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= kCrc32cTables[7 - i][word >> (8 * i) & 255];
  }
  for (; n > 0; ++p, --n)
    crc = kCrc32cTables[0][(crc ^ static_cast<uint8_t>(*p)) & 255] ^ (crc >> 8);
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t Crc32cSse42(std::string_view bytes, uint32_t crc) {
  const char* p = bytes.data();
  size_t n = bytes.size();
  uint64_t wide = crc;
  for (; n >= 8; p += 8, n -= 8) wide = _mm_crc32_u64(wide, LoadLittle<uint64_t>(p));
  uint32_t narrow = static_cast<uint32_t>(wide);
  for (; n > 0; ++p, --n) narrow = _mm_crc32_u8(narrow, static_cast<uint8_t>(*p));
  return narrow;
}
#endif

using Crc32cFunction = uint32_t (*)(std::string_view, uint32_t);

Crc32cFunction ChooseCrc32c() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return Crc32cSse42;
#endif
  return Crc32cTable;
}

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t previous) {
  static const Crc32cFunction function = ChooseCrc32c();
  return ~function(bytes, ~previous);
}

uint64_t Crc64(std::string_view bytes) {
  uint64_t crc = ~0ull;
  for (const char c : bytes)
    crc = kCrc64Tables[0][(crc ^ static_cast<uint8_t>(c)) & 255] ^ (crc >> 8);
  return ~crc;
}

uint64_t PartitionHash(std::string_view raw_key) {
  if (raw_key.size() < 2) return Crc64(raw_key);
  const size_t hash_key_size = LoadBig<uint16_t>(raw_key.data());
  if (hash_key_size == 0) return Crc64(raw_key.substr(2));
  if (2 + hash_key_size > raw_key.size()) return Crc64(raw_key);
  return Crc64(raw_key.substr(2, hash_key_size));
}

}  // namespace arion
