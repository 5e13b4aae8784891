// Values, entries, definitions and lists of indexes that mean harm: a field is the same whatever
// other indexes there are, an entry made of it is taken apart again, and what can be read comes back
// as it was written.
//
// Input: byte 0 chooses; the rest is a value, an entry, a definition, or a list.
// SPDX-License-Identifier: Apache-2.0
#include <absl/strings/str_format.h>

#include "base/crc.h"
#include "base/status.h"
#include "indexes/field_order.h"
#include "indexes/field_reader.h"
#include "indexes/index_list.h"
#include "tests/fuzz/fuzz_target.h"

namespace arion {
namespace {

const std::vector<IndexDefinition>& Definitions() {
  static const std::vector<IndexDefinition> all = [] {
    std::vector<IndexDefinition> definitions;
    for (const char* text :
         {"$.a", "$.a.b", "$.a[1]", "$.a[1].c", "$.d", "$.none", "bytes(2,3)", "value"})
      definitions.push_back(*IndexDefinition::Parse(text));
    return definitions;
  }();
  return all;
}

void CheckEntry(const FieldValue& field) {
  std::string entry = EntryPrefix(7);
  if (!AppendField(field, &entry)) return FuzzCount("no field");
  const size_t key_at = entry.size();
  entry += "raw key";
  const std::optional<IndexEntry> parts = SplitEntry(entry);
  FuzzRequire(parts.has_value() && parts->raw_key == std::string_view(entry).substr(key_at));
  FuzzRequire(CompareFields(field, field) == 0);
  FuzzCount("entries");
}

void CheckValue(std::string_view value) {
  FieldReader all(Definitions());
  std::map<size_t, FieldValue> together;
  for (const FieldReader::Found& found : all.Read(value)) {
    FuzzRequire(together.emplace(found.at, found.field).second);
    CheckEntry(found.field);
  }
  for (size_t i = 0; i < Definitions().size(); ++i) {
    FieldReader alone({Definitions()[i]});
    const std::vector<FieldReader::Found>& found = alone.Read(value);
    FuzzRequire(found.size() == together.count(i));
    if (!found.empty()) FuzzRequire(found[0].field == together.at(i));
  }
}

void CheckDefinition(std::string_view text) {
  const auto definition = IndexDefinition::Parse(text);
  if (!definition.ok()) return FuzzCount("refused definitions");
  const auto again = IndexDefinition::Parse(definition->Text());
  FuzzRequire(again.ok() && *again == *definition);
  FuzzCount("definitions");
}

std::string WithChecksum(std::string_view bytes) {
  return absl::StrCat(Text(bytes), absl::StrFormat("crc %08x\n", Crc32c(bytes)));
}

void CheckList(std::string_view bytes) {
  const auto list = IndexList::Decode(bytes);
  if (!list.ok()) return FuzzCount("refused lists");
  const auto again = IndexList::Decode(list->Encode());
  FuzzRequire(again.ok() && *again == *list);
  FuzzCount("lists");
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const char* value :
       {R"({"a":{"b":"x"},"d":1.5e3})", R"({"a":[1,{"c":true}],"d":-7,"e":"\u00e9\u0000"})",
        R"({"d":18446744073709551615,"a":null})", R"([[[[{"a":1}]]]])", "no JSON", ""})
    seeds.push_back(std::string(1, '\0') + value);
  std::string entry = EntryPrefix(3);
  AppendField(FieldValue::Of(std::string("a\0b", 3)), &entry);
  seeds.push_back("\x01" + entry + "key");
  for (const IndexDefinition& definition : Definitions())
    seeds.push_back("\x02" + definition.Text() + ";generation=4;paused");
  const IndexList list{.next_id = 9,
                       .serial = 5,
                       .indexes = {{.name = "by_a",
                                    .definition = Definitions()[0],
                                    .whole_at = Decree(3),
                                    .current = {.id = 8},
                                    .successor = IndexGeneration{.id = 7}}},
                       .walk = SavedWalk{.ids = {7}, .from = "key", .files = {"run0.0.sst"}}};
  seeds.push_back("\x03" + list.Encode());
  return seeds;
}

}  // namespace arion

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      arion::CheckValue(rest);
      break;
    case 1:
      arion::SplitEntry(rest);
      arion::SplitPosition(rest);
      break;
    case 2:
      arion::CheckDefinition(rest);
      break;
    default:
      arion::CheckList(rest);
      // As if somebody had meant it.
      arion::CheckList(arion::WithChecksum(rest.substr(0, rest.rfind("crc "))));
  }
  return 0;
}
