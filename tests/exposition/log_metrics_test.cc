// SPDX-License-Identifier: Apache-2.0
#include "exposition/log_metrics.h"
#include "config/server_config.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "env/strand.h"
#include "posix/posix_environment.h"

namespace arion {
namespace {

class IdleDevice : public LogDevice {
 public:
  void Write(WriteRequest) override {}
  absl::StatusOr<std::shared_ptr<LogFile>> Open(const std::string&, bool) override {
    return absl::UnimplementedError("nobody writes");
  }
  absl::Status FillWithZeros(LogFile&, uint64_t, uint64_t) override { return absl::OkStatus(); }
  absl::Status TruncateAndSync(LogFile&, uint64_t) override { return absl::OkStatus(); }
  absl::Status Sync(LogFile&) override { return absl::OkStatus(); }
  std::string method() const override { return "none"; }
  const LogDeviceStats& stats() const override { return stats_; }
  LogDeviceStats stats_;
};

// A device for each first part of a path.
class Devices : public Environment {
 public:
  const Clock& clock() const override { return env_.clock(); }
  FileSystem& files() override { return env_.files(); }
  Random& random() override { return env_.random(); }
  StrandPtr NewStrand(std::string_view name) override { return env_.NewStrand(name); }
  DiskPool& disk_pool(const std::string& path) override { return env_.disk_pool(path); }
  IdleDevice& log_device(const std::string& path) override {
    return devices_[path.substr(0, path.find('/', 1))];
  }

 private:
  PosixEnvironment env_{{}};
  std::map<std::string, IdleDevice> devices_;
};

// "disk tags: value", of each row.
std::vector<std::string> Rows(Devices& env, const std::string& log_home) {
  MetricRegistry registry;
  const std::vector<ConfiguredDisk> disks = {{.tag = "a", .path = "/one/a", .origin = ""},
                                             {.tag = "b", .path = "/two/b", .origin = ""},
                                             {.tag = "c", .path = "/one/c", .origin = ""}};
  const MetricRegistrations held = RegisterLogDevices(registry, env, disks, log_home);
  std::vector<std::string> rows;
  for (const MetricFamily& family : registry.Read()) {
    if (family.info.name != "log_writes_total") continue;
    for (const MetricSample& sample : family.samples)
      rows.push_back(sample.labels.at(0).second + ": " +
                     std::to_string(static_cast<int>(sample.value)));
  }
  return rows;
}
using Lines = std::vector<std::string>;

TEST(LogMetricsTest, EachDeviceStandsOnceTheLogHomesToo) {
  Devices env;
  env.log_device("/one/a").stats_.writes.Add(1);
  env.log_device("/two/b").stats_.writes.Add(2);
  env.log_device("/three/logs").stats_.writes.Add(3);
  EXPECT_EQ(Rows(env, ""), (Lines{"a,c: 1", "b: 2"}));
  EXPECT_EQ(Rows(env, "/three/logs"), (Lines{"a,c: 1", "b: 2", "log_home: 3"}));
  EXPECT_EQ(Rows(env, "/two/logs"), (Lines{"a,c: 1", "b,log_home: 2"}));
}

}  // namespace
}  // namespace arion
