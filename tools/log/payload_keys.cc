// SPDX-License-Identifier: Apache-2.0
#include "tools/log/payload_keys.h"

#include <functional>
#include <optional>

#include "base/coding.h"
#include "base/status.h"

namespace arion::logtool {
namespace {

enum ThriftType : uint8_t {
  kStop = 0,
  kBool = 2,
  kByte = 3,
  kDouble = 4,
  kI16 = 6,
  kI32 = 8,
  kI64 = 10,
  kString = 11,
  kBlob = 12,  // on the wire a struct, but i32 length and bytes
  kList = 15,
};

// Reads the structs of 2.6 by walking their fields; the first thing that does not fit makes it fail
// for good.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view payload) : reader_(payload) {}

  bool ok() const { return is_sound_ && reader_.ok(); }
  // The field header around every payload; its type and id say nothing.
  void Outer() { reader_.Bytes(3); }

  std::string_view Blob() {
    const auto size = reader_.Big<int32_t>();
    if (size < 0) is_sound_ = false;
    return ok() ? reader_.Bytes(static_cast<size_t>(size)) : std::string_view();
  }

  // Calls on_field for every field up to the struct's end; what on_field returns false for is
  // skipped by its type.
  void Struct(const std::function<bool(int id, uint8_t type)>& on_field) {
    while (ok()) {
      const auto type = reader_.Big<uint8_t>();
      if (!ok() || type == kStop) return;
      const auto id = reader_.Big<int16_t>();
      if (ok() && !on_field(id, type)) Skip(type);
    }
  }

  void List(const std::function<void()>& on_item) {
    reader_.Bytes(1);
    const auto count = reader_.Big<int32_t>();
    // An item has at least one byte.
    if (count < 0 || static_cast<size_t>(count) > reader_.rest().size()) is_sound_ = false;
    for (int32_t i = 0; i < count && ok(); ++i) on_item();
  }

 private:
  void Skip(uint8_t type) {
    switch (type) {
      case kBool:
      case kByte:
        reader_.Bytes(1);
        return;
      case kI16:
        reader_.Bytes(2);
        return;
      case kI32:
        reader_.Bytes(4);
        return;
      case kI64:
      case kDouble:
        reader_.Bytes(8);
        return;
      case kString:
      case kBlob:
        Blob();
        return;
      default:
        is_sound_ = false;
    }
  }

  ByteReader reader_;
  bool is_sound_ = true;
};

class KeyCollector {
 public:
  explicit KeyCollector(size_t first_max) : first_max_(first_max) {}

  absl::Status Collect(WriteCode code, std::string_view payload) {
    PayloadReader reader(payload);
    reader.Outer();
    switch (code) {
      case WriteCode::kEmpty:
      case WriteCode::kBulkLoad:
        return absl::OkStatus();
      case WriteCode::kPut:
      case WriteCode::kIncr:
        reader.Struct([&](int id, uint8_t type) {
          if (id != 1 || type != kBlob) return false;
          AddRaw(reader.Blob());
          return true;
        });
        break;
      case WriteCode::kRemove:
        AddRaw(reader.Blob());
        break;
      case WriteCode::kMultiPut:
        CollectUnderHashKey(reader, 2, 1);
        break;
      case WriteCode::kMultiRemove:
        CollectUnderHashKey(reader, 2, std::nullopt);
        break;
      case WriteCode::kCheckAndSet:
        CollectCheckAndSet(reader);
        break;
      case WriteCode::kCheckAndMutate:
        CollectUnderHashKey(reader, 5, 2);
        break;
      case WriteCode::kDuplicate:
        RETURN_IF_ERROR(CollectDuplicate(reader));
        break;
    }
    if (!reader.ok() || has_bad_key_)
      return absl::DataLossError("the payload is not what its code says");
    return absl::OkStatus();
  }

  NamedKeys Take() { return std::move(keys_); }

 private:
  void Add(const KeyParts& key) {
    ++keys_.count;
    if (keys_.first.size() < first_max_) keys_.first.push_back(key);
  }

  void AddRaw(std::string_view raw_key) {
    const std::optional<KeyParts> parts = SplitRawKey(raw_key);
    if (parts)
      Add(*parts);
    else
      has_bad_key_ = true;
  }

  // Hash key in field 1, sort keys in the list of field `list_id`: the items' field `sort_id`, or,
  // without one, the items themselves. A blob in field 2 is the sort key of a check.
  void CollectUnderHashKey(PayloadReader& reader, int list_id, std::optional<int> sort_id) {
    std::string_view hash_key;
    const size_t before = keys_.first.size();
    const auto add_sort_key = [&] { Add({.sort_key = reader.Blob()}); };
    reader.Struct([&](int id, uint8_t type) {
      if (id == 1 && type == kBlob) {
        hash_key = reader.Blob();
      } else if (id == 2 && type == kBlob) {
        add_sort_key();
      } else if (id == list_id && type == kList) {
        reader.List([&] {
          if (!sort_id) return add_sort_key();
          reader.Struct([&](int inner, uint8_t inner_type) {
            if (inner != *sort_id || inner_type != kBlob) return false;
            add_sort_key();
            return true;
          });
        });
      } else {
        return false;
      }
      return true;
    });
    for (size_t i = before; i < keys_.first.size(); ++i) keys_.first[i].hash_key = hash_key;
  }

  void CollectCheckAndSet(PayloadReader& reader) {
    KeyParts checked, set;
    reader.Struct([&](int id, uint8_t type) {
      if (type != kBlob || (id != 1 && id != 2 && id != 6)) return false;
      (id == 1 ? checked.hash_key : id == 2 ? checked.sort_key : set.sort_key) = reader.Blob();
      return true;
    });
    set.hash_key = checked.hash_key;
    Add(checked);
    Add(set);
  }

  // One entry of a DUPLICATE: operation and its payload.
  struct Entry {
    std::string_view code, payload;
    bool Take(PayloadReader& reader, int id, uint8_t type) {
      if (type != kBlob || (id != 2 && id != 3)) return false;
      (id == 2 ? code : payload) = reader.Blob();
      return true;
    }
  };

  // Both forms: the request is one entry (2.3 and older), or a list of entries.
  absl::Status CollectDuplicate(PayloadReader& reader) {
    if (is_inside_duplicate_) return absl::DataLossError("a duplicate inside a duplicate");
    is_inside_duplicate_ = true;
    absl::Status status;
    Entry own;
    reader.Struct([&](int id, uint8_t type) {
      if (id != 1 || type != kList) return own.Take(reader, id, type);
      reader.List([&] {
        Entry entry;
        reader.Struct(
            [&](int inner, uint8_t inner_type) { return entry.Take(reader, inner, inner_type); });
        if (status.ok()) status = CollectEntry(entry);
      });
      return true;
    });
    if (status.ok() && !own.code.empty()) status = CollectEntry(own);
    is_inside_duplicate_ = false;
    return status;
  }

  absl::Status CollectEntry(const Entry& entry) {
    const std::optional<WriteCode> code = FindWriteCode(entry.code);
    if (!code) return absl::DataLossError("a duplicate of an unknown code");
    return Collect(*code, entry.payload);
  }

  const size_t first_max_;
  NamedKeys keys_;
  bool has_bad_key_ = false;
  bool is_inside_duplicate_ = false;
};

}  // namespace

absl::StatusOr<NamedKeys> PayloadKeys(WriteCode code, std::string_view payload, size_t first_max) {
  KeyCollector collector(first_max);
  RETURN_IF_ERROR(collector.Collect(code, payload));
  return collector.Take();
}

}  // namespace arion::logtool
