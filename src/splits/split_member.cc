// SPDX-License-Identifier: Apache-2.0
#include "splits/split_member.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "pacifica/invariants.h"
#include "pacifica/replica_core.h"

namespace arion {

ChildSeed SplitMember::SeedOf(const SplitMemberRequest& request) const {
  ChildSeed seed{.pid = pid_,
                 .ballot = request.ballot,
                 .decree = request.decree,
                 .app = core_.app(),
                 .data_directory = data_directory_};
  seed.pid.index += request.partition_count / 2;
  seed.app.partition_count = request.partition_count;
  return seed;
}

std::string SplitMember::Objection(const SplitMemberRequest& request) const {
  const bool is_member =
      core_.role() == PartitionStatus::kPrimary || core_.role() == PartitionStatus::kSecondary;
  if (!is_member || core_.ballot() != request.ballot) return "its configuration is another one";
  if (request.partition_count != 2 * core_.app().partition_count)
    return absl::StrCat("it is one of ", core_.app().partition_count, " partitions");
  if (engine_ == nullptr || children_ == nullptr) return "its data are being exchanged";
  return "";
}

void SplitMember::Answer(const SplitMemberRequest& request, OnAnswer answer) {
  if (std::string objection = Objection(request); !objection.empty())
    return answer({.err = ErrorCode::kInvalidState, .text = std::move(objection)});
  switch (static_cast<SplitStep>(request.step)) {
    case SplitStep::kPrepare:
      return Prepare(request, std::move(answer));
    case SplitStep::kMakeChild:
      return Look(request, std::move(answer));
  }
  answer({.err = ErrorCode::kInvalidParameters, .text = "an unknown step"});
}

void SplitMember::Prepare(const SplitMemberRequest& request, OnAnswer answer) {
  hooks_.catch_up();
  hooks_.maintain(
      [](Engine& engine) { return engine.Flush(); },
      [this, request, answer = std::move(answer)](const absl::Status& status) mutable {
        if (!status.ok())
          return answer({.err = ErrorCode::kBusy, .text = std::string(status.message())});
        Look(request, std::move(answer));
      });
}

void SplitMember::Look(const SplitMemberRequest& request, OnAnswer answer) {
  children_->LookForChild(SeedOf(request), [this, strand = strand_, owner = hooks_.owner(), request,
                                            answer = std::move(answer)](ChildState state) mutable {
    strand->Post([this, owner, request, state, answer = std::move(answer)]() mutable {
      const std::shared_ptr<void> alive = owner.lock();
      if (alive == nullptr) return answer({.err = ErrorCode::kObjectNotFound, .text = ""});
      Tell(request, state, std::move(answer));
    });
  });
}

void SplitMember::Tell(const SplitMemberRequest& request, ChildState state, OnAnswer answer) {
  if (std::string objection = Objection(request); !objection.empty())
    return answer({.err = ErrorCode::kInvalidState, .text = std::move(objection)});
  const bool is_to_be_made = static_cast<SplitStep>(request.step) == SplitStep::kMakeChild;
  switch (state) {
    case ChildState::kMade:
      return answer({});
    case ChildState::kOther:
      return answer({.err = ErrorCode::kInvalidState, .text = "it has a later child"});
    case ChildState::kBusy:
      return answer({.err = ErrorCode::kBusy, .text = "its server can't take the child yet"});
    case ChildState::kNone:
      break;
  }
  if (!is_to_be_made) return answer({});
  if (!failure_.ok())
    return answer({.err = ErrorCode::kInvalidState,
                   .text = std::string(std::exchange(failure_, absl::OkStatus()).message())});
  Make(request);
  answer({.err = ErrorCode::kBusy, .text = "it makes the child"});
}

void SplitMember::Make(const SplitMemberRequest& request) {
  if (is_making_) return;
  // A secondary hears by the primary's check what is committed.
  if (core_.marks().last_committed < request.decree) return;
  hooks_.catch_up();
  if (engine_->last_applied() < request.decree) return;
  // There is nothing that a checkpoint could hold.
  if (request.decree == Decree(0)) return children_->MakeChild(SeedOf(request));
  is_making_ = true;
  auto seed = std::make_shared<ChildSeed>(SeedOf(request));
  hooks_.maintain(
      [seed](Engine& engine) -> absl::Status {
        RETURN_IF_ERROR(engine.Checkpoint().status());
        ASSIGN_OR_RETURN(const Engine::CheckpointFiles files, engine.NewestCheckpoint(&seed->hold));
        if (files.decree != seed->decree)
          return absl::FailedPreconditionError(absl::StrCat("the parent stands at decree ",
                                                            files.decree.value(), ", not at ",
                                                            seed->decree.value()));
        seed->checkpoint = files.directory;
        return absl::OkStatus();
      },
      [this, seed](const absl::Status& status) {
        is_making_ = false;
        if (status.ok()) return children_->MakeChild(std::move(*seed));
        LOG(WARNING) << hooks_.tag() << " makes no child: " << status;
        failure_ = status;
      });
}

}  // namespace arion
