// SPDX-License-Identifier: Apache-2.0
#include "tools/load/workload/workload.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/nearest_name.h"
#include "base/status.h"

namespace arion::load {
namespace {

constexpr std::array<std::string_view, kKinds> kNames = {
    "READ", "UPDATE", "INSERT", "SCAN", "READMODIFYWRITE", "DELETE", "MULTIGET", "MULTIPUT"};
constexpr std::array<std::string_view, kKinds> kProportions = {
    "readproportion",     "updateproportion",          "insertproportion",
    "scanproportion",     "readmodifywriteproportion", "deleteproportion",
    "multigetproportion", "multiputproportion"};

// Those that act, beside the proportions.
const std::vector<std::string_view> kKnown = {
    "workload", "table", "recordcount", "operationcount", "insertstart", "insertcount",
    "threadcount", "target", "maxexecutiontime", "warmuptime", "fieldcount", "fieldlength",
    "minfieldlength", "fieldlengthdistribution", "fieldlengthhistogram", "requestdistribution",
    "zeropadding", "minscanlength", "maxscanlength", "scanlengthdistribution", "insertorder",
    "hotspotdatafraction", "hotspotopnfraction", "exponential.percentile", "exponential.frac",
    "keyprefix", "dataintegrity", "meta_servers",
    // ours
    "recordsperhashkey", "keylength", "minkeylength", "keylengthdistribution", "keylengthhistogram",
    "multisize", "ttlproportion", "ttlseconds"};

// Of YCSB's clients: what they measure how, and fields, of which a record has one here.
const std::vector<std::string_view> kWithoutEffect = {"readallfields",
                                                      "writeallfields",
                                                      "measurementtype",
                                                      "measurement.interval",
                                                      "measurement.output_file",
                                                      "histogram.buckets",
                                                      "timeseries.granularity",
                                                      "hdrhistogram.percentiles",
                                                      "histogram.percentiles.export",
                                                      "histogram.percentiles.export.filepath",
                                                      "exporter",
                                                      "exportfile",
                                                      "db",
                                                      "status",
                                                      "label",
                                                      "silence",
                                                      "verbose",
                                                      "debug.pprof",
                                                      "dropdata",
                                                      "command",
                                                      "outputstyle",
                                                      "dotransactions",
                                                      "batch.size",
                                                      "core_workload_insertion_retry_limit",
                                                      "core_workload_insertion_retry_interval",
                                                      "fieldnameprefix"};

bool Contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status CheckKeys(const Properties& properties, std::vector<std::string>* without_effect) {
  // An unknown key is an error, not a warning: a misspelt one would change what is measured.
  std::vector<std::string_view> known = kKnown;
  known.insert(known.end(), kProportions.begin(), kProportions.end());
  for (const auto& [key, entry] : properties.entries()) {
    if (Contains(known, key)) continue;
    if (Contains(kWithoutEffect, key)) {
      without_effect->push_back(key);
      continue;
    }
    const std::string_view nearest = NearestName(key, known);
    return absl::InvalidArgumentError(
        absl::StrCat(entry.origin, ": unknown property ", key,
                     nearest.empty() ? "" : absl::StrCat("; did you mean ", Text(nearest), "?")));
  }
  return absl::OkStatus();
}

// YCSB's histogram file: "BlockSize<tab>N", then lines "bucket<tab>weight": (bucket + 1) x N bytes.
absl::StatusOr<std::vector<std::pair<int64_t, uint64_t>>> ReadHistogram(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  int64_t block = 0;
  if (!(file >> word >> block) || word != "BlockSize" || block <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("length histogram ", path, ": its first line is no \"BlockSize<tab>N\""));
  }
  std::vector<std::pair<int64_t, uint64_t>> found;
  uint64_t sum = 0;
  int64_t bucket = 0;
  int64_t weight = 0;
  while (file >> bucket >> weight) {
    if (bucket < 0 || weight < 0 || bucket > (int64_t{1} << 30) / block) {
      return absl::InvalidArgumentError(
          absl::StrCat("length histogram ", path, ": bucket ", bucket, " with weight ", weight));
    }
    found.emplace_back((bucket + 1) * block, static_cast<uint64_t>(weight));
    sum += static_cast<uint64_t>(weight);
  }
  if (!file.eof() || sum == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "length histogram ", path, ": a line is no \"bucket<tab>weight\", or all weigh 0"));
  }
  return found;
}

struct LengthKeys {
  std::string_view form, min, max, histogram;
  int64_t max_otherwise;
};

