// SPDX-License-Identifier: Apache-2.0
#include "posix/tcp_question.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

namespace arion {
namespace {

// Listens on loopback. With `serve` it accepts one connection, which that gets.
class Listener {
 public:
  explicit Listener(std::function<void(int)> serve = nullptr) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(listen(fd_, 8), 0);
    endpoint_ = {INADDR_LOOPBACK, ntohs(address.sin_port)};
    if (!serve) return;
    thread_ = std::thread([fd = fd_, serve] {
      const int connection = accept(fd, nullptr, nullptr);
      serve(connection);
      close(connection);
    });
  }
  ~Listener() {
    if (thread_.joinable()) thread_.join();
    close(fd_);
  }
  Endpoint endpoint() const { return endpoint_; }

 private:
  int fd_;
  Endpoint endpoint_;
  std::thread thread_;
};

std::string Heard(int connection, size_t size) {
  std::string text(size, '\0');
  EXPECT_EQ(recv(connection, text.data(), size, MSG_WAITALL), static_cast<ssize_t>(size));
  return text;
}

TEST(AskByTcp, EachServersWordsAreItsAnswer) {
  const auto echo = [](int connection) {
    const std::string answer = Heard(connection, 4) + " said";
    send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
  };
  Listener first(echo), second([](int connection) { Heard(connection, 4); });
  Endpoint nobody;
  { nobody = Listener().endpoint(); }
  const auto answers = AskByTcp({first.endpoint(), nobody, second.endpoint()}, "srvr",
                                {.patience = absl::Seconds(30)});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].value_or("?"), "srvr said");
  EXPECT_TRUE(absl::IsUnavailable(answers[1].status())) << answers[1].status();
  EXPECT_EQ(answers[2].value_or("?"), "");
}

TEST(AskByTcp, ASilentServerCostsThePatienceAndNoMore) {
  Listener silent;
  const auto answers = AskByTcp({silent.endpoint()}, "srvr", {.patience = absl::Milliseconds(30)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(answers.at(0).status())) << answers.at(0).status();
}

TEST(AskByTcp, WhoSaysTooMuchIsNotHeardOut) {
  Listener endless([](int connection) {
    Heard(connection, 4);
    const std::string much(4096, 'x');
    while (send(connection, much.data(), much.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  const auto answers = AskByTcp({endless.endpoint()}, "srvr",
                                {.patience = absl::Seconds(30), .answer_bytes_max = 10000});
  EXPECT_TRUE(absl::IsResourceExhausted(answers.at(0).status())) << answers.at(0).status();
}

TEST(AskByTcp, NobodyIsAskedInNoTime) { EXPECT_TRUE(AskByTcp({}, "srvr").empty()); }

}  // namespace
}  // namespace arion
