// Thousands of client connections to one server from one thread: busy ones that ask and read, idle
// ones, ones that ask and never read. Real frames (THFT), no client library.
//
//   --op=fill   writes --keys records
//   --op=get    GETs of random records over --connections for --seconds, one outstanding on each;
//               the last line is one JSON object
//   --op=hold   --connections that were answered once and then rest, --slow ones that never read;
//               says "ready", and leaves when its input ends
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gflags/gflags.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/coding.h"
#include "base/crc.h"
#include "base/ids.h"
#include "base/raw_key.h"
#include "messages/client_messages.h"
#include "rpc/frame.h"
#include "rpc/thrift_codec.h"

DEFINE_string(address, "127.0.0.1:34801", "the server, primary of every partition");
DEFINE_string(op, "get", "fill, get or hold");
DEFINE_int32(app_id, 1, "table");
DEFINE_int32(partitions, 8, "its partitions");
DEFINE_int32(keys, 20000, "records");
DEFINE_int32(size, 1000, "bytes of a value");
DEFINE_int32(connections, 50, "that read what they ask for");
DEFINE_int32(slow, 0, "that ask and never read (hold)");
DEFINE_double(seconds, 5, "of measuring, after a quarter of it as warm-up (get)");

namespace arion {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPreparedGets = 16384;
constexpr int kSlowRequests = 3000;  // of each slow connection: some 3 MB of answers

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "connection_load: %s: %s\n", why.c_str(), strerror(errno));
  std::exit(1);
}

std::string Request(const char* name, int key, std::string body) {
  const std::string hash_key = "user" + std::to_string(key);
  Frame frame;
  frame.id = 1;
  frame.header.framing = Framing::kThriftV0;
  frame.header.name = name;
  frame.header.timeout_ms = 10000;
  frame.header.partition_hash = PartitionHash(JoinRawKey(hash_key, "f"));
  frame.header.pid = {FLAGS_app_id, static_cast<int32_t>(frame.header.partition_hash %
                                                         static_cast<uint64_t>(FLAGS_partitions))};
  return ThriftRequestHeader(frame, body.size()) + body;
}
std::string RawKeyOf(int key) { return JoinRawKey("user" + std::to_string(key), "f"); }
std::string Get(int key) {
  return Request(kRpcGet, key, EncodeWrapped(Blob(RawKeyOf(key)), PeerGeneration::kNone, 1));
}
std::string Put(int key) {
  const UpdateRequest put{.key = Blob(RawKeyOf(key)), .value = Blob(std::string(FLAGS_size, 'v'))};
  return Request(kRpcPut, key, EncodeWrapped(put, PeerGeneration::kNone, 1));
}

struct Connection {
  int fd = -1;
  std::string_view to_send;
  uint32_t answer_bytes = 0;  // of the answer under way, 0: its length is not known
  uint32_t received = 0;
  std::array<char, 64> head;
  Clock::time_point asked;
};

enum class Reads { kYes, kNever };

int Connect(Reads reads) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) Die("socket");
  if (reads == Reads::kNever) {
    const int bytes = 4096;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
  }
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  const Endpoint to = Endpoint::Parse(FLAGS_address).value_or(Endpoint());
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(to.port), .sin_addr = {htonl(to.ip)}};
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) Die("connect");
  return fd;
}

// Asks on each connection, one after the answer to the other, as long as `Next` gives requests.
class Load {
 public:
  explicit Load(int connections) : epoll_(epoll_create1(0)), connections_(connections) {
    for (Connection& connection : connections_) {
      connection.fd = Connect(Reads::kYes);
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &connection}};
      epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
    }
  }
  ~Load() {
    for (const Connection& connection : connections_) close(connection.fd);
    close(epoll_);
  }

  // `next` gives the next request, empty: none for now. Ends when nothing is under way.
  template <class Next>
  void Run(Next next) {
    for (Connection& connection : connections_) Ask(connection, next());
    std::array<epoll_event, 256> events;
    while (under_way_ > 0) {
      const int n = epoll_wait(epoll_, events.data(), events.size(), 10000);
      if (n == 0) Die("no answer within 10 s");
      for (int i = 0; i < n; ++i) {
        auto& connection = *static_cast<Connection*>(events[i].data.ptr);
        if (Receive(connection)) Ask(connection, next());
      }
    }
  }

  void BeginMeasuring() {
    micros_.clear();
    failed_ = 0;
  }
  std::vector<uint32_t>& micros() { return micros_; }
  int64_t failed() const { return failed_; }
  bool expects_values = false;

 private:
  void Ask(Connection& connection, std::string_view request) {
    if (request.empty()) return;
    ++under_way_;
    connection.asked = Clock::now();
    while (!request.empty()) {  // one small request on a connection that has none under way
      const ssize_t n = send(connection.fd, request.data(), request.size(), MSG_NOSIGNAL);
      if (n < 0) Die("send");
      request.remove_prefix(static_cast<size_t>(n));
    }
  }

  // Whether the answer is whole.
  bool Receive(Connection& connection) {
    static std::array<char, 256 << 10> bytes;
    const ssize_t n = recv(connection.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return false;
    if (n <= 0) Die("the server closed a connection");
    if (connection.received < connection.head.size())
      std::copy_n(bytes.data(), std::min<size_t>(n, connection.head.size() - connection.received),
                  connection.head.data() + connection.received);
    connection.received += static_cast<uint32_t>(n);
    if (connection.received < 4) return false;
    const auto total = LoadBig<uint32_t>(connection.head.data());
    if (connection.received < total) return false;
    Judge(connection, total);
    connection.received = 0;
    --under_way_;
    micros_.push_back(static_cast<uint32_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - connection.asked)
            .count()));
    return true;
  }

  void Judge(const Connection& connection, uint32_t total) {
    const std::string_view head(connection.head.data(), std::min<size_t>(total, 64));
    const bool is_ok = head.size() > 14 && head.substr(8, 6) == "ERR_OK";
    if (!is_ok || (expects_values && total < static_cast<uint32_t>(FLAGS_size))) ++failed_;
  }

  int epoll_;
  std::vector<Connection> connections_;
  int64_t under_way_ = 0;
  int64_t failed_ = 0;
  std::vector<uint32_t> micros_;
};

