// SPDX-License-Identifier: Apache-2.0
#include "sim/fault_mix.h"

#include <absl/strings/str_cat.h>

#include "sim/sim_random.h"

namespace arion::sim {

const char* FaultName(Fault fault) {
  switch (fault) {
    case Fault::kCrashOne:
      return "crash-one";
    case Fault::kCrashAll:
      return "crash-all";
    case Fault::kCrashMeta:
      return "crash-meta";
    case Fault::kRestart:
      return "restart";
    case Fault::kPause:
      return "pause";
    case Fault::kCutFromMeta:
      return "cut-from-meta";
    case Fault::kCutFromPeer:
      return "cut-from-peer";
    case Fault::kCutOneWay:
      return "cut-one-way";
    case Fault::kSplit:
      return "split";
    case Fault::kWeather:
      return "weather";
    case Fault::kSlowDisk:
      return "slow-disk";
    case Fault::kFailedSync:
      return "failed-sync";
    case Fault::kWallJump:
      return "wall-jump";
    case Fault::kDiskFull:
      return "disk-full";
    case Fault::kDiskLost:
      return "disk-lost";
    case Fault::kBitRot:
      return "bit-rot";
  }
  return "?";
}

FaultMix FaultMix::Swarm(uint64_t seed) {
  SimRandom random(seed ^ 0x5157a3);
  FaultMix mix;
  double share =
      15.0 + static_cast<double>(random.Below(60));  // some runs meet two kinds, some nearly all
  for (int i = 0; i < kFaultCount; ++i) {
    if (random.Percent(share)) mix.kinds.push_back(static_cast<Fault>(i));
  }
  if (mix.kinds.empty()) mix.kinds.push_back(static_cast<Fault>(random.Below(kFaultCount)));
  mix.interval_min = random.Between(absl::Milliseconds(500), absl::Seconds(4));
  mix.interval_max = mix.interval_min + random.Between(absl::Seconds(1), absl::Seconds(12));
  mix.length_max = random.Between(absl::Seconds(2), absl::Seconds(25));
  mix.clock_drift_percent = random.Coin() ? 0 : 4.0;
  if (random.Percent(25)) mix.always_late_percent = static_cast<double>(random.Between(1, 6));
  return mix;
}

std::string FaultMix::ToString() const {
  std::string text;
  for (Fault fault : kinds) absl::StrAppend(&text, text.empty() ? "" : " ", FaultName(fault));
  return absl::StrCat(text.empty() ? "calm" : text, ", every ", absl::FormatDuration(interval_min),
                      " to ", absl::FormatDuration(interval_max), ", up to ",
                      absl::FormatDuration(length_max), ", drift ", clock_drift_percent, " %",
                      always_late_percent > 0 ? ", often late" : "");
}

}  // namespace arion::sim
