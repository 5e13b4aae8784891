// Counter: a number that only rises; counted anywhere, read by displays. Gauge: one that goes up
// and down.
//
// Threads   Thread-safe; nothing is ordered by it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace arion {

// It rises, and begins at 0 with the process. The owner counts; the registry only reads it
// (metrics/metric_registry.h), so counting costs one relaxed addition.
//
//   Counter refused_;
//   refused_.Add();                       // where it happens
//   page << refused_.value();             // any thread, any time
class Counter {
 public:
  void Add(int64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// A number of the moment. Set by one owner, or moved by Add from many; mixing both loses steps.
class Gauge {
 public:
  void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

}  // namespace arion
