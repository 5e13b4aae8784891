// Workload: what YCSB's properties (and ours beside them) say about records and operations,
// checked.
//
// Shapes    A record is one value of fieldcount x fieldlength bytes. Its key is keyprefix and the
//           record's number (hashed where insertorder=hashed) as hash key with an empty sort key;
//           with recordsperhashkey = N > 1 the hash key names number / N and the sort key number %
//           N. Scans and multi-operations stay in one hash key, so N is 100 by default where the
//           mix has them. Where any proportion is given, the others are 0, and all add up to 1.
// Errors    InvalidArgument: unknown keys (with the likely one), values that can't be, mixes that
//           can't be. Keys of YCSB that mean nothing here are listed in `without_effect`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/load/workload/distributions.h"
#include "tools/load/workload/properties.h"

namespace arion::load {

// Kinds of operations; those of YCSB and ours.
enum class Kind {
  kRead,
  kUpdate,
  kInsert,
  kScan,
  kReadModifyWrite,
  kDelete,
  kMultiGet,
  kMultiPut,
};
inline constexpr size_t kKinds = 8;
// "READ", "UPDATE", ...
std::string_view NameOf(Kind kind);

// How lengths are drawn.
struct LengthShape {
  enum class Form { kConstant, kUniform, kZipfian, kHistogram };
  Form form = Form::kConstant;
  // Of kUniform, kZipfian.
  int64_t min = 1;
  // Of kConstant: the length.
  int64_t max = 0;
  // Length, weight.
  std::vector<std::pair<int64_t, uint64_t>> histogram = {};

  std::unique_ptr<Distribution> Make() const;
  int64_t Largest() const;
  std::string Describe() const;
};

// Which records are asked for.
enum class Request {
  kUniform,
  // "zipfian" in YCSB's files, or "scrambled".
  kScrambledZipfian,
  // "ranked_zipfian": record 0 is the most popular.
  kRankedZipfian,
  kLatest,
  kHotspot,
  kExponential,
  kSequential,
};

// A workload as it is carried out.
struct Workload {
  // Records [insert_start, insert_start + insert_count) are loaded.
  int64_t record_count = 0;
  int64_t insert_start = 0;
  int64_t insert_count = 0;
  std::array<double, kKinds> proportions = {};
  Request request = Request::kUniform;
  std::string request_name;
  Hotspot::Shares hotspot;
  double exponential_percentile = 95;
  double exponential_fraction = 0.8571428571;
  // Twice what the run will insert: ScrambledZipfian's room.
  int64_t expected_inserts = 0;

  int64_t field_count = 10;
  LengthShape field_length;
  std::string key_prefix = "user";
  bool has_hashed_keys = true;
  int64_t zero_padding = 1;
  int64_t records_per_hash_key = 1;
  // Largest 0: keys are as long as they are.
  LengthShape key_length;
  LengthShape scan_length;
  int64_t multi_size = 10;
  // Of writes.
  double ttl_proportion = 0;
  int64_t ttl_seconds = 0;

  std::vector<std::string> without_effect;

  static absl::StatusOr<Workload> From(const Properties& properties);
  double ProportionOf(Kind kind) const { return proportions[static_cast<size_t>(kind)]; }
  // Settings by name, for "effective configuration".
  std::vector<std::pair<std::string, std::string>> Describe() const;
};

// Properties of YCSB's workloads a to f, as its own files have them; InvalidArgument: no such
// letter.
absl::StatusOr<std::string_view> CoreWorkload(std::string_view letter);

}  // namespace arion::load
