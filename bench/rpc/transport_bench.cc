// Requests a second through the transport on loopback, server and callers in one process: 1000-byte
// bodies, `range` calls in flight. SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <latch>

#include "posix/event_loops.h"
#include "rpc/asio_transport.h"

namespace arion {
namespace {

void CallAndReply(benchmark::State& state) {
  EventLoops loops(2);
  AsioTransport server(&loops, {.listen = Endpoint{.ip = 0x7f000001, .port = 0}});
  AsioTransport client(&loops, {});
  server.SetHandler([](InboundRequest request) {
    request.responder.Reply(ErrorCode::kOk, std::move(request.body));
  });
  if (!server.Listen().ok()) return state.SkipWithError("listen");
  StrandPtr strand = loops.NewStrand("bench");
  const std::string body(1000, 'b');
  const int64_t calls = state.range(0);
  for (auto _ : state) {
    std::latch answered(calls);
    strand->Post([&] {
      for (int64_t i = 0; i < calls; ++i) {
        client.Call(server.local(), {.name = "RPC_BENCH", .body = body}, strand,
                    [&answered](RpcResult) { answered.count_down(); });
      }
    });
    answered.wait();
  }
  state.SetItemsProcessed(state.iterations() * calls);
  client.Stop();
  server.Stop();
}
BENCHMARK(CallAndReply)->Arg(1)->Arg(16)->Arg(64)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace arion
