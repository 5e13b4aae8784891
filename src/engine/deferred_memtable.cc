// SPDX-License-Identifier: Apache-2.0
#include "engine/deferred_memtable.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/coding.h"
#include "base/log.h"
#include "base/mutex.h"

namespace arion {
namespace {

using rocksdb::KeyHandle;
using rocksdb::MemTableRep;
using rocksdb::Slice;

class DeferredMemtable : public MemTableRep {
 public:
  DeferredMemtable(const KeyComparator& compare, rocksdb::Allocator* allocator,
                   std::unique_ptr<MemTableRep> places)
      : MemTableRep(allocator), compare_(compare), places_(std::move(places)) {}

  KeyHandle Allocate(size_t len, char** buf) override {
    // In the skip list's own memory from the start: moving a record to its place later copies
    // nothing.
    const KeyHandle handle = places_->Allocate(len, buf);
    allocated_ = *buf;
    return handle;
  }
  void Insert(KeyHandle handle) override {
    const MutexLock lock(mutex_);
    // The first at once: it makes last_place_, and a sealed memtable must not take memory any more.
    if (last_place_ == nullptr) return PutIn(handle);
    waiting_.push_back({BeginningOf(allocated_), allocated_, handle});
    // Two go for each that comes, so none of an earlier sorting is left.
    if (waiting_.size() >= DeferredMemtableFactory::kWaitingMax) Sort();
    PutInSorted(2);
    anything_waits_.store(true, std::memory_order_release);
  }

  // Everything that looks at records goes through All, and so does what estimates: nobody can tell
  // that records waited.
  bool Contains(const char* key) const override { return All().Contains(key); }
  void Get(const rocksdb::LookupKey& key, void* args,
           bool (*take)(void* args, const char* entry)) override {
    All().Get(key, args, take);
  }
  uint64_t ApproximateNumEntries(const Slice& start, const Slice& end) override {
    return All().ApproximateNumEntries(start, end);
  }
  void UniqueRandomSample(uint64_t entries, uint64_t sample_size,
                          std::unordered_set<const char*>* sample) override {
    All().UniqueRandomSample(entries, sample_size, sample);
  }
  Iterator* GetIterator(rocksdb::Arena* arena) override { return All().GetIterator(arena); }

  void MarkReadOnly() override { places_->MarkReadOnly(); }
  void MarkFlushed() override { places_->MarkFlushed(); }
  size_t ApproximateMemoryUsage() override { return places_->ApproximateMemoryUsage(); }

 private:
  // Of a user key, zeros behind it: decides most comparisons without a look at the record.
  using Beginning = std::array<uint64_t, 2>;
  struct Waiting {
    Beginning beginning;
    const char* key;
    KeyHandle handle;
  };

  Beginning BeginningOf(const char* key) const {
    char bytes[sizeof(Beginning)] = {};
    const Slice user_key = UserKey(key);
    std::memcpy(bytes, user_key.data(), std::min(user_key.size(), sizeof bytes));
    return {LoadBig<uint64_t>(bytes), LoadBig<uint64_t>(bytes + 8)};
  }

  // With every record in its place.
  MemTableRep& All() const {
    if (anything_waits_.load(std::memory_order_acquire)) {
      const MutexLock lock(mutex_);
      PutInSorted(sorted_.size());
      Sort();
      PutInSorted(sorted_.size());
      anything_waits_.store(false, std::memory_order_release);
    }
    return *places_;
  }
  void Sort() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    CHECK(sorted_.empty());
    // Descending, so that the smallest is taken off the end, and each search begins where the one
    // before ended.
    sorted_.swap(waiting_);
    std::sort(sorted_.begin(), sorted_.end(), [this](const Waiting& a, const Waiting& b) {
      return a.beginning != b.beginning ? a.beginning > b.beginning : compare_(a.key, b.key) > 0;
    });
  }
  void PutInSorted(size_t count) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (count = std::min(count, sorted_.size()); count > 0; --count) {
      PutIn(sorted_.back().handle);
      sorted_.pop_back();
    }
  }
  void PutIn(KeyHandle handle) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    CHECK(places_->InsertKeyWithHint(handle, &last_place_)) << "a sequence number came twice";
  }

  const KeyComparator& compare_;
  const std::unique_ptr<MemTableRep> places_;
  char* allocated_ = nullptr;  // by Allocate, for the Insert that follows
  mutable std::atomic<bool> anything_waits_{false};
  mutable Mutex mutex_;
  mutable std::vector<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  mutable std::vector<Waiting> sorted_ ABSL_GUARDED_BY(mutex_);  // largest first
  mutable void* last_place_ ABSL_GUARDED_BY(mutex_) = nullptr;   // the skip list's
};

}  // namespace

MemTableRep* DeferredMemtableFactory::CreateMemTableRep(const MemTableRep::KeyComparator& compare,
                                                        rocksdb::Allocator* allocator,
                                                        const rocksdb::SliceTransform* transform,
                                                        rocksdb::Logger* logger) {
  std::unique_ptr<MemTableRep> places(
      SkipListFactory::CreateMemTableRep(compare, allocator, transform, logger));
  return new DeferredMemtable(compare, allocator, std::move(places));
}

}  // namespace arion
