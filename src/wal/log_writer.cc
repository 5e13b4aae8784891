// Three things go on beside each other. Appends fill blocks on the strand (log_blocks.h). One write
// at a time is with the device. One job at a time is in the disk's pool, which names, grows, trims
// and removes files (log_folder.h). Whatever ends calls Pump, which submits the front block as soon
// as its file and its space are there.
// SPDX-License-Identifier: Apache-2.0
#include "wal/log_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/environment.h"
#include "wal/log_catalog.h"
#include "wal/log_recovery.h"

namespace arion {
namespace {

constexpr uint64_t kPageBytes = AlignedBuffer::kAlignment;
constexpr uint64_t kFirstStepBytes = 1 << 20;
// A log that needs a spare writes fast.
constexpr uint64_t kSpareStepBytes = 4 << 20;
constexpr uint64_t kStepBytesMax = 32 << 20;
// How many callbacks run between two looks at the clock, and how long the disk waits for what they
// append.
constexpr int kAnswersAtATime = 8;
constexpr absl::Duration kReactionTime = absl::Microseconds(50);
// While the disk is full.
constexpr absl::Duration kRetryEvery = absl::Milliseconds(100);
constexpr absl::Duration kTrimAfter = absl::Seconds(10);
// Dropped files are kept this long to be used again.
constexpr absl::Duration kKeepFor = absl::Minutes(10);
// The engine usually lacks only the last few blocks of a closed log.
constexpr size_t kMarksAtClose = 16;

}  // namespace

LogWriter::LogWriter(Environment& env, StrandPtr strand, const PrivateLogOptions& options,
                     const RecoveredLog& recovered, std::shared_ptr<LogCatalog> catalog)
    : options_(options),
      strand_(std::move(strand)),
      clock_(env.clock()),
      pool_(env.disk_pool(options.directory)),
      device_(env.log_device(options.directory)),
      catalog_(std::move(catalog)),
      prewrites_(options.preallocate && options.durability == Durability::kFsync),
      capacity_bytes_((options.segment_bytes_max + kPageBytes - 1) / kPageBytes * kPageBytes),
      folder_(std::make_shared<LogFolder>(env, options, recovered.identity,
                                          prewrites_ ? capacity_bytes_ : 0)),
      blocks_(options_, recovered, prewrites_ ? capacity_bytes_ : 0),
      current_name_(blocks_.newest_file()) {
  CHECK_GT(options.segment_bytes_max, 0u);
  Check();
}

void LogWriter::Check() const {
  CHECK(!in_flight_ || retry_ == kNoTimer)
      << "log_writer/W1: what is being written is to be tried again";
  CHECK(!in_flight_ || !freeing_space_) << "log_writer/W1: what is being written waits for space";
  CHECK(!naming_next_ || next_.file == nullptr) << "log_writer/W3: two next files";
  CHECK(next_.file == nullptr || next_name_.index == current_name_.index + 1) << "log_writer/W3";
  CHECK(current_.file != nullptr || (content_bytes_ == 0 && !in_flight_))
      << "log_writer/W5: no file";
  CHECK_LE(spare_asked_, current_name_.index + 1) << "a spare for a file that is not planned";
  CHECK_GE(blocks_.newest_file().index, current_name_.index) << "log_writer/W3";
  CHECK_LE(content_bytes_, current_.synced_bytes)
      << "log_writer/W4: durable beyond what was synced";
  CHECK(!growing_ || prewrites_) << "log_writer/W4";
  CHECK(failed_.ok() || blocks_.empty()) << "log_writer/W6";
}

void LogWriter::Append(MutationPtr mutation, DurableCallback on_durable) {
  CHECK_ON_STRAND(strand_);
  CHECK(mutation != nullptr);
  CHECK(on_durable != nullptr) << "nobody would hear of it";
  // Recovery takes a log with such a record for another replica's.
  CHECK_EQ(mutation->pid, options_.pid);
  if (!failed_.ok()) {
    strand_->Post(
        [self = weak_from_this(), on_durable = std::move(on_durable), status = failed_]() mutable {
          if (auto writer = self.lock(); writer != nullptr && !writer->abandoned_)
            on_durable(status);
        });
    return;
  }
  const int64_t newest = blocks_.newest_file().index;
  blocks_.Append(*mutation, std::move(on_durable));
  if (blocks_.newest_file().index != newest) NameNextFile(blocks_.newest_file());
  ++mutations_written_;
  Pump();
  Check();
}

void LogWriter::LeaveFile() {
  CHECK_ON_STRAND(strand_);
  blocks_.LeaveFile();
}

void LogWriter::StartAnew(Decree max_decree) {
  CHECK_ON_STRAND(strand_);
  blocks_.StartAnew(max_decree);
  CHECK_EQ(blocks_.valid_start_offset(), blocks_.end_offset()) << "not all of it is void";
  catalog_->StartAnew(blocks_.valid_start_offset(), max_decree);
}

void LogWriter::PrepareNextFile() {
  CHECK_ON_STRAND(strand_);
  if (abandoned_ || !failed_.ok() || !drain_.empty()) return;
  AskForSpare(kFirstStepBytes);
}

// ---- carrying it out ----

void LogWriter::Pump() {
  if (abandoned_ || !failed_.ok() || in_flight_ || answering_ || retry_ != kNoTimer ||
      freeing_space_ || blocks_.empty())
    return;
  if (blocks_.only_file_header() && drain_.empty()) return;
  Block& block = blocks_.front();
  if (block.name != current_name_ || current_.file == nullptr) {
    if (next_.file == nullptr) return NameNextFile(block.name);
    SwitchToNextFile();
  }
  const uint64_t end = RoundUpToPage(block.end());
  if (prewrites_ && end > current_.synced_bytes) {
    if (growing_) return;  // its end comes back here
    if (!grow_refused_ && end <= capacity_bytes_) return GrowTo(end);
  }
  Submit(block);
}

void LogWriter::NameNextFile(const LogFileName& name) {
  // Recovery removes one file without a first block, the last.
  const bool has_first_block = current_.file == nullptr || content_bytes_ > 0;
  const bool is_next = name.index == current_name_.index + 1;
  CHECK_GE(name.index, 1) << "indexes begin at 1";
  if (!is_next || !has_first_block || naming_next_ || next_.file != nullptr || !failed_.ok())
    return;
  naming_next_ = true;
  next_name_ = name;
  auto made = std::make_shared<OpenLogFile>();
  const uint64_t fill = prewrites_ ? std::min(kFirstStepBytes, capacity_bytes_) : 0;
  Enqueue({.work = [made, name, fill](LogFolder& folder) -> absl::Status {
             auto file = folder.MakeFile(name, fill);
             // There is too little space for the zeros; it may do for the block.
             if (fill > 0 && IsRefusal(file.status())) file = folder.MakeFile(name, 0);
             ASSIGN_OR_RETURN(*made, std::move(file));
             return absl::OkStatus();
           },
           .then =
               [this, made](const absl::Status& status) {
                 CHECK(naming_next_ && next_.file == nullptr) << "log_writer/W3: two next files";
                 naming_next_ = false;
                 if (status.ok()) {
                   next_ = std::move(*made);
                 } else if (!IsRefusal(status)) {
                   Fail(status);
                 } else if (blocks_.only_file_header()) {
                   // Without a name it is no file, so a log that is drained need not wait for it.
                   if (!drain_.empty()) blocks_.TakeAll();
                 } else if (!in_flight_ && IsBusy() && blocks_.front().name == next_name_) {
                   WaitForSpace(status);
                 }
                 // Else it is tried again when its first block is in front.
               }});
}

void LogWriter::SwitchToNextFile() {
  CHECK(!in_flight_) << "log_writer/W3";
  CHECK(blocks_.front().is_first() && blocks_.front().name == next_name_);
  CHECK(next_.file != nullptr) << "log_writer/W3: it has no name yet";
  CHECK(current_.file == nullptr || content_bytes_ > 0)
      << "log_writer/W3: two files without a first block";
  // log_writer/W3: the old file's last write is flushed. Its zero tail is legal, since the next
  // starts at its content's end.
  CHECK_EQ(next_name_.start_offset,
           current_name_.start_offset + static_cast<int64_t>(content_bytes_))
      << "log_writer/W3";
  if (current_.file != nullptr) to_trim_.push_back({current_name_.ToString(), content_bytes_});
  current_ = std::exchange(next_, {});
  content_bytes_ = 0;
  current_name_ = next_name_;
  next_step_bytes_ = std::max(kFirstStepBytes, current_.synced_bytes);
  growing_ = grow_refused_ = false;
  prewrites_ ? TrimLater() : TrimLeftFiles();
}

void LogWriter::TrimLater() {
  if (trim_ != kNoTimer) return;
  trim_ = strand_->PostAfter(kTrimAfter, [self = weak_from_this(), index = current_name_.index] {
    const auto writer = self.lock();
    if (writer == nullptr) return;
    writer->trim_ = kNoTimer;
    writer->current_name_.index == index ? writer->TrimLeftFiles() : writer->TrimLater();
  });
}

void LogWriter::TrimLeftFiles() {
  if (abandoned_ || !failed_.ok() || !drain_.empty() || to_trim_.empty()) return;
  auto files = std::make_shared<std::vector<LogFolder::ToTrim>>(std::exchange(to_trim_, {}));
  Enqueue({.work = [files](LogFolder& folder) { return folder.Trim(*files); },
           .then =
               [this, files](const absl::Status& trimmed) {
                 if (trimmed.ok()) return;
                 if (!IsRefusal(trimmed)) return Fail(trimmed);
                 to_trim_.insert(to_trim_.begin(), files->begin(), files->end());
                 ForgetDropped();
                 TrimLater();
               }});
}

// A dropped file may soon be written again, under another name. It must not be cut then.
void LogWriter::ForgetDropped() {
  const std::vector<std::string> names = catalog_->FileNames();
  std::erase_if(to_trim_, [&](const LogFolder::ToTrim& file) {
    return std::find(names.begin(), names.end(), file.name) == names.end();
  });
}

void LogWriter::GrowTo(uint64_t bytes) {
  CHECK(prewrites_ && !growing_);
  CHECK(current_.file != nullptr);
  growing_ = true;
  auto file = std::make_shared<OpenLogFile>();
  file->file = current_.file;
  file->synced_bytes = current_.synced_bytes;
  const auto end = [&](uint64_t step) {
    return std::min(capacity_bytes_, std::max(bytes, current_.synced_bytes + step));
  };
  uint64_t to = end(next_step_bytes_);
  if (current_.zeros_taken.Take(to - current_.synced_bytes)) {
    next_step_bytes_ = std::min(kStepBytesMax, next_step_bytes_ * 2);
  } else {
    to = end(kFirstStepBytes);
  }
  CHECK_GT(to, current_.synced_bytes) << "zeros over what was written";
  CHECK_LE(to, capacity_bytes_);
  Enqueue({.work =
               [file, to](LogFolder& folder) {
                 return folder.Grow(file.get(), to / kPageBytes * kPageBytes);
               },
           .then =
               [this, file](const absl::Status& status) {
                 // The log may have moved on to another file.
                 if (current_.file != file->file) return;
                 growing_ = false;
                 if (IsRefusal(status)) {
                   grow_refused_ = true;
                 } else if (!status.ok()) {
                   Fail(status);
                 } else {
                   current_.synced_bytes = std::max(current_.synced_bytes, file->synced_bytes);
                 }
               }});
}

void LogWriter::GrowAhead() {
  if (!prewrites_ || growing_ || grow_refused_ || current_.synced_bytes >= capacity_bytes_) return;
  if (content_bytes_ + next_step_bytes_ / 2 > current_.synced_bytes) GrowTo(0);
}

void LogWriter::MakeSpareAhead() {
  if (content_bytes_ >= capacity_bytes_ / 2) AskForSpare(kSpareStepBytes);
}

void LogWriter::AskForSpare(uint64_t fill_bytes) {
  if (!prewrites_ || grow_refused_ || spare_asked_ > current_name_.index) return;
  spare_asked_ = current_name_.index + 1;
  Enqueue({.work = [index = spare_asked_, fill = std::min(fill_bytes, capacity_bytes_)](
                       LogFolder& folder) { return folder.MakeSpare(index, fill); },
           .then =
               [this](const absl::Status& status) {
                 // Without space the switch tries again; a sync that failed on a file without
                 // content harms nothing yet, but the identity file may be half replaced.
                 if (!status.ok() && !IsRefusal(status)) Fail(status);
               }});
}

void LogWriter::Prepare(Block& block) {
  CHECK(!block.prepared && &block == &blocks_.front());
  if (!block.sealed) blocks_.Seal(block);
  const uint64_t page_start = block.position - block.prefix_bytes;
  // Of last_page_ as many bytes as the content has in its page.
  CHECK_EQ(block.prefix_bytes, prewrites_ ? content_bytes_ % kPageBytes : 0);
  std::memcpy(block.buffer.data(), last_page_, block.prefix_bytes);
  if (prewrites_) {
    const uint64_t last_page = block.end() / kPageBytes * kPageBytes;
    const uint64_t from = std::max(last_page, page_start);
    CHECK_LE(block.end() - from, sizeof last_page_);
    std::memcpy(last_page_, block.buffer.data() + (from - page_start), block.end() - from);
  }
  block.buffer.Resize(RoundUpToPage(block.end()) - page_start);
  block.prepared = true;
}

void LogWriter::Submit(Block& block) {
  CHECK(!in_flight_) << "log_writer/W1";
  CHECK(failed_.ok() && current_.file != nullptr) << "log_writer/W6";
  CHECK(block.name == current_name_) << "log_writer/W3: " << block.name.ToString();
  CHECK_EQ(block.position, content_bytes_) << "log_writer/W5";
  if (!block.prepared) Prepare(block);
  LogDevice::WriteRequest request;
  request.file = current_.file;
  request.offset = block.position - block.prefix_bytes;
  request.coverage = request.offset + block.buffer.size() <= current_.synced_bytes
                         ? Coverage::kPrewritten
                         : Coverage::kGrowing;
  CHECK_EQ(request.offset % current_.file->alignment(), 0u);
  request.buffer = std::move(block.buffer);
  request.records = static_cast<uint32_t>(block.callbacks.size());
  request.durability = options_.durability;
  request.reply_on = strand_;
  request.done = [self = weak_from_this()](absl::Status status, AlignedBuffer buffer) {
    if (auto writer = self.lock()) writer->OnWritten(std::move(status), std::move(buffer));
  };
  in_flight_ = true;
  submitted_ = clock_.Now();
  device_.Write(std::move(request));
  // The next file gets its name while the write is in flight and its answers become records.
  const int64_t newest = blocks_.newest_file().index;
  blocks_.LeaveFileInTime(block);
  if (blocks_.newest_file().index != newest) NameNextFile(blocks_.newest_file());
}

void LogWriter::OnWritten(absl::Status status, AlignedBuffer buffer) {
  const auto self = shared_from_this();  // a callback may drop the log
  CHECK(in_flight_) << "log_writer/W1";
  in_flight_ = false;
  if (failed_.ok()) {
    Block& block = blocks_.front();
    CHECK(block.prepared) << "log_writer/W1: a block that was not submitted";
    CHECK_GE(buffer.size(), block.prefix_bytes + block.size) << "another buffer came back";
    block.buffer = std::move(buffer);
    if (status.ok()) {
      OnDurable();
    } else if (absl::IsResourceExhausted(status)) {
      WaitForSpace(status);
    } else {
      Fail(status);
    }
  }
  Check();
  CheckDrained();
}

void LogWriter::OnDurable() {
  CHECK(failed_.ok() && !in_flight_) << "log_writer/W6";
  BlockPtr block = blocks_.Pop();
  CHECK_EQ(block->position, content_bytes_) << "log_writer/W5";
  current_.synced_bytes =
      std::max(current_.synced_bytes, block->position - block->prefix_bytes + block->buffer.size());
  content_bytes_ = block->end();
  freed_space_ = false;
  current_.zeros_taken.ShrinkTo(current_.synced_bytes - content_bytes_);
  catalog_->Add({.file = block->name,
                 .header_max_decree = block->max_decree_before,
                 .at = {.position = block->position,
                        .crc = block->crc_before,
                        .max_decree = block->max_decree_before},
                 .end = block->end(),
                 .max_decree = blocks_.max_decree()});
  ++writes_done_;
  CHECK(answers_.empty()) << "those of the block before were not all given";
  answers_.swap(block->callbacks);
  // Before the callbacks, so that what they append finds its memory, which is still in the cache.
  blocks_.Recycle(std::move(block));
  reported_write_began_ = submitted_;
  Answer(clock_.Now() - submitted_);
  if (abandoned_) return;
  Pump();
  GrowAhead();
  MakeSpareAhead();
}

// Whoever hears that its record is durable appends the next one. Together with what queued up
// meanwhile that becomes one block. If the queue were written first, a closed loop of writers would
// alternate between two halves, and each record would wait for two writes. But the disk does not
// stand idle because somebody reacts slowly, nor for a block that is full already, nor for longer
// than the write took.
void LogWriter::Answer(absl::Duration write_took) {
  CHECK(!answering_) << "private_log/L2: callbacks within callbacks";
  answering_ = true;
  if (is_out_of_space_) {
    is_out_of_space_ = grow_refused_ = false;
    LOG(INFO) << "[" << options_.pid << "] log: there is space again, and what waited was written";
    if (options_.on_no_space) options_.on_no_space(absl::OkStatus());
  }
  if (!blocks_.empty() && blocks_.front().sealed) {
    answering_ = false;
    Pump();
  }
  const Instant begun = clock_.Now();
  Instant disk_waits_until = begun + kReactionTime;
  int64_t appended = mutations_written_;
  int unseen = 0;
  for (DurableCallback& callback : answers_) {
    if (abandoned_) break;
    callback(absl::OkStatus());
    if (!answering_ || ++unseen < kAnswersAtATime) continue;
    unseen = 0;
    const Instant now = clock_.Now();
    if (mutations_written_ > appended) {
      appended = mutations_written_;
      disk_waits_until = std::min(now, begun + write_took) + kReactionTime;
    }
    const bool is_full = !blocks_.empty() && blocks_.front().sealed;
    if (now < disk_waits_until && !is_full) continue;
    answering_ = false;
    Pump();
  }
  answers_.clear();
  answering_ = false;
}

// ---- when it fails ----

void LogWriter::WaitForSpace(const absl::Status& status) {
  CHECK(!status.ok()) << "nothing to wait for";
  if (abandoned_ || !failed_.ok()) return;
  CHECK(!in_flight_ && retry_ == kNoTimer) << "log_writer/W1";
  if (drain_.empty() && !std::exchange(freed_space_, true)) return FreeSpace();
  LOG_EVERY_N(WARNING, 100) << "[" << options_.pid << "] log waits for " << NameOf(WantOf(status))
                            << ": " << status.message();
  if (!drain_.empty()) return End(status);
  TrimLeftFiles();
  retry_ = strand_->PostAfter(kRetryEvery, [self = weak_from_this()] {
    const auto writer = self.lock();
    if (writer == nullptr) return;
    writer->retry_ = kNoTimer;
    writer->Pump();
  });
  if (std::exchange(is_out_of_space_, true) || !options_.on_no_space) return;
  options_.on_no_space(status);
}

// Zero tails and kept files of this log may be enough space for the front block. The job's end
// comes back to Pump.
void LogWriter::FreeSpace() {
  CHECK(!freeing_space_);
  freeing_space_ = true;
  TrimLeftFiles();
  Enqueue({.work = [](LogFolder& folder) { return folder.RemoveKept(); },
           .then =
               [this](const absl::Status& status) {
                 freeing_space_ = false;
                 OnRemoved(status);
               }});
}

void LogWriter::Fail(const absl::Status& status) {
  CHECK(!status.ok()) << "nothing has failed";
  if (!failed_.ok()) return;
  LOG(ERROR) << "[" << options_.pid << "] log failed: " << status.message();
  End(absl::IsDataLoss(status) ? status : absl::DataLossError(status.message()));
}

void LogWriter::End(absl::Status status) {
  CHECK(!status.ok());
  CHECK(failed_.ok()) << "log_writer/W6: it ends twice";
  failed_ = std::move(status);
  strand_->Cancel(std::exchange(retry_, kNoTimer));
  const std::vector<BlockPtr> blocks = blocks_.TakeAll();
  for (const BlockPtr& block : blocks) {
    for (DurableCallback& callback : block->callbacks) {
      if (abandoned_) return;
      callback(failed_);
    }
  }
}

void LogWriter::DropOldest(size_t files) {
  CHECK_ON_STRAND(strand_);
  if (std::vector<std::string> names = catalog_->DropOldest(files); !names.empty()) {
    ForgetDropped();
    // What is dropped is used again, unless the disk is full.
    const bool keeps = prewrites_ && !is_out_of_space_;
    CHECK_NE(names.back(), current_name_.ToString()) << "it is being written";
    Remove([names = std::move(names),
            keep = keeps ? LogFolder::Keep::kSome : LogFolder::Keep::kNone](LogFolder& folder) {
      return folder.Remove(names, keep);
    });
    if (keeps) ReleaseKeptLater();
  }
  Enqueue({.work = [names = catalog_->FileNames()](
                       LogFolder& folder) { return folder.CheckPresent(names); },
           .then =
               [this](const absl::Status& status) {
                 if (!status.ok()) Fail(status);
               }});
}

void LogWriter::Remove(absl::AnyInvocable<absl::Status(LogFolder&)> work) {
  Enqueue(
      {.work = std::move(work), .then = [this](const absl::Status& status) { OnRemoved(status); }});
}

void LogWriter::OnRemoved(const absl::Status& status) {
  if (status.ok()) return;
  // It is not known which names there are.
  if (absl::IsDataLoss(status)) return Fail(status);
  // The next removal takes up where this one stopped.
  LOG(WARNING) << "[" << options_.pid << "] log: " << status.message();
}

// A log that is written uses the files again before it drops others.
void LogWriter::ReleaseKeptLater() {
  strand_->Cancel(release_kept_);
  release_kept_ = strand_->PostAfter(kKeepFor, [self = weak_from_this()] {
    const auto writer = self.lock();
    if (writer == nullptr || writer->abandoned_) return;
    writer->release_kept_ = kNoTimer;
    if (writer->drain_.empty())
      writer->Remove([](LogFolder& folder) { return folder.RemoveKept(); });
  });
}

// ---- steps in the disk pool ----

void LogWriter::Enqueue(Job job) {
  CHECK(job.work != nullptr && job.then != nullptr);
  jobs_.push_back(std::move(job));
  RunNextJob();
}

void LogWriter::RunNextJob() {
  // In order and never two: each job counts on what those before it did to the folder.
  if (job_running_ || jobs_.empty() || abandoned_) return;
  job_running_ = true;
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  pool_.Submit([folder = folder_, strand = strand_, self = weak_from_this(),
                job = std::move(job)]() mutable {
    absl::Status status = job.work(*folder);
    job.work = nullptr;
    strand->Post(
        [self = std::move(self), then = std::move(job.then), status = std::move(status)]() mutable {
          const auto writer = self.lock();
          if (writer == nullptr) return;
          CHECK(writer->job_running_);
          writer->job_running_ = false;
          if (!writer->abandoned_) then(status);
          writer->RunNextJob();
          writer->Pump();
          writer->Check();
          writer->CheckDrained();
        });
  });
}

void LogWriter::Drain(Task done) {
  CHECK_ON_STRAND(strand_);
  drain_.push_back(std::move(done));
  strand_->Post([self = weak_from_this()] {
    const auto writer = self.lock();
    if (writer == nullptr) return;
    if (writer->retry_ != kNoTimer)
      writer->End(absl::ResourceExhaustedError("the log was drained while it waited for space"));
    writer->Pump();
    writer->CheckDrained();
  });
}

void LogWriter::CheckDrained() {
  if (drain_.empty() || !blocks_.empty() || in_flight_ || job_running_ || !jobs_.empty()) return;
  // Close does what these timers would do.
  strand_->Cancel(std::exchange(trim_, kNoTimer));
  strand_->Cancel(std::exchange(release_kept_, kNoTimer));
  std::vector<Task> done = std::exchange(drain_, {});
  for (Task& task : done) task();
}

void LogWriter::Abandon() {
  abandoned_ = true;
  jobs_.clear();
}

absl::Status LogWriter::Close() {
  if (!failed_.ok()) return failed_;
  if (!blocks_.empty() || in_flight_ || job_running_ || !jobs_.empty())
    return absl::FailedPreconditionError("close of a log that was not drained");
  failed_ = absl::FailedPreconditionError("the log is closed");
  const std::optional<LogFileEntry> newest = catalog_->Newest();
  if (current_.file != nullptr) {
    CHECK(newest && newest->name == current_name_) << "what was written is not known";
    CHECK_EQ(newest->content_bytes, content_bytes_) << "what is durable would be cut";
    to_trim_.push_back({current_name_.ToString(), content_bytes_});
  }
  RETURN_IF_ERROR(folder_->Trim(to_trim_));
  std::optional<LogIdentity::LastFile> last_file;
  if (newest)
    last_file.emplace(LogIdentity::LastFile{.index = newest->name.index,
                                            .content_bytes = newest->content_bytes,
                                            .max_ballot = blocks_.max_ballot(),
                                            .marks = newest->index.Last(kMarksAtClose)});
  return folder_->MarkClean(std::move(last_file));
}

}  // namespace arion
