// Mutex: a lock whose rules the compiler holds. A field that it guards says so by
// ABSL_GUARDED_BY(mutex_), a method that wants it held by ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_), and
// clang refuses what breaks that (tools/dev/thread_safety, in CI; g++ reads the words only).
//
//   void Add(Row row) {
//     const MutexLock lock(mutex_);
//     rows_.push_back(std::move(row));
//   }
//   Mutex mutex_;
//   std::vector<Row> rows_ ABSL_GUARDED_BY(mutex_);
//
// A std::mutex inside, and not absl::Mutex: ThreadSanitizer does not see what Debian's Abseil locks,
// and would call every use of it a race. A constructor and a destructor are not looked into: nobody
// else has the object yet, or any more. A lambda is looked into as a function of its own: one that
// runs under the lock says ABSL_EXCLUSIVE_LOCKS_REQUIRED, or calls AssertHeld.
//
// Threads   Thread-safe. Not recursive.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/base/thread_annotations.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace arion {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  // Tells the compiler what it can't see, that the caller's caller holds it. Checks nothing.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

// Holds the mutex from its construction to its end, except between Unlock and Lock. The gap is for
// calls that must not run under the lock: foreign callbacks, waits, the end of the last reference.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() ABSL_UNLOCK_FUNCTION() {
    if (is_held_) mutex_.Unlock();
  }

  void Unlock() ABSL_UNLOCK_FUNCTION() {
    is_held_ = false;
    mutex_.Unlock();
  }
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    mutex_.Lock();
    is_held_ = true;
  }

 private:
  Mutex& mutex_;
  bool is_held_ = true;
};

// Many that read or one that writes. For tables that nearly every request reads and that seldom
// change; elsewhere Mutex is cheaper.
class ABSL_LOCKABLE SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  void ReaderLock() ABSL_SHARED_LOCK_FUNCTION() { mutex_.lock_shared(); }
  void ReaderUnlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

// Holds the mutex for reading as long as it lives.
class ABSL_SCOPED_LOCKABLE ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) ABSL_SHARED_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.ReaderLock();
  }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;
  ~ReaderLock() ABSL_UNLOCK_FUNCTION() { mutex_.ReaderUnlock(); }

 private:
  SharedMutex& mutex_;
};

// Holds the mutex alone as long as it lives.
class ABSL_SCOPED_LOCKABLE WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  ~WriterLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }

 private:
  SharedMutex& mutex_;
};

// Waits, with the mutex held before and after, for what another thread changes under it. `is_over`
// runs with the mutex held:
//   changed_.Wait(mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !rows_.empty(); });
class ConditionVariable {
 public:
  template <class Predicate>
  void Wait(Mutex& mutex, Predicate is_over) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Adopted lock(mutex.mutex_);
    condition_.wait(lock.held, std::move(is_over));
  }
  // Whether it is over; false: the time is.
  template <class Predicate>
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds at_most, Predicate is_over)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Adopted lock(mutex.mutex_);
    return condition_.wait_for(lock.held, at_most, std::move(is_over));
  }
  // Until somebody notifies, the time is over, or for no reason.
  void WaitOnceFor(Mutex& mutex, std::chrono::nanoseconds at_most)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Adopted lock(mutex.mutex_);
    condition_.wait_for(lock.held, at_most);
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  // The caller's lock, as the standard library wants it; the caller keeps it.
  struct Adopted {
    explicit Adopted(std::mutex& mutex) : held(mutex, std::adopt_lock) {}
    ~Adopted() { held.release(); }
    std::unique_lock<std::mutex> held;
  };
  std::condition_variable condition_;
};

}  // namespace arion
