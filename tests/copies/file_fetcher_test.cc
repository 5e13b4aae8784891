// SPDX-License-Identifier: Apache-2.0
#include "copies/file_fetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <utility>

#include "base/crc.h"
#include "copies/served_files.h"
#include "sim/sim_environment.h"
#include "sim/sim_transport.h"
#include "tests/wal/watched_environment.h"

namespace arion {
namespace {

// Counts the files that are open for writing.
class CountedFiles : public WatchedFiles {
 public:
  using WatchedFiles::WatchedFiles;
  int open = 0;

  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(const std::string& path,
                                                             CreateMode mode) override {
    ASSIGN_OR_RETURN(auto file, WatchedFiles::OpenForWrite(path, mode));
    return std::make_unique<Counted>(open, std::move(file));
  }

 private:
  class Counted : public WritableFile {
   public:
    Counted(int& open, std::unique_ptr<WritableFile> file) : open_(open), file_(std::move(file)) {
      ++open_;
    }
    ~Counted() override { --open_; }
    absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
      return file_->WriteAt(offset, bytes);
    }
    absl::Status Truncate(uint64_t size) override { return file_->Truncate(size); }
    absl::Status Sync() override { return file_->Sync(); }
    absl::Status Close() override { return file_->Close(); }

   private:
    int& open_;
    const std::unique_ptr<WritableFile> file_;
  };
};

class CountedEnvironment : public WatchedEnvironment {
 public:
  explicit CountedEnvironment(Environment& env) : WatchedEnvironment(env), files_(env.files()) {}
  CountedFiles& files() override { return files_; }

 private:
  CountedFiles files_;
};

// A source that serves two files, and a fetcher on another node.
class FileFetcherTest : public testing::Test {
 protected:
  FileFetcherTest() {
    EXPECT_TRUE(source_env_.files().CreateDirectories("/src/checkpoint.5").ok());
    EXPECT_TRUE(WriteFileDurably(source_env_.files(), "/src/checkpoint.5/big", big_).ok());
    EXPECT_TRUE(WriteFileDurably(source_env_.files(), "/src/checkpoint.5/empty", "").ok());
    EXPECT_TRUE(WriteFileDurably(source_env_.files(), "/src/secret", "not yours").ok());
    EXPECT_TRUE(env_.files().CreateDirectories("/replica/learn").ok());
    EXPECT_TRUE(WriteFileDurably(env_.files(), "/replica/learn/left-over", "old").ok());
    node_.disk().MakeDurable();
    share_ = served_->Share("/src", {{"checkpoint.5/big", big_.size()}, {"checkpoint.5/empty", 0}},
                            nullptr);
    source_transport_.SetHandler([this](InboundRequest request) {
      if (request.header.name == kRpcGetFileSize) {
        const auto sizes = served_->Sizes(*DecodeWrapped<GetFileSizeRequest>(request.body));
        return request.responder.Reply(ErrorCode::kOk, EncodeWrapped(sizes));
      }
      if (chunks_ == serves_chunks_)
        return request.responder.Reply(
            ErrorCode::kOk, EncodeWrapped(CopyResponse{.error = ErrorCode::kObjectNotFound}));
      CopyResponse chunk = served_->Read(*DecodeWrapped<CopyRequest>(request.body));
      ++chunks_;
      if (chunks_to_shift_ > 0) {
        --chunks_to_shift_;
        chunk.offset += shift_;
      }
      if (chunks_to_damage_ > 0 && !chunk.file_content.bytes.empty()) {
        --chunks_to_damage_;
        chunk.file_content.bytes[17] ^= 4;
        if (hides_damage_) chunk.crc32c.reset();
      }
      request.responder.Reply(ErrorCode::kOk, EncodeWrapped(chunk));
    });
  }

  void InPool(absl::AnyInvocable<absl::Status()> work,
              absl::AnyInvocable<void(absl::Status)> then) {
    env_.bulk_pool("/replica")
        .Submit([this, work = std::move(work), then = std::move(then)]() mutable {
          absl::Status status = work();
          work = nullptr;
          strand_->Post([status, then = std::move(then)]() mutable { then(status); });
        });
  }
  absl::Status Fetch(FetchPlan plan) {
    std::optional<absl::Status> result;
    auto fetcher = std::make_shared<FileFetcher>(env_, transport_, strand_, std::move(plan));
    env_.RunOn(strand_,
               [&] { fetcher->Start([&](const absl::Status& status) { result = status; }); });
    EXPECT_TRUE(world_.RunUntil([&] { return result.has_value(); }, absl::Minutes(2)));
    bytes_kept_ = fetcher->bytes_kept();
    return result.value_or(absl::UnknownError("no answer"));
  }
  FetchPlan Plan() {
    return {.source = source_transport_.local(),
            .pid = {2, 1},
            .source_directory = "/src",
            .target_directory = "/replica/learn",
            .files = {{.name = "checkpoint.5/big", .size = big_.size(), .crc32c = Crc32c(big_)},
                      {.name = "checkpoint.5/empty", .size = 0}},
            .pool_path = "/replica",
            .in_pool = [this](auto work, auto then) { InPool(std::move(work), std::move(then)); },
            .on_odd_answer = [this] { ++odd_answers_; }};
  }

