// Every message's decoder on hostile bytes: it refuses or yields a value, and what it yields is
// encoded and decoded to the same bytes again, for both generations of peers.
//
// Input: byte 0 chooses the message; the rest is its body. SPDX-License-Identifier: Apache-2.0
#include "base/log.h"
#include "messages/admin_messages.h"
#include "messages/client_messages.h"
#include "messages/duplicate_messages.h"
#include "messages/duplication_messages.h"
#include "messages/index_messages.h"
#include "messages/replication_messages.h"
#include "messages/tool_messages.h"
#include "rpc/frame.h"
#include "rpc/thrift_codec.h"
#include "tests/fuzz/fuzz_target.h"

namespace arion {
namespace {

template <class T>
void Check(std::string_view body) {
  absl::StatusOr<T> value = DecodeWrapped<T>(body);
  if (!value.ok()) return;
  for (PeerGeneration generation : {PeerGeneration::k25, PeerGeneration::k26}) {
    std::string bytes = EncodeWrapped(*value, generation);
    absl::StatusOr<T> again = DecodeWrapped<T>(bytes);
    FuzzRequire(again.ok() && EncodeWrapped(*again, generation) == bytes);
  }
  absl::StatusOr<T> named = DecodeWrapped<T>(body, HostPortTwins::kKeep);
  FuzzRequire(named.ok() && DecodeWrapped<T>(EncodeWrapped(*named, PeerGeneration::k26)).ok());
}

void CheckPrepare(std::string_view body) {
  absl::StatusOr<PrepareRequest> request = DecodePrepare(body);
  if (!request.ok()) return;
  std::string bytes = EncodePrepare(*request);
  absl::StatusOr<PrepareRequest> again = DecodePrepare(bytes);
  FuzzRequire(again.ok() && EncodePrepare(*again) == bytes && again->pid == *PreparePid(bytes));
}

void CheckMeta(std::string_view body) {
  absl::StatusOr<ThriftRequestMeta> meta = DecodeThriftRequestMeta(body);
  if (meta.ok()) FuzzRequire(*DecodeThriftRequestMeta(EncodeThriftRequestMeta(*meta)) == *meta);
}

// Whether this is the message that `body` is.
template <class T>
bool Fits(const std::string& body) {
  absl::StatusOr<T> value = DecodeWrapped<T>(body, HostPortTwins::kKeep);
  return value.ok() &&
         (EncodeWrapped(*value) == body || EncodeWrapped(*value, PeerGeneration::k26) == body);
}

template <class T>
std::string_view NameOf() {
  std::string_view name = __PRETTY_FUNCTION__;
  name.remove_prefix(name.find("T = ") + 4);
  return name.substr(0, name.find_first_of(";]"));
}

struct Kind {
  std::string_view name;
  void (*check)(std::string_view body);
  std::string (*sample)();
  bool (*fits)(const std::string& body);
};
template <class T>
constexpr Kind Of() {
  return {NameOf<T>(), Check<T>, [] { return EncodeWrapped(T{}, PeerGeneration::k26); }, Fits<T>};
}

std::string SamplePrepare() {
  auto mutation = std::make_shared<Mutation>();
  mutation->updates = {
      {.code = WriteCode::kPut,
       .serialization = 1,
       .data = EncodeWrapped(UpdateRequest{.key = "k"})},
      {.code = WriteCode::kRemove, .serialization = 1, .data = EncodeWrapped(Blob("k"))}};
  return EncodePrepare({.mutation = mutation});
}

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"RPC_PREPARE", CheckPrepare, SamplePrepare,
       [](const std::string& body) { return DecodePrepare(body).ok(); }},
      {"THFT meta", CheckMeta, [] { return EncodeThriftRequestMeta({}); },
       [](const std::string&) { return false; }},
      Of<Blob>(),
      Of<PartitionId>(),
      Of<Endpoint>(),
      Of<int64_t>(),
      Of<std::string>(),
      Of<UpdateRequest>(),
      Of<UpdateResponse>(),
      Of<ReadResponse>(),
      Of<TtlResponse>(),
      Of<MultiPutRequest>(),
      Of<MultiRemoveRequest>(),
      Of<MultiRemoveResponse>(),
      Of<IncrRequest>(),
      Of<IncrResponse>(),
      Of<CheckAndSetRequest>(),
      Of<CheckAndMutateRequest>(),
      Of<DuplicateRequest>(),
      Of<DuplicateResponse>(),
      Of<CheckResponse>(),
      Of<MultiGetRequest>(),
      Of<MultiGetResponse>(),
      Of<BatchGetRequest>(),
      Of<BatchGetResponse>(),
      Of<CountResponse>(),
      Of<FindRequest>(),
      Of<FindResponse>(),
      Of<GetScannerRequest>(),
      Of<ScanRequest>(),
      Of<ScanResponse>(),
      Of<ReplicaConfiguration>(),
      Of<PartitionConfiguration>(),
      Of<AppInfo>(),
      Of<PrepareAck>(),
      Of<GroupCheckRequest>(),
      Of<GroupCheckResponse>(),
      Of<LearnRequest>(),
      Of<LearnState>(),
      Of<LearnResponse>(),
      Of<LearnNotifyResponse>(),
      Of<GetFileSizeRequest>(),
      Of<GetFileSizeResponse>(),
      Of<CopyRequest>(),
      Of<CopyResponse>(),
      Of<BeaconMessage>(),
      Of<BeaconAck>(),
      Of<ConfigurationUpdateRequest>(),
      Of<ConfigurationUpdateResponse>(),
      Of<ConfigSyncRequest>(),
      Of<ConfigSyncResponse>(),
      Of<DuplicationSyncRequest>(),
      Of<DuplicationSyncResponse>(),
      Of<AddDuplicationRequest>(),
      Of<AddDuplicationResponse>(),
      Of<ModifyDuplicationRequest>(),
      Of<ModifyDuplicationResponse>(),
      Of<QueryDuplicationRequest>(),
      Of<QueryDuplicationResponse>(),
      Of<ListDuplicationsRequest>(),
      Of<ListDuplicationsResponse>(),
      Of<QueryConfigRequest>(),
      Of<QueryConfigResponse>(),
      Of<CreateAppRequest>(),
      Of<CreateAppResponse>(),
      Of<DropAppRequest>(),
      Of<DropAppResponse>(),
      Of<ListAppsRequest>(),
      Of<ListAppsResponse>(),
      Of<ListNodesRequest>(),
      Of<ListNodesResponse>(),
      Of<ClusterInfoRequest>(),
      Of<ClusterInfoResponse>(),
      Of<CommandRequest>(),
      Of<NegotiationRequest>(),
      Of<NegotiationResponse>(),
      Of<QueryDecreeRequest>(),
      Of<QueryDecreeResponse>(),
      Of<QueryReplicaInfoRequest>(),
      Of<QueryReplicaInfoResponse>(),
      Of<QueryAppInfoRequest>(),
      Of<QueryAppInfoResponse>(),
      Of<StartManualCompactRequest>(),
      Of<QueryManualCompactResponse>(),
      Of<QueryBackupPolicyRequest>(),
      Of<QueryBackupPolicyResponse>(),
      Of<QueryDiskInfoRequest>(),
      Of<QueryDiskInfoResponse>(),
      Of<DetectHotkeyRequest>(),
      Of<DetectHotkeyResponse>(),
      Of<FindRequest>(),
      Of<FindResponse>(),
  };
  return kinds;
}

}  // namespace

