// What encoding and decoding costs on the write and read path, values of 1000 bytes.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "messages/client_messages.h"
#include "messages/replication_messages.h"
#include "rpc/frame.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

const std::string kValue(1000, 'v');
const std::string kKey = std::string("\0\x10", 2) + "user000000000001field0";

template <class T>
void Encode(benchmark::State& state, const T& message) {
  for (auto _ : state) benchmark::DoNotOptimize(EncodeWrapped(message));
}
template <class T>
void Decode(benchmark::State& state, const T& message) {
  std::string bytes = EncodeWrapped(message);
  for (auto _ : state) benchmark::DoNotOptimize(DecodeWrapped<T>(bytes));
}

void EncodeUpdateRequest(benchmark::State& state) {
  Encode(state, UpdateRequest{.key = kKey, .value = kValue});
}
void DecodeUpdateRequest(benchmark::State& state) {
  Decode(state, UpdateRequest{.key = kKey, .value = kValue});
}
void EncodeReadResponse(benchmark::State& state) {
  Encode(state, ReadResponse{.value = kValue, .server = "127.0.0.1:34801"});
}
void DecodeKey(benchmark::State& state) { Decode(state, Blob(kKey)); }
void EncodePrepareAck(benchmark::State& state) { Encode(state, PrepareAck{}); }
void DecodePrepareAck(benchmark::State& state) { Decode(state, PrepareAck{}); }

PrepareRequest PrepareOf(int64_t updates) {
  auto mutation = std::make_shared<Mutation>();
  std::string data = EncodeWrapped(UpdateRequest{.key = kKey, .value = kValue});
  for (int64_t i = 0; i < updates; ++i) {
    mutation->updates.push_back({.code = WriteCode::kPut, .serialization = 1, .data = data});
  }
  return {.mutation = mutation};
}
void EncodePrepareOf(benchmark::State& state) {
  PrepareRequest request = PrepareOf(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(EncodePrepare(request));
}
void DecodePrepareOf(benchmark::State& state) {
  std::string bytes = EncodePrepare(PrepareOf(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(DecodePrepare(bytes));
}

void ParseThriftPut(benchmark::State& state) {
  Frame put;
  put.header.name = kRpcPut;
  put.header.framing = Framing::kThriftV0;
  std::string body = EncodeWrapped(UpdateRequest{.key = kKey, .value = kValue});
  std::string bytes = ThriftRequestHeader(put, body.size()) + body;
  FrameParser parser(FrameParser::Expect::kAny);
  Frame frame;
  for (auto _ : state) {
    parser.Feed(bytes);
    benchmark::DoNotOptimize(parser.Next(&frame));
  }
}

BENCHMARK(EncodeUpdateRequest);
BENCHMARK(DecodeUpdateRequest);
BENCHMARK(EncodeReadResponse);
BENCHMARK(DecodeKey);
BENCHMARK(EncodePrepareAck);
BENCHMARK(DecodePrepareAck);
BENCHMARK(EncodePrepareOf)->Arg(1)->Arg(16);
BENCHMARK(DecodePrepareOf)->Arg(1)->Arg(16);
BENCHMARK(ParseThriftPut);

}  // namespace
}  // namespace arion
