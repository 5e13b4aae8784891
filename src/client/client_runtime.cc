// SPDX-License-Identifier: Apache-2.0
#include "client/client_runtime.h"

#include <algorithm>
#include <atomic>

#include "base/status.h"

namespace arion {
namespace {

// Threads are numbered as they come, so that a few of them spread evenly over the cores.
size_t NumberOfThisThread() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

absl::StatusOr<std::vector<Endpoint>> ClientRuntime::ParseEndpoints(
    const std::vector<std::string>& texts) {
  std::vector<Endpoint> endpoints;
  for (const std::string& text : texts) {
    std::optional<Endpoint> endpoint = Endpoint::Parse(text);
    if (!endpoint.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("meta server \"", text, "\" is not IPv4:port, as in 127.0.0.1:34601"));
    }
    endpoints.push_back(*endpoint);
  }
  if (endpoints.empty()) return absl::InvalidArgumentError("no meta server given");
  return endpoints;
}

ClientRuntime::ClientRuntime(const ClusterClientOptions& options, int threads) {
  for (int i = 0; i < threads; ++i) cores_.push_back(std::make_unique<ClientCore>(options));
}

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

void ClientRuntime::Stop() {
  for (const auto& core : cores_) core->Stop();
}

}  // namespace arion
