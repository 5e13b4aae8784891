// ContentCount: one member's part in a verification (verification.h): its content at the decree that
// the primary named, counted piece by piece in the disk's bulk pool, and kept until the verdict.
//
// Shapes    Waiting for the decree -> counting -> done -> settled by the verdict; or missed: more is
//           applied already. A view of the engine is held while it counts: what is overwritten
//           meanwhile keeps its space. It ends when nobody has asked for kForgotten.
// Errors    What can't be read ends it as refused, with a sentence why.
// Threads   Strand-bound; hooks are called on the strand.
// Lifetime  Held by shared_ptr. Let go of, it is over: no hook is called any more, and the view goes
//           with the piece under way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <functional>
#include <memory>
#include <string>

#include "base/instant.h"
#include "messages/verification_messages.h"
#include "verification/content_checksum.h"

namespace arion {

class ContentCount : public std::enable_shared_from_this<ContentCount> {
 public:
  static constexpr uint64_t kPieceBytes = 1 << 20;
  static constexpr absl::Duration kForgotten = absl::Seconds(60);
  static constexpr absl::Duration kHindered = absl::Milliseconds(200);  // then it is looked again
  // Compactions drop what expires by a clock of their own, from views too: what expires within a
  // margin is left out, a count that would take longer ends as refused, and clocks that are further
  // apart are not relied on.
  static constexpr int64_t kMarginSecondsMin = 3600;
  static constexpr int64_t kMarginSecondsMax = 30 * 24 * 3600;
  static constexpr int64_t kClocksApartSeconds = 600;

  struct Hooks {
    // Once: the content at that decree; null: it is past.
    std::function<void(Decree, std::function<void(std::shared_ptr<const EngineView>)>)> view_at;
    // Runs `work` in the pool, then `then` on the strand.
    std::function<void(absl::AnyInvocable<absl::Status()> work,
                       absl::AnyInvocable<void(absl::Status)> then)>
        in_pool;
    std::function<absl::Duration(uint64_t bytes)> pace;  // takes room, says when to go on
    std::function<void(absl::Duration, absl::AnyInvocable<void()>)> after;
    std::function<Instant()> now;
    std::function<int64_t()> wall_seconds;  // since 2016
    std::function<bool()> may_read;         // false: something waits for the pool to be quiet
  };
  // `of_bytes`: about what there is.
  ContentCount(CountContentRequest request, ContentChecksum::Terms terms, int64_t of_bytes,
               Hooks hooks);

  void Start();
  // How far it is. It was asked for: it goes on.
  CountContentResponse Answer();
  // Of kDone.
  bool IsEqualTo(int64_t records, int64_t sum) const {
    return checksum_->records() == records && static_cast<int64_t>(checksum_->sum()) == sum;
  }
  void Settle() { state_ = CountState::kSettled; }

  const CountContentRequest& request() const { return request_; }
  CountState state() const { return state_; }
  const ContentChecksum& checksum() const { return *checksum_; }
  bool IsForgotten() const { return hooks_.now() - asked_at_ > kForgotten; }

 private:
  void OnView(std::shared_ptr<const EngineView> view);
  void Piece();
  void OnPiece(uint64_t bytes, const absl::Status& status);
  void After(absl::Duration delay);
  void Refuse(std::string why);

  const CountContentRequest request_;
  const int64_t expires_after_;
  const int64_t of_bytes_;
  const Hooks hooks_;
  const std::shared_ptr<ContentChecksum> checksum_;  // the pool's while a piece is under way
  CountState state_ = CountState::kWaiting;
  std::string why_;
  int64_t bytes_ = 0;
  std::shared_ptr<const EngineView> view_;
  Instant asked_at_;
};

}  // namespace arion
