// CrashEnvironment: the Environment of one life over a RecordedDisk. Strands, timers, pool and
// clock are the simulator's, so a seed gives the same run; files and log device are the recorded
// disk's.
//
// Lifetime  The disk and the world outlive it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "env/file_system.h"
#include "env/log_device.h"
#include "sim/sim_environment.h"
#include "sim/sim_world.h"
#include "tests/crash/recorded_disk.h"

namespace arion::crash {

class CrashEnvironment : public Environment {
 public:
  CrashEnvironment(sim::SimEnvironment& under, RecordedDisk& disk);
  ~CrashEnvironment() override;

  const Clock& clock() const override { return under_.clock(); }
  FileSystem& files() override { return *files_; }
  Random& random() override { return under_.random(); }
  StrandPtr NewStrand(std::string_view name) override { return under_.NewStrand(name); }
  DiskPool& disk_pool(const std::string& path) override { return under_.disk_pool(path); }
  LogDevice& log_device(const std::string& path) override;

  // The process died: what it left behind is not heard of any more.
  void End();

 private:
  sim::SimEnvironment& under_;
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<class RecordedLogDevice> device_;
};

}  // namespace arion::crash
