// The byte fixtures of shared/fixtures/rpc, and hex text. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/support/fixtures.h"

namespace arion {

inline std::string FrameFixtures() { return RealFixtures() + "/rpc"; }

// Hex digits, anything else but # comments ignored.
inline std::string FromHex(std::string_view text) {
  std::string digits;
  bool comment = false;
  for (char c : text) {
    if (c == '#') comment = true;
    if (c == '\n') comment = false;
    if (!comment && std::isxdigit(static_cast<unsigned char>(c))) digits += c;
  }
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// `name` as in the folder, with .hex.
inline std::string ReadFrame(const std::string& name) {
  return FromHex(Slurp(FrameFixtures() + "/" + name));
}

struct ExpectedFrame {
  nlohmann::json header;
  nlohmann::json parts;
};
// All good frames, the synthetic and the captured ones, by file name below rpc/.
inline std::map<std::string, ExpectedFrame> GoodFrames() {
  std::map<std::string, ExpectedFrame> frames;
  auto synthetic = nlohmann::json::parse(Slurp(FrameFixtures() + "/expected.json"));
  for (const auto& [name, value] : synthetic.items()) {
    if (value.contains("header")) frames[name] = {value["header"], value["parts"]};
  }
  std::istringstream captured(Slurp(FrameFixtures() + "/captured-2.5.0/expected.jsonl"));
  for (std::string line; std::getline(captured, line);) {
    if (line.empty()) continue;
    auto value = nlohmann::json::parse(line);
    frames["captured-2.5.0/" + value["file"].get<std::string>()] = {value["header"],
                                                                    value["parts"]};
  }
  return frames;
}

}  // namespace arion
