// Files of spec/fixtures for tests. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "tests/support/source_directory.h"

namespace arion {

// The bytes of one fixture; nullopt when this machine has none (a failure under CI=true, decision
// 31).
inline std::optional<std::string> SpecFixture(const std::string& name) {
  const char* configured = std::getenv("ARION_SPEC_FIXTURES");
  const std::string root =
      configured != nullptr ? configured : SourceDirectory() + "/../shared/spec/fixtures";
  std::ifstream file(root + "/" + name, std::ios::binary);
  if (!file) {
    const char* ci = std::getenv("CI");
    if (ci != nullptr && std::string(ci) == "true")
      ADD_FAILURE() << root << "/" << name << " is missing";
    return std::nullopt;
  }
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

}  // namespace arion