  const std::string big_ = [] {
    std::string bytes(9 << 20, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 >> 3);
    return bytes;
  }();
  sim::SimWorld world_{3};
  sim::SimNetwork network_{world_};
  sim::SimNode& source_node_ = world_.AddNode("r1");
  sim::SimEnvironment& source_env_ = source_node_.Start();
  sim::SimTransport source_transport_{network_, source_node_, *Endpoint::Parse("10.0.0.1:34801")};
  std::shared_ptr<ServedFiles> served_ = std::make_shared<ServedFiles>(source_env_.files());
  std::shared_ptr<void> share_;
  sim::SimNode& node_ = world_.AddNode("r2");
  sim::SimEnvironment& env_ = node_.Start();
  sim::SimTransport transport_{network_, node_, *Endpoint::Parse("10.0.0.2:34801")};
  StrandPtr strand_ = env_.NewStrand("learner");
  int chunks_ = 0;
  int serves_chunks_ = INT_MAX;
  uint64_t bytes_kept_ = 0;  // by the last Fetch
  int chunks_to_damage_ = 0;
  bool hides_damage_ = false;
  int chunks_to_shift_ = 0;
  int64_t shift_ = 0;
  int odd_answers_ = 0;
};

TEST_F(FileFetcherTest, FilesArriveWholeAndDurableInAnEmptyDirectory) {
  ASSERT_TRUE(Fetch(Plan()).ok());
  EXPECT_FALSE(Exists(env_.files(), "/replica/learn/left-over"));
  node_.Crash(sim::CrashMode::kPowerNone);
  FileSystem& files = node_.Start().files();
  EXPECT_EQ(ReadFile(files, "/replica/learn/checkpoint.5/big").value(), big_);
  EXPECT_EQ(ReadFile(files, "/replica/learn/checkpoint.5/empty").value(), "");
}

TEST_F(FileFetcherTest, ADamagedChunkIsAskedForAgain) {
  chunks_to_damage_ = 2;
  ASSERT_TRUE(Fetch(Plan()).ok());
  EXPECT_EQ(chunks_, 18 + 2);
  EXPECT_EQ(odd_answers_, 2);
  EXPECT_EQ(ReadFile(env_.files(), "/replica/learn/checkpoint.5/big").value(), big_);
}

TEST_F(FileFetcherTest, AChunkThatStaysDamagedEndsTheSession) {
  chunks_to_damage_ = 3;
  EXPECT_TRUE(absl::IsUnavailable(Fetch(Plan())));
}

TEST_F(FileFetcherTest, NoFileStaysOpenWhateverTheEnd) {
  CountedEnvironment env(env_);
  const auto start = [&](std::optional<absl::Status>* result) {
    auto fetcher = std::make_shared<FileFetcher>(env, transport_, strand_, Plan());
    env_.RunOn(strand_,
               [&] { fetcher->Start([result](const absl::Status& status) { *result = status; }); });
    return fetcher;
  };
  chunks_to_damage_ = 3;
  std::optional<absl::Status> failed;
  auto fetcher = start(&failed);
  ASSERT_TRUE(world_.RunUntil([&] { return env.files().open > 0; }, absl::Minutes(1)));
  ASSERT_TRUE(world_.RunUntil([&] { return failed.has_value(); }, absl::Minutes(1)));
  EXPECT_TRUE(absl::IsUnavailable(*failed));
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(env.files().open, 0) << "it failed";

  std::optional<absl::Status> cancelled;
  fetcher = start(&cancelled);
  ASSERT_TRUE(world_.RunUntil([&] { return env.files().open > 0; }, absl::Minutes(1)));
  env_.RunOn(strand_, [&] {
    fetcher->Cancel();
    fetcher = nullptr;
    EXPECT_EQ(env.files().open, 1) << "closed on the strand";
  });
  world_.RunFor(absl::Seconds(1));
  EXPECT_EQ(env.files().open, 0) << "it was cancelled";

  std::optional<absl::Status> done;
  fetcher = start(&done);
  ASSERT_TRUE(world_.RunUntil([&] { return done.has_value(); }, absl::Minutes(1)));
  EXPECT_TRUE(done->ok()) << *done;
  EXPECT_EQ(env.files().open, 0) << "it is done";
}

// Its replica is set aside, and maybe made anew, as soon as its own work is done.
TEST_F(FileFetcherTest, ACancelledCopyBeginsNothingInThePool) {
  auto fetcher = std::make_shared<FileFetcher>(env_, transport_, strand_, Plan());
  env_.RunOn(strand_, [&] {
    fetcher->Start([](const absl::Status& status) { ADD_FAILURE() << status; });
    fetcher->Cancel();
  });
  world_.RunFor(absl::Seconds(1));
  EXPECT_TRUE(Exists(env_.files(), "/replica/learn/left-over"));
  EXPECT_FALSE(Exists(env_.files(), "/replica/learn/checkpoint.5"));
}

// Its bytes are those of the range asked for; where they belong it says wrongly.
TEST_F(FileFetcherTest, AChunkOfAnotherRangeIsRefusedByNameAndCounted) {
  for (const int64_t shift : {int64_t{512 << 10}, int64_t{-1}, INT64_MAX - (int64_t{9} << 20)}) {
    shift_ = shift;
    chunks_to_shift_ = 2;
    ASSERT_TRUE(Fetch(Plan()).ok()) << "it is asked for again";
    EXPECT_EQ(std::exchange(chunks_, 0), 18 + 2);
    EXPECT_EQ(std::exchange(odd_answers_, 0), 2);
    EXPECT_EQ(ReadFile(env_.files(), "/replica/learn/checkpoint.5/big").value(), big_);
    ASSERT_TRUE(env_.files().RemoveAll("/replica/learn").ok());

    chunks_to_shift_ = INT_MAX;
    const absl::Status refusal = Fetch(Plan());
    EXPECT_TRUE(absl::IsUnavailable(refusal));
    EXPECT_THAT(refusal.message(), testing::HasSubstr("another range than asked for"));
    EXPECT_EQ(std::exchange(chunks_, 0), 3);
    EXPECT_EQ(std::exchange(odd_answers_, 0), 3);
    EXPECT_EQ(env_.files().Stat("/replica/learn/checkpoint.5/big")->size, 0u) << "nothing of it";
    ASSERT_TRUE(env_.files().RemoveAll("/replica/learn").ok());
  }
}

TEST_F(FileFetcherTest, TheWholeFilesChecksumCatchesWhatNoChunkShows) {
  chunks_to_damage_ = 1;
  hides_damage_ = true;
  EXPECT_TRUE(absl::IsUnavailable(Fetch(Plan())));
}

// Eighteen chunks of 512 KiB.
TEST_F(FileFetcherTest, AnInterruptedCopyGoesOnWhereItStopped) {
  serves_chunks_ = 2;
  EXPECT_TRUE(absl::IsUnavailable(Fetch(Plan())));
  EXPECT_EQ(std::exchange(chunks_, 0), 2);
  EXPECT_EQ(odd_answers_, 0) << "it says itself that it can't";
  serves_chunks_ = INT_MAX;
  ASSERT_TRUE(Fetch(Plan()).ok());
  EXPECT_EQ(chunks_, 16);
  EXPECT_EQ(bytes_kept_, uint64_t{1} << 20);
  EXPECT_EQ(ReadFile(env_.files(), "/replica/learn/checkpoint.5/big").value(), big_);
}

TEST_F(FileFetcherTest, WhatAPowerCutLeftOfACopyIsNeverTakenForTheFile) {
  serves_chunks_ = 2;
  EXPECT_TRUE(absl::IsUnavailable(Fetch(Plan())));
  for (const char* torn : {"/replica/learn/checkpoint.5/big", "/replica/learn/checkpoint.5/empty"})
    ASSERT_TRUE(WriteFileDurably(env_.files(), torn, std::string(5 << 20, '\0')).ok());
  serves_chunks_ = INT_MAX;
  ASSERT_TRUE(Fetch(Plan()).ok());
  EXPECT_EQ(ReadFile(env_.files(), "/replica/learn/checkpoint.5/big").value(), big_);
  EXPECT_EQ(ReadFile(env_.files(), "/replica/learn/checkpoint.5/empty").value(), "");
  EXPECT_EQ(bytes_kept_, 0u);
}

TEST_F(FileFetcherTest, AFileOfAnEarlierCheckpointIsNotCopiedAgain) {
  ASSERT_TRUE(env_.files().CreateDirectories("/replica/learn/checkpoint.4").ok());
  ASSERT_TRUE(WriteFileDurably(env_.files(), "/replica/learn/checkpoint.4/big", big_).ok());
  ASSERT_TRUE(WriteFileDurably(env_.files(), "/replica/learn/checkpoint.4/other", "x").ok());
  ASSERT_TRUE(Fetch(Plan()).ok());
  EXPECT_EQ(chunks_, 0);
  EXPECT_EQ(ReadFile(env_.files(), "/replica/learn/checkpoint.5/big").value(), big_);
  EXPECT_FALSE(Exists(env_.files(), "/replica/learn/checkpoint.4"));
  node_.Crash(sim::CrashMode::kPowerNone);
  EXPECT_EQ(ReadFile(node_.Start().files(), "/replica/learn/checkpoint.5/big").value(), big_);
}

TEST_F(FileFetcherTest, ASourceThatIsAwayForAMomentIsWaitedFor) {
  network_.Block(source_transport_.local(), transport_.local());
  world_.After(absl::Seconds(70), sim::EventKind::kFault, [this] { network_.UnblockAll(); });
  FetchPlan plan = Plan();
  EXPECT_TRUE(absl::IsUnavailable(Fetch(plan))) << "whose sizes nobody tells";
  network_.UnblockAll();
  world_.After(absl::Milliseconds(3), sim::EventKind::kFault,
               [this] { network_.Block(source_transport_.local(), transport_.local()); });
  EXPECT_TRUE(Fetch(plan).ok());
}

TEST_F(FileFetcherTest, APaceIsKept) {
  FetchPlan plan = Plan();
  uint64_t asked = 0;
  plan.pace = [&](uint64_t bytes) {
    asked += bytes;
    return absl::Seconds(2);
  };
  const Instant begin = world_.now();
  ASSERT_TRUE(Fetch(std::move(plan)).ok());
  EXPECT_EQ(asked, big_.size());
  EXPECT_GE(world_.now() - begin, absl::Seconds(36));
}

TEST_F(FileFetcherTest, AFileThatHasChangedSinceItWasHandedOutIsRefused) {
  std::string other = big_;
  other[7 << 20] ^= 1;
  ASSERT_TRUE(WriteFileDurably(source_env_.files(), "/src/checkpoint.5/big", other).ok());
  EXPECT_TRUE(absl::IsUnavailable(Fetch(Plan())));
}

TEST_F(FileFetcherTest, AFileThatHasBecomeShorterIsRefused) {
  const std::string shorter = big_.substr(0, 8 << 20);
  ASSERT_TRUE(WriteFileDurably(source_env_.files(), "/src/checkpoint.5/big", shorter).ok());
  EXPECT_TRUE(absl::IsUnavailable(Fetch(Plan())));
  EXPECT_EQ(chunks_, 16 + 3) << "its end is asked for three times";
}

TEST_F(FileFetcherTest, FilesThatAreNoLongerServedEndTheSession) {
  share_.reset();
  EXPECT_TRUE(absl::IsUnavailable(Fetch(Plan())));
  EXPECT_EQ(odd_answers_, 0);
}

TEST_F(FileFetcherTest, NamesThatLeaveTheDirectoryAreRefusedOnBothSides) {
  FetchPlan plan = Plan();
  plan.files = {{.name = "../escape", .size = 1}};
  EXPECT_TRUE(absl::IsUnavailable(Fetch(plan)));
  EXPECT_EQ(odd_answers_, 1);
  EXPECT_FALSE(Exists(env_.files(), "/replica/escape"));
  for (const char* name : {"secret", "../src/secret", "/src/secret", "checkpoint.5/../secret", ""})
    EXPECT_EQ(served_->Read({.source_dir = "/src", .file_name = name, .size = 1}).error,
              ErrorCode::kObjectNotFound)
        << name;
  EXPECT_EQ(served_->Read({.source_dir = "/", .file_name = "src/secret", .size = 1}).error,
            ErrorCode::kObjectNotFound);
}

TEST_F(FileFetcherTest, NothingBeyondAFilesSizeIsServed) {
  const std::string name = "checkpoint.5/big";
  const auto size = static_cast<int64_t>(big_.size());
  EXPECT_EQ(
      served_->Read({.source_dir = "/src", .file_name = name, .offset = size - 1, .size = 2}).error,
      ErrorCode::kHandleEof);
  EXPECT_EQ(served_->Read({.source_dir = "/src", .file_name = name, .offset = -1, .size = 1}).error,
            ErrorCode::kHandleEof);
  EXPECT_EQ(served_->Read({.source_dir = "/src", .file_name = name, .offset = INT64_MAX, .size = 1})
                .error,
            ErrorCode::kHandleEof);
  EXPECT_EQ(
      served_->Read({.source_dir = "/src", .file_name = name, .offset = 0, .size = 17 << 20}).error,
      ErrorCode::kHandleEof);
}

}  // namespace
}  // namespace arion
