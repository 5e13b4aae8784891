// ContentCount: one member's part in a verification (verification.h): its content at the decree
// that the primary named, counted piece by piece in the disk's bulk pool, and kept until the
// verdict.
//
// Shapes    Waiting for the decree -> counting -> done -> settled by the verdict; or missed: more
//           is applied already. A view of the engine is held while it counts, so what is
//           overwritten meanwhile keeps its space. The count ends as refused when nobody has asked
//           for kForgotten.
// Errors    What can't be read ends it as refused, with a sentence why.
// Threads   Strand-bound; hooks are called on the strand.
// Lifetime  Held by shared_ptr. When it is destroyed, no hook is called any more, and the view goes
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

class EngineView;

// One count for one run of one verification.
class ContentCount : public std::enable_shared_from_this<ContentCount> {
 public:
  static constexpr uint64_t kPieceBytes = 1 << 20;
  static constexpr absl::Duration kForgotten = absl::Seconds(60);
  // How long it waits where the pool is to be quiet.
  static constexpr absl::Duration kHindered = absl::Milliseconds(200);
  // Compactions drop what expires by a clock of their own, from views too. Therefore what expires
  // within a margin is left out, a count that would take longer ends as refused, and clocks that
  // are further apart than kClocksApartSeconds are not relied on.
  static constexpr int64_t kMarginSecondsMin = 3600;
  static constexpr int64_t kMarginSecondsMax = 30 * 24 * 3600;
  static constexpr int64_t kClocksApartSeconds = 600;

  // The replica, as a count needs it.
  struct Hooks {
    // Gives the content at that decree, once it is applied; null: the decree is past. Called once.
    std::function<void(Decree, std::function<void(std::shared_ptr<const EngineView>)>)> view_at;
    // Runs `work` in the pool, then `then` on the strand.
    std::function<void(absl::AnyInvocable<absl::Status()> work,
                       absl::AnyInvocable<void(absl::Status)> then)>
        in_pool;
    // Takes room for bytes that were read, and says how long to wait.
    std::function<absl::Duration(uint64_t bytes)> pace;
    // A timer on the strand.
    std::function<void(absl::Duration, absl::AnyInvocable<void()>)> after;
    std::function<Instant()> now;
    // Since 2016.
    std::function<int64_t()> wall_seconds;
    // False: something waits for the pool to be quiet.
    // The pool is to be quiet, for a checkpoint or the like.
    std::function<bool()> may_read;
  };
  // `of_bytes`: about how much there is, for displays.
  ContentCount(CountContentRequest request, ContentChecksum::Terms terms, int64_t of_bytes,
               Hooks hooks);

  // Asks for the view. To be called once.
  void Start();
  // How far it is. This counts as being asked for: it keeps the count going.
  CountContentResponse Answer();
  // Whether its content is the one named. The state is kDone.
  bool IsEqualTo(int64_t records, int64_t sum) const {
    return checksum_->records() == records && static_cast<int64_t>(checksum_->sum()) == sum;
  }
  // The verdict has come.
  void Settle() { state_ = CountState::kSettled; }

  const CountContentRequest& request() const { return request_; }
  CountState state() const { return state_; }
  const ContentChecksum& checksum() const { return *checksum_; }
  // Nobody asked for longer than kForgotten.
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
  // Belongs to the pool while a piece is under way.
  const std::shared_ptr<ContentChecksum> checksum_;
  CountState state_ = CountState::kWaiting;
  std::string why_;
  int64_t bytes_ = 0;
  // Null once the count has ended: a view keeps overwritten records on the disk.
  std::shared_ptr<const EngineView> view_;
  Instant asked_at_;
};

}  // namespace arion
