// DuplicationChecker: what one cluster applied of the writes that another one sent it, held against
// what was applied there; and what the senders say of it.
//
// Shapes    A record's states, at either side: what each write made of it, in the order in which
//           the cluster applied them, however many members did. A state at the receiver is one of
//           the source if kind, value, expiry and time are equal. Partitions have the source's ids.
// Threads   One: the world's.
// Demands   duplication_checker/D1  What the receiver applies to a record is a sequence of runs of
//               the source's states. Each run begins at, before, or next behind the end of the one
//               before it: states may come again, none is left out. What the receiver's
//               checkpoint held is where it begins.
//           duplication_checker/D2  What is confirmed, which is to say stored by the source's meta
//               server as received, never falls. No run goes back to a state that was
//               confirmed a minute before the record became what it is: a sender begins behind
//               what it was told last, and may be told late.
//           duplication_checker/D3  Who says that a decree has been received says so after the
//               receiver has applied everything up to it.
//           duplication_checker/D4  Each member of the source has its log back to what is
//               confirmed.
//           duplication_checker/D5  No sender stops because its log no longer has what follows.
//           duplication_checker/D6  A checkpoint that the receiver begins with holds all that is
//               not sent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/types/span.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/instant.h"
#include "engine/engine.h"
#include "messages/meta_messages.h"
#include "sim_checkers/checkers.h"
#include "sim_checkers/record_states.h"

namespace arion::sim {

// One for two clusters. It is told what happens, in the order in which it does.
class DuplicationChecker {
 public:
  using Ops = absl::Span<const WriteOp>;
  // `source_id`: what marks the source's writes.
  explicit DuplicationChecker(uint8_t source_id) : source_id_(source_id) {}

  // The receiver's tables are made from checkpoints.
  void BeginWithCheckpoints() { begins_with_checkpoints_ = true; }
  // Some member of either side applied it.
  void AtSource(PartitionId pid, Decree decree, int64_t timestamp_us, Ops ops);
  void AtReceiver(PartitionId pid, Decree decree, Ops ops, Instant now);
  // A server of the source says it to its meta server.
  void Said(PartitionId pid, const DuplicationConfirmEntry& entry);
  // The meta server of the source has stored it.
  void Stored(PartitionId pid, Decree confirmed, Instant now);
  // A replica of the source, `server` being the name of one of its lives: under which ballot it is
  // a member (nullopt: it is none), and where its log begins.
  void Looked(const std::string& server, PartitionId pid, std::optional<Ballot> member_under,
              Decree log_begins);

  // What was wrong up to now; at most one sentence about each record.
  Violations Judge() const;

  // States that the receiver applied, and those of them that it had applied before.
  int64_t received() const { return received_; }
  int64_t CountAgain() const;

 private:
  // At the source.
  struct State {
    RecordState made;
    Decree decree;
  };
  struct Received {
    RecordState made;
    // What was stored as confirmed a minute before.
    Decree confirmed = kInvalidDecree;
    // How many things had been told before.
    int64_t moment = 0;
  };
  struct Record {
    std::vector<State> source;
    std::vector<Received> receiver;
  };
  struct Claim {
    Decree decree;
    int64_t moment = 0;
  };
  struct Partition {
    Decree at_source, at_receiver;
    // The receiver began with the source's checkpoint of this decree.
    Decree copied = kInvalidDecree;
    Decree confirmed = kInvalidDecree;
    // Since when; the first one is what it was a minute ago.
    std::deque<std::pair<Instant, Decree>> confirmed_since;
    // Each larger than the one before. The first is where the duplication begins.
    std::vector<Claim> claims;
    // By raw key.
    std::map<std::string, Record> records;
  };
  // What a record's states at the receiver come to.
  struct Course {
    std::string violation;
    int64_t again = 0;
    // When each state of the source was received first; -1: never.
    std::vector<int64_t> first;
  };
  static Decree BeginOf(const Partition& partition);
  static Course Follow(const Partition& partition, const Record& record);
  static std::string FalseClaim(const Partition& partition, const Record& record,
                                const Course& course);

  const uint8_t source_id_;
  bool begins_with_checkpoints_ = false;
  std::map<PartitionId, Partition> partitions_;
  std::set<PartitionId> stopped_;
  int64_t moment_ = 0;
  int64_t received_ = 0;
  Violations violations_;
};

}  // namespace arion::sim
