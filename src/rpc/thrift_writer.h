// A struct's fields as bytes, behind what a string holds already. In thrift_codec.cc only.
//
// Threads   One.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/base/attributes.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TVirtualTransport.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rpc/thrift_codec.h"
#include "rpc/thrift_wire.h"

namespace arion::wire {

using apache::thrift::protocol::TBinaryProtocolT;
using apache::thrift::transport::TVirtualTransport;

// The transport below libthrift's protocol when writing: a string, to which numbers go many at a
// time. All has arrived when the sink is destroyed. (TMemoryBuffer would cost a copy a message.)
class ByteSink : public TVirtualTransport<ByteSink> {
 public:
  explicit ByteSink(std::string* out) : TVirtualTransport<ByteSink>(Unlimited()), out_(out) {}
  ~ByteSink() override { Flush(); }
  // What libthrift calls for each number and each string.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void write(const uint8_t* bytes, uint32_t n) {
    if (n > gathered_.size() - used_) return Append(reinterpret_cast<const char*>(bytes), n);
    std::memcpy(gathered_.data() + used_, bytes, n);
    used_ += n;
  }

 private:
  // Bytes that do not fit beside the gathered ones.
  ABSL_ATTRIBUTE_NOINLINE void Append(const char* bytes, uint32_t n) {
    Flush();
    out_->append(bytes, n);
  }
  void Flush() { out_->append(gathered_.data(), std::exchange(used_, 0)); }

  std::string* out_;
  // Numbers that wait for one append.
  std::array<char, 128> gathered_;
  size_t used_ = 0;
};

// Writes one message behind what *out holds; made on the stack of a codec's function. *out is
// complete once the writer is destroyed.
class Writer {
 public:
  Writer(std::string* out, PeerGeneration generation)
      : sink_(out),
        protocol_(std::shared_ptr<ByteSink>(std::shared_ptr<void>(), &sink_)),
        generation_(generation) {}

  // A value in its wrapper.
  template <class T>
  void Wrapped(const T& value, int16_t field_id) {
    protocol_.writeFieldBegin("", WireType<T>(), field_id);
    Value(value);
    protocol_.writeFieldStop();
  }

  // One value by its C++ type; the branch is chosen when this is compiled.
  template <class T>
  void Value(const T& v) {
    if constexpr (std::is_same_v<T, bool>)
      protocol_.writeBool(v);
    else if constexpr (std::is_same_v<T, int8_t>)
      protocol_.writeByte(v);
    else if constexpr (std::is_same_v<T, int32_t>)
      protocol_.writeI32(v);
    else if constexpr (std::is_same_v<T, int64_t>)
      protocol_.writeI64(v);
    else if constexpr (Is<T>::value)
      protocol_.writeI64(v.value());
    else if constexpr (std::is_same_v<T, ErrorCode>)
      Bytes(ErrorCodeName(v));
    else if constexpr (std::is_enum_v<T>)
      protocol_.writeI32(static_cast<int32_t>(v));
    else if constexpr (std::is_same_v<T, std::string>)
      Bytes(v);
    else if constexpr (std::is_same_v<T, Blob>)
      Bytes(v.bytes);
    else if constexpr (std::is_same_v<T, PartitionId>)
      protocol_.writeI64(v.packed());
    else if constexpr (std::is_same_v<T, Endpoint>)
      protocol_.writeI64(static_cast<int64_t>(v.packed()));
    else if constexpr (std::is_same_v<T, HostPort>)
      Name(v);
    else if constexpr (kIsVector<T>)
      List(v);
    else if constexpr (kIsMap<T>)
      Map(v);
    else if constexpr (kIsSet<T>)
      Set(v);
    else
      Struct(v);
  }

  // All fields of a struct in their order, and the end byte.
  template <class T>
  void Struct(const T& v) {
    StructFields fields{*this};
    T::Fields(v, fields);
    protocol_.writeFieldStop();
  }

 private:
  // The visitor that a struct's Fields calls for each member.
  struct StructFields {
    Writer& writer;
    Addresses<const Endpoint, const std::vector<Endpoint>> addresses;

