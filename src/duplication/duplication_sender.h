// DuplicationSender: sends what one partition commits to the table of the same name in another
// cluster, out of the partition's private log, for as long as its replica here leads.
//
// Shapes    Reads a piece of the committed history, makes requests of it, sends one after the
//           other, and goes on behind the last one. Decrees up to sent() are at the other cluster;
//           the meta server stores that now and then, and what it has stored is confirmed(). A new
//           primary begins behind confirmed(), so the same may be sent twice.
// Errors    What may pass (nobody answers, the other side is busy) is tried again after 1 s, then
//           less and less often, every 60 s at least. What does not pass by itself (the other side
//           refuses a write, be it for its size, or the log no longer reaches back) stops the
//           sender and is told, where the fail mode is kSlow; with kSkip it is left out, and
//           counted.
// Threads   Strand-bound to its replica; the log is read in a pool.
// Lifetime  A part of PartitionDuplications, which closes it.
// Promises  duplication_sender/D1  Nothing behind a write that was not taken is sent, so that each
//               key sees its writes in the order of their decrees.
//           duplication_sender/D2  sent() never exceeds what is committed here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/mutation.h"
#include "duplication/duplicate_batches.h"
#include "duplication/duplication_book.h"
#include "messages/duplication_messages.h"

namespace arion {

// How a request ended.
struct SendOutcome {
  enum class Kind {
    kTaken,
    // It may pass: send it again later.
    kAgain,
    // It was refused, and would be again.
    kRefused,
  } kind = Kind::kTaken;
  // For people; empty: taken.
  std::string text;
};

// Begin, then Proceed whenever something may have been committed, until Close.
class DuplicationSender : public std::enable_shared_from_this<DuplicationSender> {
 public:
  using OnMutations = absl::AnyInvocable<void(absl::StatusOr<std::vector<MutationPtr>>)>;
  using SentDone = absl::AnyInvocable<void(SendOutcome)>;
  struct Hooks {
    std::function<Decree()> committed;
    // What the private log has of the committed history from `first` on up to `through`, at least
    // one mutation of it.
    std::function<void(Decree first, Decree through, OnMutations then)> read_history;
    // Sends it to the other cluster.
    std::function<void(const DuplicateBatch& batch, SentDone then)> send;
    std::function<void(absl::Duration delay, absl::AnyInvocable<void()> task)> after;
    // Microseconds since 1970.
    std::function<int64_t()> wall_micros;
    // The private log's end, a global offset.
    std::function<int64_t()> log_end;
    std::function<std::string()> tag;
    // For displays. They live as long as the sender.
    std::shared_ptr<DuplicationFigures> figures = std::make_shared<DuplicationFigures>();
    std::shared_ptr<DuplicationTotals> totals = std::make_shared<DuplicationTotals>();
  };

  // `confirmed`: nullopt: nothing is stored yet; it begins behind what is committed now.
  DuplicationSender(int8_t cluster_id, int64_t duplication_id, std::optional<Decree> confirmed,
                    Hooks hooks);

  // Whether it sends; a request under way is waited for all the same.
  void SetActive(bool is_active);
  void SetFailMode(DuplicationFailMode mode);
  // What the meta server has stored. It never falls.
  void Confirm(Decree decree);
  // Sends what there is to send. Cheap where there is nothing.
  void Proceed();
  // Nothing is begun any more.
  void Close() { is_closed_ = true; }

  Decree sent() const { return sent_; }
  std::optional<Decree> confirmed() const { return confirmed_; }
  // What stops it, or what it tries again; empty: nothing.
  const std::string& trouble() const { return trouble_; }
  const DuplicationFigures& figures() const { return *hooks_.figures; }
  const DuplicationTotals& totals() const { return *hooks_.totals; }

 private:
  // What is committed in the meantime shares the read and the request. It is a part of every
  // write's lag, and the fewer requests there are the less writes here wait for them.
  static constexpr absl::Duration kGather = absl::Milliseconds(50);
  static constexpr absl::Duration kRetryMin = absl::Seconds(1);
  static constexpr absl::Duration kRetryMax = absl::Seconds(60);

  bool MayGoOn() const { return !is_closed_ && is_active_ && !is_stopped_; }
  void Read();
  void OnRead(absl::StatusOr<std::vector<MutationPtr>> read);
  void SendNext();
  void OnSent(SendOutcome outcome);
  // The first batch is done with.
  void Advance();
  void TryLater(const std::string& why);
  void NoteFigures();
  // Stops, unless the fail mode is to skip. True: go on without it.
  bool MayLeaveOut(const std::string& why);

  const int8_t cluster_id_;
  const int64_t duplication_id_;
  const Hooks hooks_;
  std::optional<Decree> confirmed_;
  Decree sent_;
  DuplicationFailMode mode_ = DuplicationFailMode::kSlow;
  bool is_active_ = false;
  bool is_closed_ = false;
  // By what does not pass by itself, until it is set active anew.
  bool is_stopped_ = false;
  // Reading, sending, or waiting to try again.
  bool is_busy_ = false;
  std::deque<DuplicateBatch> batches_;
  // What the batches were made of ends there.
  Decree read_through_;
  // The last piece ended before what was committed then: there is no need to gather.
  bool is_far_behind_ = false;
  absl::Duration pause_ = kRetryMin;
  std::string trouble_;
  // When the first batch's oldest write was ordered; 0: there is none.
  int64_t oldest_unsent_us_ = 0;
  // Where the log goes on behind what is sent, and behind what was read. -1: nothing was read yet.
  int64_t sent_end_ = -1, read_end_ = -1;
};

}  // namespace arion
