// SPDX-License-Identifier: Apache-2.0
#include "tools/shell/copy/resume_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>

#include "base/raw_key.h"
#include "base/status.h"

namespace arion::shell {
namespace {

using testing::HasSubstr;

CopyState Example() {
  return {.source = {"t", 2, {"10.0.0.1:34601", "10.0.0.2:34601"}},
          .target = {"other \"t\"", 7, {"10.1.0.1:34601"}},
          .options = "hash key prefix \"a;#\", -n",
          .counts = {.copied = 10, .skipped = 2, .not_copied = 1, .bytes = 12345},
          .positions = {{{0, 4}, JoinRawKey("h", "s"), false},
                        {{1, 4}, std::nullopt, true},
                        {{2, 4}, std::nullopt, false},
                        {{3, 4}, JoinRawKey("", ""), false}}};
}

std::string Why(const absl::StatusOr<CopyState>& state) {
  EXPECT_TRUE(absl::IsFailedPrecondition(state.status())) << state.status();
  return std::string(state.status().message());
}

class ResumeFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/arion_resume_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/copy";
  }
  void TearDown() override {
    for (const char* name : {"/copy", "/copy.new"}) unlink((directory_ + name).c_str());
    rmdir(directory_.c_str());
  }
  void Fill(const std::string& text) { std::ofstream(path_) << text; }
  std::string Content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::string directory_, path_;
};

TEST_F(ResumeFileTest, WhatIsWrittenIsRead) {
  EXPECT_EQ(*ReadResumeFile(path_), std::nullopt) << "there is none";
  ASSERT_TRUE(WriteResumeFile(path_, Example()).ok());
  EXPECT_EQ(*ReadResumeFile(path_), Example());
  CopyState later = Example();
  later.positions[2].is_done = true;
  ASSERT_TRUE(WriteResumeFile(path_, later).ok());
  EXPECT_EQ(*ReadResumeFile(path_), later);
  EXPECT_NE(access((path_ + ".new").c_str(), F_OK), 0);
}

TEST_F(ResumeFileTest, KeysOfAnyBytesComeBack) {
  std::mt19937 chance(1);
  for (int i = 0; i < 300; ++i) {
    std::string hash_key, sort_key;
    for (std::string* key : {&hash_key, &sort_key})
      for (int left = static_cast<int>(chance() % 20); left > 0; --left)
        *key += static_cast<char>(chance());
    CopyState state = Example();
    state.positions[0].after = JoinRawKey(hash_key, sort_key);
    const auto read = CopyState::Parse(state.ToText());
    ASSERT_TRUE(read.ok()) << read.status() << state.ToText();
    ASSERT_EQ(*read, state);
  }
}

TEST_F(ResumeFileTest, EveryCutIsNoticed) {
  const std::string text = Example().ToText();
  for (size_t length = 0; length + 1 < text.size(); ++length)
    EXPECT_FALSE(CopyState::Parse(text.substr(0, length)).ok()) << length;
}

TEST_F(ResumeFileTest, WhatIsNoSuchFileIsRefusedAndStays) {
  for (const char* text : {"", "hello", "[pegasus.clusters]\na = b\n", "copy_data 2\nend\n",
                           "copy_data 1\nend\n", "copy_data 1\n\"\nend\n"}) {
    Fill(text);
    const auto read = ReadResumeFile(path_);
    EXPECT_TRUE(absl::IsFailedPrecondition(read.status())) << text;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(path_));
    EXPECT_EQ(Content(), text);
  }
}

TEST_F(ResumeFileTest, ALineThatIsNoneIsNamed) {
  const auto with = [](const std::string& line) {
    std::string text = Example().ToText();
    return CopyState::Parse(text.insert(text.find("end"), line + "\n"));
  };
  EXPECT_THAT(Why(with("partition 0 4 done")), HasSubstr("twice"));
  EXPECT_THAT(Why(with("partition 4 4 done")), HasSubstr("no such partition"));
  EXPECT_THAT(Why(with("partition 1 0 done")), HasSubstr("no such partition"));
  EXPECT_THAT(Why(with("partition x 8 done")), HasSubstr("no number"));
  EXPECT_THAT(Why(with("partition 5 8 after x")), HasSubstr("no position"));
  EXPECT_THAT(Why(with("partition 5 8 perhaps")), HasSubstr("no position"));
  EXPECT_THAT(Why(with("rate 5")), HasSubstr("\"rate\""));
}

TEST_F(ResumeFileTest, AnotherCopysFileIsRefused) {
  const CopyState ours = Example();
  EXPECT_TRUE(ours.CheckSameCopy(Example()).ok());
  CopyState other = Example();
  other.source.meta_servers = {"10.0.0.2:34601", "10.0.0.9:34601"};
  EXPECT_TRUE(ours.CheckSameCopy(other).ok()) << "one of them is the same";
  const auto why = [&](auto change) {
    CopyState stored = Example();
    change(stored);
    const absl::Status same = ours.CheckSameCopy(stored);
    EXPECT_TRUE(absl::IsFailedPrecondition(same));
    return std::string(same.message());
  };
  EXPECT_THAT(why([](CopyState& s) { s.source.table = "u"; }), HasSubstr("its source is table u"));
  EXPECT_THAT(why([](CopyState& s) { s.source.table_id = 3; }), HasSubstr("(id 3)"));
  EXPECT_THAT(why([](CopyState& s) { s.target.meta_servers = {"10.9.9.9:1"}; }),
              HasSubstr("of 10.9.9.9:1"));
  EXPECT_THAT(why([](CopyState& s) { s.options = "all"; }), HasSubstr("its options are all"));
}

TEST_F(ResumeFileTest, WhereItCantBeWrittenIsSaid) {
  const absl::Status written = WriteResumeFile("/nowhere/copy", Example());
  EXPECT_TRUE(absl::IsFailedPrecondition(written));
  EXPECT_THAT(std::string(written.message()), HasSubstr("/nowhere/copy"));
}

}  // namespace
}  // namespace arion::shell