    // A twin is written for generation 26 only; an optional field only when it is set.
    template <class M>
    void operator()(int16_t id, const M& member) {
      if constexpr (kIsTwin<M>) {
        auto address = addresses.ForNextTwin();
        if (writer.generation_ == PeerGeneration::k26) Twin(id, member, address);
      } else if constexpr (kIsOptional<M>) {
        if (member.has_value()) Field(id, *member);
      } else {
        if constexpr (kIsAddress<M>) addresses.Add(member);
        Field(id, member);
      }
    }
    template <class M>
    void Field(int16_t id, const M& member) {
      writer.protocol_.writeFieldBegin("", WireType<M>(), id);
      writer.Value(member);
    }
    // What was kept while decoding goes out as it came; else the twin is made from the address.
    template <class Entry>
    void Twin(int16_t id, const std::optional<HostPort>& twin, Entry address) {
      if (twin.has_value())
        Field(id, *twin);
      else if (address.one != nullptr && address.one->IsValid())
        Field(id, HostPort::From(*address.one));
    }
    // The same for a list. A kept list of another length is older than the addresses, and is not
    // used.
    template <class Entry>
    void Twin(int16_t id, const std::optional<std::vector<HostPort>>& twin, Entry address) {
      if (twin.has_value() && (address.many == nullptr || twin->size() == address.many->size())) {
        Field(id, *twin);
      } else if (address.many != nullptr) {
        std::vector<HostPort> names;
        for (Endpoint endpoint : *address.many) names.push_back(HostPort::From(endpoint));
        Field(id, names);
      }
    }
  };

  // Length and bytes: libthrift would copy them once more.
  void Bytes(std::string_view bytes) {
    const auto size = static_cast<uint32_t>(bytes.size());
    protocol_.writeI32(static_cast<int32_t>(size));
    sink_.write(reinterpret_cast<const uint8_t*>(bytes.data()), size);
  }
  // The raw type host_port (rpc/PROTOCOL.md 3.3).
  void Name(const HostPort& v) {
    Bytes(v.host);
    protocol_.writeI16(static_cast<int16_t>(v.port));
    protocol_.writeByte(v.IsValid() ? 1 : 0);
  }
  template <class E>
  void List(const std::vector<E>& v) {
    protocol_.writeListBegin(WireType<E>(), static_cast<uint32_t>(v.size()));
    for (const E& element : v) Value(element);
  }
  template <class E>
  void Set(const std::set<E>& v) {
    protocol_.writeSetBegin(WireType<E>(), static_cast<uint32_t>(v.size()));
    for (const E& element : v) Value(element);
  }
  template <class K, class M>
  void Map(const std::map<K, M>& v) {
    protocol_.writeMapBegin(WireType<K>(), WireType<M>(), static_cast<uint32_t>(v.size()));
    for (const auto& [key, mapped] : v) Value(key), Value(mapped);
  }

  ByteSink sink_;
  TBinaryProtocolT<ByteSink> protocol_;
  PeerGeneration generation_;
};

// Roughly how long a message gets, so that its string grows once.
struct SizeGuess {
  size_t bytes = 32;
  // An estimate only: a wrong guess costs another allocation.
  template <class M>
  void operator()(int, const M& member) {
    if constexpr (std::is_same_v<M, std::string>)
      bytes += member.size() + 8;
    else if constexpr (std::is_same_v<M, Blob>)
      bytes += member.bytes.size() + 8;
    else if constexpr (kIsVector<M>)
      bytes += member.size() * 48 + 8;
    else if constexpr (kIsOptional<M>)
      bytes += member.has_value() ? 16 : 0;
    else if constexpr (requires(M & fields, SizeGuess & guess) { M::Fields(fields, guess); })
      M::Fields(member, *this);
    else
      bytes += 12;
  }
};
template <class T>
size_t GuessSize(const T& value) {
  SizeGuess guess;
  if constexpr (requires { T::Fields(value, guess); })
    T::Fields(value, guess);
  else
    guess(0, value);
  return guess.bytes;
}

}  // namespace arion::wire
