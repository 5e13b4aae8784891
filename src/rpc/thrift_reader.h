// Bytes as a struct's fields. In thrift_codec.cc only.
//
// Errors    Throws TException on anything that can't be read; the functions of thrift_codec.h catch
//           it.
// Threads   One.
// Promises  Never reads behind the end; allocates at most kMemoryFloor + kMemoryPerByte for each
//           byte that arrived; nests at most kSkipDepthMax deep in what it skips.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/base/attributes.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TVirtualTransport.h>

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
using apache::thrift::protocol::TProtocolException;
using apache::thrift::transport::TTransportException;
using apache::thrift::transport::TVirtualTransport;

// Of values of unknown fields. Known structs nest as deep as they are declared.
constexpr int kSkipDepthMax = 32;
// Decoded objects may take this much memory: an element of a list can be one byte on the wire and a
// struct here.
constexpr size_t kMemoryPerByte = 16;
constexpr size_t kMemoryFloor = 64 << 10;

// The transport below libthrift's protocol: a view that never yields a byte behind its end. Owned
// by its Reader; the input outlives it.
class ByteSource : public TVirtualTransport<ByteSource> {
 public:
  explicit ByteSource(std::string_view bytes)
      : TVirtualTransport<ByteSource>(Unlimited()), rest_(bytes) {}
  // libthrift asks for a number's bytes at a time: with its size known here that is one load.
  ABSL_ATTRIBUTE_ALWAYS_INLINE uint32_t readAll(uint8_t* to, uint32_t n) {
    std::memcpy(to, Take(n).data(), n);
    return n;
  }
  uint32_t read(uint8_t* to, uint32_t n) { return readAll(to, n); }
  // The next n bytes; they are views of the input.
  ABSL_ATTRIBUTE_ALWAYS_INLINE std::string_view Take(size_t n) {
    if (n > rest_.size()) CutShort();
    // substr() would check again, in a call.
    const std::string_view bytes(rest_.data(), n);
    rest_.remove_prefix(n);
    return bytes;
  }
  std::string_view rest() const { return rest_; }

 private:
  [[noreturn]] ABSL_ATTRIBUTE_NOINLINE static void CutShort() {
    throw TTransportException(TTransportException::END_OF_FILE, "cut short");
  }

  std::string_view rest_;
};

// A type as it arrives: libthrift's TType can't hold every byte.
using TypeByte = int8_t;

// Reads one message; made on the stack of a codec's function. `bytes` outlive it.
class Reader {
 public:
  Reader(std::string_view bytes, HostPortTwins twins)
      : source_(bytes),
        protocol_(std::shared_ptr<ByteSource>(std::shared_ptr<void>(), &source_)),
        memory_left_(kMemoryFloor + bytes.size() * kMemoryPerByte),
        twins_(twins) {}

  // A value in its wrapper.
  template <class T>
  T Wrapped() {
    TypeByte type;
    int16_t id;
    FieldBegin(&type, &id);
    if (type != WireType<T>()) Refuse("the wrapper holds another type");
    T value{};
    Value(&value);
    source_.Take(1);
    return value;
  }
  // What was not read.
  std::string_view rest() const { return source_.rest(); }

  // The fields of a struct that is not wrapped, up to its end byte. Fields that are missing keep
  // what *v has.
  template <class T>
  void Struct(T* v) {
    StructFields fields{*this};
    FieldBegin(&fields.type, &fields.id);
    while (fields.type != apache::thrift::protocol::T_STOP) {
      fields.progress = false;
      T::Fields(*v, fields);  // takes every field that comes in ascending order
      if (!fields.progress) {
        Skip(fields.type, 0);
        FieldBegin(&fields.type, &fields.id);
      }
    }
    TwinsIntoAddresses twins{twins_};
    T::Fields(*v, twins);
  }

 private:
  // The visitor that a struct's Fields calls for each member it knows. The next field's type and id
  // are read ahead. So a message with fields in ascending order is read in one pass over the
  // members.
  struct StructFields {
    Reader& reader;
    TypeByte type = apache::thrift::protocol::T_STOP;
    int16_t id = 0;
    bool progress = false;

