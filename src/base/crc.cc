// SPDX-License-Identifier: Apache-2.0
#include "base/crc.h"

#include <array>

#include "base/coding.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace arion {
namespace {

// tables[s][b]: what byte b contributes when s more bytes follow it. So eight bytes are looked up
// independently of each other (slicing by eight).
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
// CRC-64 is mostly taken of keys, which are short: one table is enough, and leaves the cache to
// others.
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

// What a checksum becomes when kBytes zeros follow: linear, so a table for each of its bytes.
template <size_t kBytes>
struct ZeroShift {
  std::array<std::array<uint32_t, 256>, 4> tables;

  ZeroShift() {
    std::array<uint32_t, 32> bits;
    for (size_t bit = 0; bit < 32; ++bit) {
      // A checksum is a sum of its bits: what becomes of each bit gives all.
      uint32_t crc = 1u << bit;
      for (size_t i = 0; i < kBytes; ++i) crc = kCrc32cTables[0][crc & 255] ^ (crc >> 8);
      bits[bit] = crc;
    }
    for (size_t table = 0; table < 4; ++table)
      for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t crc = 0;
        for (size_t bit = 0; bit < 8; ++bit)
          if (byte >> bit & 1) crc ^= bits[8 * table + bit];
        tables[table][byte] = crc;
      }
  }
  uint32_t operator()(uint32_t crc) const {
    return tables[0][crc & 255] ^ tables[1][crc >> 8 & 255] ^ tables[2][crc >> 16 & 255] ^
           tables[3][crc >> 24];
  }
};

// The instruction takes three cycles but one can start in each: three thirds side by side.
template <size_t kThirdBytes>
__attribute__((target("sse4.2"))) uint64_t Crc32cInThirds(const char** bytes, size_t* n,
                                                          uint64_t crc) {
  static const ZeroShift<kThirdBytes> shift;
  const char* p = *bytes;
  for (; *n >= 3 * kThirdBytes; *n -= 3 * kThirdBytes, p += 3 * kThirdBytes) {
    uint64_t a = crc, b = 0, c = 0;
    for (size_t i = 0; i < kThirdBytes; i += 8) {
      a = _mm_crc32_u64(a, LoadLittle<uint64_t>(p + i));
      b = _mm_crc32_u64(b, LoadLittle<uint64_t>(p + kThirdBytes + i));
      c = _mm_crc32_u64(c, LoadLittle<uint64_t>(p + 2 * kThirdBytes + i));
    }
    crc = shift(shift(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b)) ^ c;
  }
  *bytes = p;
  return crc;
}

__attribute__((target("sse4.2"))) uint32_t Crc32cSse42(std::string_view bytes, uint32_t crc) {
  const char* p = bytes.data();
  size_t n = bytes.size();
  uint64_t wide = crc;
  // The large step pays off only for much data; what is left of it goes on in small ones, and the
  // rest in words and bytes.
  if (n >= 3 * 8192) wide = Crc32cInThirds<8192>(&p, &n, wide);
  if (n >= 3 * 256) wide = Crc32cInThirds<256>(&p, &n, wide);
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
  // Asked of the CPU once: builds run on machines of any age.
  static const Crc32cFunction function = ChooseCrc32c();
  // Inverted at both ends, so that zeros at the beginning count and a checksum can be continued.
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
  // Without a hash key all records would fall into one partition, so the sort key decides.
  if (hash_key_size == 0) return Crc64(raw_key.substr(2));
  if (2 + hash_key_size > raw_key.size()) return Crc64(raw_key);
  return Crc64(raw_key.substr(2, hash_key_size));
}

uint64_t MixedHash(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t RecordHash(std::string_view raw_key, std::string_view value, uint32_t expire_ts) {
  // 2^32 added: an expiry of 0 must not mix to 0.
  return MixedHash(MixedHash(Crc64(raw_key)) ^ MixedHash(Crc64(value) + value.size()) ^
                   MixedHash(uint64_t{expire_ts} + (uint64_t{1} << 32)));
}

}  // namespace arion
