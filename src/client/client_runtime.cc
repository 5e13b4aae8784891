// SPDX-License-Identifier: Apache-2.0
#include "client/client_runtime.h"

#include <atomic>

#include "client/client_core.h"

namespace arion {
namespace {

// Threads are numbered as they come, so that a few of them spread evenly over the cores.
size_t NumberOfThisThread() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

ClientRuntime::ClientRuntime(const Clock& clock, std::vector<std::unique_ptr<ClientCore>> cores)
    : clock_(clock), cores_(std::move(cores)) {}
ClientRuntime::~ClientRuntime() = default;

ClientCore& ClientRuntime::NearestCore() {
  for (const auto& core : cores_) {
    if (core->IsMine()) return *core;
  }
  return *cores_[NumberOfThisThread() % cores_.size()];
}

const std::string& ClientRuntime::Keep(std::string_view text) {
  const MutexLock lock(mutex_);
  // A set's strings do not move when others come.
  return *kept_.emplace(text).first;
}

}  // namespace arion