    // A known id with another type is skipped by the type that was announced.
    template <class M>
    void operator()(int16_t wanted, M& member) {
      if (id != wanted || type == apache::thrift::protocol::T_STOP) return;
      if constexpr (kIsOptional<M>) {
        using V = typename M::value_type;
        if (type == WireType<V>())
          reader.Value(&member.emplace());
        else
          reader.Skip(type, 0);
      } else {
        if (type == WireType<M>())
          reader.Value(&member);
        else
          reader.Skip(type, 0);
      }
      progress = true;
      reader.FieldBegin(&type, &id);
    }
  };

  // A second visitor, after all fields: host_port twins fill addresses that are missing.
  struct TwinsIntoAddresses {
    HostPortTwins twins;
    Addresses<Endpoint, std::vector<Endpoint>> addresses;

    template <class M>
    void operator()(int16_t, M& member) {
      if constexpr (kIsAddress<M>) addresses.Add(member);
      if constexpr (kIsTwin<M>) {
        auto address = addresses.ForNextTwin();
        if (member.has_value()) Fill(*member, address);
        if (twins == HostPortTwins::kEmpty) member.reset();
      }
    }
    // Only IP literals: decoding never asks a resolver.
    static Endpoint Parse(const HostPort& name) {
      return Endpoint::Parse(name.host + ":" + std::to_string(name.port)).value_or(Endpoint{});
    }
    template <class Entry>
    static void Fill(const HostPort& name, Entry address) {
      if (address.one != nullptr && !address.one->IsValid() && name.IsValid())
        *address.one = Parse(name);
    }
    template <class Entry>
    static void Fill(const std::vector<HostPort>& names, Entry address) {
      if (address.many == nullptr || !address.many->empty()) return;
      for (const HostPort& name : names) address.many->push_back(Parse(name));
    }
  };

  // Ends the whole decoding; the codec turns it into a status.
  [[noreturn]] static void Refuse(const char* why) {
    throw TProtocolException(TProtocolException::INVALID_DATA, why);
  }

  // The end byte has no id behind it.
  void FieldBegin(TypeByte* type, int16_t* id) {
    *type = I8();
    *id = *type == apache::thrift::protocol::T_STOP ? 0 : I16();
  }
  int8_t I8() {
    int8_t v;
    protocol_.readByte(v);
    return v;
  }
  int16_t I16() {
    int16_t v;
    protocol_.readI16(v);
    return v;
  }
  int32_t I32() {
    int32_t v;
    protocol_.readI32(v);
    return v;
  }
  int64_t I64() {
    int64_t v;
    protocol_.readI64(v);
    return v;
  }
  // A view of the input, so that what is skipped is not copied.
  std::string_view Bytes() {
    int32_t size = I32();
    if (size < 0) Refuse("negative length");
    return source_.Take(static_cast<size_t>(size));
  }
  // A count of elements that take at least `bytes_each` on the wire.
  size_t Count(size_t bytes_each) {
    int32_t count = I32();
    if (count < 0) Refuse("negative count");
    if (static_cast<size_t>(count) > source_.rest().size() / bytes_each)
      Refuse("count beyond the end");
    return static_cast<size_t>(count);
  }
  // Takes `bytes` from the memory that is left for decoded objects.
  void Charge(size_t bytes) {
    if (bytes > memory_left_) Refuse("too many tiny elements");
    memory_left_ -= bytes;
  }

