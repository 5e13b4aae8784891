// TestEnvironment: a wall clock moved by hand, real files below a directory of its own, or files
// that are given, a log device without logs, and nothing else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/log.h"
#include "env/clock.h"
#include "env/environment.h"
#include "env/log_device.h"
#include "posix/posix_file_system.h"

namespace arion {

class TestEnvironment : public Environment, private Clock {
 public:
  TestEnvironment() {
    std::string name = (std::filesystem::temp_directory_path() / "arion_engine.XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  explicit TestEnvironment(FileSystem& files) : files_(&files) {}
  ~TestEnvironment() override {
    if (root_.empty()) return;
    std::filesystem::remove_all(root_);
  }

  const std::string& root() const { return root_; }
  void set_expiry_now(uint32_t seconds) {
    wall_micros_ = (kExpiryEpochUnixSeconds + seconds) * 1000000;
    agreed().Agree(wall_micros_, Now());
  }

  const Clock& clock() const override { return *this; }
  FileSystem& files() override { return *files_; }
  Random& random() override { Refuse("no random numbers here"); }
  StrandPtr NewStrand(std::string_view) override { Refuse("no strands here"); }
  DiskPool& disk_pool(const std::string&) override { Refuse("no pools here"); }
  LogDevice& log_device(const std::string&) override { return log_device_; }

 private:
  [[noreturn]] static void Refuse(const char* what) {
    LOG(FATAL) << what;
    abort();
  }
  // Nobody writes a log.
  class NoLogs : public LogDevice {
   public:
    void Write(WriteRequest) override { Refuse("no logs here"); }
    absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string&, bool) override {
      return absl::UnimplementedError("no logs here");
    }
    absl::Status FillWithZeros(LogFile&, uint64_t, uint64_t) override { return absl::OkStatus(); }
    absl::Status TruncateAndSync(LogFile&, uint64_t) override { return absl::OkStatus(); }
    absl::Status Sync(LogFile&) override { return absl::OkStatus(); }
    std::string method() const override { return "none"; }
    const LogDeviceStats& stats() const override { return stats_; }

   private:
    const LogDeviceStats stats_{};
  };
  Instant Now() const override { return Instant(); }
  int64_t WallMicros() const override { return wall_micros_; }

  std::string root_;
  NoLogs log_device_;
  PosixFileSystem posix_files_;
  FileSystem* const files_ = &posix_files_;
  int64_t wall_micros_ = kExpiryEpochUnixSeconds * 1000000;
};

}  // namespace arion
