// Property files, the workloads they describe, the settings around them.
// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "tests/support/temp_directory.h"
#include "tools/load/settings.h"

namespace arion::load {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Properties Parsed(std::string_view text) {
  Properties properties;
  EXPECT_EQ(properties.Parse(text, "file"), absl::OkStatus());
  return properties;
}
absl::StatusOr<Workload> WorkloadOf(std::string_view text) { return Workload::From(Parsed(text)); }
std::string ErrorOf(std::string_view text) {
  return std::string(WorkloadOf(text).status().message());
}

TEST(Properties, ReadsJavasSyntax) {
  const Properties properties = Parsed(
      "# comment\n! another\n  a = 1  \nb:2\nc 3\nd=x\\\n   y\ne=\\=\\t\r\n\nf=\n#=no\ng=a=b\n");
  EXPECT_EQ(properties.Text("a", ""), "1");
  EXPECT_EQ(properties.Text("b", ""), "2");
  EXPECT_EQ(properties.Text("c", ""), "3");
  EXPECT_EQ(properties.Text("d", ""), "xy");
  EXPECT_EQ(properties.Text("e", ""), "=\t");
  EXPECT_TRUE(properties.Has("f"));
  EXPECT_EQ(properties.Text("g", ""), "a=b");
  EXPECT_EQ(properties.entries().size(), 7u);
  EXPECT_EQ(properties.entries().find("d")->second.origin, "file:6");
}

TEST(Properties, AnEmptyFileIsCalledEmptyWhateverFailedBefore) {
  const TempDirectory directory;
  const std::string path = directory.path() + "/empty";
  std::ofstream(path).close();
  errno = EIO;
  const absl::Status status = Properties().ReadFile(path);
  EXPECT_TRUE(absl::StrContains(status.message(), "it is empty")) << status;
}

TEST(Properties, ALineWithoutKeyIsNamed) {
  Properties properties;
  EXPECT_THAT(std::string(properties.Parse("a=1\n=2\n", "file").message()), HasSubstr("file:2"));
}

TEST(Properties, AMissingFileIsNamed) {
  Properties properties;
  EXPECT_THAT(std::string(properties.ReadFile("/nonexistent/w").message()),
              AllOf(HasSubstr("/nonexistent/w"), HasSubstr("No such file")));
}

TEST(Workload, GoYcsbsFileRunsAsItIs) {
  absl::StatusOr<Workload> workload = WorkloadOf(
      "recordcount=1000\noperationcount=1000\nworkload=core\nreadallfields=true\n"
      "readproportion=0.5\nupdateproportion=0.5\nscanproportion=0\ninsertproportion=0\n"
      "requestdistribution=uniform\nthreadcount=500 \nhistogram.buckets=1000\n");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->insert_count, 1000);
  EXPECT_EQ(workload->ProportionOf(Kind::kRead), 0.5);
  EXPECT_EQ(workload->ProportionOf(Kind::kUpdate), 0.5);
  EXPECT_EQ(workload->records_per_hash_key, 1);
  EXPECT_THAT(workload->without_effect, ElementsAre("histogram.buckets", "readallfields"));
}

TEST(Workload, TheJavaClassMeansCore) {
  EXPECT_TRUE(WorkloadOf("recordcount=1\nworkload=site.ycsb.workloads.CoreWorkload\n").ok());
  EXPECT_THAT(ErrorOf("recordcount=1\nworkload=site.ycsb.workloads.TimeSeries\n"),
              HasSubstr("only YCSB's core workload"));
}

TEST(Workload, CoreWorkloadsAreYcsbs) {
  for (char letter = 'a'; letter <= 'f'; ++letter) {
    Properties properties = Parsed("recordcount=10\n");
    ASSERT_EQ(properties.Parse(*CoreWorkload(std::string(1, letter)), "core"), absl::OkStatus());
    EXPECT_TRUE(Workload::From(properties).ok()) << letter;
  }
  EXPECT_FALSE(CoreWorkload("g").ok());
  EXPECT_FALSE(CoreWorkload("").ok());
}

TEST(Workload, ScansBringHashKeysOfManyRecords) {
  absl::StatusOr<Workload> workload = WorkloadOf("recordcount=10\nscanproportion=1\n");
  ASSERT_TRUE(workload.ok());
  EXPECT_EQ(workload->records_per_hash_key, 100);
  EXPECT_THAT(ErrorOf("recordcount=10\nscanproportion=1\nrecordsperhashkey=1\n"),
              HasSubstr("2 or more"));
}

