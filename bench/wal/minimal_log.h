// MinimalLog: the least a log must do on a strand and a LogDevice: copy, checksum, one write at a
// time into pre-written space, what arrives meanwhile is the next block. No files but one, no
// recovery, no failures. What PrivateLog costs beyond it is the price of its promises; what it costs
// beyond RawRing is the price of strands and of the device's thread.
//
// Threads   Strand-bound.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/crc.h"
#include "bench/wal/bench_log.h"
#include "env/environment.h"
#include "wal/log_format.h"

namespace arion {

class MinimalLog {
 public:
  MinimalLog(LogDevice& device, StrandPtr strand, const std::string& path, uint64_t file_bytes)
      : device_(device), strand_(std::move(strand)), file_bytes_(file_bytes) {
    file_ = *device_.Open(path, /*direct=*/true);
    CHECK(device_.FillWithZeros(*file_, 0, file_bytes_).ok());
    StartBlock();
  }

  void Append(const MutationPtr& mutation, PrivateLog::DurableCallback on_durable) {
    const size_t bytes = EncodedSize(*mutation);
    const size_t at = open_.size();
    char* const to = open_.Extend(bytes);
    StoreMutation(*mutation, static_cast<int64_t>(position_ + at - prefix_), to);
    crc_ = Crc32c({to, bytes}, crc_);
    callbacks_.push_back(std::move(on_durable));
    if (!in_flight_ && !answering_) Submit();
  }

  const StrandPtr& strand() const { return strand_; }

 private:
  static constexpr size_t kPage = AlignedBuffer::kAlignment;

  void StartBlock() {
    prefix_ = position_ % kPage;
    open_.Resize(0);
    open_.Resize(prefix_ + kBlockHeaderBytes);
  }

  void Submit() {
    if (position_ + open_.size() + kPage > file_bytes_)
      position_ = prefix_;  // from the front again
    StoreBlockHeader({.length = static_cast<int32_t>(open_.size() - prefix_ - kBlockHeaderBytes),
                      .body_crc = crc_,
                      .position = static_cast<uint32_t>(position_)},
                     open_.data() + prefix_);
    std::memcpy(open_.data(), last_page_, prefix_);
    const size_t end = open_.size();
    const size_t last = end / kPage * kPage;
    std::memcpy(last_page_, open_.data() + last, end - last);
    open_.Resize((end + kPage - 1) / kPage * kPage);
    LogDevice::WriteRequest request;
    request.file = file_;
    request.offset = position_ - prefix_;
    request.buffer = std::exchange(open_, std::move(spare_));
    request.records = static_cast<uint32_t>(callbacks_.size());
    request.coverage = Coverage::kPrewritten;
    request.reply_on = strand_;
    request.done = [this](absl::Status status, AlignedBuffer buffer) {
      CHECK(status.ok()) << status;
      OnDurable(std::move(buffer));
    };
    position_ += end - prefix_;
    in_flight_callbacks_.swap(callbacks_);
    in_flight_ = true;
    device_.Write(std::move(request));
    StartBlock();
  }

  void OnDurable(AlignedBuffer buffer) {
    in_flight_ = false;
    spare_ = std::move(buffer);
    answered_.swap(in_flight_callbacks_);
    answering_ = true;
    for (auto& callback : answered_) callback(absl::OkStatus());
    answering_ = false;
    answered_.clear();
    if (!callbacks_.empty()) Submit();
  }

  LogDevice& device_;
  const StrandPtr strand_;
  const uint64_t file_bytes_;
  std::shared_ptr<LogFile> file_;
  uint64_t position_ = 0;
  size_t prefix_ = 0;
  uint32_t crc_ = 0;
  AlignedBuffer open_;   // the block being built
  AlignedBuffer spare_;  // of the block before
  bool in_flight_ = false;
  bool answering_ = false;
  std::vector<PrivateLog::DurableCallback> callbacks_;  // of the open block
  std::vector<PrivateLog::DurableCallback> in_flight_callbacks_;
  std::vector<PrivateLog::DurableCallback> answered_;
  char last_page_[kPage];
};

}  // namespace arion
