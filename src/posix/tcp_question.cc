// SPDX-License-Identifier: Apache-2.0
#include "posix/tcp_question.h"

#include <absl/strings/str_cat.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <memory>
#include <optional>

namespace arion {
namespace {

class Asked {
 public:
  Asked(asio::io_context& context, Endpoint server, std::string_view question, size_t bytes_max)
      : socket_(context), server_(server), question_(question), bytes_max_(bytes_max) {}

  void Connect() {
    const asio::ip::tcp::endpoint to(asio::ip::address_v4(server_.ip), server_.port);
    socket_.async_connect(to, [this](const asio::error_code& error) {
      if (error) return Fail(error);
      asio::async_write(
          socket_, asio::buffer(question_),
          [this](const asio::error_code& failed, size_t) { failed ? Fail(failed) : Read(); });
    });
  }

  absl::StatusOr<std::string> Result() const {
    if (result_) return *result_;
    return absl::DeadlineExceededError(absl::StrCat(server_.ToString(), " does not answer"));
  }

 private:
  void Read() {
    socket_.async_read_some(
        asio::buffer(buffer_), [this](const asio::error_code& error, size_t bytes) {
          answer_.append(buffer_.data(), bytes);
          if (answer_.size() > bytes_max_)
            result_ = absl::ResourceExhaustedError(
                absl::StrCat(server_.ToString(), " says more than ", bytes_max_, " bytes"));
          else if (error == asio::error::eof)
            result_ = answer_;
          else if (error)
            Fail(error);
          if (!result_) return Read();
          asio::error_code ignored;  // nothing more is wanted of it
          socket_.close(ignored);
        });
  }

  void Fail(const asio::error_code& error) {
    result_ = absl::UnavailableError(absl::StrCat(server_.ToString(), ": ", error.message()));
  }

  asio::ip::tcp::socket socket_;
  const Endpoint server_;
  const std::string question_;
  const size_t bytes_max_;
  std::array<char, 4096> buffer_;
  std::string answer_;
  std::optional<absl::StatusOr<std::string>> result_;
};

}  // namespace

std::vector<absl::StatusOr<std::string>> AskByTcp(const std::vector<Endpoint>& servers,
                                                  std::string_view question,
                                                  const TcpQuestionLimits& limits) {
  // Its own, which runs on this thread.
  asio::io_context context(1);
  std::vector<std::unique_ptr<Asked>> all;
  for (const Endpoint server : servers) {
    all.push_back(std::make_unique<Asked>(context, server, question, limits.answer_bytes_max));
    all.back()->Connect();
  }
  context.run_for(absl::ToChronoNanoseconds(limits.patience));
  std::vector<absl::StatusOr<std::string>> results;
  for (const std::unique_ptr<Asked>& asked : all) results.push_back(asked->Result());
  return results;
}

}  // namespace arion
