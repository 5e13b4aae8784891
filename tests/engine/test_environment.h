// TestEnvironment: a wall clock moved by hand, real files below a directory of its own, or files
// that are given, and nothing else. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "base/log.h"
#include "env/environment.h"
#include "env/posix_file_system.h"

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
  }

  const Clock& clock() const override { return *this; }
  FileSystem& files() override { return *files_; }
  Random& random() override { Refuse("no random numbers here"); }
  StrandPtr NewStrand(std::string_view) override { Refuse("no strands here"); }
  DiskPool& disk_pool(const std::string&) override { Refuse("no pools here"); }
  LogDevice& log_device(const std::string&) override { Refuse("no log devices here"); }

 private:
  [[noreturn]] static void Refuse(const char* what) {
    LOG(FATAL) << what;
    abort();
  }
  Instant Now() const override { return Instant(); }
  int64_t WallMicros() const override { return wall_micros_; }

  std::string root_;
  PosixFileSystem posix_files_;
  FileSystem* const files_ = &posix_files_;
  int64_t wall_micros_ = kExpiryEpochUnixSeconds * 1000000;
};

}  // namespace arion