absl::StatusOr<LengthShape> ReadLength(const Properties& properties, const LengthKeys& keys) {
  LengthShape shape;
  ASSIGN_OR_RETURN(shape.min, properties.Number(keys.min, 1));
  ASSIGN_OR_RETURN(shape.max, properties.Number(keys.max, keys.max_otherwise));
  const std::string form =
      properties.Text(keys.form, keys.form == "scanlengthdistribution" ? "uniform" : "constant");
  if (form == "uniform" || form == "zipfian") {
    shape.form = form == "uniform" ? LengthShape::Form::kUniform : LengthShape::Form::kZipfian;
    if (shape.min > shape.max) {
      return absl::InvalidArgumentError(absl::StrCat(Text(keys.min), "=", shape.min, " is above ",
                                                     Text(keys.max), "=", shape.max));
    }
  } else if (form == "histogram" && !keys.histogram.empty()) {
    shape.form = LengthShape::Form::kHistogram;
    ASSIGN_OR_RETURN(shape.histogram, ReadHistogram(properties.Text(keys.histogram, "hist.txt")));
  } else if (form != "constant") {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(keys.form), "=", form, ": constant, uniform, zipfian or histogram"));
  }
  return shape;
}

absl::StatusOr<Request> ReadRequest(const std::string& name) {
  if (name == "uniform") return Request::kUniform;
  if (name == "zipfian" || name == "scrambled") return Request::kScrambledZipfian;
  if (name == "ranked_zipfian") return Request::kRankedZipfian;
  if (name == "latest") return Request::kLatest;
  if (name == "hotspot") return Request::kHotspot;
  if (name == "exponential") return Request::kExponential;
  if (name == "sequential") return Request::kSequential;
  return absl::InvalidArgumentError(
      absl::StrCat("requestdistribution=", name,
                   ": uniform, zipfian, scrambled, ranked_zipfian, latest, hotspot, exponential or "
                   "sequential"));
}

absl::Status ReadMix(const Properties& properties, Workload& workload) {
  // A mix that is given in part is whole: YCSB's defaults would add reads to it.
  const bool is_given = std::any_of(kProportions.begin(), kProportions.end(),
                                    [&](std::string_view key) { return properties.Has(key); });
  double sum = 0;
  std::string mix;
  for (size_t i = 0; i < kKinds; ++i) {
    double otherwise = 0;
    if (!is_given && i == static_cast<size_t>(Kind::kRead)) otherwise = 0.95;
    if (!is_given && i == static_cast<size_t>(Kind::kUpdate)) otherwise = 0.05;
    ASSIGN_OR_RETURN(workload.proportions[i], properties.Real(kProportions[i], otherwise));
    sum += workload.proportions[i];
    if (workload.proportions[i] > 0) {
      absl::StrAppend(&mix, " ", Text(kProportions[i]), "=", workload.proportions[i]);
    }
  }
  // A little off, for files that round.
  if (std::abs(sum - 1) > 0.001) {
    return absl::InvalidArgumentError(
        absl::StrCat("an impossible mix: the proportions add up to ", sum,
                     ", not to 1:", mix.empty() ? " all are 0" : mix));
  }
  return absl::OkStatus();
}

absl::Status ReadRecords(const Properties& properties, Workload& workload) {
  ASSIGN_OR_RETURN(workload.record_count, properties.Number("recordcount", 0));
  ASSIGN_OR_RETURN(workload.insert_start, properties.Number("insertstart", 0));
  const int64_t rest = std::max<int64_t>(0, workload.record_count - workload.insert_start);
  ASSIGN_OR_RETURN(workload.insert_count, properties.Number("insertcount", rest));
  if (workload.record_count <= 0) {
    return absl::InvalidArgumentError(
        "recordcount is not given (or 0): say how many records there are");
  }
  if (workload.insert_count == 0 || workload.insert_count > rest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "insertstart=", workload.insert_start, " and insertcount=", workload.insert_count,
        " don't lie within recordcount=", workload.record_count));
  }
  ASSIGN_OR_RETURN(int64_t operations, properties.Number("operationcount", 0));
  // Twice what the mix will insert: the scrambled distribution spreads over all of them from the
  // start, because its hot records would move if it grew.
  workload.expected_inserts = static_cast<int64_t>(2.0 * static_cast<double>(operations) *
                                                   workload.ProportionOf(Kind::kInsert));
  return absl::OkStatus();
}