TEST(Workload, WhatCannotBeIsSaid) {
  EXPECT_THAT(ErrorOf("recordcount=1\nreadpropotion=1\n"),
              AllOf(HasSubstr("file:2"), HasSubstr("unknown property readpropotion"),
                    HasSubstr("did you mean readproportion?")));
  EXPECT_THAT(ErrorOf("readproportion=1\n"), HasSubstr("recordcount"));
  EXPECT_THAT(ErrorOf("recordcount=x\n"), HasSubstr("recordcount=x"));
  EXPECT_THAT(ErrorOf("recordcount=-4\n"), HasSubstr("recordcount=-4"));
  EXPECT_THAT(ErrorOf("recordcount=1\nreadproportion=0.9\nupdateproportion=0.9\n"),
              AllOf(HasSubstr("1.8"), HasSubstr("updateproportion=0.9")));
  EXPECT_THAT(ErrorOf("recordcount=1\nreadproportion=0\n"), HasSubstr("all are 0"));
  EXPECT_THAT(ErrorOf("recordcount=1\nreadproportion=nan\n"), HasSubstr("readproportion=nan"));
  EXPECT_THAT(ErrorOf("recordcount=10\ninsertstart=5\ninsertcount=6\n"),
              HasSubstr("recordcount=10"));
  EXPECT_THAT(ErrorOf("recordcount=1\nrequestdistribution=pareto\n"), HasSubstr("pareto"));
  EXPECT_THAT(ErrorOf("recordcount=1\nfieldlengthdistribution=histogram\n"), HasSubstr("hist.txt"));
  EXPECT_THAT(ErrorOf("recordcount=1\nfieldlength=0\nfieldlengthdistribution=uniform\n"),
              HasSubstr("minfieldlength=1 is above fieldlength=0"));
  EXPECT_THAT(ErrorOf("recordcount=1\nfieldcount=1000000000\nfieldlength=1000000000\n"),
              HasSubstr("1 GiB"));
  EXPECT_THAT(ErrorOf("recordcount=1\nttlseconds=5\n"), HasSubstr("only together"));
  EXPECT_THAT(ErrorOf("recordcount=1\nexponential.percentile=100\n"), HasSubstr("percentile"));
  EXPECT_THAT(ErrorOf("recordcount=1\ninsertorder=random\n"), HasSubstr("hashed or ordered"));
}

TEST(Settings, FlagsGoBeforeProperties) {
  const Properties properties =
      Parsed("recordcount=10\nthreadcount=7\noperationcount=5\ntarget=9\n");
  absl::StatusOr<Settings> settings = Settings::From({.threads = 3}, properties);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->threads, 3);
  EXPECT_EQ(settings->operations, 5);
  EXPECT_EQ(settings->rate_text, "9");
  settings = Settings::From({.seconds = absl::Seconds(4), .warm_up = absl::Seconds(1)}, properties);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->threads, 7);
  EXPECT_EQ(settings->operations, INT64_MAX);
  EXPECT_EQ(settings->run_time, absl::Seconds(5));
}

TEST(Settings, ALetterIsEnough) {
  absl::StatusOr<Settings> settings = Settings::From({.workload = "a"}, {});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->workload.record_count, 100000);
  EXPECT_EQ(settings->run_time, absl::Seconds(30));
  settings = Settings::From({.workload = "a"}, Parsed("recordcount=5\n"));
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->workload.record_count, 5);
}

TEST(Settings, ARateIsTheRunsOrALoadsThatIsAlone) {
  const auto loop = [](const std::vector<std::string>& commands) {
    absl::StatusOr<Settings> settings =
        Settings::From({.commands = commands, .workload = "a", .rate = "100"}, {});
    EXPECT_TRUE(settings.ok()) << settings.status();
    for (const auto& [name, value] : settings->Describe())
      if (name == "loop") return std::pair(settings->IsPaced(Phase::kLoad), value);
    return std::pair(false, std::string());
  };
  const std::string open = "open, 100 operations/s, at most 1000 under way";
  EXPECT_EQ(loop({"load"}), std::pair(true, open));
  EXPECT_EQ(loop({"run"}).second, open);
  EXPECT_EQ(loop({}), std::pair(false, open + "; of the load: closed, 1000 threads"));
}

TEST(Settings, FlagsOfTheRunAreRefusedWithALoadAlone) {
  Flags flags{.commands = {"load"},
              .workload = "a",
              .operations = 5,
              .seconds = absl::Seconds(1),
              .warm_up = absl::Seconds(1),
              .chaos = {"1s:true"}};
  EXPECT_THAT(std::string(Settings::From(flags, {}).status().message()),
              HasSubstr("--seconds, --operations, --warmup, --chaos: of the run phase"));
  flags = {.commands = {"load"}};
  const absl::StatusOr<Settings> settings = Settings::From(
      flags, Parsed("recordcount=1\noperationcount=5\nmaxexecutiontime=5\nwarmuptime=1\n"));
  ASSERT_TRUE(settings.ok()) << settings.status() << ": YCSB's own file";
  EXPECT_THAT(settings->Describe(), testing::Contains(std::pair("run", "none")));
}

TEST(Settings, WhatCannotBeIsSaid) {
  const auto error = [](const Flags& flags, std::string_view properties) {
    return std::string(Settings::From(flags, Parsed(properties)).status().message());
  };
  EXPECT_THAT(error({}, ""), HasSubstr("no workload"));
  EXPECT_THAT(error({.workload = "a", .threads = 0}, ""), HasSubstr("--threads=0: 1 or more"));
  EXPECT_THAT(error({}, "recordcount=1\nthreadcount=0\n"), HasSubstr("threadcount=0: 1 or more"));
  EXPECT_THAT(error({.workload = "a", .rate = "0"}, ""), HasSubstr("rates above 0"));
  EXPECT_THAT(error({.workload = "a", .threads = 2, .clients = 3}, ""),
              HasSubstr("a thread a client"));
  EXPECT_THAT(error({.commands = {"lod"}, .workload = "a"}, ""), HasSubstr("load, run"));
  EXPECT_THAT(error({.workload = "a", .slo = "READ p99<"}, ""), HasSubstr("READ p99<"));
  EXPECT_THAT(error({.workload = "a", .seconds = absl::ZeroDuration()}, ""),
              HasSubstr("--seconds"));
  EXPECT_THAT(
      error({.workload = "a", .verify = Flags::Verify::kYes}, "fieldcount=1\nfieldlength=8\n"),
      HasSubstr("32 bytes"));
}

}  // namespace
}  // namespace arion::load
