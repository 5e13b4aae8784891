// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/allocation_limit.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace arion {
namespace {

std::atomic<size_t> limit{SIZE_MAX};

void* Allocate(size_t bytes) {
  if (bytes > limit.load(std::memory_order_relaxed)) {
    limit = SIZE_MAX;
    std::fprintf(stderr, "an allocation of %zu bytes exceeds the limit\n", bytes);
    std::abort();
  }
  void* block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

AllocationLimit::AllocationLimit(size_t bytes) : before_(limit.exchange(bytes)) {}
AllocationLimit::~AllocationLimit() { limit = before_; }

}  // namespace arion

void* operator new(size_t bytes) { return arion::Allocate(bytes); }
void* operator new[](size_t bytes) { return arion::Allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t) noexcept { std::free(block); }
