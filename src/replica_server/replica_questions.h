// AskReplicas: one question to several replicas, each asked on its own strand; their answers, by
// partition, come together.
//
// Threads   Called on `reply_on`, where `done` runs: once, at once where nobody is asked. Not where
//           `asker` is gone by the last answer.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "env/strand.h"
#include "replica/replica.h"

namespace arion {

template <class T>
void AskReplicas(const std::vector<std::shared_ptr<Replica>>& asked,
                 std::function<T(const Replica&)> ask, StrandPtr reply_on,
                 std::weak_ptr<void> asker,
                 absl::AnyInvocable<void(std::map<PartitionId, T>)> done) {
  if (asked.empty()) return done({});
  struct Answers {
    size_t missing = 0;
    std::map<PartitionId, T> by_partition;
    absl::AnyInvocable<void(std::map<PartitionId, T>)> done;
  };
  auto answers = std::make_shared<Answers>();
  answers->done = std::move(done);
  answers->missing = asked.size();
  for (const auto& replica : asked)
    replica->strand()->Post([replica, ask, answers, reply_on, asker] {
      reply_on->Post([answers, asker, pid = replica->pid(), answer = ask(*replica)] {
        answers->by_partition.emplace(pid, answer);
        if (--answers->missing == 0 && asker.lock() != nullptr)
          answers->done(std::move(answers->by_partition));
      });
    });
}

}  // namespace arion
