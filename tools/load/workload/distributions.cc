// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/distributions.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"

namespace arion::load {
namespace {

// zeta(10^10, 0.99), which nobody wants to add up at each start.
constexpr int64_t kScrambledItems = 10'000'000'000;
constexpr double kScrambledZeta = 26.46902820178302;

double Zeta(int64_t from, int64_t to) {  // of items from + 1 .. to
  double sum = 0;
  for (int64_t i = from + 1; i <= to; ++i)
    sum += std::pow(static_cast<double>(i), -Zipfian::kTheta);
  return sum;
}

}  // namespace

Uniform::Uniform(int64_t first, int64_t last) : first_(first), last_(last) {
  CHECK_LE(first, last);
}

int64_t Uniform::Next(Dice& dice) {
  return first_ + static_cast<int64_t>(dice.Below(static_cast<uint64_t>(last_ - first_) + 1));
}

Zipfian::Zipfian(int64_t first, int64_t last) : Zipfian(first, last, Zeta(0, last - first + 1)) {}

Zipfian::Zipfian(int64_t first, int64_t last, double zeta)
    : first_(first), items_(last - first + 1), zeta_(zeta) {
  CHECK_LE(first, last);
  SetEta();
}

void Zipfian::SetEta() {
  const double zeta_of_two = 1 + std::pow(0.5, kTheta);
  eta_ = (1 - std::pow(2.0 / static_cast<double>(items_), 1 - kTheta)) / (1 - zeta_of_two / zeta_);
}

// Adds up the new items alone: to begin anew with every insert would take longer each time.
void Zipfian::GrowTo(int64_t last) {
  const int64_t items = last - first_ + 1;
  if (items <= items_) return;
  zeta_ += Zeta(items_, items);
  items_ = items;
  SetEta();
}

int64_t Zipfian::Next(Dice& dice) {
  const double u = dice.Unit();
  const double uz = u * zeta_;
  if (uz < 1 || items_ == 1) return first_;
  if (uz < 1 + std::pow(0.5, kTheta) || items_ == 2) return first_ + 1;
  const double rank = static_cast<double>(items_) * std::pow(eta_ * u - eta_ + 1, 1 / (1 - kTheta));
  return first_ + std::min(static_cast<int64_t>(rank), items_ - 1);
}

ScrambledZipfian::ScrambledZipfian(int64_t first, int64_t last)
    : first_(first), items_(last - first + 1), ranks_(0, kScrambledItems - 1, kScrambledZeta) {
  CHECK_LE(first, last);
}

int64_t ScrambledZipfian::Next(Dice& dice) {
  // The ranks' distribution never grows, so that its zeta is a constant; the hash spreads the hot
  // ones.
  return first_ + HashOfNumber(ranks_.Next(dice)) % items_;
}

Hotspot::Hotspot(int64_t first, int64_t last, Shares shares)
    : first_(first),
      last_(last),
      hot_items_(static_cast<int64_t>(static_cast<double>(last - first + 1) * shares.hot_records)),
      hot_operations_(shares.hot_operations) {
  CHECK_LE(first, last);
}

int64_t Hotspot::Next(Dice& dice) {
  const int64_t first_cold = first_ + hot_items_;
  const bool is_hot = dice.Unit() < hot_operations_;
  if (hot_items_ > 0 && (is_hot || first_cold > last_)) {
    return first_ + static_cast<int64_t>(dice.Below(static_cast<uint64_t>(hot_items_)));
  }
  return Uniform(first_cold, last_).Next(dice);
}

Exponential::Exponential(Shape shape)
    : gamma_(-std::log(1 - shape.percentile / 100) / shape.range) {}

int64_t Exponential::Next(Dice& dice) {
  const double draw = -std::log(1 - dice.Unit()) / gamma_;
  // The bound keeps the cast defined; the caller draws again what lies outside (NextRecord).
  return draw < 0x1p62 ? static_cast<int64_t>(draw) : int64_t{1} << 62;
}

Sequential::Sequential(int64_t first, int64_t last) : first_(first), last_(last), next_(first) {
  CHECK_LE(first, last);
}

int64_t Sequential::Next(Dice&) {
  const int64_t value = next_;
  next_ = value == last_ ? first_ : value + 1;
  return value;
}

Weighted::Weighted(std::vector<std::pair<int64_t, uint64_t>> values) : sums_(std::move(values)) {
  uint64_t sum = 0;
  // Sums instead of weights: Next finds its value by halving.
  for (auto& [value, weight] : sums_) weight = sum += weight;
  CHECK_GT(sum, 0u);
}

int64_t Weighted::Next(Dice& dice) {
  const uint64_t draw = dice.Below(sums_.back().second);
  return std::upper_bound(sums_.begin(), sums_.end(), draw,
                          [](uint64_t at, const auto& entry) { return at < entry.second; })
      ->first;
}

}  // namespace arion::load
