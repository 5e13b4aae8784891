// Distributions of whole numbers: record ranks, lengths.
//
// Shapes    Ranges are inclusive. Zipfian: rank i (from 0) has a probability proportional to 1 / (i
//           + 1)^0.99, by the approximation of Gray et al. ("Quickly generating billion-record
//           synthetic databases", 1994), as in YCSB.
// Errors    Ranges are checked by whoever reads them from a user: here first <= last is CHECKed.
// Threads   One at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tools/load/workload/dice.h"

namespace arion::load {

// Draws numbers; it may change by drawing.
class Distribution {
 public:
  virtual ~Distribution() = default;
  virtual int64_t Next(Dice& dice) = 0;
};

// Always the same number.
class Constant : public Distribution {
 public:
  explicit Constant(int64_t value) : value_(value) {}
  int64_t Next(Dice&) override { return value_; }

 private:
  const int64_t value_;
};

// Every number of the range is equally likely.
class Uniform : public Distribution {
 public:
  Uniform(int64_t first, int64_t last);
  int64_t Next(Dice& dice) override;

 private:
  const int64_t first_;
  const int64_t last_;
};

// The first number of the range is the most likely.
class Zipfian : public Distribution {
 public:
  static constexpr double kTheta = 0.99;

  Zipfian(int64_t first, int64_t last);
  // `zeta`: the sum of 1 / i^theta over the items, where somebody has added it up before.
  Zipfian(int64_t first, int64_t last, double zeta);
  int64_t Next(Dice& dice) override;
  // The range ends at `last` from now on. It only grows, and costs what the growth has.
  void GrowTo(int64_t last);

 private:
  void SetEta();

  const int64_t first_;
  int64_t items_;
  double zeta_;
  double eta_ = 0;
};

// YCSB's "zipfian": ranks of ten billion items spread over the range by a hash. So popular records
// are nobody's neighbours, and the same ones whatever the range's size.
class ScrambledZipfian : public Distribution {
 public:
  ScrambledZipfian(int64_t first, int64_t last);
  int64_t Next(Dice& dice) override;

 private:
  const int64_t first_;
  const int64_t items_;
  Zipfian ranks_;
};

// `hot_operations` of the draws fall, evenly, into the first `hot_records` of the range.
class Hotspot : public Distribution {
 public:
  struct Shares {
    double hot_records = 0.2;
    double hot_operations = 0.8;
  };
  Hotspot(int64_t first, int64_t last, Shares shares);
  int64_t Next(Dice& dice) override;

 private:
  const int64_t first_;
  const int64_t last_;
  const int64_t hot_items_;
  const double hot_operations_;
};

// 0 and up: `percentile` per cent of the draws are below `range`.
class Exponential : public Distribution {
 public:
  struct Shape {
    double percentile = 95;
    double range = 1;
  };
  explicit Exponential(Shape shape);
  int64_t Next(Dice& dice) override;

 private:
  const double gamma_;
};

// first, first + 1, ... last, first, ...
class Sequential : public Distribution {
 public:
  Sequential(int64_t first, int64_t last);
  int64_t Next(Dice&) override;

 private:
  const int64_t first_;
  const int64_t last_;
  int64_t next_;
};

// Values with their weights.
class Weighted : public Distribution {
 public:
  // At least one weight is > 0.
  explicit Weighted(std::vector<std::pair<int64_t, uint64_t>> values);
  int64_t Next(Dice& dice) override;

 private:
  // Value, and the sum of the weights up to and including it.
  std::vector<std::pair<int64_t, uint64_t>> sums_;
};

}  // namespace arion::load
