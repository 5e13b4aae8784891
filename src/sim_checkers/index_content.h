// IndexContent: whether one member's index holds what its data hold. Any member may lead next, so
// each of them is looked at, not the primary alone.
//
// Threads   One: the world's. The engine is at rest.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "messages/index_definition.h"

namespace arion {
class Clock;
class Engine;
}  // namespace arion

namespace arion::sim {

// What is wrong with it, for a sentence that begins with the index; empty: it is whole, an answer
// by it would show each of the data's records that has the field, and none that they have not.
std::string WhatIsWrongWith(const NamedIndex& index, const std::shared_ptr<const Engine>& engine,
                            const Clock& clock);

}  // namespace arion::sim
