// SPDX-License-Identifier: Apache-2.0
#include "sim_workloads/probe_client.h"

#include <utility>

#include "base/crc.h"
#include "messages/admin_messages.h"
#include "messages/client_messages.h"
#include "messages/duplication_messages.h"
#include "rpc/thrift_codec.h"

namespace arion::sim {

// The header as a real client writes it, so that the server has no reason to treat it differently.
OutboundRequest ProbeClient::Request(const char* name, int32_t app_id, int32_t partition_count,
                                     std::string_view raw_key, absl::Duration timeout) const {
  OutboundRequest request;
  request.name = name;
  request.partition_hash = PartitionHash(raw_key);
  request.pid = {app_id, static_cast<int32_t>(request.partition_hash %
                                              static_cast<uint64_t>(partition_count))};
  request.thread_hash = request.pid.thread_hash();
  request.timeout = timeout;
  return request;
}

void ProbeClient::Get(Endpoint server, int32_t app_id, int32_t partition_count,
                      std::string_view raw_key, absl::Duration timeout, ReadDone done) {
  OutboundRequest request = Request(kRpcGet, app_id, partition_count, raw_key, timeout);
  request.body = EncodeWrapped(Blob(raw_key));
  transport_.Call(server, std::move(request), strand_,
                  [done = std::move(done)](RpcResult result) mutable {
                    if (result.error != ErrorCode::kOk) return done(result.error, {});
                    auto response = DecodeWrapped<ReadResponse>(result.body);
                    if (!response.ok()) return done(ErrorCode::kInvalidData, {});
                    // An answer, too: the caller's history takes it for the empty value.
                    if (response->error == static_cast<int32_t>(StorageError::kNotFound))
                      return done(ErrorCode::kOk, {});
                    if (response->error != 0) return done(ErrorCode::kLocalAppFailure, {});
                    done(ErrorCode::kOk, std::move(response->value.bytes));
                  });
}

void ProbeClient::Put(Endpoint server, int32_t app_id, int32_t partition_count,
                      std::string_view raw_key, std::string value, absl::Duration timeout,
                      WriteDone done) {
  OutboundRequest request = Request(kRpcPut, app_id, partition_count, raw_key, timeout);
  UpdateRequest update;
  update.key = raw_key;
  update.value = std::move(value);
  request.body = EncodeWrapped(update);
  transport_.Call(server, std::move(request), strand_,
                  [done = std::move(done)](RpcResult result) mutable {
                    if (result.error != ErrorCode::kOk) return done(result.error);
                    auto response = DecodeWrapped<UpdateResponse>(result.body);
                    done(!response.ok()         ? ErrorCode::kInvalidData
                         : response->error == 0 ? ErrorCode::kOk
                                                : ErrorCode::kLocalAppFailure);
                  });
}

// An error of the call stands in the answer's place, so that the caller looks at one field only.
template <class Response>
void ProbeClient::Ask(Endpoint meta, const char* name, std::string body,
                      absl::AnyInvocable<void(Response)> done) {
  OutboundRequest outbound;
  outbound.name = name;
  outbound.body = std::move(body);
  transport_.Call(meta, std::move(outbound), strand_,
                  [done = std::move(done)](RpcResult result) mutable {
                    Response response;
                    response.err = result.error;
                    if (result.error == ErrorCode::kOk) {
                      auto decoded = DecodeWrapped<Response>(result.body);
                      if (decoded.ok()) response = *decoded;
                    }
                    done(std::move(response));
                  });
}

void ProbeClient::CreateTable(Endpoint meta, const CreateAppRequest& request,
                              absl::AnyInvocable<void(CreateAppResponse)> done) {
  Ask<CreateAppResponse>(meta, kRpcCreateApp, EncodeWrapped(request), std::move(done));
}

void ProbeClient::AddDuplication(Endpoint meta, const AddDuplicationRequest& request,
                                 absl::AnyInvocable<void(AddDuplicationResponse)> done) {
  Ask<AddDuplicationResponse>(meta, kRpcAddDuplication, EncodeWrapped(request), std::move(done));
}

// One attempt and no retry: the caller decides what an open outcome means for its history.
template <class Response>
void ProbeClient::Change(Endpoint meta, const char* name, std::string body,
                         absl::AnyInvocable<void(ErrorCode)> done) {
  OutboundRequest outbound;
  outbound.name = name;
  outbound.body = std::move(body);
  transport_.Call(meta, std::move(outbound), strand_,
                  [done = std::move(done)](RpcResult result) mutable {
                    if (result.error != ErrorCode::kOk) return done(result.error);
                    auto response = DecodeWrapped<Response>(result.body);
                    done(response.ok() ? response->err : ErrorCode::kInvalidData);
                  });
}

void ProbeClient::DropTable(Endpoint meta, const DropAppRequest& request,
                            absl::AnyInvocable<void(ErrorCode)> done) {
  Change<DropAppResponse>(meta, kRpcDropApp, EncodeWrapped(request), std::move(done));
}

void ProbeClient::RecallTable(Endpoint meta, const RecallAppRequest& request,
                              absl::AnyInvocable<void(ErrorCode)> done) {
  Change<RecallAppResponse>(meta, kRpcRecallApp, EncodeWrapped(request), std::move(done));
}

}  // namespace arion::sim
