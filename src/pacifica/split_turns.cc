// The parts of Reconfiguration that are about the table and its splits (pacifica/PROTOCOL.md 8.8).
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <utility>

#include "base/log.h"
#include "pacifica/invariants.h"
#include "pacifica/primary.h"
#include "pacifica/reconfiguration.h"

namespace arion {
namespace {

// Splits only double. Anything else that is told is damage, and would take all keys from this
// partition.
bool IsLaterCount(int32_t told, int32_t known) {
  if (told <= known || known <= 0) return told > known;
  return told % known == 0 && std::has_single_bit(static_cast<uint32_t>(told / known));
}

}  // namespace

void Reconfiguration::TakeOver(const AppInfo& app, const PartitionConfiguration& configuration) {
  TakeOver(app);
  if (configuration.max_replica_count > 0)
    s_.configuration.max_replica_count = configuration.max_replica_count;
}

void Reconfiguration::TakeOver(const AppInfo& described) {
  if (described.app_id != s_.options.pid.app_id || described.app_name.empty()) return;
  AppInfo app = described;
  // What was written before this partition was split says the former count.
  if (!IsLaterCount(app.partition_count, s_.app.partition_count))
    app.partition_count = s_.app.partition_count;
  if (app == s_.app && s_.app_serial != kAppRemembered) return;
  if (app.version && *app.version < s_.app.version.value_or(0)) return;
  s_.app = std::move(app);
  ++s_.app_serial;
}

void Reconfiguration::TakeOverCount(int32_t partition_count) {
  if (!IsLaterCount(partition_count, s_.app.partition_count)) return;
  s_.app.partition_count = partition_count;
  ++s_.app_serial;
}

bool Reconfiguration::OnSplitTurn(SplitTurn::What what) {
  using enum SplitTurn::What;
  if (what == kHold) {
    if (s_.role == PartitionStatus::kPrimary && primary_.IsOpen() && !hand_over_ && !LacksMember())
      split_hold_ = SplitHold{s_.ballot};
    return false;
  }
  if (what == kForget) {
    if (s_.role == PartitionStatus::kPrimary && !split_hold_)
      Begin(ConfigType::kPrimaryForceUpdateBallot, s_.options.self, s_.configuration,
            {.why = "its children are of no use: no split is wanted"});
    return false;
  }
  // It has ended meanwhile.
  if (!split_hold_) return false;
  switch (what) {
    case kHold:
    case kForget:
      break;
    case kSeal:
      CHECK(primary_.IsQuiet()) << "invariants/R17: more is under way than the child would have";
      split_hold_->is_sealed = true;
      return true;
    case kRelease:
      split_hold_.reset();
      break;
    case kRegister:
      CHECK(split_hold_->is_sealed && primary_.IsQuiet())
          << "invariants/R17: the parent went on behind its child";
      split_hold_.reset();
      Begin(ConfigType::kRegisterChild, s_.options.self, s_.configuration,
            {.why = "its child is to be registered", .child_decree = s_.list.last_committed()});
      break;
  }
  return false;
}

void Reconfiguration::EndVoidSplitHold() {
  if (split_hold_ && (s_.role != PartitionStatus::kPrimary || split_hold_->ballot != s_.ballot))
    split_hold_.reset();
}

// Whether a child was asked for, and the meta server has this replica lead as it did.
bool Reconfiguration::IsRefusedChild(const PartitionConfiguration& truth) const {
  CHECK(pending_.has_value());
  return pending_->request.type == ConfigType::kRegisterChild && IsSane(truth) &&
         truth.ballot == s_.ballot && truth.primary == s_.options.self;
}

// A copy of what was refused may come late, and be accepted then: not once this is.
void Reconfiguration::AskForNextBallot(const PartitionConfiguration& truth) {
  CHECK_EQ(truth.ballot, s_.ballot);
  pending_.reset();
  Begin(ConfigType::kPrimaryForceUpdateBallot, s_.options.self, truth);
}

}  // namespace arion
