// Learning: what a primary answers to a learner, and what it does as one.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "copies/learned_files.h"
#include "data_api/mutation_operations.h"
#include "decrees/log_shipment.h"
#include "env/file_system.h"
#include "recovery/replica_opener.h"
#include "rpc/thrift_codec.h"
#include "sim/sim_random.h"
#include "sim_older/old_replica.h"
#include "sim_older/old_replica_after.h"

namespace arion::sim {

using enum PartitionStatus;

namespace {

constexpr absl::Duration kRpcTimeout = absl::Seconds(5);
constexpr absl::Duration kFileTimeout = absl::Seconds(20);
constexpr absl::Duration kRoundRetryDelay = absl::Seconds(1);
constexpr int64_t kBlockBytes = 4 << 20;

}  // namespace

// ---- the primary ----

void OldReplica::OnLearn(const LearnRequest& request, Responder responder) {
  LearnResponse response;
  const auto refuse = [&](ErrorCode err) {
    response.err = err;
    responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
  };
  if (role_ != kPrimary)
    return refuse(role_ == kInactive && is_transient_ ? ErrorCode::kInactiveState
                                                      : ErrorCode::kInvalidState);
  const auto it = sessions_.find(request.learner);
  // It was not invited in this term: the answer calls it inactive.
  if (it == sessions_.end()) {
    response.config.status = kInactive;
    return refuse(ErrorCode::kObjectNotFound);
  }
  Session& session = it->second;
  // A former session's question. The answer names the present one.
  if (session.signature != request.signature) {
    response.config = ConfigFor(kPotentialSecondary, session.signature);
    return refuse(ErrorCode::kWrongChecksum);
  }
  Decree learned = request.last_committed_decree_in_app;
  if (learned > list_.max()) learned = Decree(0);  // of a history that is lost
  // It is ahead of what is committed here, and asks again after a pause.
  if (learned > list_.committed()) return refuse(ErrorCode::kInconsistentState);
  const Decree start = learned + 1;
  response.config = ConfigFor(kPotentialSecondary, 0);
  response.last_committed_decree = list_.committed();
  response.prepare_start_decree = kInvalidDecree;
  response.learnee = host_.self();
  // The list reaches back far enough: what is committed comes with the answer, the rest as
  // prepares.
  if (start > list_.min() || (start == list_.min() && !list_.IsEmpty()))
    return TakeCache(session, start, &response, std::move(responder));
  // The learner is too far behind for prepares; they begin when the list reaches it.
  session.prepare_start = kInvalidDecree;
  // Nothing waits for its acknowledgements meanwhile.
  for (auto& [decree, entry] : list_.entries()) entry.learners.erase(request.learner);
  if (start > durable_ || stored_.log.Covers(start)) {
    response.type = LearnType::kLog;
    response.base_local_dir = JoinPath(stored_.directory, "plog");
    response.state.learn_start_decree = start;
    response.state.to_decree_included = list_.committed();
    response.state.files = stored_.log.NamesFrom(start);
    for (const MutationPtr& m : unwritten_) AppendMutation(*m, -1, &response.state.meta.bytes);
    // The same end of the log once more: it is to begin a new file soon.
    if (response.state.files.back() == last_log_file_ && writing_ == 0 &&
        stored_.log.bytes().size() > host_.options.log_file_bytes / 10)
      stored_.log.SwitchFile();
    last_log_file_ = response.state.files.back();
  } else {
    TakeCheckpoint(session, &response);
  }
  responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
  CommitReady();
}

void OldReplica::TakeCheckpoint(Session& session, LearnResponse* response) {
  const auto files = engine_->NewestCheckpoint(&session.checkpoint);
  if (!files.ok()) {
    *response = {.err = ErrorCode::kGetLearnStateFailed};
    return;
  }
  response->type = LearnType::kApp;
  response->base_local_dir = DataPathOf(stored_.directory);
  response->replica_disk_tag = "data1";
  response->state.to_decree_included = files->decree;
  for (const std::string& name : files->names)
    response->state.files.push_back(JoinPath(BaseName(files->directory), name));
}

void OldReplica::TakeCache(Session& session, Decree start, LearnResponse* response,
                           Responder responder) {
  // A repeated question gets the same beginning: prepares have been sent since.
  const bool is_first = session.prepare_start == kInvalidDecree;
  if (is_first) session.prepare_start = list_.committed() + 1;
  response->type = LearnType::kCache;
  response->prepare_start_decree = session.prepare_start;
  response->state.learn_start_decree = start;
  for (Decree d = start; d < session.prepare_start; ++d)
    AppendMutation(*list_.Find(d)->mutation, 0, &response->state.meta.bytes);
  responder.Reply(ErrorCode::kOk, EncodeWrapped(*response));
  if (!is_first) return;
  // What is under way is sent again, to the learner too.
  ++sends_;
  for (auto& [decree, entry] : list_.entries())
    if (decree > list_.committed()) SendToAll(entry);
}

void OldReplica::OnLearnCompletion(const GroupCheckResponse& report, Responder responder) {
  LearnNotifyResponse response{.pid = pid(), .signature = report.learner_signature};
  const auto session = sessions_.find(report.node);
  if (role_ != kPrimary)
    response.err =
        role_ == kInactive && is_transient_ ? ErrorCode::kInactiveState : ErrorCode::kInvalidState;
  else if (report.learner_status != LearnerStatus::kSucceeded)
    response.err = ErrorCode::kInvalidState;
  else if (session == sessions_.end())
    response.err = ErrorCode::kLearnerNotFound;
  else if (session->second.signature != report.learner_signature)
    response.err = ErrorCode::kInvalidState;
  responder.Reply(ErrorCode::kOk, EncodeWrapped(response));
  if (response.err == ErrorCode::kOk) UpgradeLearner(report.node);
}

// ---- the learner: a session ----

void OldReplica::Learn(int64_t signature) {
  // One round at a time; an invitation meanwhile changes nothing.
  if (role_ != kPotentialSecondary || signature == 0 || is_round_running_) return;
  // A message of an earlier session.
  if (signature < signature_) return;
  if (signature != signature_) {
    signature_ = signature;
    phase_ = LearnerStatus::kWithoutPrepare;
    prepare_start_ = kInvalidDecree;
    waiting_.clear();
    list_.Truncate(applied_);
  } else if (phase_ == LearnerStatus::kWithPrepare) {
    if (durable_ + 1 < prepare_start_)
      return Abort("replica/README.md A10",
                   "what was learned is not durable, and prepares are acknowledged");
    for (Decree d = applied_ + 1; d <= list_.committed(); ++d) {
      Entry* missing = list_.Find(d);
      if (missing == nullptr) return FailLearning("what was committed is not in the list");
      ApplyNow(*missing);
    }
    phase_ = LearnerStatus::kSucceeded;
  }
  if (phase_ == LearnerStatus::kSucceeded) return SendCompletion();
  SendLearn();
}

void OldReplica::EndLearning() {
  // What is under way compares the round, and then comes to nothing.
  ++round_;
  phase_ = LearnerStatus::kInvalid;
  signature_ = 0;
  is_round_running_ = false;
}

void OldReplica::FailLearning(std::string_view why) {
  LOG(INFO) << "[" << pid() << "] 2.5.0: learning failed: " << why;
  BecomeInactive(false);
}

void OldReplica::SendLearn() {
  is_round_running_ = true;
  LearnRequest request{.pid = pid(),
                       .learner = host_.self(),
                       .signature = signature_,
                       .last_committed_decree_in_app = applied_,
                       .last_committed_decree_in_prepare_list = list_.committed()};
  request.max_gced_decree = 0;
  host_.Call(primary_, kRpcLearn, EncodeWrapped(request), pid(), kRpcTimeout,
             [weak = weak_from_this(), round = ++round_](const RpcResult& result) {
               const auto self = weak.lock();
               if (self != nullptr && self->round_ == round) self->OnLearnAnswer(result);
             });
}

// Begins the next round at once; Learn finds out whether it is needed.
void OldReplica::EndRound() {
  is_round_running_ = false;
  Learn(signature_);
}

// What would end a learner of 2.5.0 (replica/OLDER.md 2).
bool OldReplica::IsSound(const LearnResponse& response) const {
  const LearnState& state = response.state;
  std::string odd;
  if (response.config.pid != pid() || response.config.status != kPotentialSecondary ||
      response.config.primary != response.learnee)
    odd = "of another partition, role or primary";
  else if (response.prepare_start_decree != kInvalidDecree &&
           (response.type != LearnType::kCache || !state.files.empty()))
    odd = "prepares begin, and it is no answer from the list";
  else if (response.prepare_start_decree == kInvalidDecree && response.type != LearnType::kApp &&
           response.type != LearnType::kLog)
    odd = "it is of no type";
  else if (response.type == LearnType::kApp &&
           (state.files.empty() || state.to_decree_included > response.last_committed_decree))
    odd = "a checkpoint without files, or of what is not committed";
  for (const std::string& file : state.files)
    if (response.type == LearnType::kApp &&
        ParentDirectory(file) != ParentDirectory(state.files.front()))
      odd = "files of several directories";
  if (!odd.empty()) Abort("replica/README.md A10", odd);
  return odd.empty();
}

void OldReplica::OnLearnAnswer(const RpcResult& result) {
  if (result.error != ErrorCode::kOk) return FailLearning("no answer");
  auto response = std::make_shared<LearnResponse>();
  if (auto decoded = DecodeWrapped<LearnResponse>(result.body); decoded.ok())
    *response = *std::move(decoded);
  else
    return Abort("replica/README.md A2", View(decoded.status().message()));
  // The primary cannot answer yet, but will: the round is begun again after a pause.
  if (response->err == ErrorCode::kInactiveState || response->err == ErrorCode::kInconsistentState)
    return After(kRoundRetryDelay, [round = round_](OldReplica& r) {
      if (r.round_ == round) r.EndRound();
    });
  if (response->err != ErrorCode::kOk) return FailLearning(ErrorCodeName(response->err));
  if (!IsSound(*response)) return FailLearning("odd");
  if (response->config.ballot > ballot()) {
    const int64_t session = signature_;
    if (!Adopt(response->config)) return FailLearning("its ballot is not to be taken over");
    signature_ = session;
  }
  if (response->last_committed_decree < applied_) Discard();
  if (response->type == LearnType::kCache) return LearnCache(*response);
  LearnFiles(std::move(response));
}

// ---- by the list ----

void OldReplica::LearnCache(const LearnResponse& response) {
  const auto carried = ParseMutations(pid(), response.state.meta.bytes);
  if (!carried.ok()) return Abort("replica/README.md A5", View(carried.status().message()));
  phase_ = LearnerStatus::kWithPrepareTransient;
  prepare_start_ = response.prepare_start_decree;
  // What is in the log from before is void; what is being written falls behind that.
  if (std::exchange(writing_, 0) > 0) stored_.log.EndBlock();
  ++log_writes_;
  unwritten_.clear();
  stored_.durable = applied_;
  stored_.log.Restart(applied_);
  StoreInfo();
  list_.Truncate(applied_);
  for (auto& [decree, entry] : list_.entries()) {
    stored_.log.Append({entry.mutation});
    entry.is_logged = true;
  }
  for (const MutationPtr& m : *carried) {
    if (m->decree <= list_.committed()) continue;
    const Entry* old = list_.Find(m->decree);
    if (old != nullptr && old->mutation->ballot > m->ballot) continue;
    stored_.log.Append({m});
    if (m->decree >= prepare_start_)
      Abort("replica/README.md A10", absl::StrCat("it carries decree ", m->decree.value(),
                                                  ", and prepares from ", prepare_start_.value()));
    if (!CommitHard("replica/README.md A10", m->last_committed) ||
        Fails("replica/README.md A10", list_.Put({.mutation = m, .is_logged = true})))
      return FailLearning("odd");
  }
  if (!CommitHard("replica/README.md A10", prepare_start_ - 1)) return FailLearning("odd");
  phase_ = LearnerStatus::kWithPrepare;
  // A flush takes its time, and prepares may arrive meanwhile.
  After(absl::Milliseconds(host_.random.Between(1, 300)), [round = round_](OldReplica& r) {
    if (r.round_ != round) return;
    r.Flush(r.prepare_start_ - 1);
    r.EndRound();
  });
}

// ---- by files ----

void OldReplica::LearnFiles(std::shared_ptr<LearnResponse> response) {
  FileSystem& files = host_.env.files();
  const std::string directory = LearnPathOf(stored_.directory);
  // What an earlier round copied is of another state.
  (void)files.RemoveAll(directory);
  if (!files.CreateDirectories(directory).ok()) return FailLearning("its disk");
  CopyNext(std::move(response), 0, round_);
}

void OldReplica::CopyNext(std::shared_ptr<LearnResponse> response, size_t file, uint64_t round) {
  if (file == response->state.files.size()) {
    After(absl::Milliseconds(host_.random.Between(1, 100)), [response, round](OldReplica& r) {
      if (r.round_ != round) return;
      response->type == LearnType::kApp ? r.InstallCheckpoint(*response) : r.LearnLog(*response);
    });
    return;
  }
  GetFileSizeRequest request{.source = response->learnee,
                             .dst_dir = LearnPathOf(stored_.directory),
                             .file_list = {response->state.files[file]},
                             .source_dir = response->base_local_dir};
  request.source_disk_tag = response->replica_disk_tag.value_or("");
  request.dest_disk_tag = "data1";
  request.pid = pid();
  host_.Call(response->learnee, kRpcGetFileSize, EncodeWrapped(request), {}, kFileTimeout,
             [weak = weak_from_this(), response, file, round](const RpcResult& result) {
               const auto self = weak.lock();
               if (self == nullptr || self->round_ != round) return;
               const auto sizes = DecodeWrapped<GetFileSizeResponse>(result.body);
               if (result.error != ErrorCode::kOk || !sizes.ok() || sizes->error != 0)
                 return self->FailLearning("no size of a file");
               if (sizes->file_list != std::vector<std::string>{response->state.files[file]} ||
                   sizes->size_list.size() != 1)
                 return self->Abort("replica/README.md A18", "sizes of other files");
               self->CopyFile(response, file, sizes->size_list[0], 0, round);
             });
}

void OldReplica::CopyFile(std::shared_ptr<LearnResponse> response, size_t file, int64_t size,
                          int64_t offset, uint64_t round) {
  if (size <= 0)
    return Abort("replica/README.md A18", absl::StrCat(response->state.files[file], " of ", size));
  const int64_t length = std::min(size - offset, kBlockBytes);
  CopyRequest request{.source = response->learnee,
                      .source_dir = response->base_local_dir,
                      .dst_dir = LearnPathOf(stored_.directory),
                      .file_name = response->state.files[file],
                      .offset = offset,
                      .size = static_cast<int32_t>(length),
                      .is_last = offset + length == size};
  request.source_disk_tag = response->replica_disk_tag.value_or("");
  request.pid = pid();
  host_.Call(
      response->learnee, kRpcCopyFile, EncodeWrapped(request), {}, kFileTimeout,
      [weak = weak_from_this(), response, file, size, offset, length,
       round](const RpcResult& result) {
        const auto self = weak.lock();
        if (self == nullptr || self->round_ != round) return;
        const auto copy = DecodeWrapped<CopyResponse>(result.body);
        if (result.error != ErrorCode::kOk || !copy.ok() || copy->error != ErrorCode::kOk)
          return self->FailLearning("no content of a file");
        if (copy->size != length || static_cast<int64_t>(copy->file_content.bytes.size()) != length)
          return self->Abort(
              "replica/README.md A18",
              absl::StrCat("said ", copy->size, " bytes, sent ", copy->file_content.bytes.size()));
        if (!self->WriteLearned(response->state.files[file], offset, copy->file_content.bytes))
          return self->FailLearning("its disk");
        if (offset + length < size)
          return self->CopyFile(response, file, size, offset + length, round);
        self->CopyNext(response, file + 1, round);
      });
}

bool OldReplica::WriteLearned(const std::string& name, int64_t offset, std::string_view bytes) {
  FileSystem& files = host_.env.files();
  const std::string path = JoinPath(LearnPathOf(stored_.directory), name);
  // Blocks come in order, so the first one makes the file.
  if (offset == 0)
    return files.CreateDirectories(ParentDirectory(path)).ok() &&
           WriteFileDurably(files, path, bytes).ok();
  const auto file = files.OpenForWrite(path, FileSystem::CreateMode::kOpenExisting);
  return file.ok() && (*file)->WriteAt(static_cast<uint64_t>(offset), bytes).ok() &&
         (*file)->Close().ok();
}

void OldReplica::InstallCheckpoint(const LearnResponse& response) {
  const std::string data = DataPathOf(stored_.directory);
  const std::string source =
      JoinPath(LearnPathOf(stored_.directory), ParentDirectory(response.state.files.front()));
  // Scans read from the engine that is closed here.
  scans_.clear();
  (void)engine_->Close();
  engine_ = nullptr;
  const absl::Status status =
      host_.engines.InstallCheckpoint(source, response.state.to_decree_included, data);
  auto opened = host_.engines.Open(data);
  CHECK(status.ok() && opened.ok()) << status << opened.status();
  engine_ = *std::move(opened);
  applied_ = durable_ = engine_->last_applied();
  if (applied_ != response.state.to_decree_included)
    Abort("replica/README.md A10",
          absl::StrCat("a checkpoint at ", applied_.value(), ", said to be at ",
                       response.state.to_decree_included.value()));
  list_.Reset(applied_);
  EndRound();
}

void OldReplica::ApplyLearned(const MutationPtr& mutation) {
  Entry entry{.mutation = mutation, .is_logged = true};
  // A piece may begin with what is applied already.
  if (mutation->decree == applied_ + 1) ApplyNow(entry);
}

void OldReplica::LearnLog(const LearnResponse& response) {
  const auto buffered = ParseMutations(pid(), response.state.meta.bytes);
  if (!buffered.ok()) return Abort("replica/README.md A5", View(buffered.status().message()));
  if (response.state.files.empty()) {
    // As a replay: the larger ballot counts.
    OldPrepareList list(host_.options.list_span_max);
    list.Reset(applied_);
    const auto apply = [this](Entry& entry) { ApplyLearned(entry.mutation); };
    for (const MutationPtr& m : *buffered) {
      if (m->decree <= list.committed()) continue;
      const Entry* old = list.Find(m->decree);
      if (old != nullptr && old->mutation->ballot > m->ballot) continue;
      if (m->last_committed > list.max())
        list.Reset(m->last_committed);
      else if (Fails("replica/README.md A10", list.CommitHard(m->last_committed, apply)))
        return FailLearning("odd");
      if (Fails("replica/README.md A10", list.Put({.mutation = m, .is_logged = true})))
        return FailLearning("odd");
    }
    list.CommitSoft(response.state.to_decree_included, apply);
  } else if (!LearnLogFiles(response)) {
    return FailLearning("log files that are none");
  }
  list_.Reset(applied_);
  EndRound();
}

// From another server of the older version; how that reads them is not what is tried here.
bool OldReplica::LearnLogFiles(const LearnResponse& response) {
  const Decree through =
      std::min(response.state.to_decree_included, response.last_committed_decree);
  if (through <= applied_) return true;
  arion::LearnedFiles files(host_.env.files(), LearnPathOf(stored_.directory), pid(),
                            {.applied = applied_, .through = through, .ballot = ballot()},
                            response.state.files, response.state.meta.bytes);
  for (;;) {
    const auto piece = files.Next();
    if (!piece.ok()) return false;
    for (const MutationPtr& m : piece->mutations) ApplyLearned(m);
    if (!piece->has_more) return true;
  }
}

// What stands here was never committed by this group.
void OldReplica::Discard() {
  const std::string data = DataPathOf(stored_.directory);
  scans_.clear();
  (void)engine_->Close();
  engine_ = nullptr;
  (void)host_.env.files().RemoveAll(data);
  auto opened = host_.engines.Open(data);
  CHECK(opened.ok()) << opened.status();
  engine_ = *std::move(opened);
  applied_ = durable_ = engine_->last_applied();
  if (std::exchange(writing_, 0) > 0) stored_.log.EndBlock();
  ++log_writes_;
  unwritten_.clear();
  stored_.durable = applied_;
  stored_.log.Restart(applied_);
  StoreInfo();
  list_.Reset(applied_);
}

// ---- it has everything ----

void OldReplica::SendCompletion() {
  is_round_running_ = true;
  host_.Call(
      primary_, kRpcLearnCompletion, EncodeWrapped(Report()), pid(), kRpcTimeout,
      [weak = weak_from_this(), signature = signature_, round = ++round_](const RpcResult& result) {
        const auto self = weak.lock();
        if (self == nullptr || self->round_ != round) return;
        self->is_round_running_ = false;
        if (result.error != ErrorCode::kOk) return self->FailLearning("not heard");
        const auto answer = DecodeWrapped<LearnNotifyResponse>(result.body);
        if (!answer.ok())
          return self->Abort("replica/README.md A2", View(answer.status().message()));
        if (answer->err == ErrorCode::kInactiveState)
          return self->After(kRoundRetryDelay, [signature](OldReplica& r) {
            if (r.signature_ == signature) r.Learn(signature);
          });
        if (answer->signature != signature || answer->err != ErrorCode::kOk)
          self->FailLearning("refused");
      });
}

}  // namespace arion::sim
