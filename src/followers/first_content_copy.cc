// SPDX-License-Identifier: Apache-2.0
#include "followers/first_content_copy.h"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "client/meta_caller.h"
#include "copies/file_fetcher.h"
#include "copies/served_files.h"
#include "env/clock.h"
#include "messages/meta_messages.h"
#include "messages/tool_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

constexpr absl::Duration kMetaPatience = absl::Seconds(10);
constexpr absl::Duration kCheckpointTimeout = absl::Seconds(30);  // it may have to be made
constexpr absl::Duration kPause = absl::Seconds(1);
constexpr int kBusyMax = 3600;  // checksums of a large checkpoint, a piece of it each time
constexpr absl::Duration kReportInterval = absl::Seconds(10);

// All addresses of those that have any. An address needs no resolver.
absl::StatusOr<std::vector<Endpoint>> LookUpAll(const std::vector<NamedAddress>& names) {
  std::vector<Endpoint> all;
  absl::Status failed;
  for (const NamedAddress& name : names) {
    if (const auto address = Endpoint::Parse(name.ToString())) {
      all.push_back(*address);
      continue;
    }
    const absl::StatusOr<std::vector<Endpoint>> found = LookUp(name);
    if (found.ok())
      all.insert(all.end(), found->begin(), found->end());
    else
      failed = found.status();
  }
  if (all.empty()) return failed;
  return all;
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// Why no checkpoint can be made of what is listed; empty: nothing is wrong.
std::string_view WhatIsWrong(const LearnState& state) {
  const bool is_empty = state.to_decree_included == Decree(0);
  if (state.to_decree_included < Decree(0)) return "a decree that nobody reaches";
  if (state.files.empty()) return is_empty ? "" : "a checkpoint without files";
  std::set<std::string_view> names;
  for (const std::string& name : state.files)
    if (!IsSafeRelativeName(name) || name.find('/') != name.npos || !names.insert(name).second)
      return "files that are no checkpoint";
  if (state.file_sizes && std::any_of(state.file_sizes->begin(), state.file_sizes->end(),
                                      [](int64_t size) { return size < 0; }))
    return "sizes that no file has";
  return "";
}

}  // namespace

FirstContentCopy::FirstContentCopy(Environment& env, Transport& transport, StrandPtr strand,
                                   FirstContentPlan plan)
    : env_(env), transport_(transport), strand_(std::move(strand)), plan_(std::move(plan)) {}

FirstContentCopy::~FirstContentCopy() { Cancel(); }

void FirstContentCopy::Start(Done done) {
  CHECK_ON_STRAND(strand_);
  done_ = std::move(done);
  absl::StatusOr<MasterTable> master = MasterOf(plan_.app);
  if (!master.ok()) return Fail(MessageOf(master.status()));
  master_ = *std::move(master);
  LookUpMetas();
}

void FirstContentCopy::Cancel() {
  done_ = nullptr;
  if (fetcher_ != nullptr) fetcher_->Cancel();
  fetcher_ = nullptr;
  slot_ = nullptr;
}

void FirstContentCopy::After(absl::Duration pause, void (FirstContentCopy::*step)()) {
  strand_->PostAfter(pause, [self = weak_from_this(), step] {
    if (const auto copy = self.lock(); copy != nullptr && copy->done_) (*copy.*step)();
  });
}

void FirstContentCopy::LookUpMetas() {
  env_.bulk_pool(plan_.scratch_directory)
      .Submit([self = weak_from_this(), reply_on = strand_, names = master_.meta_servers] {
        reply_on->Post([self, metas = LookUpAll(names)] {
          const auto copy = self.lock();
          if (copy == nullptr || !copy->done_) return;
          if (!metas.ok()) return copy->Fail(MessageOf(metas.status()));
          copy->AskForPrimary(*metas);
        });
      });
}

void FirstContentCopy::AskForPrimary(std::vector<Endpoint> metas) {
  metas_ = std::make_shared<MetaCaller>(env_, transport_, strand_,
                                        MetaCallerOptions{.meta_servers = std::move(metas)});
  metas_->Call<QueryConfigResponse>(
      kRpcQueryConfig,
      QueryConfigRequest{.app_name = master_.table, .partition_indices = {plan_.pid.index}},
      env_.clock().Now() + kMetaPatience,
      [self = weak_from_this()](const absl::StatusOr<QueryConfigResponse>& answer) {
        if (const auto copy = self.lock(); copy != nullptr && copy->done_)
          copy->OnPartition(answer);
      });
}

void FirstContentCopy::OnPartition(const absl::StatusOr<QueryConfigResponse>& answer) {
  if (!answer.ok()) return Fail(absl::StrCat("its meta servers: ", answer.status().message()));
  if (answer->err != ErrorCode::kOk)
    return Fail(absl::StrCat("its meta server says ", Text(ErrorCodeName(answer->err))));
  if (answer->partition_count != plan_.app.partition_count)
    return Fail(absl::StrCat("it has ", answer->partition_count, " partitions there and ",
                             plan_.app.partition_count, " here"));
  if (answer->partitions.size() != 1 || answer->partitions.front().pid.index != plan_.pid.index)
    return Fail("its meta server answers with other partitions than it was asked for");
  const PartitionConfiguration& partition = answer->partitions.front();
  if (!partition.primary.IsValid()) return Fail("a partition has no primary there");
  master_pid_ = partition.pid;
  primary_ = partition.primary;
  AskForCheckpoint();
}

