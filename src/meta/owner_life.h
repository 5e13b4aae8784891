// OwnerLife lets what the parts of one object wait for come back only while that object lives.
//
// Shapes    Parts are members of their owner and call each other directly. Only what comes back
//           later (a timer, a stored batch, an answer) needs this: by then the owner may be gone.
// Threads   Begin comes before anything is posted. Afterwards it is immutable.
// Lifetime  A part holds a reference to its owner's. What While gave may outlive both.
// Promises  owner_life/O1  What While gave runs only while the owner lives, and the owner lives
//               until it returns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

namespace arion {

// A member of the owner, before the parts that refer to it.
//
//   strand->PostAfter(delay, life.While([this] { Look(); }));  // nothing, once the owner is gone
class OwnerLife {
 public:
  // Once, when the owner is held by a shared_ptr. Before, nothing that While gave runs.
  void Begin(std::weak_ptr<const void> owner) { owner_ = std::move(owner); }
  // `run`, or nothing where the owner is gone. Its answer is dropped.
  template <class Run>
  auto While(Run run) const {
    return [owner = owner_,
            run = std::move(run)]<class... Arguments>(Arguments&&... arguments) mutable {
      if (const std::shared_ptr<const void> held = owner.lock())
        run(std::forward<Arguments>(arguments)...);
    };
  }

 private:
  std::weak_ptr<const void> owner_;
};

}  // namespace arion
