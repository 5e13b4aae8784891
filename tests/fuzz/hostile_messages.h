// Messages that a server understands and nobody would send: plausible ones with a few fields
// changed, by choices that come from a fuzzer's input.
//
// Shapes    Choices gives the input's bytes one after the other, then zeros. Scribble visits every
//           field of a message, however deep, and changes about one in eight.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/blob.h"
#include "base/error_code.h"
#include "base/ids.h"
#include "messages/fields.h"
#include "tests/fuzz/fuzz_target.h"

namespace arion {

class Choices {
 public:
  Choices(const uint8_t* bytes, size_t size) : at_(bytes), left_(size) {}
  bool IsEmpty() const { return left_ == 0; }
  uint8_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *at_++;
  }
  size_t Below(size_t n) { return n == 0 ? 0 : Byte() % n; }
  template <class T>
  T Raw() {
    T value{};
    for (size_t i = 0; i < sizeof(T); ++i) reinterpret_cast<unsigned char*>(&value)[i] = Byte();
    return value;
  }

 private:
  const uint8_t* at_;
  size_t left_;
};

// What the servers of a fuzzed world are called.
struct KnownNames {
  std::vector<Endpoint> endpoints;
  std::vector<PartitionId> partitions;
  std::vector<std::string> strings;
};

class Scribble {
 public:
  Scribble(Choices& choices, const KnownNames& names) : choices_(choices), names_(names) {}

  template <class T>
  void Message(T& message) {
    T::Fields(message, *this);
  }
  // Half of the messages are left alone, so that a world is also moved on.
  template <class T>
  T Maybe(T message) {
    if (choices_.Byte() % 2 == 0) Message(message);
    return message;
  }

  template <class T>
  void operator()(int /*id*/, T& field) {
    if constexpr (requires { T::Fields(field, *this); })
      return T::Fields(field, *this);
    else
      Field(field);
  }

 private:
  bool IsHit() { return choices_.Byte() < 32; }

  template <class T>
  void Field(T& field) {
    if (IsHit()) Change(field);
  }
  template <class T>
  void Field(std::optional<T>& field) {
    if (IsHit()) {
      if (field)
        field.reset();
      else
        (*this)(0, field.emplace());
    } else if (field) {
      (*this)(0, *field);
    }
  }
  template <class T>
  void Field(std::vector<T>& field) {
    constexpr size_t kElementsMax = 8;
    if (IsHit()) {
      const size_t at = choices_.Below(field.size() + 1);
      switch (choices_.Below(4)) {
        case 0:
          field.clear();
          break;
        case 1:
          if (at < field.size()) field.erase(field.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 2:
          if (at < field.size() && field.size() < kElementsMax) field.push_back(T(field[at]));
          break;
        default:
          if (field.size() < kElementsMax) field.emplace_back();
      }
    }
    for (T& element : field) (*this)(0, element);
  }
  template <class K, class V>
  void Field(std::map<K, V>& field) {
    if (IsHit()) {
      K key{};
      (*this)(0, key);
      (*this)(0, field[key]);
    }
    if (IsHit() && !field.empty()) field.erase(field.begin());
    for (auto& [key, value] : field) (*this)(0, value);
  }

  int64_t Number(int64_t was) {
    switch (choices_.Below(12)) {
      case 0:
        return 0;
      case 1:
        return 1;
      case 2:
        return -1;
      case 3:
        return was < std::numeric_limits<int64_t>::max() ? was + 1 : 0;
      case 4:
        return was > std::numeric_limits<int64_t>::min() ? was - 1 : 0;
      case 5:
        return std::numeric_limits<int64_t>::max();
      case 6:
        return std::numeric_limits<int64_t>::min();
      case 7:
        return std::numeric_limits<int32_t>::max();
      case 8:
        return int64_t{1} << 32;
      case 9:
        return choices_.Byte();
      case 10:
        return was / 2;
      default:
        return choices_.Raw<int64_t>();
    }
  }
  void Change(bool& field) { field = !field; }
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) void Change(T& field) {
    field = static_cast<T>(Number(static_cast<int64_t>(field)));
  }
  template <class Tag>
  void Change(StrongInt<Tag>& field) {
    field = StrongInt<Tag>(Number(field.value()));
  }
  void Change(ErrorCode& field) {
    field = static_cast<ErrorCode>(choices_.Below(static_cast<size_t>(ErrorCode::kSplitting) + 1));
  }
  template <class E>
  requires std::is_enum_v<E>
  void Change(E& field) { field = static_cast<E>(static_cast<int32_t>(choices_.Below(16)) - 1); }
  void Change(Endpoint& field) {
    field = names_.endpoints[choices_.Below(names_.endpoints.size())];
  }
  void Change(PartitionId& field) {
    field = names_.partitions[choices_.Below(names_.partitions.size())];
  }
  void Change(HostPort& field) {
    Change(field.host);
    field.port = static_cast<uint16_t>(Number(field.port));
  }
  void Change(Blob& field) { Change(field.bytes); }
  void Change(std::string& field) {
    const size_t at = choices_.Below(field.size() + 1);
    switch (choices_.Below(6)) {
      case 0:
        field = names_.strings[choices_.Below(names_.strings.size())];
        return;
      case 1:
        field.resize(at);
        return;
      case 2:
        if (at < field.size()) field[at] = static_cast<char>(choices_.Byte());
        return;
      case 3:
        field.insert(at, choices_.Below(16), static_cast<char>(choices_.Byte()));
        return;
      case 4:
        field = std::string(size_t{1} << choices_.Below(17), static_cast<char>(choices_.Byte()));
        return;
      default:
        field.clear();
        for (size_t n = choices_.Below(16); n > 0; --n)
          field.push_back(static_cast<char>(choices_.Byte()));
    }
  }

  Choices& choices_;
  const KnownNames& names_;
};

// Inputs that are choices through and through.
inline std::vector<std::string> ChoiceSeeds() {
  constexpr size_t kSeeds = 24, kSeedBytes = 6000;
  std::vector<std::string> seeds(kSeeds);
  FuzzRandom random(1);
  for (std::string& seed : seeds)
    while (seed.size() < kSeedBytes) seed.push_back(static_cast<char>(random.Next()));
  return seeds;
}
// New choices for a stretch: more than bits' flips, which change one message and shift the rest.
inline void ChooseAnew(std::string* input, FuzzRandom& random) {
  const size_t from = random.Below(input->size() + 1);
  const size_t to = from + random.Below(input->size() - from + 1);
  for (size_t i = from; i < to; ++i) (*input)[i] = static_cast<char>(random.Next());
}

// Now and then the bytes of a message are damaged besides.
inline std::string Damage(std::string bytes, Choices& choices) {
  if (choices.Byte() >= 16) return bytes;
  const size_t at = choices.Raw<uint16_t>() % (bytes.size() + 1);
  if (choices.Byte() % 2 == 0)
    bytes.resize(at);
  else if (at < bytes.size())
    bytes[at] = static_cast<char>(choices.Byte());
  return bytes;
}

}  // namespace arion