void FirstContentCopy::AskForCheckpoint() {
  transport_.Call(primary_,
                  {.name = kRpcQueryLastCheckpoint,
                   .body = EncodeWrapped(LearnRequest{.pid = master_pid_}),
                   .thread_hash = master_pid_.thread_hash(),
                   .timeout = kCheckpointTimeout},
                  strand_, [self = weak_from_this()](const RpcResult& result) {
                    if (const auto copy = self.lock(); copy != nullptr && copy->done_)
                      copy->OnCheckpoint(result);
                  });
}

void FirstContentCopy::OnCheckpoint(const RpcResult& result) {
  if (result.error != ErrorCode::kOk)
    return Fail(absl::StrCat("a primary does not answer, ", Text(ErrorCodeName(result.error))));
  absl::StatusOr<LearnResponse> response = DecodeWrapped<LearnResponse>(result.body);
  if (!response.ok()) return Fail("a primary answers what is no checkpoint");
  if (response->err == ErrorCode::kBusy && ++busy_ < kBusyMax)
    return After(kPause, &FirstContentCopy::AskForCheckpoint);
  if (response->err == ErrorCode::kPathNotFound)
    return Fail("a partition has no checkpoint there yet");
  if (response->err != ErrorCode::kOk)
    return Fail(absl::StrCat("a primary says ", Text(ErrorCodeName(response->err))));
  if (const std::string_view wrong = WhatIsWrong(response->state); !wrong.empty())
    return Fail(absl::StrCat("a primary offers ", Text(wrong)));
  // Decree 0 holds nothing, whatever its files are.
  if (response->state.to_decree_included == Decree(0)) {
    LOG(INFO) << Tag() << "is empty: so is its follower";
    return Finish(CopiedContent{});
  }
  checkpoint_ = *std::move(response);
  Copy();
}

void FirstContentCopy::Copy() {
  slot_ = plan_.take_slot();
  if (slot_ == nullptr) return After(kPause, &FirstContentCopy::Copy);
  const LearnState& state = checkpoint_.state;
  FetchPlan plan{.source = primary_,
                 .pid = master_pid_,
                 .source_directory = checkpoint_.base_local_dir,
                 .source_disk_tag = checkpoint_.replica_disk_tag.value_or(""),
                 .target_directory = plan_.scratch_directory,
                 .target_disk_tag = plan_.disk_tag,
                 .pool_path = plan_.scratch_directory,
                 .in_pool =
                     [&env = env_, path = plan_.scratch_directory, strand = strand_](
                         absl::AnyInvocable<absl::Status()> work,
                         absl::AnyInvocable<void(absl::Status)> then) {
                       env.bulk_pool(path).Submit([reply_on = strand, work = std::move(work),
                                                   then = std::move(then)]() mutable {
                         reply_on->Post([then = std::move(then), status = work()]() mutable {
                           then(std::move(status));
                         });
                       });
                     },
                 .pace = plan_.pace};
  bytes_to_copy_ = 0;
  for (size_t i = 0; i < state.files.size(); ++i) {
    FileToFetch file{.name = state.files[i]};
    if (state.file_sizes && i < state.file_sizes->size()) {
      file.size = static_cast<uint64_t>((*state.file_sizes)[i]);
      bytes_to_copy_ += *file.size;
    }
    uint32_t crc = 0;
    // Other versions' are no crc32c, and longer.
    if (state.file_checksums && i < state.file_checksums->size() &&
        (*state.file_checksums)[i].size() == 8 &&
        absl::SimpleHexAtoi((*state.file_checksums)[i], &crc))
      file.crc32c = crc;
    plan.files.push_back(std::move(file));
  }
  LOG(INFO) << Tag() << "gives " << state.files.size() << " files of the checkpoint at decree "
            << state.to_decree_included
            << (bytes_to_copy_ > 0 ? absl::StrCat(", ", bytes_to_copy_, " bytes") : "") << ", from "
            << primary_;
  fetcher_ = std::make_shared<FileFetcher>(env_, transport_, strand_, std::move(plan));
  After(kReportInterval, &FirstContentCopy::Report);
  fetcher_->Start([self = weak_from_this()](const absl::Status& status) {
    const auto copy = self.lock();
    if (copy == nullptr || !copy->done_) return;
    if (absl::IsUnavailable(status)) return copy->Fail(MessageOf(status));
    if (!status.ok()) return copy->Finish(status);
    LOG(INFO) << copy->Tag() << "gave all: " << copy->fetcher_->bytes_fetched() << " bytes; "
              << copy->fetcher_->bytes_kept() << " were here";
    copy->Finish(CopiedContent{.checkpoint = copy->plan_.scratch_directory,
                               .decree = copy->checkpoint_.state.to_decree_included});
  });
}

void FirstContentCopy::Report() {
  if (fetcher_ == nullptr) return;
  const std::string all = bytes_to_copy_ > 0 ? absl::StrCat(" of ", bytes_to_copy_) : "";
  LOG(INFO) << Tag() << "gives: " << fetcher_->bytes_fetched() + fetcher_->bytes_kept() << all
            << " bytes are here";
  After(kReportInterval, &FirstContentCopy::Report);
}

void FirstContentCopy::Fail(std::string_view why) {
  Finish(absl::UnavailableError(absl::StrCat("table '", Text(master_.table), "' of cluster '",
                                             Text(master_.cluster), "': ", Text(why))));
}

void FirstContentCopy::Finish(absl::StatusOr<CopiedContent> result) {
  slot_ = nullptr;
  std::exchange(done_, nullptr)(std::move(result));
}

std::string FirstContentCopy::Tag() const {
  return absl::StrCat("[", plan_.pid.ToString(), "] partition ", master_pid_.ToString(),
                      " of cluster '", Text(master_.cluster), "' ");
}

}  // namespace arion