absl::Status ReadSizes(const Properties& properties, Workload& workload) {
  ASSIGN_OR_RETURN(workload.field_count, properties.Number("fieldcount", 10));
  ASSIGN_OR_RETURN(workload.field_length,
                   ReadLength(properties, {"fieldlengthdistribution", "minfieldlength",
                                           "fieldlength", "fieldlengthhistogram", 100}));
  ASSIGN_OR_RETURN(workload.key_length,
                   ReadLength(properties, {"keylengthdistribution", "minkeylength", "keylength",
                                           "keylengthhistogram", 0}));
  ASSIGN_OR_RETURN(workload.scan_length,
                   ReadLength(properties, {"scanlengthdistribution", "minscanlength",
                                           "maxscanlength", "", 1000}));
  ASSIGN_OR_RETURN(workload.multi_size, properties.Number("multisize", 10));
  ASSIGN_OR_RETURN(workload.zero_padding, properties.Number("zeropadding", 1));
  if (workload.scan_length.Largest() < 1 || workload.multi_size < 1) {
    return absl::InvalidArgumentError("maxscanlength and multisize are 1 or more");
  }
  if (workload.key_length.Largest() > 60000 || workload.zero_padding > 1000) {
    return absl::InvalidArgumentError("keylength is 60000 at most, zeropadding 1000");
  }
  if (workload.field_count * workload.field_length.Largest() > (int64_t{1} << 30)) {
    return absl::InvalidArgumentError("fieldcount x fieldlength is above 1 GiB");
  }
  return absl::OkStatus();
}

absl::Status ReadKeys(const Properties& properties, Workload& workload) {
  workload.key_prefix = properties.Text("keyprefix", "user");
  const std::string order = properties.Text("insertorder", "hashed");
  if (order != "hashed" && order != "ordered") {
    return absl::InvalidArgumentError(absl::StrCat("insertorder=", order, ": hashed or ordered"));
  }
  workload.has_hashed_keys = order == "hashed";
  // These stay within one hash key, which must hold several records then.
  const bool needs_groups = workload.ProportionOf(Kind::kScan) > 0 ||
                            workload.ProportionOf(Kind::kMultiGet) > 0 ||
                            workload.ProportionOf(Kind::kMultiPut) > 0;
  ASSIGN_OR_RETURN(workload.records_per_hash_key,
                   properties.Number("recordsperhashkey", needs_groups ? 100 : 1));
  if (workload.records_per_hash_key < 1 || (needs_groups && workload.records_per_hash_key == 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("recordsperhashkey=", workload.records_per_hash_key,
                     ": scans and multi-operations read within one hash key: 2 or more"));
  }
  return absl::OkStatus();
}

