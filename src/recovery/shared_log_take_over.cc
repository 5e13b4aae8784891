// SPDX-License-Identifier: Apache-2.0
#include "recovery/shared_log_take_over.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/file_system.h"
#include "legacy/file_skipping.h"

namespace arion {
namespace {

constexpr uint64_t kPieceBytes = 4 << 20;
// What a take-over may hold in memory, whatever the log's size. A quarter is read and not yet
// durable in private logs; the rest lies in engines that have not written it to files.
constexpr uint64_t kMemoryMax = 256 << 20;
constexpr uint64_t kBytesInFlightMax = kMemoryMax / 4;
constexpr uint64_t kUnflushedMax = kMemoryMax - kBytesInFlightMax;
// Reading waits for engines that hold more than that. Not for ever: they may be waiting for further
// records themselves.
constexpr absl::Duration kFlushPoll = absl::Milliseconds(10);
constexpr int kFlushPollsMax = 100;

}  // namespace

// The reading of the log. Its parts are touched by the piece that is under way only, in the pool;
// between two pieces by the strand.
struct SharedLogTakeOver::Pass {
  Pass(FileSystem& files, const SharedLogCatalog& catalog, size_t first)
      : reader(files, catalog, first) {}

  // Copies what may matter to its replica.
  // `last` saves the search where records of one partition follow each other.
  void Take(const MutationView& m) {
    if (last == nullptr || !(last->first == m.pid())) {
      const auto it = filters.find(m.pid());
      if (it == filters.end()) return;
      last = &*it;
    }
    // Copied only if the replica may lack it: most records are in the private log already.
    if (!last->second.MayMatter(m.ballot(), m.decree(), m.log_offset())) return;
    bytes += m.size();
    taken[last->first].push_back(std::make_shared<Mutation>(m.ToMutation()));
  }

