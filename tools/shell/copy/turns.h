// Turns: what callbacks of a client hand to the one thread that does the work, so that the work
// needs no lock.
//
// Threads   Post: thread-safe. The rest: one thread.
// Lifetime  Callbacks share it: what is posted when nobody runs it any more is dropped with it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <vector>

#include "base/mutex.h"

namespace arion::shell {

//   auto turns = std::make_shared<Turns>();
//   table.Put(..., [turns, this](absl::Status put) { turns->Post([=, this] { OnPut(put); }); });
//   while (IsBusy()) turns->RunFor(absl::Milliseconds(100));
class Turns {
 public:
  using Turn = absl::AnyInvocable<void()>;

  void Post(Turn turn);
  // Runs what is there. Where nothing is, waits for something, no longer than `most`.
  void RunFor(absl::Duration most);

 private:
  Mutex mutex_;
  ConditionVariable posted_;
  std::vector<Turn> turns_ ABSL_GUARDED_BY(mutex_);
  // Kept for its room.
  std::vector<Turn> running_;
};

}  // namespace arion::shell