  // One value by its C++ type; the branch is chosen when this is compiled.
  template <class T>
  void Value(T* v) {
    if constexpr (std::is_same_v<T, bool>)
      *v = I8() != 0;
    else if constexpr (std::is_same_v<T, int8_t>)
      *v = I8();
    else if constexpr (std::is_same_v<T, int32_t>)
      *v = I32();
    else if constexpr (std::is_same_v<T, int64_t>)
      *v = I64();
    else if constexpr (Is<T>::value)
      *v = T(I64());
    else if constexpr (std::is_same_v<T, ErrorCode>)
      *v = ErrorCodeFromName(Bytes());
    else if constexpr (std::is_enum_v<T>)
      *v = EnumRule<T>::From(I32());
    else if constexpr (std::is_same_v<T, std::string>)
      *v = Bytes();
    else if constexpr (std::is_same_v<T, Blob>)
      v->bytes = Bytes();
    else if constexpr (std::is_same_v<T, PartitionId>)
      *v = PartitionId::FromPacked(I64());
    else if constexpr (std::is_same_v<T, Endpoint>)
      Address(v);
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
  // The raw type rpc_address. What is no IPv4 address or none can't be kept, so the message is
  // refused.
  void Address(Endpoint* v) {
    std::optional<Endpoint> endpoint = Endpoint::FromPacked(static_cast<uint64_t>(I64()));
    if (!endpoint.has_value()) Refuse("address of an unknown type");
    *v = *endpoint;
  }
  // The raw type host_port.
  void Name(HostPort* v) {
    v->host = Bytes();
    v->port = static_cast<uint16_t>(I16());
    int8_t type = I8();
    if (type != 0 && type != 1) Refuse("host_port of an unknown type");
    if (type == 0) *v = {};
  }
  // A list of another element type is skipped as a whole.
  template <class E>
  void List(std::vector<E>* v) {
    auto type = I8();
    if (type != WireType<E>()) return SkipElements(type, Count(1), 0);
    size_t count = Count(1);
    v->clear();
    for (size_t i = 0; i < count; ++i) {
      Charge(sizeof(E));
      Value(&v->emplace_back());
    }
  }
  // As List; a set's nodes take more memory than its elements.
  template <class E>
  void Set(std::set<E>* v) {
    auto type = I8();
    if (type != WireType<E>()) return SkipElements(type, Count(1), 0);
    size_t count = Count(1);
    v->clear();
    for (size_t i = 0; i < count; ++i) {
      Charge(sizeof(E) + 4 * sizeof(void*));
      E element{};
      Value(&element);
      v->insert(std::move(element));
    }
  }
  // As List, for both types.
  template <class K, class M>
  void Map(std::map<K, M>* v) {
    auto key_type = I8();
    auto mapped_type = I8();
    size_t count = Count(2);
    bool fits = key_type == WireType<K>() && mapped_type == WireType<M>();
    v->clear();
    for (size_t i = 0; i < count; ++i) {
      if (!fits) {
        Skip(key_type, 1), Skip(mapped_type, 1);
        continue;
      }
      Charge(sizeof(K) + sizeof(M) + 4 * sizeof(void*));
      K key{};
      Value(&key);
      Value(&(*v)[std::move(key)]);
    }
  }

  // Passes over values of any type.
  void SkipElements(TypeByte type, size_t count, int depth) {
    for (size_t i = 0; i < count; ++i) Skip(type, depth + 1);
  }
  // Passes over one value without keeping it. Raw types announce themselves as structs and can't be
  // skipped: peers send none that is not known (rpc/PROTOCOL.md 3.4).
  void Skip(TypeByte type, int depth) {
    using namespace apache::thrift::protocol;
    if (depth > kSkipDepthMax) Refuse("nested too deeply");
    switch (type) {
      case T_BOOL:
      case T_BYTE:
        source_.Take(1);
        return;
      case T_I16:
        source_.Take(2);
        return;
      case T_I32:
        source_.Take(4);
        return;
      case T_I64:
      case T_DOUBLE:
        source_.Take(8);
        return;
      case T_STRING:
        Bytes();
        return;
      case T_LIST:
      case T_SET: {
        auto element = I8();
        return SkipElements(element, Count(1), depth);
      }
      case T_MAP: {
        auto key = I8();
        auto mapped = I8();
        size_t count = Count(2);
        for (size_t i = 0; i < count; ++i) Skip(key, depth + 1), Skip(mapped, depth + 1);
        return;
      }
      case T_STRUCT:
        while (true) {
          TypeByte field;
          int16_t id;
          FieldBegin(&field, &id);
          if (field == T_STOP) return;
          Skip(field, depth + 1);
        }
      default:
        Refuse("unknown type byte");
    }
  }

  ByteSource source_;
  TBinaryProtocolT<ByteSource> protocol_;
  size_t memory_left_;
  HostPortTwins twins_;
};

}  // namespace arion::wire
