// Runs a fuzz target without libFuzzer: over the built-in seeds, simple damage to each of them, and
// every file of the folders named. `--mutate N [SEED]` then runs N mutated inputs, the same ones for
// the same seed, and says what they reached. `--write-seeds DIR` writes the seeds as files instead,
// to start libFuzzer from. SPDX-License-Identifier: Apache-2.0
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

// What mutations a format does not know of: bits, bytes, numbers, pieces.
void MutateOnce(const std::vector<std::string>& seeds, std::string* input, FuzzRandom& random) {
  constexpr uint64_t kNumbers[] = {0,  1,   2,      15,         16,         59,          60,
                                   61, 255, 0x7fff, 0x7fffffff, 0x80000000, ~uint64_t{0}};
  constexpr size_t kPieceMax = 256;
  const size_t at = random.Below(input->size() + 1);
  const size_t n = 1 + random.Below(std::min(kPieceMax, input->size() - at + 1));
  switch (random.Below(9)) {
    case 0:
    case 1:
    case 2:
      if (at < input->size())
        (*input)[at] = static_cast<char>((*input)[at] ^ (1 << random.Below(8)));
      return;
    case 3:
      if (at < input->size()) (*input)[at] = static_cast<char>(random.Next());
      return;
    case 4: {
      const uint64_t number = kNumbers[random.Below(std::size(kNumbers))];
      const size_t width = random.Below(2) == 0 ? 4 : 8;
      if (at + width <= input->size()) std::memcpy(input->data() + at, &number, width);
      return;
    }
    case 5:
      input->resize(at);
      return;
    case 6:
      input->erase(at, n);
      return;
    case 7:
      input->insert(at, random.Below(2) == 0 ? std::string(n, '\0') : input->substr(at, n));
      return;
    default: {
      const std::string& other = seeds[random.Below(seeds.size())];
      const size_t from = random.Below(other.size() + 1);
      input->insert(at, other.substr(from, n));
    }
  }
}

int Mutate(uint64_t count, uint64_t seed) {
  constexpr size_t kInputBytesMax = 16 << 10;
  constexpr size_t kPool = 64;
  FuzzRandom random(seed);
  std::vector<std::string> seeds = FuzzSeeds();
  std::erase_if(seeds, [](const std::string& s) { return s.size() > kInputBytesMax; });
  for (const std::string& seed_input : seeds) Run(seed_input);
  std::vector<std::string> pool;  // mutated before, to be mutated again
  for (uint64_t i = 0; i < count; ++i) {
    const bool from_pool = !pool.empty() && random.Below(4) == 0;
    std::string input =
        from_pool ? pool[random.Below(pool.size())] : seeds[random.Below(seeds.size())];
    for (size_t n = random.Below(4); n > 0; --n) MutateOnce(seeds, &input, random);
    if (FuzzMend != nullptr && random.Below(2) == 0) FuzzMend(&input, random);
    if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
    Run(input);
    if (pool.size() < kPool)
      pool.push_back(std::move(input));
    else if (random.Below(16) == 0)
      pool[random.Below(kPool)] = std::move(input);
  }
  for (const auto& [what, times] : FuzzCounts())
    std::printf("%12llu  %s\n", static_cast<unsigned long long>(times), std::string(what).c_str());
  std::printf("%llu mutated inputs, seed %llu\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(seed));
  return 0;
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
      Run(Slurp(entry.path()));
    }
  }
  std::printf("%zu inputs replayed\n", runs);
  return runs > 0 ? 0 : 1;
}

}  // namespace
}  // namespace arion

// Of the sanitizer: short stacks and a small quarantine, or it takes most of the time.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "malloc_context_size=6:quarantine_size_mb=8:thread_local_quarantine_size_kb=64";
}

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--write-seeds") == 0) return arion::WriteSeeds(argv[2]);
  if (argc >= 3 && std::strcmp(argv[1], "--mutate") == 0) {
    return arion::Mutate(std::strtoull(argv[2], nullptr, 10),
                         argc == 4 ? std::strtoull(argv[3], nullptr, 10) : 1);
  }
  return arion::Replay(argc - 1, argv + 1);
}
