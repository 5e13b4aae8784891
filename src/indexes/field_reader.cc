// The paths of all indexes are one tree, and a JSON value is read once, event by event. Beside the
// objects and arrays that are open stands where they are in the tree; null: nothing in there is
// looked for.
// SPDX-License-Identifier: Apache-2.0
#include "indexes/field_reader.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace arion {
namespace {

struct Node {
  std::map<std::string, std::unique_ptr<Node>, std::less<>> members;
  std::map<int64_t, std::unique_ptr<Node>> elements;
  // Definitions whose path ends here.
  std::vector<size_t> ends;
};

}  // namespace

class FieldReader::Impl {
 public:
  explicit Impl(const std::vector<IndexDefinition>& definitions) {
    for (size_t i = 0; i < definitions.size(); ++i) {
      switch (definitions[i].source) {
        case IndexDefinition::Source::kField:
          Add(definitions[i].path, i);
          break;
        case IndexDefinition::Source::kValue:
          values_.push_back(i);
          break;
        case IndexDefinition::Source::kBytes:
          bytes_.push_back({i, definitions[i].offset, definitions[i].length});
      }
    }
  }

  const std::vector<Found>& Read(std::string_view value) {
    found_.clear();
    for (const size_t at : values_) found_.push_back({at, FieldValue::Of(std::string(value))});
    for (const auto& [at, offset, length] : bytes_)
      if (value.size() >= size_t{offset} + length)
        found_.push_back({at, FieldValue::Of(std::string(value.substr(offset, length)))});
    if (paths_ > 0) ReadJson(value.substr(0, kValueBytesMax));
    return found_;
  }

  // ---- events of the JSON reader; false ends it ----
  bool Null() { return Pass(); }
  bool Bool(bool value) {
    return Take(Here(), [value] { return FieldValue::Of(value); });
  }
  // A number comes as its text: what is not looked for is not computed, and the rest exactly.
  bool RawNumber(const char* text, rapidjson::SizeType bytes, bool) {
    const Node* node = Here();
    if (node == nullptr || node->ends.empty()) return true;
    const std::optional<FieldValue> number = NumberOf({text, bytes});
    return !number || Take(node, [&] { return *number; });
  }
  // Never called: numbers are raw.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }
  bool String(const char* text, rapidjson::SizeType bytes, bool) {
    return Take(Here(), [&] { return FieldValue::Of(std::string(text, bytes)); });
  }
  bool Key(const char* text, rapidjson::SizeType bytes, bool) {
    next_ = nullptr;
    if (const Node* in = open_.back().node) {
      const auto found = in->members.find(std::string_view(text, bytes));
      if (found != in->members.end()) next_ = found->second.get();
    }
    return true;
  }
  bool StartObject() { return Open(false); }
  bool EndObject(rapidjson::SizeType) { return Close(); }
  bool StartArray() { return Open(true); }
  bool EndArray(rapidjson::SizeType) { return Close(); }

 private:
  // nullopt: too small or too large for a double.
  static std::optional<FieldValue> NumberOf(std::string_view text) {
    const char* const end = text.data() + text.size();
    int64_t integer = 0;
    if (const auto read = std::from_chars(text.data(), end, integer);
        read.ec == std::errc() && read.ptr == end)
      return FieldValue::Of(integer);
    double number = 0;
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return FieldValue::Of(number);
  }

  struct Container {
    const Node* node = nullptr;
    bool is_array = false;
    // So far, of an array.
    int64_t elements = 0;
  };
  struct Piece {
    size_t at;
    uint32_t offset;
    uint32_t length;
  };

  void Add(const std::vector<IndexDefinition::Step>& path, size_t at) {
    Node* node = &root_;
    for (const IndexDefinition::Step& step : path) {
      std::unique_ptr<Node>& next =
          step.element >= 0 ? node->elements[step.element] : node->members[step.member];
      if (next == nullptr) next = std::make_unique<Node>();
      node = next.get();
    }
    node->ends.push_back(at);
    ++paths_;
  }

  void ReadJson(std::string_view value) {
    open_.clear();
    next_ = &root_;  // of the value as a whole
    taken_.assign(taken_.size(), false);
    left_ = paths_;
    rapidjson::MemoryStream stream(value.data(), value.size());
    // Without recursion: no nesting can exhaust the stack.
    reader_.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                  rapidjson::kParseStopWhenDoneFlag>(stream, *this);
  }

  // Where the value that comes now is in the tree.
  const Node* Here() {
    if (open_.empty() || !open_.back().is_array) return std::exchange(next_, nullptr);
    Container& in = open_.back();
    const int64_t at = in.elements++;
    if (in.node == nullptr) return nullptr;
    const auto found = in.node->elements.find(at);
    return found == in.node->elements.end() ? nullptr : found->second.get();
  }
  bool Pass() {
    Here();
    return true;
  }
  template <class Make>
  bool Take(const Node* node, Make make) {
    if (node == nullptr) return true;
    for (const size_t at : node->ends) {
      if (at >= taken_.size()) taken_.resize(at + 1, false);
      if (taken_[at]) continue;
      taken_[at] = true;
      found_.push_back({at, make()});
      --left_;
    }
    return left_ > 0;
  }
  bool Open(bool is_array) {
    if (open_.size() == kDepthMax) return false;
    open_.push_back({.node = Here(), .is_array = is_array});
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Node root_;
  size_t paths_ = 0;
  std::vector<size_t> values_;
  std::vector<Piece> bytes_;

  rapidjson::Reader reader_;
  std::vector<Container> open_;
  // Of the member whose value comes now.
  const Node* next_ = nullptr;
  std::vector<bool> taken_;
  size_t left_ = 0;
  std::vector<Found> found_;
};

FieldReader::FieldReader(const std::vector<IndexDefinition>& definitions)
    : impl_(std::make_unique<Impl>(definitions)) {}
FieldReader::~FieldReader() = default;
FieldReader::FieldReader(FieldReader&&) noexcept = default;
FieldReader& FieldReader::operator=(FieldReader&&) noexcept = default;

const std::vector<FieldReader::Found>& FieldReader::Read(std::string_view value) {
  return impl_->Read(value);
}

}  // namespace arion
