// Messages of a peer that is out of its mind: a real one in which one number, role or list is such
// as no correct server sends. Whoever gets it must refuse it and go on: the checkers and the
// healing say whether it did.
//
// Shapes   Only what can't be mistaken for truth. A lie that looks like one (another member's name,
//          a larger ballot) is outside of what PacificA promises to survive.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace arion::sim {

class SimRandom;

// nullopt: nothing odd can be made of it.
std::optional<std::string> OddRequest(std::string_view name, std::string_view body,
                                      SimRandom& random);
std::optional<std::string> OddAnswer(std::string_view name, std::string_view body,
                                     SimRandom& random);

}  // namespace arion::sim