// Some kinds have many fixtures and most have none: half of all inputs are made from the sample of
// any kind, with pieces of the input.
void FuzzMend(std::string* input, FuzzRandom& random) {
  const size_t kind = random.Below(Kinds().size());
  std::string made = static_cast<char>(kind) + Kinds()[kind].sample();
  for (size_t n = random.Below(4); n > 0; --n) {
    const size_t at = 1 + random.Below(made.size());
    switch (random.Below(3)) {
      case 0:
        if (at < made.size()) made[at] = static_cast<char>(made[at] ^ (1 << random.Below(8)));
        break;
      case 1:
        made.resize(at);
        break;
      default:
        made.insert(at, *input, random.Below(input->size() + 1), 1 + random.Below(64));
    }
  }
  *input = std::move(made);
}

std::vector<std::string> FuzzSeeds() {
  FLAGS_minloglevel = google::GLOG_FATAL;
  std::vector<std::string> seeds;
  for (size_t i = 0; i < Kinds().size(); ++i)
    seeds.push_back(static_cast<char>(i) + Kinds()[i].sample());
  ConfigSyncResponse full;
  full.partitions.resize(2);
  full.partitions[0].info.envs = {{"default_ttl", "0"}};
  full.partitions[0].config.secondaries = {{.ip = 1, .port = 2}, {.ip = 3, .port = 4}};
  full.gc_replicas.emplace().resize(1);
  std::vector<std::string> bodies = {EncodeWrapped(full, PeerGeneration::k26)};
  for (const std::string& frame : HexFixtures("rpc")) {
    if (frame.size() > kRdsnHeaderBytes) bodies.push_back(frame.substr(kRdsnHeaderBytes));
  }
  for (const std::string& body : bodies) {
    for (size_t kind = 0; kind < Kinds().size(); ++kind) {
      if (Kinds()[kind].fits(body)) seeds.push_back(static_cast<char>(kind) + body);
    }
  }
  return seeds;
}

}  // namespace arion

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FLAGS_minloglevel = google::GLOG_FATAL;
  if (size < 1) return 0;
  const auto& kinds = arion::Kinds();
  const arion::Kind& kind = kinds[data[0] % kinds.size()];
  arion::FuzzCount(kind.name);
  kind.check({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