  SharedLogReader reader;
  std::map<PartitionId, TakeOverFilter> filters;
  const std::pair<const PartitionId, TakeOverFilter>* last = nullptr;
  std::map<PartitionId, std::vector<MutationPtr>> taken;
  uint64_t bytes = 0;
};

SharedLogTakeOver::SharedLogTakeOver(std::shared_ptr<const OpeningHost> host, StrandPtr strand,
                                     SharedLogCatalog catalog,
                                     std::shared_ptr<SharedLogStats> stats,
                                     DamagedSharedLog damaged, Events events)
    : host_(std::move(host)),
      strand_(std::move(strand)),
      stats_(std::move(stats)),
      damaged_(damaged),
      catalog_(std::move(catalog)),
      events_(std::move(events)) {
  stats_->files = static_cast<int64_t>(catalog_.files.size());
  stats_->bytes = static_cast<int64_t>(catalog_.bytes());
  // From here on, as private logs are replayed first.
  host_->engines.LimitUnflushed(kUnflushedMax);
  // Until the log is read its end is not known exactly; its files' end is never too small.
  host_->shared_log_end->store(catalog_.files.empty() ? 1 : catalog_.files.back().end_offset());
}

void SharedLogTakeOver::Start(std::set<PartitionId> expected) {
  CHECK_ON_STRAND(strand_);
  expected_ = std::move(expected);
  LOG(INFO) << "shared log " << catalog_.directory << ": " << catalog_.files.size() << " files, "
            << catalog_.bytes() << " bytes, to be taken over by " << expected_.size()
            << " replicas";
  BeginPass();
}

void SharedLogTakeOver::Join(std::unique_ptr<ReplicaOpening> opening, Done done) {
  CHECK_ON_STRAND(strand_);
  const PartitionId pid = opening->pid();
  auto taker = std::make_shared<Taker>();
  taker->opening = std::move(opening);
  taker->done = std::move(done);
  expected_.erase(pid);
  // Finish answers Aborted, after the log has come to rest.
  if (is_stopped_) return Finish(pid, std::move(taker));
  waiting_[pid] = std::move(taker);
  BeginPass();
}

void SharedLogTakeOver::GiveUp(PartitionId pid) {
  CHECK_ON_STRAND(strand_);
  if (expected_.erase(pid) > 0) BeginPass();
}

void SharedLogTakeOver::Stop() {
  // The piece that is under way still comes back; OnPiece sees that there is no pass.
  CHECK_ON_STRAND(strand_);
  is_stopped_ = true;
  pass_ = nullptr;
  for (auto& [pid, taker] : waiting_) takers_.emplace(pid, std::move(taker));
  waiting_.clear();
  std::vector<PartitionId> pids;
  for (auto& [pid, taker] : takers_) {
    taker->batches.clear();
    pids.push_back(pid);
  }
  // FinishIfIdle erases from takers_, hence the copy of the keys.
  for (const PartitionId pid : pids) FinishIfIdle(pid);
}

// ---- reading ----

void SharedLogTakeOver::BeginPass() {
  // No take-over is under way: engines may keep what they like again.
  if (was_read_ && takers_.empty() && waiting_.empty()) host_->engines.LimitUnflushed(0);
  // A pass waits for every expected replica, since the log is read once for all of them.
  if (!expected_.empty() || is_stopped_ || IsReading() || is_piece_under_way_ || !takers_.empty() ||
      (was_read_ && waiting_.empty()))
    return;
  host_->engines.LimitUnflushed(kUnflushedMax);
  takers_.swap(waiting_);
  // The earliest file that any of them may need.
  std::vector<PrivateLogReach> reaches;
  for (const auto& [pid, taker] : takers_)
    reaches.push_back({pid, taker->opening->planner().committed_on_disk(),
                       taker->opening->valid_start_in_shared_log()});
  const size_t first = FirstFileToRead(catalog_.files, reaches);
  pass_ = std::make_shared<Pass>(host_->disks->env.files(), catalog_, first);
  for (const auto& [pid, taker] : takers_)
    pass_->filters.emplace(pid, taker->opening->planner().Filter());
  LOG(INFO) << "shared log " << catalog_.directory << ": reads " << catalog_.files.size() - first
            << " of " << catalog_.files.size() << " files for " << takers_.size() << " replicas";
  ReadOn();
}

void SharedLogTakeOver::ReadOn() {
  // Replicas that are slow to append hold the reading back; the next durable batch goes on.
  if (!IsReading() || is_piece_under_way_ || bytes_in_flight_ > kBytesInFlightMax) return;
  is_piece_under_way_ = true;
  ReadPiece(kFlushPollsMax);
}

void SharedLogTakeOver::ReadPiece(int polls_left) {
  if (!IsReading()) return OnPiece(false);
  // Engines are flushing already (LimitUnflushed); the reading waits in short steps.
  if (polls_left > 0 && host_->engines.unflushed_bytes() > kMemoryMax) {
    strand_->PostAfter(kFlushPoll, [self = weak_from_this(), polls_left] {
      if (const auto take_over = self.lock()) take_over->ReadPiece(polls_left - 1);
    });
    return;
  }
  host_->disks->env.disk_pool(catalog_.directory).Submit([self = shared_from_this(), pass = pass_] {
    auto more = pass->reader.Next(kPieceBytes, [&pass](const MutationView& m) { pass->Take(m); });
    self->strand_->Post(
        [self, more = std::move(more)]() mutable { self->OnPiece(std::move(more)); });
  });
}

void SharedLogTakeOver::OnPiece(absl::StatusOr<bool> more) {
  is_piece_under_way_ = false;
  if (!IsReading()) return BeginPass();  // stopped meanwhile
  SharedLogStats& stats = *stats_;
  stats.bytes_read = static_cast<int64_t>(pass_->reader.bytes_read());
  // The piece's records count as in flight from here until they are durable.
  bytes_in_flight_ += std::exchange(pass_->bytes, 0);
  std::map<PartitionId, std::vector<MutationPtr>> taken = std::exchange(pass_->taken, {});
  if (!more.ok()) {
    OnDamage(more.status());
  } else if (*more) {
    ReadOn();
  } else {
    EndReading();
  }
  // After ReadOn: the next piece is read while this one is worked on.
  for (auto& [pid, records] : taken) {
    const auto it = takers_.find(pid);
    if (it == takers_.end()) {  // it failed meanwhile
      for (const MutationPtr& m : records) bytes_in_flight_ -= EncodedSize(*m);
      continue;
    }
    it->second->batches.push_back(std::move(records));
    Work(pid, it->second);
  }
  // What was handed out may have been nothing, which no durable batch would report.
  if (IsReading()) return ReadOn();
  std::vector<PartitionId> pids;
  for (const auto& [pid, taker] : takers_) pids.push_back(pid);
  for (const PartitionId pid : pids) FinishIfIdle(pid);
  BeginPass();
}

void SharedLogTakeOver::OnDamage(const absl::Status& status) {
  // Only damage can be passed over, and only if the operator said so.
  if (!absl::IsDataLoss(status) || damaged_ != DamagedSharedLog::kSetAside) return Refuse(status);
  SharedLogReader::Damage damage = pass_->reader.SkipDamaged();
  LOG(ERROR) << "the operator lets the damaged shared log be passed over; may be missing: "
             << damage.ToString();
  for (const auto& [pid, range] : damage.concerned)
    if (const auto it = takers_.find(pid); it != takers_.end()) it->second->is_incomplete = true;
  // A second pass meets the same damage; it is recorded once.
  if (!was_read_) damages_.push_back(std::move(damage));
}

void SharedLogTakeOver::Refuse(const absl::Status& status) {
  // Nothing was changed: what was appended to private logs is found there by the next start.
  LOG(ERROR) << "the shared log can't be taken over, the server does not start: "
             << status.message();
  Stop();
  if (events_.on_refused) events_.on_refused(status);
}

void SharedLogTakeOver::EndReading() {
  const SharedLogReader& reader = pass_->reader;
  for (const std::string& ignored : catalog_.ignored)
    LOG_IF(WARNING, !was_read_) << "shared log " << catalog_.directory << ": ignored " << ignored;
  LOG_IF(WARNING, !reader.torn_tail().empty() && !was_read_)
      << "shared log, torn tail: " << reader.torn_tail();
  LOG(INFO) << "shared log " << catalog_.directory << ": read to offset " << reader.end_offset()
            << ", " << reader.bytes_read() << " bytes, " << reader.mutations() << " mutations";
  for (const auto& [pid, max] : reader.max_of_newest())
    max_of_newest_[pid] = std::max(max_of_newest_[pid], max);
  // 0 would mean that there is no shared log; a log of one torn file ends at 1 at least.
  host_->shared_log_end->store(std::max<int64_t>(reader.end_offset(), 1));
  pass_ = nullptr;
  if (!std::exchange(was_read_, true) && events_.on_read) events_.on_read();
}

// ---- one replica's part ----

void SharedLogTakeOver::Work(PartitionId pid, const std::shared_ptr<Taker>& taker) {
  // One batch of a replica at a time: its records must stay in order.
  if (taker->is_working || taker->batches.empty()) return;
  taker->is_working = true;
  std::vector<MutationPtr> batch = std::move(taker->batches.front());
  taker->batches.pop_front();
  host_->disks->env.disk_pool(taker->opening->directory())
      .Submit([self = shared_from_this(), pid, taker, batch = std::move(batch)]() mutable {
        uint64_t bytes = 0;
        for (const MutationPtr& m : batch) bytes += EncodedSize(*m);
        // Decided in the pool, because it applies to the engine; appended on the replica's strand.
        auto append = std::make_shared<std::vector<MutationPtr>>();
        const absl::Status status = taker->opening->TakeOver(batch, append.get());
        batch.clear();
        self->strand_->Post([self, pid, taker, append, bytes, status] {
          taker->is_working = false;
          if (!status.ok() && taker->status.ok()) taker->status = status;
          if (!taker->status.ok()) append->clear();
          // Before Append, which may report at once; FinishIfIdle must see it.
          ++taker->appends;
          const auto contradiction = taker->opening->planner().contradiction();
          self->Append(pid, taker, std::move(*append), bytes);
          self->Work(pid, taker);
          if (contradiction && !self->is_stopped_)
            self->Refuse(ForeignSharedLog(self->catalog_, pid, *contradiction));
        });
      });
}

void SharedLogTakeOver::Append(PartitionId pid, const std::shared_ptr<Taker>& taker,
                               std::vector<MutationPtr> records, uint64_t bytes) {
  stats_->mutations_taken += static_cast<int64_t>(records.size());
  if (records.empty()) return OnBatchDone(pid, bytes);
  taker->opening->strand()->Post(
      [self = shared_from_this(), pid, taker, bytes, records = std::move(records)] {
        for (size_t i = 0; i < records.size(); ++i) {
          // In order (private_log/L2): the last one's report covers all.
          const bool is_last = i + 1 == records.size();  // in order: private_log/L2
          // Weak: the log belongs to the taker, so its callbacks must not keep the taker alive.
          taker->opening->log().Append(
              records[i], [weak = self->weak_from_this(), pid, mine = std::weak_ptr<Taker>(taker),
                           bytes, is_last](const absl::Status& status) {
                const auto self = weak.lock();
                // An error is reported at once, whichever record it is of.
                if (self == nullptr || (status.ok() && !is_last)) return;
                self->strand_->Post([self, pid, mine, bytes, is_last, status] {
                  if (const auto taker = mine.lock(); taker != nullptr && taker->status.ok())
                    taker->status = status;
                  if (is_last) self->OnBatchDone(pid, bytes);
                });
              });
        }
      });
}

void SharedLogTakeOver::OnBatchDone(PartitionId pid, uint64_t bytes) {
  bytes_in_flight_ -= bytes;
  if (const auto it = takers_.find(pid); it != takers_.end()) {
    --it->second->appends;
    FinishIfIdle(pid);
  }
  ReadOn();
}

void SharedLogTakeOver::FinishIfIdle(PartitionId pid) {
  const auto it = takers_.find(pid);
  if (it == takers_.end()) return;
  const std::shared_ptr<Taker> taker = it->second;
  if (IsReading() && taker->status.ok()) return;
  // Nothing more of a failed replica is worked on; what it held counts as done.
  if (!taker->status.ok() || is_stopped_) {
    for (const auto& batch : taker->batches)
      for (const MutationPtr& m : batch) bytes_in_flight_ -= EncodedSize(*m);
    taker->batches.clear();
  }
  if (taker->is_working || taker->appends > 0 || !taker->batches.empty()) return;
  takers_.erase(it);
  Finish(pid, taker);
  BeginPass();
}

void SharedLogTakeOver::Finish(PartitionId pid, std::shared_ptr<Taker> taker) {
  if (taker->status.ok() && is_stopped_) taker->status = absl::AbortedError("the server stops");
  if (!taker->status.ok()) {
    // The directory may be opened again, or set aside, as soon as `done` has run. So the log drains
    // first, and is closed in the pool.
    ending_.insert(taker);
    taker->opening->strand()->Post([weak = weak_from_this(), taker] {
      taker->opening->log().Drain([weak, mine = std::weak_ptr<Taker>(taker)] {
        const auto self = weak.lock();
        const auto taker = mine.lock();
        if (self == nullptr || taker == nullptr) return;
        self->host_->disks->env.disk_pool(taker->opening->directory()).Submit([self, taker] {
          taker->opening = nullptr;
          self->strand_->Post([self, taker] {
            self->ending_.erase(taker);
            taker->done(taker->status);
          });
        });
      });
    });
    return;
  }
  // From here on the shared log has nothing more for this replica.
  done_.insert(pid);
  if (taker->is_incomplete) taker->opening->MarkIncomplete();
  host_->disks->env.disk_pool(taker->opening->directory())
      .Submit([self = shared_from_this(), taker] {
        auto opened = std::make_shared<absl::StatusOr<OpenedReplica>>(taker->opening->Finish());
        taker->opening = nullptr;
        self->strand_->Post([taker, opened] { taker->done(std::move(*opened)); });
      });
}

}  // namespace arion
