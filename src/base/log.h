// The one door to glog: LOG(INFO|WARNING|ERROR), LOG_EVERY_N, and CHECK*, which stays on in
// release.
//
// CHECK states an invariant: when it fails we are wrong, and the process stops before it spreads.
// Nothing that came from a network or a disk may reach one unchecked. A log line marks a change of
// state, once, led by [partition ballot decree] where there is one.
//
//   LOG(WARNING) << "[" << pid << "] log waits for space: " << status.message();
//   CHECK_GE(after.ballot, before.ballot) << "invariants/R3";
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <glog/logging.h>
