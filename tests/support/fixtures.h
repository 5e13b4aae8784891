// The fixtures that lie beside this source tree, not in it: a machine without them skips the tests
// that need them, one that says CI=true fails (decision 31).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace arion {

// What real servers of older versions wrote and said; ARION_FIXTURES: elsewhere.
std::string RealFixtures();
// What was made by the formats' description; ARION_SPEC_FIXTURES: elsewhere.
std::string SpecFixtures();
bool AreFixturesDemanded();
std::string Slurp(const std::string& path);  // a whole file; empty: it can't be read

}  // namespace arion

// At the head of a gtest body, or of SetUp.
#define REQUIRE_FIXTURE(path)                                                    \
  if (const std::string required = (path); !std::filesystem::exists(required)) { \
    if (::arion::AreFixturesDemanded()) FAIL() << required << " is missing";     \
    GTEST_SKIP() << required << " is not on this machine";                       \
  }
