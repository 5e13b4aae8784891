// A server of GETs in three shapes, to compare nothing but these: the same frames, the same RocksDB.
// `loops`: Arion's transport, reads from the cache on its event loops. `threads`: a thread for each
// connection, blocking reads and writes. `epoll`: a few threads that wait, read, answer and nothing
// else: what so many connections cost on this machine whoever serves them.
//
//   store_server --model=threads --keys=20000 --size=1000     says "port N", ends when its input does
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gflags/gflags.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/raw_key.h"
#include "engine/rocksdb_engine.h"
#include "messages/client_messages.h"
#include "posix/posix_environment.h"
#include "rpc/asio_transport.h"
#include "rpc/frame.h"
#include "rpc/thrift_codec.h"

DEFINE_string(model, "loops", "loops, threads or epoll");
DEFINE_int32(loops, 2, "event loops, or threads of epoll");
DEFINE_int32(keys, 20000, "records, written before it listens");
DEFINE_int32(size, 1000, "bytes of a value");

namespace arion {
namespace {

constexpr Endpoint kAnyPort{.ip = 0x7f000001, .port = 0};

// A RocksDB of --keys records, flushed: read from the block cache.
class Store {
 public:
  explicit Store(Environment& env) : factory_(env, {.block_cache_bytes = 1 << 30}) {
    std::string name = (std::filesystem::temp_directory_path() / "arion_store.XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    root_ = name;
    auto engine = factory_.Open(root_ + "/data");
    CHECK(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    const std::string value(FLAGS_size, 'v');
    for (int i = 0; i < FLAGS_keys; ++i) {
      const std::string key = JoinRawKey("user" + std::to_string(i), "f");
      const WriteOp put{.key = key, .value = value};
      CHECK(engine_->Apply(engine_->last_applied() + 1, 1, {&put, 1}).ok());
    }
    CHECK(engine_->Flush().ok());
  }
  ~Store() {
    engine_.reset();
    std::filesystem::remove_all(root_);
  }

  std::string Answer(const std::string& body, ReadTier tier) const {
    const auto key = DecodeWrapped<Blob>(body);
    ReadResponse response;
    if (key.ok()) {
      auto record = engine_->Get(*key, 1, tier);
      if (absl::IsUnavailable(record.status())) record = engine_->Get(*key, 1, ReadTier::kAll);
      if (record.ok())
        response.value.bytes = std::move(record->value);
      else
        response.error = static_cast<int32_t>(StorageError::kNotFound);
    }
    return EncodeWrapped(response);
  }

 private:
  RocksdbEngineFactory factory_;
  std::string root_;
  std::unique_ptr<Engine> engine_;
};

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// Reads once and answers what has come whole; false: the connection is over.
bool ServeOnce(int fd, const Store& store, FrameParser& parser) {
  Frame frame;
  const FrameParser::Room room = parser.Reserve(2 << 10);
  const ssize_t n = recv(fd, room.data, room.size, 0);
  if (n <= 0) return false;
  parser.Commit(static_cast<size_t>(n));
  std::string answers;
  while (parser.Next(&frame) == FrameParser::Result::kFrame) {
    const std::string body = store.Answer(frame.body, ReadTier::kAll);
    answers += ThriftReplyHeader(frame, ErrorCode::kOk, body.size());
    answers += body;
  }
  return WriteAll(fd, answers);
}

void ServeOne(int fd, const Store& store) {
  FrameParser parser(FrameParser::Expect::kAny);
  while (ServeOnce(fd, store, parser)) {
  }
  close(fd);
}

struct Client {
  int fd = -1;
  FrameParser parser{FrameParser::Expect::kAny};
};

void ServeReady(int epoll, const Store& store) {
  std::array<epoll_event, 128> events;
  while (true) {
    const int n = epoll_wait(epoll, events.data(), events.size(), -1);
    for (int i = 0; i < n; ++i) {
      auto* client = static_cast<Client*>(events[static_cast<size_t>(i)].data.ptr);
      if (ServeOnce(client->fd, store, client->parser)) continue;
      close(client->fd);
      delete client;
    }
  }
}

// Connections go to `serve`, on a thread that accepts.
void Accept(std::function<void(int)> serve) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(kAnyPort.ip)}};
  socklen_t length = sizeof(address);
  auto* where = reinterpret_cast<sockaddr*>(&address);
  PCHECK(bind(listener, where, length) == 0 && listen(listener, SOMAXCONN) == 0 &&
         getsockname(listener, where, &length) == 0);
  std::printf("port %d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  std::thread([listener, serve = std::move(serve)] {
    while (true) {
      const int fd = accept(listener, nullptr, nullptr);
      if (fd < 0) continue;
      const int one = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
      serve(fd);
    }
  }).detach();
}

void ServeByThreads(const Store& store) {
  Accept([&store](int fd) { std::thread([fd, &store] { ServeOne(fd, store); }).detach(); });
}

void ServeByEpoll(const Store& store) {
  std::vector<int> epolls;
  for (int i = 0; i < FLAGS_loops; ++i) {
    epolls.push_back(epoll_create1(0));
    std::thread([epoll = epolls.back(), &store] { ServeReady(epoll, store); }).detach();
  }
  Accept([epolls, next = size_t{0}](int fd) mutable {
    epoll_event event{.events = EPOLLIN, .data = {.ptr = new Client{.fd = fd}}};
    PCHECK(epoll_ctl(epolls[next++ % epolls.size()], EPOLL_CTL_ADD, fd, &event) == 0);
  });
}

void WaitForEndOfInput() {
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

int Main() {
  PosixEnvironment env({.event_loop_threads = FLAGS_loops});
  const auto store = std::make_unique<Store>(env);
  if (FLAGS_model != "loops") {
    FLAGS_model == "threads" ? ServeByThreads(*store) : ServeByEpoll(*store);
    WaitForEndOfInput();
    std::_Exit(0);  // its threads wait for their clients
  }
  AsioTransport transport(&env.loops(), {.listen = kAnyPort});
  transport.SetHandler([&](InboundRequest request) {
    request.responder.Reply(ErrorCode::kOk, store->Answer(request.body, ReadTier::kCacheOnly));
  });
  const absl::Status listening = transport.Listen();
  CHECK(listening.ok()) << listening;
  std::printf("port %d\n", transport.local().port);
  std::fflush(stdout);
  WaitForEndOfInput();
  transport.Stop();
  env.StopLoops();
  return 0;
}

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return arion::Main();
}
