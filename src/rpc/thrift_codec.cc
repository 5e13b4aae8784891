// SPDX-License-Identifier: Apache-2.0
#include "rpc/thrift_codec.h"

#include <cxxabi.h>

#include <cstdlib>
#include <typeinfo>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "messages/admin_messages.h"
#include "messages/client_messages.h"
#include "messages/duplicate_messages.h"
#include "messages/duplication_messages.h"
#include "messages/index_messages.h"
#include "messages/split_messages.h"
#include "messages/verification_messages.h"
#include "rpc/admin_token.h"
#include "rpc/thrift_reader.h"
#include "rpc/thrift_writer.h"

namespace arion {
namespace {

using apache::thrift::TException;
using wire::Reader;
using wire::Writer;

template <class T>
std::string NameOf() {
  // The struct's own name, for people who read the error.
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
  out.reserve(wire::GuessSize(value));
  Writer(&out, generation).Wrapped(value, field_id);
  return out;
}

template <class T>
absl::StatusOr<T> DecodeWrapped(std::string_view bytes, HostPortTwins twins) {
  try {
    // Exceptions end here: libthrift throws, and nothing above this file knows it.
    return Reader(bytes, twins).Wrapped<T>();
  } catch (const TException& error) {
    return Undecodable<T>(error);
  }
}

std::string EncodePrepare(const PrepareRequest& request, PeerGeneration generation) {
  std::string out;
  out.reserve(128 + EncodedSize(*request.mutation));
  {
    // In a block of its own: the writer's last bytes arrive when it ends, before the mutation's.
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
  // DataLoss only from here on: the partition is known, so the sender gets an answer (PreparePid).
  ASSIGN_OR_RETURN(Mutation mutation, TakeMutation(&raw));
  // All three come from the sender: a core that believed two different ones would log one
  // partition's mutation for another.
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
    // The wrapper is itself a struct: its argument, of unknown type here, is skipped like any
    // unknown field.
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

// Each message's codec is compiled here once, and nowhere else: libthrift's templates stay in this
// file.
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
ARION_MESSAGE(DuplicateEntry);
ARION_MESSAGE(DuplicateRequest);
ARION_MESSAGE(DuplicateResponse);
ARION_MESSAGE(CheckResponse);
ARION_MESSAGE(MultiGetRequest);
ARION_MESSAGE(MultiGetResponse);
ARION_MESSAGE(BatchGetRequest);
ARION_MESSAGE(BatchGetResponse);
ARION_MESSAGE(CountResponse);
ARION_MESSAGE(GetScannerRequest);
ARION_MESSAGE(ScanRequest);
ARION_MESSAGE(ScanResponse);
// index_messages.h
ARION_MESSAGE(FindRequest);
ARION_MESSAGE(FindResponse);
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
ARION_MESSAGE(CountContentRequest);
ARION_MESSAGE(CountContentResponse);
ARION_MESSAGE(VerifyReplicasRequest);
ARION_MESSAGE(VerifyReplicasResponse);
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
ARION_MESSAGE(ForwardResponse);
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
ARION_MESSAGE(ForgetServerRequest);
ARION_MESSAGE(QueryLeadRequest);
ARION_MESSAGE(QueryLeadResponse);
ARION_MESSAGE(HandOverLeadRequest);
ARION_MESSAGE(TableNameRequest);
ARION_MESSAGE(SetMaxReplicaCountRequest);
ARION_MESSAGE(MaxReplicaCountResponse);
ARION_MESSAGE(SetAtomicIdempotentRequest);
ARION_MESSAGE(AtomicIdempotentResponse);
ARION_MESSAGE(StartManualCompactRequest);
ARION_MESSAGE(QueryManualCompactResponse);
ARION_MESSAGE(QueryBackupPolicyRequest);
ARION_MESSAGE(QueryBackupPolicyResponse);
ARION_MESSAGE(DisabledResponse);
// duplication_messages.h
ARION_MESSAGE(AddDuplicationRequest);
ARION_MESSAGE(AddDuplicationResponse);
ARION_MESSAGE(ModifyDuplicationRequest);
ARION_MESSAGE(ModifyDuplicationResponse);
ARION_MESSAGE(QueryDuplicationRequest);
ARION_MESSAGE(QueryDuplicationResponse);
ARION_MESSAGE(ListDuplicationsRequest);
ARION_MESSAGE(ListDuplicationsResponse);
// split_messages.h
ARION_MESSAGE(StartSplitRequest);
ARION_MESSAGE(StartSplitResponse);
ARION_MESSAGE(QuerySplitRequest);
ARION_MESSAGE(QuerySplitResponse);
ARION_MESSAGE(ControlSplitRequest);
ARION_MESSAGE(ControlSplitResponse);
ARION_MESSAGE(SplitMemberRequest);
ARION_MESSAGE(SplitMemberResponse);
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
