// Runs a fuzz target without libFuzzer: over the built-in seeds, simple damage to each of them, and
// every file of the folders named. `--write-seeds DIR` writes the seeds as files instead, to start
// libFuzzer from. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/fuzz/fuzz_target.h"

namespace arion {
namespace {

size_t runs = 0;

void Run(const std::string& input) {
  // A heap block of exact size, so that a sanitizer sees a read behind it.
  std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  ++runs;
}

// Every cut and a flip of every bit, for as much of the seed as keeps this quick.
void RunDamaged(const std::string& seed) {
  constexpr size_t kDamagedBytesMax = 512;
  size_t n = std::min(seed.size(), kDamagedBytesMax);
  for (size_t i = 0; i < n; ++i) {
    Run(seed.substr(0, i));
    for (int bit = 0; bit < 8; bit += 3) {
      std::string flipped = seed;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      Run(flipped);
    }
  }
}

int WriteSeeds(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  int count = 0;
  for (const std::string& seed : FuzzSeeds()) {
    std::ofstream(directory / ("seed-" + std::to_string(count++)), std::ios::binary) << seed;
  }
  std::printf("%d seeds in %s\n", count, directory.c_str());
  return 0;
}

int Replay(int folders, char** folder) {
  for (const std::string& seed : FuzzSeeds()) {
    Run(seed);
    RunDamaged(seed);
  }
  for (int i = 0; i < folders; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder[i])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream bytes;
      bytes << in.rdbuf();
      Run(bytes.str());
    }
  }
  std::printf("%zu inputs replayed\n", runs);
  return runs > 0 ? 0 : 1;
}

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--write-seeds") == 0) return arion::WriteSeeds(argv[2]);
  return arion::Replay(argc - 1, argv + 1);
}
