// Frames: the bytes of one message on a connection, in the two framings (rpc/PROTOCOL.md 2). Pure:
// no socket, no clock.
//
// Shapes    THFT request v0  48 bytes big endian: "THFT" 0, 4 version 0, 8 header length 48,
//                            12 crc, 16 body length, 20 crc, 24 app id, 28 partition,
//                            32 timeout ms, 36 thread hash, 40 partition hash; body
//           THFT request v1  16 bytes: "THFT" 0, 4 version 1, 8 meta length, 12 body length;
//                            meta struct; body
//             both bodies    message begin (CALL or ONEWAY, name, sequence id), then the wrapped
//                            argument
//           THFT reply       u32 total length with itself, error name, message begin (REPLY,
//                            name_ACK, id), then the wrapped result, absent when the error is not
//                            ERR_OK
//           RDSN             192 bytes little endian, drawn at kRdsnHeaderBytes in the .cc;
//                            body = wrapped value
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error_code.h"
#include "base/ids.h"
#include "rpc/transport.h"

namespace arion {

// Sizes of headers, and the bounds of what stands in them. A request's name must fit the RDSN
// header's field of 48 bytes with its end; a meta struct is a few fields.
constexpr size_t kRdsnHeaderBytes = 192;
constexpr size_t kThriftV0HeaderBytes = 48;
constexpr size_t kThriftV1HeaderBytes = 16;
constexpr size_t kRpcNameBytesMax = 47;
constexpr size_t kThriftMetaBytesMax = 64 << 10;
// The longest frame of a stranger, and of a peer known to be a server (rpc/PROTOCOL.md 1.3).
constexpr uint64_t kStrangerFrameBytesMax = uint64_t{64} << 20;
constexpr uint64_t kServerFrameBytesMax = uint64_t{512} << 20;

// Context bits of an RDSN header. The first two say what kind of message it is; the others are the
// sender's wishes and abilities.
constexpr uint64_t kRdsnRequest = 1 << 0;
constexpr uint64_t kRdsnForwarded = 1 << 1;
// Payload format 1 in bits 6-9.
constexpr uint64_t kRdsnThriftBinary = 1 << 6;
constexpr uint64_t kRdsnFormatMask = 0xf << 6;
constexpr uint64_t kRdsnForwardSupported = 1 << 10;
constexpr uint64_t kRdsnBackupRequest = 1 << 11;
// The bits above, reserved and passed over by others, hold the sender's cluster tag.
constexpr int kRdsnClusterTagShift = 12;

// One message, of either framing: what a parser has cut out of a stream, or what a header is to be
// made of. Its body is a copy.
struct Frame {
  bool is_request = true;
  // Its name is, of a reply, the request's with _ACK.
  RequestHeader header;
  // What matches a reply to its request. THFT: the sequence id.
  uint64_t id = 0;
  // For people who follow a request through servers; goes back with the reply. RDSN only.
  uint64_t trace_id = 0;
  // RDSN: the context bits.
  uint64_t context = 0;
  // Of replies.
  ErrorCode error = ErrorCode::kOk;
  // False: the frame is whole but its payload can't be read (a format other than 1, an undecodable
  // meta struct). Such requests are answered kInvalidData, and the connection goes on.
  bool payload_readable = true;
  std::string body;