// Of this process.
double CpuMicros() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto micros = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return micros(used.ru_utime) + micros(used.ru_stime);
}

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

uint32_t Quantile(const std::vector<uint32_t>& sorted, double q) {
  return sorted.empty() ? 0
                        : sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1))];
}

std::vector<std::string> PrepareGets() {
  std::mt19937 random(1);
  std::vector<std::string> gets;
  for (int i = 0; i < kPreparedGets; ++i)
    gets.push_back(Get(static_cast<int>(random() % static_cast<uint32_t>(FLAGS_keys))));
  return gets;
}

int Fill() {
  Load load(FLAGS_connections);
  int key = 0;
  std::string put;
  load.Run([&]() -> std::string_view {
    if (key == FLAGS_keys) return {};
    put = Put(key++);
    return put;
  });
  std::printf("{\"failed\": %ld}\n", static_cast<long>(load.failed()));
  return load.failed() == 0 ? 0 : 1;
}

int MeasureGets() {
  const std::vector<std::string> gets = PrepareGets();
  Load load(FLAGS_connections);
  load.expects_values = true;
  const Clock::time_point begun = Clock::now();
  Clock::time_point measured_from = begun;
  double cpu_from = 0;
  bool is_warm = false;
  size_t n = 0;
  load.Run([&]() -> std::string_view {
    const double elapsed = Seconds(Clock::now() - begun);
    if (!is_warm && elapsed > FLAGS_seconds / 4) {
      is_warm = true;
      measured_from = Clock::now();
      cpu_from = CpuMicros();
      load.BeginMeasuring();
      std::printf("warm\n");
      std::fflush(stdout);
    }
    if (elapsed > FLAGS_seconds * 5 / 4) return {};
    return gets[n++ % gets.size()];
  });
  const double seconds = Seconds(Clock::now() - measured_from);
  const double cpu_micros = CpuMicros() - cpu_from;
  std::vector<uint32_t>& micros = load.micros();
  std::sort(micros.begin(), micros.end());
  std::printf(
      "{\"connections\": %d, \"ops\": %zu, \"failed\": %ld, \"per_s\": %.0f, \"p50_us\": %u, "
      "\"p99_us\": %u, \"p999_us\": %u, \"client_cpu_us\": %.2f, \"client_busy\": %.2f}\n",
      FLAGS_connections, micros.size(), static_cast<long>(load.failed()),
      static_cast<double>(micros.size()) / seconds, Quantile(micros, 0.5), Quantile(micros, 0.99),
      Quantile(micros, 0.999), cpu_micros / static_cast<double>(micros.size()),
      cpu_micros / 1e6 / seconds);
  return load.failed() == 0 ? 0 : 1;
}

int Hold() {
  const std::vector<std::string> gets = PrepareGets();
  Load idle(FLAGS_connections);
  int asked = 0;
  idle.Run([&]() -> std::string_view {
    return asked < FLAGS_connections ? std::string_view(gets[asked++ % kPreparedGets])
                                     : std::string_view();
  });
  std::vector<int> slow;
  std::string requests;
  for (int i = 0; i < kSlowRequests; ++i) requests += gets[i % kPreparedGets];
  for (int i = 0; i < FLAGS_slow; ++i) {
    slow.push_back(Connect(Reads::kNever));
    send(slow.back(), requests.data(), requests.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  std::printf("ready\n");
  std::fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return idle.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace arion

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (FLAGS_op == "fill") return arion::Fill();
  if (FLAGS_op == "get") return arion::MeasureGets();
  if (FLAGS_op == "hold") return arion::Hold();
  std::fprintf(stderr, "connection_load: no --op=%s\n", FLAGS_op.c_str());
  return 2;
}
