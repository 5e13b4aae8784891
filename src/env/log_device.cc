// SPDX-License-Identifier: Apache-2.0
#include "env/log_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace arion {

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  if (this != &other) {
    std::free(data_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  return *this;
}

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

void AlignedBuffer::Reserve(size_t capacity) {
  if (capacity <= capacity_) return;
  // Doubling, so that a block that grows record by record is copied seldom.
  const size_t doubled = std::max(capacity, capacity_ * 2);
  const size_t rounded = (doubled + kAlignment - 1) / kAlignment * kAlignment;
  char* grown = static_cast<char*>(std::aligned_alloc(kAlignment, rounded));
  CHECK(grown != nullptr) << "out of memory: " << rounded << " bytes";
  if (size_ > 0) std::memcpy(grown, data_, size_);
  std::free(data_);
  data_ = grown;
  capacity_ = rounded;
}

void AlignedBuffer::Resize(size_t size) {
  Reserve(size);
  if (size > size_) std::memset(data_ + size_, 0, size - size_);
  size_ = size;
}

char* AlignedBuffer::Extend(size_t bytes) {
  Reserve(size_ + bytes);
  char* const begin = data_ + size_;
  size_ += bytes;
  return begin;
}

}  // namespace arion
