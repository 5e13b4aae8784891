// SPDX-License-Identifier: Apache-2.0
#include "splits/split_member.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "env/die_at.h"
#include "pacifica/replica_core.h"

namespace arion {

ChildSeed SplitMember::SeedOf(const SplitMemberRequest& request) const {
  ChildSeed seed{
      .pid = pid_, .ballot = request.ballot, .app = core_.app(), .data_directory = data_directory_};
  seed.pid.index += request.partition_count / 2;
  seed.app.partition_count = request.partition_count;
  return seed;
}

std::string SplitMember::Objection(const SplitMemberRequest& request) const {
  const bool is_member =
      core_.role() == PartitionStatus::kPrimary || core_.role() == PartitionStatus::kSecondary;
  if (!is_member || core_.ballot() != request.ballot) return "its configuration is another one";
  if (request.partition_count != int64_t{2} * core_.app().partition_count)
    return absl::StrCat("it is one of ", core_.app().partition_count, " partitions");
  if (engine_ == nullptr || children_ == nullptr) return "its data are being exchanged";
  return "";
}

void SplitMember::Answer(const SplitMemberRequest& request, OnAnswer answer) {
  if (std::string objection = Objection(request); !objection.empty())
    return answer({.err = ErrorCode::kInvalidState, .text = std::move(objection)});
  const auto step = static_cast<SplitStep>(request.step);
  if (step != SplitStep::kPrepare && step != SplitStep::kComplete)
    return answer({.err = ErrorCode::kInvalidParameters, .text = "an unknown step"});
  ChildSeed seed = SeedOf(request);
  // Not while writes wait: another is made of a checkpoint.
  if (step == SplitStep::kPrepare) seed.useless_at = out_of_log_at_;
  children_->LookForChild(
      seed, [this, strand = strand_, owner = hooks_.owner(), request, answer = std::move(answer)](
                ChildState state, Decree held) mutable {
        strand->Post([this, owner, request, state, held, answer = std::move(answer)]() mutable {
          const std::shared_ptr<void> alive = owner.lock();
          if (alive == nullptr) return answer({.err = ErrorCode::kObjectNotFound, .text = ""});
          Tell(request, state, held, std::move(answer));
        });
      });
}

void SplitMember::Tell(const SplitMemberRequest& request, ChildState state, Decree held,
                       OnAnswer answer) {
  if (std::string objection = Objection(request); !objection.empty())
    return answer({.err = ErrorCode::kInvalidState, .text = std::move(objection)});
  if (state == ChildState::kOther)
    return answer({.err = ErrorCode::kInvalidState, .text = "it has a later child"});
  if (state == ChildState::kBusy)
    return answer({.err = ErrorCode::kBusy, .text = "its server can't take the child yet"});
  if (!failure_.ok())
    return answer({.err = ErrorCode::kInvalidState,
                   .text = std::string(std::exchange(failure_, absl::OkStatus()).message())});
  if (state == ChildState::kNone) {
    Make(request);
    return answer({.err = ErrorCode::kBusy, .text = "it makes the child"});
  }
  const bool completes = static_cast<SplitStep>(request.step) == SplitStep::kComplete;
  const Decree committed = core_.marks().last_committed;
  NoteNeed(held);
  if (completes ? held == request.decree : committed - held <= kLagMax) {
    if (completes) {
      need_.reset();
      DieAt("split.answer");
    }
    return answer({});
  }
  if (held == out_of_log_at_)
    return answer(
        {.err = ErrorCode::kInvalidState, .text = "what its child lacks was dropped from the log"});
  if (completes && held > request.decree)
    return answer({.err = ErrorCode::kInvalidState, .text = "its child has more"});
  // A secondary hears by the primary's check what is committed.
  Feed(SeedOf(request).pid, held, completes ? std::min(committed, request.decree) : committed);
  answer({.err = ErrorCode::kBusy, .text = "its child catches up"});
}

void SplitMember::Make(const SplitMemberRequest& request) {
  if (is_making_) return;
  is_making_ = true;
  out_of_log_at_.reset();
  NoteNeed(engine_->last_applied());
  auto seed = std::make_shared<ChildSeed>(SeedOf(request));
  hooks_.maintain(
      [seed](Engine& engine) -> absl::Status {
        // There is nothing that a checkpoint could hold.
        if (engine.last_applied() == Decree(0)) return absl::OkStatus();
        RETURN_IF_ERROR(engine.Checkpoint().status());
        ASSIGN_OR_RETURN(const Engine::CheckpointFiles files, engine.NewestCheckpoint(&seed->hold));
        seed->decree = files.decree;
        seed->checkpoint = files.directory;
        return absl::OkStatus();
      },
      [this, seed](const absl::Status& status) {
        is_making_ = false;
        DieAt("split.base");
        if (status.ok()) return children_->MakeChild(std::move(*seed));
        LOG(WARNING) << hooks_.tag() << " makes no child: " << status;
        failure_ = status;
      });
}

void SplitMember::Feed(PartitionId child, Decree held, Decree goal) {
  if (is_feeding_ || held >= goal) return;
  is_feeding_ = true;
  hooks_.read_history(
      held + 1, goal,
      [this, child, held,
       ballot = core_.ballot()](const absl::StatusOr<std::vector<MutationPtr>>& read) {
        is_feeding_ = false;
        if (!read.ok()) {
          LOG(WARNING) << hooks_.tag() << " its child lacks a part of the log: " << read.status();
          if (absl::IsOutOfRange(read.status()))
            out_of_log_at_ = held;
          else
            failure_ = read.status();
          return;
        }
        ParentTail tail{.ballot = ballot};
        for (const MutationPtr& m : *read) {
          Mutation own = *m;
          own.pid = child;
          own.log_offset = -1;
          tail.mutations.push_back(std::make_shared<const Mutation>(std::move(own)));
        }
        DieAt("split.tail");
        children_->GiveTail(child, std::move(tail));
      });
}

void SplitMember::NoteNeed(Decree held) {
  need_ = {.ballot = core_.ballot(), .held = held, .until = hooks_.now() + kLogKept};
}

std::optional<Decree> SplitMember::LogNeeded() const {
  if (!need_ || need_->ballot != core_.ballot() || hooks_.now() >= need_->until)
    return std::nullopt;
  return need_->held;
}

}  // namespace arion