absl::Status ReadDistributions(const Properties& properties, Workload& workload) {
  workload.request_name = properties.Text("requestdistribution", "uniform");
  ASSIGN_OR_RETURN(workload.request, ReadRequest(workload.request_name));
  ASSIGN_OR_RETURN(workload.hotspot.hot_records, properties.Real("hotspotdatafraction", 0.2));
  ASSIGN_OR_RETURN(workload.hotspot.hot_operations, properties.Real("hotspotopnfraction", 0.8));
  ASSIGN_OR_RETURN(workload.exponential_percentile, properties.Real("exponential.percentile", 95));
  ASSIGN_OR_RETURN(workload.exponential_fraction,
                   properties.Real("exponential.frac", 0.8571428571));
  ASSIGN_OR_RETURN(workload.ttl_proportion, properties.Real("ttlproportion", 0));
  ASSIGN_OR_RETURN(workload.ttl_seconds, properties.Number("ttlseconds", 0));
  if (workload.hotspot.hot_records > 1 || workload.hotspot.hot_operations > 1 ||
      workload.ttl_proportion > 1) {
    return absl::InvalidArgumentError(
        "hotspotdatafraction, hotspotopnfraction and ttlproportion are 0 to 1");
  }
  if (workload.exponential_percentile <= 0 || workload.exponential_percentile >= 100 ||
      workload.exponential_fraction <= 0) {
    return absl::InvalidArgumentError(
        "exponential.percentile lies between 0 and 100, exponential.frac is above 0");
  }
  if ((workload.ttl_proportion > 0) != (workload.ttl_seconds > 0)) {
    return absl::InvalidArgumentError("ttlproportion and ttlseconds mean something only together");
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view NameOf(Kind kind) { return kNames[static_cast<size_t>(kind)]; }

std::unique_ptr<Distribution> LengthShape::Make() const {
  switch (form) {
    case Form::kConstant:
      break;
    case Form::kUniform:
      return std::make_unique<Uniform>(min, max);
    case Form::kZipfian:
      return std::make_unique<Zipfian>(min, max);
    case Form::kHistogram:
      return std::make_unique<Weighted>(histogram);
  }
  return std::make_unique<Constant>(max);
}

int64_t LengthShape::Largest() const {
  if (form != Form::kHistogram) return max;
  // Its minimum and maximum mean nothing here: lengths come from the file.
  int64_t largest = 0;
  for (const auto& [length, weight] : histogram) largest = std::max(largest, length);
  return largest;
}

std::string LengthShape::Describe() const {
  switch (form) {
    case Form::kConstant:
      break;
    case Form::kUniform:
      return absl::StrCat("uniform ", min, "..", max);
    case Form::kZipfian:
      return absl::StrCat("zipfian ", min, "..", max);
    case Form::kHistogram:
      return absl::StrCat("histogram up to ", Largest());
  }
  return absl::StrCat(max);
}

absl::StatusOr<Workload> Workload::From(const Properties& properties) {
  Workload workload;
  RETURN_IF_ERROR(CheckKeys(properties, &workload.without_effect));
  const std::string name = properties.Text("workload", "core");
  if (name != "core" && name != "site.ycsb.workloads.CoreWorkload" &&
      name != "com.yahoo.ycsb.workloads.CoreWorkload") {
    return absl::InvalidArgumentError(
        absl::StrCat("workload=", name, ": only YCSB's core workload is known (core)"));
  }
  RETURN_IF_ERROR(ReadMix(properties, workload));
  RETURN_IF_ERROR(ReadRecords(properties, workload));
  RETURN_IF_ERROR(ReadSizes(properties, workload));
  RETURN_IF_ERROR(ReadKeys(properties, workload));
  RETURN_IF_ERROR(ReadDistributions(properties, workload));
  return workload;
}

std::vector<std::pair<std::string, std::string>> Workload::Describe() const {
  std::vector<std::string> mix;
  for (size_t i = 0; i < kKinds; ++i) {
    if (proportions[i] > 0)
      mix.push_back(absl::StrCat(Text(kNames[i]), " ", 100 * proportions[i], "%"));
  }
  std::vector<std::pair<std::string, std::string>> lines = {
      {"mix", absl::StrJoin(mix, ", ")},
      {"records", absl::StrCat(insert_count, " from ", insert_start, ", ", records_per_hash_key,
                               " a hash key")},
      {"requests", request_name},
      {"value",
       absl::StrCat(field_count, " x ", field_length.Describe(), " bytes, one value a record")},
      {"keys", absl::StrCat(key_prefix, has_hashed_keys ? "<hash of number>" : "<number>",
                            key_length.Largest() > 0 ? ", length " + key_length.Describe() : "")}};
  if (ProportionOf(Kind::kScan) > 0) lines.emplace_back("scan length", scan_length.Describe());
  if (ProportionOf(Kind::kMultiGet) + ProportionOf(Kind::kMultiPut) > 0) {
    lines.emplace_back("records a multi-operation", absl::StrCat(multi_size));
  }
  if (ttl_proportion > 0) {
    lines.emplace_back("ttl",
                       absl::StrCat(ttl_seconds, " s on ", 100 * ttl_proportion, "% of writes"));
  }
  if (!without_effect.empty()) {
    lines.emplace_back("properties without effect", absl::StrJoin(without_effect, ", "));
  }
  return lines;
}

absl::StatusOr<std::string_view> CoreWorkload(std::string_view letter) {
  // YCSB's workloads a to f, in this order.
  static constexpr std::array<std::string_view, 6> kCore = {
      "readproportion=0.5\nupdateproportion=0.5\nrequestdistribution=zipfian\n",
      "readproportion=0.95\nupdateproportion=0.05\nrequestdistribution=zipfian\n",
      "readproportion=1\nrequestdistribution=zipfian\n",
      "readproportion=0.95\ninsertproportion=0.05\nrequestdistribution=latest\n",
      "scanproportion=0.95\ninsertproportion=0.05\nrequestdistribution=zipfian\n"
      "maxscanlength=100\nscanlengthdistribution=uniform\n",
      "readproportion=0.5\nreadmodifywriteproportion=0.5\nrequestdistribution=zipfian\n"};
  if (letter.size() != 1 || letter[0] < 'a' || letter[0] > 'f') {
    return absl::InvalidArgumentError(
        absl::StrCat("--workload=", Text(letter), ": a, b, c, d, e or f; -P takes a file"));
  }
  return kCore[static_cast<size_t>(letter[0] - 'a')];
}

}  // namespace arion::load
