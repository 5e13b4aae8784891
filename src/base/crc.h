// Checksums of the formats, and the hash that spreads keys over partitions. They find accidents,
// not forgers.
//
// Threads   Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace arion {

// CRC-32C (Castagnoli, reflected 0x82F63B78, init and xorout ones); the check value of
// "123456789" is 0xE3069283. `previous` continues a checksum: Crc32c(b, Crc32c(a)) == Crc32c(a+b).
// SSE4.2 where the CPU has it.
uint32_t Crc32c(std::string_view bytes, uint32_t previous = 0);

// CRC-64/NVME (reflected 0x9A6C9329AC4BC9B5); check value AE8B14860A799888. Empty input: 0.
uint64_t Crc64(std::string_view bytes);

// The hash that chooses a raw key's partition (engine/FORMAT.md 5.1): of its hash key, or of
// its sort key if the hash key is empty. A raw key shorter than it says is hashed whole.
uint64_t PartitionHash(std::string_view raw_key);
inline uint64_t PartitionHash(std::string_view hash_key, std::string_view sort_key) {
  return Crc64(hash_key.empty() ? sort_key : hash_key);
}

// A change of one bit changes half of the result's (splitmix64's finalizer).
uint64_t MixedHash(uint64_t x);
// Of a record as users see it. Such hashes add up (modulo 2^64) to the sum of a set of records, in
// any order: sums of plain checksums would hide errors that cancel each other. Servers and tools of
// different versions compare sums (rpc/PROTOCOL.md 6.5): it never changes.
uint64_t RecordHash(std::string_view raw_key, std::string_view value, uint32_t expire_ts);

}  // namespace arion
