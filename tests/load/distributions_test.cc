// Each distribution against its definition. Seeds are fixed: what passes, passes always.
// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace arion::load {
namespace {

constexpr int kDraws = 200'000;

std::vector<double> CountsOf(Distribution& distribution, int64_t first, int64_t last) {
  Dice dice(42);
  std::vector<double> counts(static_cast<size_t>(last - first + 1));
  for (int i = 0; i < kDraws; ++i) {
    const int64_t value = distribution.Next(dice);
    EXPECT_GE(value, first);
    EXPECT_LE(value, last);
    if (value >= first && value <= last) ++counts[static_cast<size_t>(value - first)];
  }
  return counts;
}

// Chi-square over its degrees of freedom: about 1, standard deviation sqrt(2 / degrees).
double ChiSquare(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  }
  return sum / static_cast<double>(counts.size() - 1);
}
double FiveSigma(size_t cells) { return 1 + 5 * std::sqrt(2.0 / static_cast<double>(cells - 1)); }

std::vector<double> ZipfianShares(int64_t items) {
  std::vector<double> shares;
  double sum = 0;
  for (int64_t i = 1; i <= items; ++i) sum += std::pow(static_cast<double>(i), -Zipfian::kTheta);
  for (int64_t i = 1; i <= items; ++i) {
    shares.push_back(std::pow(static_cast<double>(i), -Zipfian::kTheta) / sum);
  }
  return shares;
}

TEST(Distributions, UniformIsEvenToItsLastValue) {
  Uniform uniform(10, 109);
  const std::vector<double> counts = CountsOf(uniform, 10, 109);
  EXPECT_LT(ChiSquare(counts, std::vector<double>(100, kDraws / 100.0)), FiveSigma(100));
}

TEST(Distributions, ADieThatPrefersOneValueWouldBeSeen) {
  Uniform uniform(0, 99);
  std::vector<double> counts = CountsOf(uniform, 0, 99);
  counts[3] += 500;  // a quarter more often than it should
  EXPECT_GT(ChiSquare(counts, std::vector<double>(100, kDraws / 100.0)), FiveSigma(100));
}

// The approximation gives the first two ranks their exact shares; the others within some per cent.
TEST(Distributions, ZipfianFollowsItsLaw) {
  Zipfian zipfian(0, 999);
  const std::vector<double> counts = CountsOf(zipfian, 0, 999);
  const std::vector<double> shares = ZipfianShares(1000);
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_NEAR(counts[rank] / kDraws, shares[rank], 5 * std::sqrt(shares[rank] / kDraws)) << rank;
  }
  double counted = 0;
  double expected = 0;
  for (size_t rank = 0; rank < 1000; ++rank) {
    counted += counts[rank] / kDraws;
    expected += shares[rank];
    EXPECT_NEAR(counted, expected, 0.02) << "up to rank " << rank;
  }
}

TEST(Distributions, ZipfianThatGrewIsThatOfItsSize) {
  Zipfian grown(0, 99);
  grown.GrowTo(999);
  Zipfian fresh(0, 999);
  EXPECT_EQ(CountsOf(grown, 0, 999), CountsOf(fresh, 0, 999));
}

TEST(Distributions, ZipfianOfOneOrTwoItemsStaysWithin) {
  Zipfian one(7, 7);
  EXPECT_EQ(CountsOf(one, 7, 7)[0], kDraws);
  Zipfian two(7, 8);
  const std::vector<double> counts = CountsOf(two, 7, 8);
  EXPECT_NEAR(counts[0] / counts[1], std::pow(2, Zipfian::kTheta), 0.05);
}

TEST(Distributions, ScrambledZipfianHasTheSamePopularityAtOtherPlaces) {
  ScrambledZipfian scrambled(0, 999);
  std::vector<double> counts = CountsOf(scrambled, 0, 999);
  const auto hottest = std::max_element(counts.begin(), counts.end());
  EXPECT_EQ(hottest - counts.begin(), HashOfNumber(0) % 1000);
  // Rank 0 of 10^10 items: 1 / zeta; what else falls upon the same record adds a little.
  EXPECT_NEAR(*hottest / kDraws, 1 / 26.469, 0.004);
}

TEST(Distributions, HotspotGivesTheHotRecordsTheirShare) {
  Hotspot hotspot(0, 999, {.hot_records = 0.2, .hot_operations = 0.8});
  const std::vector<double> counts = CountsOf(hotspot, 0, 999);
  std::vector<double> expected(1000, 0.2 * kDraws / 800);
  std::fill_n(expected.begin(), 200, 0.8 * kDraws / 200);
  EXPECT_LT(ChiSquare(counts, expected), FiveSigma(1000));
}

TEST(Distributions, HotspotOfNothingOrEverythingIsUniform) {
  for (double hot_records : {0.0, 1.0}) {
    Hotspot hotspot(0, 99, {.hot_records = hot_records, .hot_operations = 0.8});
    const std::vector<double> counts = CountsOf(hotspot, 0, 99);
    EXPECT_LT(ChiSquare(counts, std::vector<double>(100, kDraws / 100.0)), FiveSigma(100));
  }
}

TEST(Distributions, ExponentialHasItsPercentileWhereItIsSaid) {
  Exponential exponential({.percentile = 95, .range = 1000});
  Dice dice(42);
  int below = 0;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const int64_t value = exponential.Next(dice);
    below += value < 1000;
    sum += static_cast<double>(value);
  }
  EXPECT_NEAR(below / static_cast<double>(kDraws), 0.95, 0.0025);
  EXPECT_NEAR(sum / kDraws, 1000 / -std::log(0.05), 5);
}

TEST(Distributions, SequentialGoesRound) {
  Sequential sequential(3, 5);
  Dice dice(1);
  std::vector<int64_t> values;
  for (int i = 0; i < 7; ++i) values.push_back(sequential.Next(dice));
  EXPECT_EQ(values, (std::vector<int64_t>{3, 4, 5, 3, 4, 5, 3}));
}

TEST(Distributions, WeightedKeepsItsWeights) {
  Weighted weighted({{100, 1}, {200, 0}, {300, 3}});
  Dice dice(42);
  std::map<int64_t, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[weighted.Next(dice)];
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts[300] / static_cast<double>(counts[100]), 3, 0.1);
}

TEST(Distributions, TheHashOfANumberIsThatOfYcsb) {
  // FNV-1a, 64 bits, of eight zero bytes: 0xA8C7F832281A39C5, made positive.
  EXPECT_EQ(HashOfNumber(0), static_cast<int64_t>(-uint64_t{0xA8C7F832281A39C5}));
  for (int64_t number = 0; number < 1000; ++number) EXPECT_GE(HashOfNumber(number), 0);
}

}  // namespace
}  // namespace arion::load
