// SPDX-License-Identifier: Apache-2.0
#include "verification/content_count.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "engine/engine.h"

namespace arion {

ContentCount::ContentCount(CountContentRequest request, ContentChecksum::Terms terms,
                           int64_t of_bytes, Hooks hooks)
    : request_(std::move(request)),
      expires_after_(terms.expires_after),
      of_bytes_(of_bytes),
      hooks_(std::move(hooks)),
      checksum_(std::make_shared<ContentChecksum>(terms)),
      asked_at_(hooks_.now()) {}

void ContentCount::Start() {
  hooks_.view_at(request_.decree,
                 [self = weak_from_this()](std::shared_ptr<const EngineView> view) {
                   if (const auto count = self.lock()) count->OnView(std::move(view));
                 });
}

void ContentCount::OnView(std::shared_ptr<const EngineView> view) {
  if (view == nullptr) {
    state_ = CountState::kMissed;
    return;
  }
  view_ = std::move(view);
  state_ = CountState::kCounting;
  // Called within an apply: the first piece waits until that is over.
  After(absl::ZeroDuration());  // an apply is under way
}

void ContentCount::After(absl::Duration delay) {
  hooks_.after(delay, [self = weak_from_this()] {
    if (const auto count = self.lock()) count->Piece();
  });
}

void ContentCount::Piece() {
  // A verdict or a refusal came while the timer ran.
  if (state_ != CountState::kCounting) return;
  if (IsForgotten()) return Refuse("nobody asked for it any more");
  // Something waits for the pool to be quiet, as a checkpoint does: reads step back.
  if (!hooks_.may_read()) return After(kHindered);
  auto bytes = std::make_shared<uint64_t>(0);
  hooks_.in_pool(
      [view = view_, checksum = checksum_, bytes]() -> absl::Status {
        ASSIGN_OR_RETURN(*bytes, checksum->Continue(*view, kPieceBytes));
        return absl::OkStatus();
      },
      [self = weak_from_this(), bytes](const absl::Status& status) {
        if (const auto count = self.lock()) count->OnPiece(*bytes, status);
      });
}

void ContentCount::OnPiece(uint64_t bytes, const absl::Status& status) {
  // The count ended while the piece was read.
  if (state_ != CountState::kCounting) return;
  if (!status.ok()) return Refuse(absl::StrCat("its content can't be read: ", status.ToString()));
  // Compactions drop what expires, from views too. From that time on this count may lack records
  // that others have seen, so its sum is not comparable.
  if (hooks_.wall_seconds() + kClocksApartSeconds > expires_after_)
    return Refuse("it took so long that what it counted first may have expired meanwhile");
  bytes_ += static_cast<int64_t>(bytes);
  if (!checksum_->IsDone()) return After(hooks_.pace(bytes));
  // The view goes at once; the sum is all that the verdict needs.
  view_ = nullptr;
  state_ = CountState::kDone;
}

void ContentCount::Refuse(std::string why) {
  view_ = nullptr;
  state_ = CountState::kRefused;
  why_ = std::move(why);
}

CountContentResponse ContentCount::Answer() {
  // Only the coordinator asks. When it is gone, nobody does, and the count gives up.
  asked_at_ = hooks_.now();
  CountContentResponse response{
      .state = state_, .why = why_, .bytes = bytes_, .of_bytes = std::max(of_bytes_, bytes_)};
  if (state_ != CountState::kDone && state_ != CountState::kSettled) return response;
  response.records = checksum_->records();
  response.sum = static_cast<int64_t>(checksum_->sum());
  response.left_out = checksum_->left_out();
  // The ranges matter to the judgement only, which is over.
  if (state_ == CountState::kSettled) return response;
  response.ranges.emplace();
  for (const ContentChecksum::Range& range : checksum_->ranges())
    response.ranges->push_back({range.first, range.records, static_cast<int64_t>(range.sum)});
  return response;
}

}  // namespace arion
