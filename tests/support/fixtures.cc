// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fixtures.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "tests/support/source_directory.h"

namespace arion {
namespace {

std::string Configured(const char* variable, const char* beside_the_tree) {
  const char* configured = std::getenv(variable);
  return configured != nullptr ? configured : SourceDirectory() + beside_the_tree;
}

}  // namespace

std::string RealFixtures() { return Configured("ARION_FIXTURES", "/../shared/fixtures"); }
std::string SpecFixtures() { return Configured("ARION_SPEC_FIXTURES", "/../shared/spec/fixtures"); }

bool AreFixturesDemanded() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace arion
