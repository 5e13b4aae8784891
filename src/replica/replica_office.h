// ReplicaOffice: what this server may do for one partition at this moment: whether its lease is
// held, whether clients may read or write here, whether there is room for what is written.
//
// Shapes    A lease is held in terms (membership/server_lease.h): one that was lost and regained
//           before this replica heard of it does not count.
// Threads   Strand-bound.
// Lifetime  A part of a replica, beside its core and its engine, which outlive it.
// Promises  replica_office/O1  The lease is held only in the term that Connect told last.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "client_requests/office.h"
#include "env/clock.h"
#include "env/environment.h"
#include "messages/replication_messages.h"
#include "pacifica/replica_core.h"
#include "replica/replica_host.h"

namespace arion {

class Engine;
struct ReplicaHost;

// Made before the replica's other parts. It holds no state of the protocol: it asks the core.
class ReplicaOffice : public Office {
 public:
  // `disk` of the data, `log_disk` of the log. `engine`: the owner's; null while it is exchanged.
  ReplicaOffice(std::shared_ptr<const ReplicaHost> host, const ReplicaCore& core,
                const std::shared_ptr<Engine>& engine, size_t disk, size_t log_disk,
                std::function<std::string()> tag)
      : host_(std::move(host)),
        core_(core),
        engine_(engine),
        disk_(disk),
        log_disk_(log_disk),
        tag_(std::move(tag)) {}

  // The lease is held under `term`.
  void Connect(uint64_t term) {
    is_connected_ = true;
    lease_term_ = term;
  }
  void LoseLease() { is_connected_ = false; }
  void Close() { is_closed_ = true; }
  // What that member says of its disks; it may be no member any more.
  void NoteSpaceOf(Endpoint member, DiskStatus status);

  bool IsClosed() const override { return is_closed_; }
  bool HoldsLease() const override {
    return is_connected_ && host_->lease->Holds(lease_term_, host_->env.clock().Now());
  }
  bool MayServe() const override { return !is_closed_ && engine_ != nullptr && HoldsLease(); }
  ErrorCode ReadGate(ReadKind kind) const override {
    return MayServe() ? core_.ReadGate(kind) : ErrorCode::kInvalidState;
  }
  ErrorCode WriteGate() const override { return core_.WriteGate(); }
  ErrorCode SpaceGate() const override;
  bool MayBePrimaryAgain() const override;
  bool IsBetweenConfigurations() const override;
  Ballot ballot() const override { return core_.ballot(); }
  const AppInfo& app() const override { return core_.app(); }
  uint64_t app_serial() const override { return core_.app_serial(); }

  // For other threads, and for longer than this lives: whether the lease that holds now still does.
  std::function<bool()> Lease() const {
    if (!is_connected_) return [] { return false; };
    return [host = host_, term = lease_term_] {
      return host->lease->Holds(term, host->env.clock().Now());
    };
  }
  // It is primary of others, or an update of its configuration is in flight.
  bool IsHeld() const;
  bool IsPrimaryOfOthers() const {
    return core_.role() == PartitionStatus::kPrimary && !core_.configuration().secondaries.empty();
  }
  bool IsMember() const {
    return core_.role() == PartitionStatus::kPrimary || core_.role() == PartitionStatus::kSecondary;
  }

 private:
  const std::shared_ptr<const ReplicaHost> host_;
  const ReplicaCore& core_;
  const std::shared_ptr<Engine>& engine_;
  const size_t disk_;
  const size_t log_disk_;
  const std::function<std::string()> tag_;
  bool is_connected_ = false;
  uint64_t lease_term_ = 0;
  bool is_closed_ = false;
  // Said that they lack space; may be no members any more.
  std::set<Endpoint> full_members_;
};

}  // namespace arion
