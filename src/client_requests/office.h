// Office: what this server may do for one partition at this moment, as whoever serves its clients
// asks.
//
// Threads   Strand-bound.
// Promises  office/O1  MayServe and ReadGate allow nothing without the lease, nor after the replica
//               is closed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/error_code.h"
#include "base/ids.h"
#include "messages/configuration.h"
#include "pacifica/replica_core.h"

namespace arion {

// Implemented by the replica (replica/replica_office.h), which outlives the parts that ask. Every
// answer describes this moment: ask before an act, and again before its result counts.
class Office {
 public:
  virtual ~Office() = default;

  virtual bool IsClosed() const = 0;
  virtual bool HoldsLease() const = 0;
  // Open, with an engine and the lease.
  virtual bool MayServe() const = 0;
  // kOk, or the answer for a read.
  virtual ErrorCode ReadGate(ReadKind kind) const = 0;
  // kOk, or the answer a write would get from the protocol.
  virtual ErrorCode WriteGate() const = 0;
  // A full disk, ours or a member's, is noticed before anything is logged.
  virtual ErrorCode SpaceGate() const = 0;
  // Primary, or on the way back from a change of its configuration.
  virtual bool MayBePrimaryAgain() const = 0;
  // Its configuration is about to be known: what clients ask meanwhile is held.
  virtual bool IsBetweenConfigurations() const = 0;

  virtual Ballot ballot() const = 0;
  virtual const AppInfo& app() const = 0;
  // Rises when app() changes.
  virtual uint64_t app_serial() const = 0;
};

}  // namespace arion
