// What a fuzz target is: libFuzzer's entry point, and valid inputs to start from.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace arion {

// Built-in seeds: made in code, and from the fixtures where the machine has them.
std::vector<std::string> FuzzSeeds();

inline std::filesystem::path FuzzFixtures() {
  if (const char* root = std::getenv("ARION_FIXTURES")) return root;
  return std::filesystem::path(ARION_SOURCE_DIR) / "../shared/fixtures";
}

// The bytes of the *.hex files below a fixture folder; none where there is no such folder.
inline std::vector<std::string> HexFixtures(std::string_view folder) {
  std::vector<std::string> all;
  std::error_code missing;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(FuzzFixtures() / folder, missing)) {
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

// A claim of a fuzz target that does not hold ends the process, which is how libFuzzer learns of
// it.
inline void FuzzRequire(bool holds) {
  if (!holds) std::abort();
}

}  // namespace arion
