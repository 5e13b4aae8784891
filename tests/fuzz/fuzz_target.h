// What a fuzz target is: libFuzzer's entry point, valid inputs to start from, and, if it likes, a
// mutation that knows its format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <source_location>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/fixtures.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace arion {

// Built-in seeds: made in code, and from the fixtures where the machine has them.
std::vector<std::string> FuzzSeeds();

// Deterministic numbers for mutations.
class FuzzRandom {
 public:
  explicit FuzzRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  size_t Below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(Next() % n); }

 private:
  uint64_t state_;
};

// Of a target that knows its format: changes a mutated input so that more of it passes the first
// checks (checksums set right), or in the format's own steps (blocks moved).
void FuzzMend(std::string* input, FuzzRandom& random) __attribute__((weak));

// How often each thing happened in this process, for the summary of a run of mutations.
inline std::map<std::string_view, uint64_t>& FuzzCounts() {
  static std::map<std::string_view, uint64_t> counts;
  return counts;
}
// `what` is a literal.
inline void FuzzCount(std::string_view what) { ++FuzzCounts()[what]; }

// The bytes of the *.hex files below a fixture folder; none where there is no such folder.
inline std::vector<std::string> HexFixtures(std::string_view folder) {
  std::vector<std::string> all;
  std::error_code missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(RealFixtures()) / folder, missing)) {
    if (entry.path().extension() != ".hex") continue;
    std::ifstream in(entry.path());
    std::string bytes, digits;
    for (std::string line; std::getline(in, line);) {
      for (char c : line.substr(0, line.find('#'))) {
        if (c != ' ' && c != '\t') digits += c;
      }
    }
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      bytes += static_cast<char>(std::strtol(digits.substr(i, 2).c_str(), nullptr, 16));
    }
    all.push_back(std::move(bytes));
  }
  return all;
}

// A claim of a fuzz target that does not hold is named and ends the process, which is how libFuzzer
// learns of it.
inline void FuzzRequire(bool holds, std::source_location where = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: does not hold\n", where.file_name(), where.line());
  std::abort();
}

}  // namespace arion
