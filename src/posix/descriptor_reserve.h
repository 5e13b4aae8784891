// DescriptorReserve: a few descriptors of the process that are held for what must not wait where
// its limit of open files is reached: the next file of a log, the sync of a name, a small file's
// rewriting.
//
// Shapes    Open gives a held one up where the limit is reached. Close keeps the descriptor that it
//           ends while the reserve lacks one, so what left it comes back before others can take it.
// Threads   Thread-safe. Open may wait for a disk.
// Lifetime  Held by shared_ptr by all whose files it opens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/mutex.h"

namespace arion {

// One for a process; the Environment makes it, and files and log devices share it.
//
//   const int fd = reserve->Open(path, O_RDWR | O_CREAT, 0644);   // also at the limit
//   ...
//   reserve->Close(fd);                                           // what was given up comes back
class DescriptorReserve {
 public:
  // Holds as many of `wanted` as the limit leaves.
  explicit DescriptorReserve(size_t wanted);
  ~DescriptorReserve();
  DescriptorReserve(const DescriptorReserve&) = delete;
  DescriptorReserve& operator=(const DescriptorReserve&) = delete;

  // open(2). It returns -1 and errno where the limit is reached and nothing is held any more.
  int Open(const std::string& path, int flags, mode_t mode);
  // close(2), for descriptors that Open returned.
  int Close(int fd);
  // False: the limit was reached, and what was given up is not back yet.
  bool is_whole() const { return is_whole_.load(std::memory_order_acquire); }
  // Whether those who can do without a descriptor should: none is left, or somebody knows that few
  // will be.
  bool is_scarce() const { return !is_whole() || scarce_.load(std::memory_order_relaxed); }
  void SetScarce(bool scarce) { scarce_.store(scarce, std::memory_order_relaxed); }
  // Takes back what it lacks, if the limit leaves it.
  void Refill();
  // How often the limit was met, also by those who open elsewhere and report it with NoteWant.
  int64_t wants() const { return wants_.load(std::memory_order_relaxed); }
  void NoteWant() { wants_.fetch_add(1, std::memory_order_relaxed); }

 private:
  // False: there was none to give up.
  bool GiveUpOne();

  const size_t wanted_;
  std::atomic<bool> is_whole_{false};
  std::atomic<bool> scarce_{false};
  std::atomic<int64_t> wants_{0};
  Mutex mutex_;
  // Descriptors of /dev/null, wanted_ of them when it is whole.
  std::vector<int> held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace arion
