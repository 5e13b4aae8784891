// NameBook: where the servers that were named are now. Each name is looked up on a thread of its
// own until it has an address, and anew when somebody asks for it, as after a failed connection. So
// a resolver that is not up yet, or a name that nobody knows yet, holds nobody up and hides no
// other name.
//
// Shapes    A name stands for all the IPv4 addresses that it has. What a name had stays until it
//           has others; a lookup that fails takes nothing away.
// Threads   Thread-safe. `changed` runs on a thread of a name, one at a time; it does not call the
//           book.
// Lifetime  A lookup may take long: the threads outlive the book.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "env/named_address.h"

namespace arion {

// Life cycle: construct, Start, LookUpSoon as often as wanted, Stop (or the destructor).
class NameBook {
 public:
  // Waits for the network; env/named_address.h has the real one.
  using LookUp = std::function<absl::StatusOr<std::vector<Endpoint>>(const NamedAddress&)>;
  // Gets all that is known now, in the order of the names; never empty.
  using Changed = std::function<void(const std::vector<Endpoint>&)>;

  // `whose`: what lines of the log begin with.
  NameBook(const std::string& whose, const std::vector<NamedAddress>& names, LookUp look_up);
  ~NameBook();
  NameBook(const NameBook&) = delete;

  // To be called once. Addresses that are given as numbers are reported at once, on this thread.
  void Start(Changed changed);
  // `changed` does not run any more.
  void Stop();

  // Looks all names up again. Any thread, as often as one likes: a name is looked up once a second
  // at most.
  void LookUpSoon();

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace arion
