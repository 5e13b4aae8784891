// SPDX-License-Identifier: Apache-2.0
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <thread>

namespace arion {
namespace {

// A value of several threads, as its rules are written.
class Box {
 public:
  void Put(int value) {
    const MutexLock lock(mutex_);
    value_ = value;
    is_full_ = true;
    changed_.NotifyAll();
  }
  int Await() {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_full_; });
    return value_;
  }
  bool AwaitFor(std::chrono::nanoseconds at_most) {
    const MutexLock lock(mutex_);
    return changed_.WaitFor(mutex_, at_most,
                            [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_full_; });
  }
  // What another thread puts while this one has let go.
  int PutMeanwhile(int value) {
    MutexLock lock(mutex_);
    lock.Unlock();
    std::thread([this, value] { Put(value); }).join();
    lock.Lock();
    return value_;
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  int value_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_full_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(MutexTest, OneThreadAtATimeHasIt) {
  Mutex mutex;
  int sum = 0;
  const auto add = [&] {
    for (int i = 0; i < 1000; ++i) {
      const MutexLock lock(mutex);
      ++sum;
    }
  };
  std::thread first(add), second(add);
  first.join();
  second.join();
  EXPECT_EQ(sum, 2000);
}

TEST(MutexTest, WhoWaitsSeesWhatWasPut) {
  Box box;
  std::thread putting([&] { box.Put(7); });
  EXPECT_EQ(box.Await(), 7);
  putting.join();
}

TEST(MutexTest, AWaitThatIsOverSaysSo) {
  Box box;
  EXPECT_FALSE(box.AwaitFor(std::chrono::nanoseconds(1)));
  box.Put(1);
  EXPECT_TRUE(box.AwaitFor(std::chrono::nanoseconds(1)));
}

TEST(MutexTest, BetweenUnlockAndLockOthersHaveIt) {
  Box box;
  EXPECT_EQ(box.PutMeanwhile(5), 5);
  EXPECT_EQ(box.Await(), 5);  // and it is free again
}

TEST(MutexTest, ReadersShareAndAWriterIsAlone) {
  SharedMutex mutex;
  int value = 0;
  {
    const ReaderLock lock(mutex);
    int seen = -1;
    std::thread([&] {
      const ReaderLock also(mutex);
      seen = value;
    }).join();
    EXPECT_EQ(seen, 0);
  }
  std::thread([&] {
    const WriterLock lock(mutex);
    value = 3;
  }).join();
  const ReaderLock lock(mutex);
  EXPECT_EQ(value, 3);
}

}  // namespace
}  // namespace arion
