// ZerosAhead: how much zero-filled space the logs of one device hold ready.
//
// Threads   ZerosAhead is thread-safe; a ZerosTaken belongs to the log that took it, and its thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace arion {

// What logs may hold ready by default.
constexpr uint64_t kZerosAheadBytesMax = uint64_t{8} << 30;

// What the logs of one disk hold ready beyond what they wrote: spares, dropped files that will be
// written again, and the steps by which files grow. Each log may have small steps without asking.
class ZerosAhead {
 public:
  explicit ZerosAhead(uint64_t bytes_max) : bytes_max_(bytes_max) {}
  // False: that would be too many.
  bool Take(uint64_t bytes);
  void GiveBack(uint64_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  const uint64_t bytes_max_;
  std::atomic<uint64_t> bytes_{0};
};

// A part of ZerosAhead that one log has taken; the destructor gives it back. Move-only.
class ZerosTaken {
 public:
  // Nothing can be taken.
  ZerosTaken() = default;
  explicit ZerosTaken(std::shared_ptr<ZerosAhead> from) : from_(std::move(from)) {}
  ZerosTaken(ZerosTaken&& other) noexcept
      : from_(other.from_),  // NOLINT: `other` can take again
        bytes_(std::exchange(other.bytes_, 0)) {}
  ZerosTaken& operator=(ZerosTaken&& other) noexcept {
    ShrinkTo(0);
    from_ = other.from_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~ZerosTaken() { ShrinkTo(0); }

  // Takes more. False: nothing more was taken.
  bool Take(uint64_t more) {
    if (from_ == nullptr || !from_->Take(more)) return false;
    bytes_ += more;
    return true;
  }
  // Gives back what is beyond `bytes`.
  void ShrinkTo(uint64_t bytes) {
    if (bytes < bytes_) from_->GiveBack(std::exchange(bytes_, bytes) - bytes);
  }

 private:
  std::shared_ptr<ZerosAhead> from_;
  uint64_t bytes_ = 0;
};

}  // namespace arion
