// What Writer and Reader agree on: which of the six raw types a C++ type is, what an enum's unknown
// values mean, and which address a host_port is the twin of (rpc/PROTOCOL.md 3.3 to 3.5).
//
// Threads   Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TProtocol.h>

#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "base/log.h"
#include "messages/admin_messages.h"
#include "messages/configuration.h"
#include "messages/meta_messages.h"
#include "messages/replication_messages.h"
#include "messages/tool_messages.h"
#include "messages/verification_messages.h"

namespace arion::wire {

using apache::thrift::protocol::TType;

// libthrift's own limits are off: Reader has its own, by what has arrived.
inline std::shared_ptr<apache::thrift::TConfiguration> Unlimited() {
  static const auto configuration = std::make_shared<apache::thrift::TConfiguration>(
      std::numeric_limits<int>::max(), std::numeric_limits<int>::max(), /*recursionLimit=*/64);
  return configuration;
}

// Traits of C++ types: strong integers (Is), vectors, maps, sets, optional fields, host_port twins,
// addresses.
template <class T>
struct Is : std::false_type {};
template <class Tag>
struct Is<StrongInt<Tag>> : std::true_type {};

// The element type of a vector, else void.
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
// A host_port member that belongs to an address (messages/fields.h).
template <class T>
constexpr bool kIsTwin = std::is_same_v<T, std::optional<HostPort>> ||
                         std::is_same_v<T, std::optional<std::vector<HostPort>>>;
template <class T>
constexpr bool kIsAddress = std::is_same_v<T, Endpoint> || std::is_same_v<T, std::vector<Endpoint>>;

// The type byte that stands before a value of T. Raw types are announced as structs.
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
// Values 0 to kLast are known. `kSafe` is what any other value is read as.
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
struct EnumRule<CountState> : Rule<CountState, CountState::kSettled> {};
template <>
struct EnumRule<ContentVerdictKind> : Rule<ContentVerdictKind, ContentVerdictKind::kUndecided> {};
template <>
struct EnumRule<VerifyAction> : Rule<VerifyAction, VerifyAction::kQuery, VerifyAction::kQuery> {};
template <>
struct EnumRule<VerificationState> : Rule<VerificationState, VerificationState::kDone> {};
template <>
struct EnumRule<NegotiationStatus> : Rule<NegotiationStatus, NegotiationStatus::kAuthFailed> {};

// The n-th address of a struct, for its n-th host_port twin. A visitor fills it member by member;
// ids ascend, and a struct's addresses have smaller ids than their twins.
template <class One, class Many>
struct Addresses {
  struct Entry {
    One* one = nullptr;
    Many* many = nullptr;
  };
  // Called for the addresses and the twins of a struct, in the order of their ids.
  void Add(One& one) { Next().one = &one; }
  void Add(Many& many) { Next().many = &many; }
  Entry ForNextTwin() { return twins < entries.size() ? entries[twins++] : Entry{}; }

  // No message has more than four addresses.
  std::array<Entry, 4> entries;
  size_t count = 0;
  size_t twins = 0;

 private:
  Entry& Next() {
    CHECK_LT(count, entries.size());
    return entries[count++];
  }
};

}  // namespace arion::wire
