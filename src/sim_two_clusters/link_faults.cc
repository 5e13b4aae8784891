// SPDX-License-Identifier: Apache-2.0
#include "sim_two_clusters/link_faults.h"

#include <absl/strings/str_cat.h>

#include <vector>

#include "base/log.h"

namespace arion::sim {

void LinkFaults::Begin() {
  if (options_.link_trouble_every <= absl::ZeroDuration()) return;
  are_on_ = true;
  ScheduleNext();
}

void LinkFaults::End() {
  are_on_ = false;
  receiver_.network().UnblockAll();
}

void LinkFaults::ScheduleNext() {
  const absl::Duration delay =
      world_.random().Between(absl::Seconds(1), 2 * options_.link_trouble_every);
  world_.After(delay, EventKind::kFault, [this] {
    if (!are_on_) return;
    const auto kind = static_cast<Kind>(world_.random().Below(kKinds));
    const absl::Duration length =
        world_.random().Between(absl::Milliseconds(200), options_.link_trouble_max);
    LOG(INFO) << "fault between the clusters: " << int{kind} << ", up to " << length;
    ++counts_[kind];
    Inject(kind, length);
    ScheduleNext();
  });
}

void LinkFaults::Inject(Kind kind, absl::Duration length) {
  const Endpoint from = ClusterSettings::Abroad(source_.lives().AnyServer().endpoint);
  const Endpoint to = receiver_.lives().AnyServer().endpoint;
  switch (kind) {
    case kAll: {
      std::vector<Endpoint> there = {receiver_.lives().meta().endpoint};
      for (const auto& server : receiver_.lives().servers()) there.push_back(server->endpoint);
      for (const auto& server : source_.lives().servers())
        for (const Endpoint one : there)
          Cut(ClusterSettings::Abroad(server->endpoint), one, length);
      return;
    }
    case kOne:
      return Cut(from, to, length);
    case kOneWay:
      return world_.random().Coin() ? CutOneWay(from, to, length) : CutOneWay(to, from, length);
    case kReset:
      receiver_.network().Reset(from, 100);
      return;
    case kKinds:
      return;
  }
}

void LinkFaults::CutOneWay(Endpoint from, Endpoint to, absl::Duration length) {
  receiver_.network().Block(from, to);
  world_.After(length, EventKind::kFault,
               [this, from, to] { receiver_.network().Unblock(from, to); });
}

void LinkFaults::Cut(Endpoint a, Endpoint b, absl::Duration length) {
  CutOneWay(a, b, length);
  CutOneWay(b, a, length);
}

std::string LinkFaults::ToString() const {
  return absl::StrCat("between the clusters: cut ", counts_[kAll], ", two servers ", counts_[kOne],
                      ", one way ", counts_[kOneWay], ", reset ", counts_[kReset]);
}

}  // namespace arion::sim
