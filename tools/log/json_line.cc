// SPDX-License-Identifier: Apache-2.0
#include "tools/log/json_line.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>

namespace arion::logtool {
namespace {

constexpr size_t kPieceBytes = 16 << 10;

// RapidJSON's output stream: collects a piece, prints it, begins the next.
class Pieces {
 public:
  using Ch = char;
  explicit Pieces(const Print& print) : print_(print) {}
  void Put(char c) {
    piece_ += c;
    if (piece_.size() >= kPieceBytes) PrintPiece();
  }
  void Flush() {}  // RapidJSON calls it at the end of each value
  void PrintPiece() {
    if (!piece_.empty()) print_(piece_);
    piece_.clear();
  }

 private:
  const Print& print_;
  std::string piece_;
};

// UTF-8: bytes that are not become the characters of their values.
std::string Utf8(std::string_view bytes) {
  rapidjson::StringBuffer text;
  while (!bytes.empty()) {
    rapidjson::MemoryStream in(bytes.data(), bytes.size());
    unsigned character = 0;
    if (!rapidjson::UTF8<>::Decode(in, &character) || in.Tell() > bytes.size()) {
      character = static_cast<uint8_t>(bytes[0]);
      in = rapidjson::MemoryStream(bytes.data(), bytes.size());
      in.Take();
    }
    rapidjson::UTF8<>::Encode(text, character);
    bytes.remove_prefix(in.Tell());
  }
  return {text.GetString(), text.GetSize()};
}

}  // namespace

struct JsonLine::Writing {
  explicit Writing(const Print& print) : pieces(print), json(pieces) {}
  void Key(std::string_view key) {
    json.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  }

  Pieces pieces;
  rapidjson::Writer<Pieces> json;
};

JsonLine::JsonLine(const Print& print) : writing_(std::make_unique<Writing>(print)) {
  writing_->json.StartObject();
}
JsonLine::~JsonLine() = default;

JsonLine& JsonLine::Add(std::string_view key, std::string_view value) {
  writing_->Key(key);
  const std::string text = Utf8(value);
  writing_->json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return *this;
}
JsonLine& JsonLine::Add(std::string_view key, int64_t value) {
  writing_->Key(key);
  writing_->json.Int64(value);
  return *this;
}
JsonLine& JsonLine::Add(std::string_view key, uint64_t value) {
  writing_->Key(key);
  writing_->json.Uint64(value);
  return *this;
}
JsonLine& JsonLine::AddTrue(std::string_view key) {
  writing_->Key(key);
  writing_->json.Bool(true);
  return *this;
}
JsonLine& JsonLine::BeginList(std::string_view key) {
  writing_->Key(key);
  writing_->json.StartArray();
  return *this;
}
JsonLine& JsonLine::BeginItem() {
  writing_->json.StartObject();
  return *this;
}
JsonLine& JsonLine::EndItem() {
  writing_->json.EndObject();
  return *this;
}
JsonLine& JsonLine::EndList() {
  writing_->json.EndArray();
  return *this;
}

void JsonLine::Finish() {
  writing_->json.EndObject();
  writing_->pieces.Put('\n');
  writing_->pieces.PrintPiece();
}

}  // namespace arion::logtool
