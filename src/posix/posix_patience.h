// RunWithPatience: asks disks something without waiting for one that hangs.
//
// Threads   Each job runs on a thread of its own, at once. One that is too late goes on after the
//           call has returned, so it shares nothing with the caller but what it holds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/time/time.h>

#include <functional>
#include <vector>

namespace arion {

// Runs `jobs` at once and returns when all are done or `patience` is over: which of them are done,
// in their order. For starts and checks, where one hanging disk must not keep the others waiting.
//
//   auto found = std::make_shared<Found>();      // shared: a late job may outlive the caller
//   RunWithPatience({[found] { found->Look("/data/1"); }}, absl::Seconds(5));
std::vector<bool> RunWithPatience(std::vector<std::function<void()>> jobs, absl::Duration patience);

}  // namespace arion
