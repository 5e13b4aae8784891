// SPDX-License-Identifier: Apache-2.0
#include "rpc/thrift_codec.h"

#include <absl/base/attributes.h>
#include <cxxabi.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TVirtualTransport.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "messages/admin_messages.h"
#include "rpc/admin_token.h"

namespace arion {
namespace {

using apache::thrift::TConfiguration;
using apache::thrift::TException;
using apache::thrift::protocol::TBinaryProtocolT;
using apache::thrift::protocol::TProtocolException;
using apache::thrift::protocol::TType;
using apache::thrift::transport::TTransportException;
using apache::thrift::transport::TVirtualTransport;

constexpr int kSkipDepthMax = 32;
// Decoded objects may take this much memory: an element of a list can be one byte on the wire and a
// struct here.
constexpr size_t kMemoryPerByte = 16;
constexpr size_t kMemoryFloor = 64 << 10;

std::shared_ptr<TConfiguration> Unlimited() {
  static const auto configuration = std::make_shared<TConfiguration>(
      std::numeric_limits<int>::max(), std::numeric_limits<int>::max(), /*recursionLimit=*/64);
  return configuration;
}

// The transport below libthrift's protocol when writing: a string, to which numbers go many at a
// time; all has arrived when the sink is gone. TMemoryBuffer would cost a copy a message.
class ByteSink : public TVirtualTransport<ByteSink> {
 public:
  explicit ByteSink(std::string* out) : TVirtualTransport<ByteSink>(Unlimited()), out_(out) {}
  ~ByteSink() override { Flush(); }
  ABSL_ATTRIBUTE_ALWAYS_INLINE void write(const uint8_t* bytes, uint32_t n) {
    if (n > gathered_.size() - used_) return Append(reinterpret_cast<const char*>(bytes), n);
    std::memcpy(gathered_.data() + used_, bytes, n);
    used_ += n;
  }

 private:
  ABSL_ATTRIBUTE_NOINLINE void Append(const char* bytes, uint32_t n) {
    Flush();
    out_->append(bytes, n);
  }
  void Flush() { out_->append(gathered_.data(), std::exchange(used_, 0)); }

