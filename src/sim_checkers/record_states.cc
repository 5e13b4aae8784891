// SPDX-License-Identifier: Apache-2.0
#include "sim_checkers/record_states.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <optional>

#include "base/crc.h"
#include "base/raw_key.h"
#include "engine/engine.h"

namespace arion::sim {
namespace {

std::string Printable(std::string_view bytes) {
  constexpr size_t kShown = 24;
  const std::string_view shown = bytes.substr(0, kShown);
  return absl::CHexEscape({shown.data(), shown.size()});
}

}  // namespace

RecordState StateOf(const WriteOp& op, int64_t timestamp_us) {
  const bool is_put = op.kind == WriteOp::Kind::kPut;
  const std::string facts = absl::StrCat(is_put, " ", op.expire_ts, " ", timestamp_us);
  return {.fingerprint = uint64_t{Crc32c(facts)} << 32 | Crc32c(op.value),
          .text = absl::StrCat(is_put ? absl::StrCat("\"", Printable(op.value), "\"") : "nothing",
                               " of ", timestamp_us)};
}

std::string NameOfRecord(PartitionId pid, std::string_view raw_key) {
  const std::optional<KeyParts> parts = SplitRawKey(raw_key);
  return absl::StrCat(
      "[", pid.ToString(), "] ",
      parts ? absl::StrCat(Printable(parts->hash_key), "/", Printable(parts->sort_key))
            : Printable(raw_key));
}

}  // namespace arion::sim
