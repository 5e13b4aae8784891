// Where the real and the synthetic fixtures lie; absent: the test is skipped, or fails under CI=true
// (decision 31). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/source_directory.h"

namespace arion {

inline std::string FixtureRoot(const char* variable, const char* relative) {
  const char* configured = std::getenv(variable);
  return configured != nullptr ? configured : SourceDirectory() + relative;
}
inline std::string RealFixtures() { return FixtureRoot("ARION_FIXTURES", "/../shared/fixtures"); }
inline std::string SpecFixtures() {
  return FixtureRoot("ARION_SPEC_FIXTURES", "/../shared/spec/fixtures");
}
inline bool IsMissing(const std::string& path) {
  if (std::filesystem::exists(path)) return false;
  const char* ci = std::getenv("CI");
  if (ci != nullptr && std::string(ci) == "true") ADD_FAILURE() << path << " is missing";
  return true;
}

#define SKIP_WITHOUT(path) \
  if (IsMissing(path)) GTEST_SKIP() << path << " is not on this machine"

}  // namespace arion