  // 0: none was told.
  uint64_t cluster_tag() const { return context >> kRdsnClusterTagShift; }
  void SetClusterTag(uint64_t tag) {
    constexpr uint64_t kOtherBits = (uint64_t{1} << kRdsnClusterTagShift) - 1;
    context = (context & kOtherBits) | tag << kRdsnClusterTagShift;
  }
};

// Whether the sender of a request says that it is a server: by a code that only servers send, and a
// server's port.
bool NamesServer(const Frame& request);

// Cuts a stream of bytes into frames. Each connection has one. Strand-bound (a connection's loop
// thread). Put bytes in with Reserve and Commit, or Feed; then Next until it does not say kFrame.
//
//   parser.Feed(bytes);
//   Frame frame;
//   while (parser.Next(&frame) == FrameParser::Result::kFrame) Handle(std::move(frame));
class FrameParser {
 public:
  // What kind of connection it is.
  enum class Expect {
    // An accepted connection: the first four bytes decide for all that follows.
    kAny,
    // A connection opened to a server.
    kRdsn,
    // The client's end of a THFT connection.
    kThriftReply
  };
  // What Next found.
  enum class Result {
    kFrame,
    kNeedMore,
    // Close the connection; error() says why. The parser yields nothing more.
    kBroken,
    // An HTTP method: TakeBuffered and go on elsewhere.
    kHttp,
  };
  explicit FrameParser(Expect expect);

  // Room for the next bytes: at least `n`, more when a large frame is under way. Valid until the
  // next call.
  struct Room {
    char* data;
    size_t size;
  };
  Room Reserve(size_t n) { return Reserve(n, nullptr); }
  // Where the buffer must grow, `*spare` takes its place if it is large enough. Connections of one
  // thread share a spare, so that only one that has much to read holds a large buffer.
  Room Reserve(size_t n, std::string* spare);
  // Gives up a buffer that is much larger than what lies in it, to `*spare` if that is smaller. So
  // a connection that waits for its next request keeps a few KiB.
  void Rest(std::string* spare);
  // That many bytes were put into the room.
  void Commit(size_t n);
  // Copies the bytes in.
  void Feed(std::string_view bytes);
  // The next frame. Views nothing: the body is copied out.
  Result Next(Frame* frame);

  // The peer is a server that may be heard: frames that begin from now on may be long.
  void AllowServerFrames() { frame_bytes_max_ = kServerFrameBytesMax; }

  // What was not cut into frames, taken out.
  std::string TakeBuffered();

  // After kBroken: why.
  const std::string& error() const { return error_; }
  Expect expect() const { return expect_; }
  // Not cut into frames yet; capacity_bytes is the memory they lie in.
  size_t buffered_bytes() const { return end_ - begin_; }
  size_t capacity_bytes() const { return buffer_.size(); }

 private:
  std::string_view Buffered() const { return {buffer_.data() + begin_, end_ - begin_}; }
  Result Broken(std::string why);
  Result CheckLength(uint64_t frame_bytes);
  void Consume(size_t n);
  Result NextThriftRequest(Frame* frame);
  Result NextThriftReply(Frame* frame);
  Result NextRdsn(Frame* frame);

  Expect expect_;
  // Of an accepted connection, once known.
  Framing framing_ = Framing::kRdsn;
  bool framing_known_ = false;
  uint64_t frame_bytes_max_;
  // Bytes [begin_, end_) are not parsed yet.
  std::string buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  // The length of the frame under way; 0: not known yet.
  size_t frame_bytes_ = 0;
  std::string error_;
};

// Whether an RDSN header carries checksums.
enum class Checksums { kNone, kHeaderAndBody };

// An RDSN request's header as bytes, to stand before `body`.
std::string RdsnRequestHeader(const Frame& request, std::string_view body,
                              Checksums checksums = Checksums::kNone);
// An RDSN reply's header as bytes. `from` is the answering server.
std::string RdsnReplyHeader(const Frame& request, ErrorCode error, Endpoint from,
                            std::string_view body, Checksums checksums = Checksums::kNone);
// The same without checksums, for a body that stands elsewhere.
std::string RdsnReplyHeader(const Frame& request, ErrorCode error, Endpoint from,
                            size_t body_bytes);
// A THFT reply up to its body, which stands behind it only when error is kOk. Names of errors are
// mapped by SafeForThriftClients.
std::string ThriftReplyHeader(const Frame& request, ErrorCode error, size_t body_bytes);
// A THFT request up to its wrapped argument; request.header.framing says which version.
std::string ThriftRequestHeader(const Frame& request, size_t body_bytes);

}  // namespace arion
