// ClientWrites: clients' writes to one partition, from the request to the core's event, and from
// its answer to the client.
//
// Shapes    A write enters the order of its hash keys (data_api/write_order.h). One that needs a
//           record looks at it when its turn comes: behind the barrier of a new primary, in the
//           cache or through the disk's pool. What waits for others is 64 MiB at most. A DUPLICATE
//           is refused as a whole or not at all. Of one that may come twice, or where both clusters
//           write the table, what is new is logged: it looks at all its records when its turn comes
//           (data_api/duplicate_judge.h).
// Threads   Strand-bound.
// Lifetime  A part of a replica, beside its ServedPartition and its Admission.
// Promises  client_writes/W1  A write that needs a record is decided once, under the ballot in
//               which it is ordered, by what it looked at after every earlier write to its hash
//               key.
//           client_writes/W2  Begin is not recursive, though what it begins may end at once and let
//               others begin.
//           client_writes/W3  What is ordered has keys of this partition only, by the count of that
//               moment: a record that nobody would find is not acknowledged.
//           client_writes/W4  A mutation's time is later than that of each one before, and than
//               those of all duplicated writes in it: a client's write has a later time than what
//               it replaces.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/container/inlined_vector.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/duplication_group.h"
#include "client_requests/client_request.h"
#include "data_api/write_operations.h"
#include "data_api/write_order.h"
#include "pacifica/effects.h"
#include "pacifica/events.h"
#include "stats/write_times.h"

namespace arion {

class Admission;
class DuplicateJudge;
struct ServedPartition;

// One for each replica. Write enters a request; Begin is called whenever the office, the watermarks
// or the order may let one go on; Answer comes from the core. Close ends it.
class ClientWrites {
 public:
  struct Hooks {
    // A number larger than all before.
    std::function<ClientToken()> new_token;
    // Gives it to the core, which may answer at once.
    std::function<void(ClientWrite)> order;
    // Whether what is written here goes to another cluster, so that both may write the table.
    std::function<bool()> is_duplicated;
  };
  struct Options {
    // Of one write; 0: no limit.
    uint64_t request_bytes_max = 0;
    // Whose writes are taken.
    DuplicationGroup duplication_group;
    // What another cluster's write may take until it is done here without being counted as late.
    absl::Duration duplicate_lag_max = absl::Seconds(10);
  };
  ClientWrites(const ServedPartition& partition, Admission& admission, Options options, Hooks hooks)
      : partition_(partition),
        admission_(admission),
        options_(std::move(options)),
        hooks_(std::move(hooks)) {}

  // Checks the request and enters it; it is answered in any case.
  void Write(WriteCode code, InboundRequest request, RequestTimes times);
  // Begins the writes whose turn has come; to be called when something that they wait for may have
  // happened.
  void Begin();
  // The core's answer to one write. `now`: the time of the step that gave it.
  void Answer(const ClientReply& reply, Instant now);
  // Answers all writes that the core does not have with `error`.
  void RefuseUndecided(ErrorCode error);
  // Answers all writes, with an unknown outcome where the core has them.
  void Close();

  // Whether some have been admitted that the core does not have.
  bool HasUndecided() const { return undecided_bytes_ > 0; }
  // When the mutations of writes under way passed their stages.
  WriteTimes& times() { return times_; }

 private:
  // Nearly always one.
  using Hashes = absl::InlinedVector<uint64_t, 1>;
  struct UnderWay {
    enum class Phase : uint8_t {
      // Waits for others, or its turn is about to come.
      kEntered,
      // Waits until reads are allowed: a new primary must have applied what former terms left.
      kBarrier,
      // Waits for the disk.
      kReading,
      // The core has it.
      kOrdered,
    };
    Phase phase = Phase::kEntered;
    ClientAnswer responder;
    // Until it is decided.
    std::optional<WriteOperation> operation;
    // From then on; without its updates.
    WriteOutcome outcome;
    WriteCode code = WriteCode::kPut;
    Instant deadline;
    // Of its hash keys, each once.
    Hashes hashes;
    uint64_t bytes = 0;
    // Of a DUPLICATE: when its writes were ordered in their cluster; microseconds since 1970.
    std::vector<int64_t> source_times_us;
    // What it writes depends on records.
    bool is_decided = false;
  };
  enum class Throttles : uint8_t { kToBeAsked, kPassed };
  void Write(WriteCode code, ClientRequest request, Instant deadline, Throttles throttles);
  // Whether a body of so many bytes is beyond what one write may have.
  bool IsOversized(WriteCode code, uint64_t bytes);
  void Enter(WriteCode code, ClientRequest request, Instant deadline);
  void EnterDuplicate(ClientRequest request, Instant deadline);
  // `source_times_us`, `is_decided`: as UnderWay.
  void Enter(WriteOperation operation, std::vector<int64_t> source_times_us, bool is_decided,
             ClientRequest request, Instant deadline);
  void BeginOne(ClientToken token, UnderWay& write);
  void Drop(ClientToken token, UnderWay& write);
  void LookAndDecide(ClientToken token, UnderWay& write);
  void Decide(ClientToken token, UnderWay& write, absl::StatusOr<Record> record, uint32_t now);
  // The same for a DUPLICATE.
  void LookAndJudge(ClientToken token, UnderWay& write);
  void Judge(ClientToken token, UnderWay& write, DuplicateJudge& judge, const absl::Status& looked);
  // Whether to go on with what was read. False: it is dropped, or looks again.
  bool MayDecide(ClientToken token, UnderWay& write);
  void FailToLook(ClientToken token, UnderWay& write, const absl::Status& status);
  void Order(ClientToken token, UnderWay& write, const std::optional<Record>& record, uint32_t now);
  // What is decided of it. False: it is refused instead.
  bool IsOwned(ClientToken token, UnderWay& write);
  void Log(ClientToken token, UnderWay& write, WriteOutcome outcome);
  void CountLag(const std::vector<int64_t>& source_times_us);
  void Finish(ClientToken token, ErrorCode error, std::string body);
  // Takes it out of those under way.
  UnderWay End(ClientToken token);

  const ServedPartition& partition_;
  Admission& admission_;
  const Options options_;
  const Hooks hooks_;
  std::map<ClientToken, UnderWay> under_way_;
  WriteOrder order_;
  // Of those that the core does not have.
  uint64_t undecided_bytes_ = 0;
  std::vector<ClientToken> at_barrier_;
  bool is_beginning_ = false;
  WriteTimes times_;
};

}  // namespace arion
