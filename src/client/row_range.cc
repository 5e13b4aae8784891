// SPDX-License-Identifier: Apache-2.0
#include "arion/row_range.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "env/loop_thread.h"

namespace arion {
inline namespace client_v1 {

class RowRange::State {
 public:
  explicit State(std::unique_ptr<AsyncScan> scan) : scan_(std::move(scan)) {}

  // The next batch's first row becomes current; false: the end.
  bool Advance() {
    if (is_over_) return false;
    if (++at_ < rows_.size()) return Take();
    // Waiting here would wait for this very thread.
    if (OnLoopThread()) return End(absl::FailedPreconditionError("a callback must not wait"));
    // The next batch comes while the caller uses this one.
    if (!is_asked_) Ask();
    auto batch = inbox_->Wait();
    is_asked_ = false;
    if (!batch.ok()) return End(batch.status());
    // No rows: the scan has ended (client/table_scan.h). An empty batch before the end never comes.
    if (batch->empty()) return End(absl::OkStatus());
    rows_ = *std::move(batch);
    at_ = 0;
    Ask();
    return Take();
  }
  absl::StatusOr<Row>* current() { return &current_; }

 private:
  using Batch = absl::StatusOr<std::vector<Row>>;
  // Where an answer lands; it may outlive the range.
  struct Inbox {
    void Put(Batch b) {
      const MutexLock lock(mutex);
      batch = std::move(b);
      arrived.NotifyOne();
    }
    Batch Wait() {
      MutexLock lock(mutex);
      arrived.Wait(mutex,
                   [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return batch.has_value(); });
      return *std::exchange(batch, std::nullopt);
    }
    Mutex mutex;
    ConditionVariable arrived;
    std::optional<Batch> batch ABSL_GUARDED_BY(mutex);
  };

  void Ask() {
    is_asked_ = true;
    scan_->Next([inbox = inbox_](Batch batch) { inbox->Put(std::move(batch)); });
  }
  bool Take() {
    current_ = std::move(rows_[at_]);
    return true;
  }
  // An error is one more element, so that a loop over the range meets it; then the range is over.
  bool End(absl::Status status) {
    is_over_ = true;
    if (status.ok()) return false;
    current_ = std::move(status);
    return true;
  }

  const std::unique_ptr<AsyncScan> scan_;
  // Shared with the callback, which may run when the range is gone.
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  bool is_asked_ = false;
  bool is_over_ = false;
  std::vector<Row> rows_;
  size_t at_ = 0;
  absl::StatusOr<Row> current_;
};

RowRange::RowRange(std::unique_ptr<AsyncScan> scan)
    : state_(std::make_unique<State>(std::move(scan))) {}
RowRange::~RowRange() = default;
RowRange::RowRange(RowRange&&) noexcept = default;
RowRange& RowRange::operator=(RowRange&&) noexcept = default;

RowRange::iterator RowRange::begin() { return iterator(Advance() ? this : nullptr); }
absl::StatusOr<Row>* RowRange::Current() { return state_->current(); }
bool RowRange::Advance() { return state_->Advance(); }

}  // namespace client_v1
}  // namespace arion