  std::string* out_;
  std::array<char, 128> gathered_;
  size_t used_ = 0;
};

// The same when reading: a view that never yields a byte behind its end.
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
  ABSL_ATTRIBUTE_ALWAYS_INLINE std::string_view Take(size_t n) {
    if (n > rest_.size()) CutShort();
    std::string_view bytes = rest_.substr(0, n);
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

// Wire types.

template <class T>
struct Is : std::false_type {};
template <class Tag>
struct Is<StrongInt<Tag>> : std::true_type {};

template <class T>
struct Element {
  using Type = void;
};
template <class E>
struct Element<std::vector<E>> {
  using Type = E;
};
template <class T>
constexpr bool kIsVector = !std::is_void_v<typename Element<T>::Type>;
template <class T>
constexpr bool kIsMap = false;
template <class K, class M>
constexpr bool kIsMap<std::map<K, M>> = true;
template <class T>
constexpr bool kIsSet = false;
template <class E>
constexpr bool kIsSet<std::set<E>> = true;
template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
constexpr bool kIsTwin = std::is_same_v<T, std::optional<HostPort>> ||
                         std::is_same_v<T, std::optional<std::vector<HostPort>>>;
template <class T>
constexpr bool kIsAddress = std::is_same_v<T, Endpoint> || std::is_same_v<T, std::vector<Endpoint>>;

template <class T>
constexpr TType WireType() {
  using namespace apache::thrift::protocol;
  if constexpr (std::is_same_v<T, bool>)
    return T_BOOL;
  else if constexpr (std::is_same_v<T, int8_t>)
    return T_BYTE;
  else if constexpr (std::is_same_v<T, int32_t>)
    return T_I32;
  else if constexpr (std::is_same_v<T, int64_t> || Is<T>::value)
    return T_I64;
  else if constexpr (std::is_same_v<T, ErrorCode>)
    return T_STRUCT;
  else if constexpr (std::is_enum_v<T>)
    return T_I32;
  else if constexpr (std::is_same_v<T, std::string>)
    return T_STRING;
  else if constexpr (kIsVector<T>)
    return T_LIST;
  else if constexpr (kIsMap<T>)
    return T_MAP;
  else if constexpr (kIsSet<T>)
    return T_SET;
  else
    return T_STRUCT;
}

// What an enum's unknown values are read as: the value that promises least.
template <class E>
struct EnumRule;
template <class E, E kLast, E kSafe = E{}>
struct Rule {
  static E From(int32_t wire) {
    if (wire >= 0 && wire <= static_cast<int32_t>(kLast)) return static_cast<E>(wire);
    LOG_EVERY_N(WARNING, 1000) << "unknown value " << wire << " of an enum on the wire, read as "
                               << static_cast<int32_t>(kSafe);
    return kSafe;
  }
};
template <>
struct EnumRule<PartitionStatus> : Rule<PartitionStatus, PartitionStatus::kSplit> {};
template <>
struct EnumRule<ConfigType> : Rule<ConfigType, ConfigType::kRegisterChild> {};
template <>
struct EnumRule<AppStatus> : Rule<AppStatus, AppStatus::kRecalling> {};
template <>
struct EnumRule<LearnerStatus> : Rule<LearnerStatus, LearnerStatus::kFailed> {};
template <>
struct EnumRule<LearnType> : Rule<LearnType, LearnType::kLog> {};
template <>
struct EnumRule<DiskStatus> : Rule<DiskStatus, DiskStatus::kIoError, DiskStatus::kIoError> {};
template <>
struct EnumRule<NodeStatus> : Rule<NodeStatus, NodeStatus::kUnalive> {};
template <>
struct EnumRule<EnvOperation> : Rule<EnvOperation, EnvOperation::kClear> {};
template <>
struct EnumRule<FunctionLevel> : Rule<FunctionLevel, FunctionLevel::kInvalid> {};
template <>
struct EnumRule<HotkeyType> : Rule<HotkeyType, HotkeyType::kWrite> {};
template <>
struct EnumRule<DetectAction> : Rule<DetectAction, DetectAction::kQuery, DetectAction::kQuery> {};
template <>
struct EnumRule<NegotiationStatus> : Rule<NegotiationStatus, NegotiationStatus::kAuthFailed> {};

// The n-th address of a struct, for its n-th host_port twin.
template <class One, class Many>
struct Addresses {
  struct Entry {
    One* one = nullptr;
    Many* many = nullptr;
  };
  void Add(One& one) { Next().one = &one; }
  void Add(Many& many) { Next().many = &many; }
  Entry ForNextTwin() { return twins < entries.size() ? entries[twins++] : Entry{}; }

  std::array<Entry, 4> entries;
  size_t count = 0;
  size_t twins = 0;

 private:
  Entry& Next() {
    CHECK_LT(count, entries.size());
    return entries[count++];
  }
};

// Writing.

class Writer {
 public:
  Writer(std::string* out, PeerGeneration generation)
      : sink_(out),
        protocol_(std::shared_ptr<ByteSink>(std::shared_ptr<void>(), &sink_)),
        generation_(generation) {}

  template <class T>
  void Wrapped(const T& value, int16_t field_id) {
    protocol_.writeFieldBegin("", WireType<T>(), field_id);
    Value(value);
    protocol_.writeFieldStop();
  }

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

  template <class T>
  void Struct(const T& v) {
    StructFields fields{*this};
    T::Fields(v, fields);
    protocol_.writeFieldStop();
  }

 private:
  struct StructFields {
    Writer& writer;
    Addresses<const Endpoint, const std::vector<Endpoint>> addresses;

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
    template <class Entry>
    void Twin(int16_t id, const std::optional<HostPort>& twin, Entry address) {
      if (twin.has_value())
        Field(id, *twin);
      else if (address.one != nullptr && address.one->IsValid())
        Field(id, HostPort::From(*address.one));
    }
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

  void Bytes(std::string_view bytes) {
    const auto size = static_cast<uint32_t>(bytes.size());
    protocol_.writeI32(static_cast<int32_t>(size));
    sink_.write(reinterpret_cast<const uint8_t*>(bytes.data()), size);
  }
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

// Reading.

// A type as it arrives: libthrift's TType can't hold every byte.
using TypeByte = int8_t;

// Throws TException on anything that can't be read; the public functions below catch it.
class Reader {
 public:
  Reader(std::string_view bytes, HostPortTwins twins)
      : source_(bytes),
        protocol_(std::shared_ptr<ByteSource>(std::shared_ptr<void>(), &source_)),
        memory_left_(kMemoryFloor + bytes.size() * kMemoryPerByte),
        twins_(twins) {}

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
  std::string_view rest() const { return source_.rest(); }

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
  struct StructFields {
    Reader& reader;
    TypeByte type = apache::thrift::protocol::T_STOP;
    int16_t id = 0;
    bool progress = false;

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

  [[noreturn]] static void Refuse(const char* why) {
    throw TProtocolException(TProtocolException::INVALID_DATA, why);
  }

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
  void Charge(size_t bytes) {
    if (bytes > memory_left_) Refuse("too many tiny elements");
    memory_left_ -= bytes;
  }

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
  void Address(Endpoint* v) {
    std::optional<Endpoint> endpoint = Endpoint::FromPacked(static_cast<uint64_t>(I64()));
    if (!endpoint.has_value()) Refuse("address of an unknown type");
    *v = *endpoint;
  }
  void Name(HostPort* v) {
    v->host = Bytes();
    v->port = static_cast<uint16_t>(I16());
    int8_t type = I8();
    if (type != 0 && type != 1) Refuse("host_port of an unknown type");
    if (type == 0) *v = {};
  }
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

  void SkipElements(TypeByte type, size_t count, int depth) {
    for (size_t i = 0; i < count; ++i) Skip(type, depth + 1);
  }
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

template <class T>
std::string NameOf() {
  int status = 0;
  char* text = abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : typeid(T).name();
  std::free(text);
  return name;
}

template <class T>
absl::Status Undecodable(const TException& error) {
  return absl::InvalidArgumentError(absl::StrCat("undecodable ", NameOf<T>(), ": ", error.what()));
}

}  // namespace

template <class T>
std::string EncodeWrapped(const T& value, PeerGeneration generation, int16_t field_id) {
  std::string out;
  out.reserve(GuessSize(value));
  Writer(&out, generation).Wrapped(value, field_id);
  return out;
}

template <class T>
absl::StatusOr<T> DecodeWrapped(std::string_view bytes, HostPortTwins twins) {
  try {
    return Reader(bytes, twins).Wrapped<T>();
  } catch (const TException& error) {
    return Undecodable<T>(error);
  }
}

std::string EncodePrepare(const PrepareRequest& request, PeerGeneration generation) {
  std::string out;
  out.reserve(128 + EncodedSize(*request.mutation));
  {
    Writer writer(&out, generation);
    writer.Wrapped(request.pid, 0);
    writer.Wrapped(request.config, 0);
  }
  AppendMutation(*request.mutation, /*log_offset=*/-1, &out);
  return out;
}

absl::StatusOr<PrepareRequest> DecodePrepare(std::string_view bytes, HostPortTwins twins) {
  PrepareRequest request;
  std::string_view raw;
  try {
    Reader reader(bytes, twins);
    request.pid = reader.Wrapped<PartitionId>();
    request.config = reader.Wrapped<ReplicaConfiguration>();
    raw = reader.rest();
  } catch (const TException& error) {
    return Undecodable<PrepareRequest>(error);
  }
  ASSIGN_OR_RETURN(Mutation mutation, TakeMutation(&raw));
  if (request.config.pid != request.pid || mutation.pid != request.pid) {
    return absl::InvalidArgumentError(
        absl::StrCat("prepare names different partitions: ", request.pid.ToString(), ", ",
                     request.config.pid.ToString(), ", ", mutation.pid.ToString()));
  }
  if (request.config.ballot != mutation.ballot) {
    return absl::InvalidArgumentError(absl::StrCat("prepare of ", request.pid.ToString(),
                                                   " names ballots ", request.config.ballot.value(),
                                                   " and ", mutation.ballot.value()));
  }
  request.mutation = std::make_shared<const Mutation>(std::move(mutation));
  return request;
}

absl::StatusOr<PartitionId> PreparePid(std::string_view bytes) {
  return DecodeWrapped<PartitionId>(bytes);
}

namespace {

struct AdminToken {
  std::optional<std::string> token;
  template <class S, class V>
  static void Fields(S& s, V& v) {
    v(1000, s.token);
  }
};

}  // namespace

void AddAdminToken(std::string_view token, std::string* wrapped) {
  CHECK(!wrapped->empty());
  wrapped->pop_back();  // the end byte, which comes again
  Writer(wrapped, PeerGeneration::kNone).Struct(AdminToken{.token = std::string(token)});
}

std::string AdminTokenOf(std::string_view wrapped) {
  try {
    AdminToken found;
    Reader(wrapped, HostPortTwins::kEmpty).Struct(&found);
    return std::move(found.token).value_or("");
  } catch (const TException&) {
    return "";
  }
}

std::string EncodeThriftRequestMeta(const ThriftRequestMeta& meta) {
  std::string out;
  Writer(&out, PeerGeneration::kNone).Struct(meta);
  return out;
}

absl::StatusOr<ThriftRequestMeta> DecodeThriftRequestMeta(std::string_view bytes) {
  try {
    ThriftRequestMeta meta;
    Reader(bytes, HostPortTwins::kEmpty).Struct(&meta);
    return meta;
  } catch (const TException& error) {
    return Undecodable<ThriftRequestMeta>(error);
  }
}

#define ARION_MESSAGE(T)                                                 \
  template std::string EncodeWrapped(const T&, PeerGeneration, int16_t); \
  template absl::StatusOr<T> DecodeWrapped<T>(std::string_view, HostPortTwins)

ARION_MESSAGE(Blob);
ARION_MESSAGE(PartitionId);
ARION_MESSAGE(Endpoint);
ARION_MESSAGE(int64_t);
ARION_MESSAGE(std::string);
// client_messages.h
ARION_MESSAGE(UpdateRequest);
ARION_MESSAGE(UpdateResponse);
ARION_MESSAGE(ReadResponse);
ARION_MESSAGE(TtlResponse);
ARION_MESSAGE(MultiPutRequest);
ARION_MESSAGE(MultiRemoveRequest);
ARION_MESSAGE(MultiRemoveResponse);
ARION_MESSAGE(IncrRequest);
ARION_MESSAGE(IncrResponse);
ARION_MESSAGE(CheckAndSetRequest);
ARION_MESSAGE(CheckAndMutateRequest);
ARION_MESSAGE(CheckResponse);
ARION_MESSAGE(MultiGetRequest);
ARION_MESSAGE(MultiGetResponse);
ARION_MESSAGE(BatchGetRequest);
ARION_MESSAGE(BatchGetResponse);
ARION_MESSAGE(CountResponse);
ARION_MESSAGE(GetScannerRequest);
ARION_MESSAGE(ScanRequest);
ARION_MESSAGE(ScanResponse);
// configuration.h
ARION_MESSAGE(AppInfo);
ARION_MESSAGE(PartitionConfiguration);
// replication_messages.h
ARION_MESSAGE(ReplicaConfiguration);
ARION_MESSAGE(PrepareAck);
ARION_MESSAGE(GroupCheckRequest);
ARION_MESSAGE(GroupCheckResponse);
ARION_MESSAGE(LearnRequest);
ARION_MESSAGE(LearnState);
ARION_MESSAGE(LearnResponse);
ARION_MESSAGE(LearnNotifyResponse);
ARION_MESSAGE(GetFileSizeRequest);
ARION_MESSAGE(GetFileSizeResponse);
ARION_MESSAGE(CopyRequest);
ARION_MESSAGE(CopyResponse);
// meta_messages.h
ARION_MESSAGE(BeaconMessage);
ARION_MESSAGE(BeaconAck);
ARION_MESSAGE(ConfigurationUpdateRequest);
ARION_MESSAGE(ConfigurationUpdateResponse);
ARION_MESSAGE(ConfigSyncRequest);
ARION_MESSAGE(ConfigSyncResponse);
ARION_MESSAGE(TableChangedRequest);
ARION_MESSAGE(TableChangedResponse);
ARION_MESSAGE(DuplicationSyncRequest);
ARION_MESSAGE(DuplicationSyncResponse);
ARION_MESSAGE(QueryConfigRequest);
ARION_MESSAGE(QueryConfigResponse);
ARION_MESSAGE(CreateAppRequest);
ARION_MESSAGE(CreateAppResponse);
ARION_MESSAGE(DropAppRequest);
ARION_MESSAGE(DropAppResponse);
ARION_MESSAGE(ListAppsRequest);
ARION_MESSAGE(ListAppsResponse);
ARION_MESSAGE(ListNodesRequest);
ARION_MESSAGE(ListNodesResponse);
ARION_MESSAGE(ClusterInfoRequest);
ARION_MESSAGE(ClusterInfoResponse);
// admin_messages.h
ARION_MESSAGE(UpdateAppEnvRequest);
ARION_MESSAGE(HintResponse);
ARION_MESSAGE(RecallAppRequest);
ARION_MESSAGE(RecallAppResponse);
ARION_MESSAGE(RenameAppRequest);
ARION_MESSAGE(ControlMetaRequest);
ARION_MESSAGE(ControlMetaResponse);
ARION_MESSAGE(ProposeBalancerRequest);
ARION_MESSAGE(ProposeBalancerResponse);
ARION_MESSAGE(DddDiagnoseRequest);
ARION_MESSAGE(DddDiagnoseResponse);
ARION_MESSAGE(StartRecoveryRequest);
ARION_MESSAGE(TableNameRequest);
ARION_MESSAGE(SetMaxReplicaCountRequest);
ARION_MESSAGE(MaxReplicaCountResponse);
ARION_MESSAGE(SetAtomicIdempotentRequest);
ARION_MESSAGE(AtomicIdempotentResponse);
ARION_MESSAGE(StartManualCompactRequest);
ARION_MESSAGE(QueryManualCompactResponse);
ARION_MESSAGE(DisabledResponse);
// tool_messages.h
ARION_MESSAGE(CommandRequest);
ARION_MESSAGE(NegotiationRequest);
ARION_MESSAGE(NegotiationResponse);
ARION_MESSAGE(QueryDecreeRequest);
ARION_MESSAGE(QueryDecreeResponse);
ARION_MESSAGE(QueryReplicaInfoRequest);
ARION_MESSAGE(QueryReplicaInfoResponse);
ARION_MESSAGE(QueryAppInfoRequest);
ARION_MESSAGE(QueryAppInfoResponse);
ARION_MESSAGE(QueryDiskInfoRequest);
ARION_MESSAGE(QueryDiskInfoResponse);
ARION_MESSAGE(DetectHotkeyRequest);
ARION_MESSAGE(DetectHotkeyResponse);

}  // namespace arion
