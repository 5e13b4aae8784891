// A frame's length is in its first bytes, and judged before anything is stored for it. Bytes stay
// in one buffer until a frame is whole; then its fields are read and its body is copied out.
// SPDX-License-Identifier: Apache-2.0
#include "rpc/frame.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/coding.h"
#include "base/crc.h"
#include "base/status.h"
#include "messages/meta_messages.h"
#include "messages/replication_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

constexpr std::string_view kRdsnMagic = "RDSN";
constexpr std::string_view kThriftMagic = "THFT";
constexpr uint32_t kStrictVersion = 0x80010000;
constexpr uint8_t kCall = 1;
constexpr uint8_t kReply = 2;
constexpr uint8_t kOneWay = 4;
constexpr size_t kNameFieldBytes = 48;
// Longer than any name of an error: a length beyond it is damage.
constexpr size_t kErrorNameBytesMax = 128;
constexpr size_t kKeptBytes = 256 << 10;   // of a buffer between frames
constexpr size_t kRestingBytes = 4 << 10;  // of one that rests, beside twice what lies in it

// Offsets in the RDSN header. Between them: 4 version, 8 header length, 88 local code, 92 local
// hash, 184 error number, 188 error hash, which are written as zero (192 for the length) and never
// looked at.
constexpr size_t kHeaderLengthAt = 8;
constexpr size_t kHeaderCrcAt = 12;
constexpr size_t kBodyLengthAt = 16;
constexpr size_t kBodyCrcAt = 20;
constexpr size_t kIdAt = 24;
constexpr size_t kTraceIdAt = 32;
constexpr size_t kNameAt = 40;
constexpr size_t kPidAt = 96;
constexpr size_t kContextAt = 104;
constexpr size_t kFromAt = 112;
constexpr size_t kTimeoutAt = 120;
constexpr size_t kThreadHashAt = 124;
constexpr size_t kPartitionHashAt = 128;
constexpr size_t kErrorNameAt = 136;
static_assert(kErrorNameAt + kNameFieldBytes + 8 == kRdsnHeaderBytes);

// The first four bytes of a request; which methods are served is decided where it is read.
bool IsHttpMethod(std::string_view start) {
  static constexpr std::array<std::string_view, 7> kStarts = {"GET ", "POST", "HEAD", "PUT ",
                                                              "DELE", "OPTI", "PATC"};
  return std::find(kStarts.begin(), kStarts.end(), start) != kStarts.end();
}

// Codes that only servers send.
bool IsInternalCode(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kCodes = {kRpcPrepare,
                                                              kRpcGroupCheck,
                                                              kRpcLearn,
                                                              kRpcLearnCompletion,
                                                              kRpcAddLearner,
                                                              kRpcRemoveReplica,
                                                              kRpcUpdateConfiguration,
                                                              kRpcBeacon,
                                                              kRpcConfigSync,
                                                              kRpcConfigProposal};
  return std::find(kCodes.begin(), kCodes.end(), name) != kCodes.end();
}

std::string_view FixedName(const char* field) { return {field, strnlen(field, kNameFieldBytes)}; }

// The field's last byte stays zero: readers take it as a C string.
void StoreName(std::string_view name, char* field) { name.copy(field, kRpcNameBytesMax); }

// The header without its checksums.
std::string RdsnHeader(const Frame& frame, std::string_view name, uint64_t context, Endpoint from,
                       ErrorCode error, size_t body_bytes) {
  std::string out(kRdsnHeaderBytes, '\0');
  char* to = out.data();
  kRdsnMagic.copy(to, 4);
  StoreLittle<uint32_t>(kRdsnHeaderBytes, to + kHeaderLengthAt);
  StoreLittle<uint32_t>(static_cast<uint32_t>(body_bytes), to + kBodyLengthAt);
  StoreLittle(frame.id, to + kIdAt);
  StoreLittle(frame.trace_id, to + kTraceIdAt);
  StoreName(name, to + kNameAt);
  StoreLittle(frame.header.pid.app_id, to + kPidAt);
  StoreLittle(frame.header.pid.index, to + kPidAt + 4);
  StoreLittle(context, to + kContextAt);
  StoreLittle(from.packed(), to + kFromAt);
  StoreLittle(frame.header.timeout_ms, to + kTimeoutAt);
  StoreLittle(frame.header.thread_hash, to + kThreadHashAt);
  StoreLittle(frame.header.partition_hash, to + kPartitionHashAt);
  if ((context & kRdsnRequest) == 0) StoreName(ErrorCodeName(error), to + kErrorNameAt);
  return out;
}

void AddChecksums(std::string_view body, std::string* header) {
  StoreLittle(Crc32c(body), header->data() + kBodyCrcAt);
  StoreLittle(Crc32c(*header), header->data() + kHeaderCrcAt);
}

bool HeaderCrcMatches(std::string_view header) {
  auto crc = LoadLittle<uint32_t>(header.data() + kHeaderCrcAt);
  // Zero: the sender makes none. The checksum is taken with its own field as zero.
  if (crc == 0) return true;
  static constexpr char kZeros[4] = {};
  uint32_t actual = Crc32c(header.substr(0, kHeaderCrcAt));
  actual = Crc32c({kZeros, 4}, actual);
  return crc == Crc32c(header.substr(kHeaderCrcAt + 4), actual);
}

// No name has such a byte: what is read is no message.
bool IsUnknownNameCharacter(char c) { return c < 0x20 || c > 0x7e; }

// Thrift's message begin. False: undecodable.
struct MessageBegin {
  uint8_t type = 0;
  std::string_view name;
  int32_t sequence_id = 0;
};
bool ReadMessageBegin(ByteReader* in, MessageBegin* begin, size_t name_bytes_max) {
  auto first = in->Big<uint32_t>();
  uint32_t name_bytes = first;
  bool strict = (first & 0x80000000u) != 0;
  // Old Thrift writers begin with the name's length, which is never negative; strict ones with the
  // version, whose top bit is set.
  if (strict) {
    if ((first & 0xffff0000u) != kStrictVersion) return false;
    begin->type = static_cast<uint8_t>(first);
    name_bytes = in->Big<uint32_t>();
  }
  // The length is judged before the bytes are taken.
  if (name_bytes > name_bytes_max) return false;
  begin->name = in->Bytes(name_bytes);
  if (!strict) begin->type = in->Big<uint8_t>();
  begin->sequence_id = in->Big<int32_t>();
  return in->ok() && std::none_of(begin->name.begin(), begin->name.end(), IsUnknownNameCharacter);
}

void AppendMessageBegin(uint8_t type, std::string_view name, std::string_view suffix,
                        int32_t sequence_id, std::string* out) {
  AppendBig<uint32_t>(kStrictVersion | type, out);
  AppendBig<uint32_t>(static_cast<uint32_t>(name.size() + suffix.size()), out);
  out->append(name).append(suffix);
  AppendBig(sequence_id, out);
}

}  // namespace

bool NamesServer(const Frame& request) {
  return request.header.framing == Framing::kRdsn && request.header.from.port > 1023 &&
         IsInternalCode(request.header.name);
}

FrameParser::FrameParser(Expect expect)
    : expect_(expect),
      framing_known_(expect != Expect::kAny),
      frame_bytes_max_(expect == Expect::kAny ? kStrangerFrameBytesMax : kServerFrameBytesMax) {}

FrameParser::Room FrameParser::Reserve(size_t n, std::string* spare) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_.size() - end_ < n) {
    // The buffer follows what has arrived, not what a header claims: it at most doubles.
    size_t used = end_ - begin_;
    size_t wanted = std::max(used + n, std::min(2 * used, frame_bytes_));
    if (wanted > buffer_.size()) {
      std::string larger = spare != nullptr && spare->size() >= wanted ? std::exchange(*spare, {})
                                                                       : std::string(wanted, '\0');
      std::memcpy(larger.data(), buffer_.data() + begin_, used);
      buffer_ = std::move(larger);
    } else {
      std::memmove(buffer_.data(), buffer_.data() + begin_, used);
    }
    begin_ = 0;
    end_ = used;
  }
  return {buffer_.data() + end_, buffer_.size() - end_};
}

void FrameParser::Rest(std::string* spare) {
  const size_t used = end_ - begin_;
  if (buffer_.size() <= kRestingBytes + 2 * used) return;
  std::string large = std::exchange(buffer_, {});
  buffer_.assign(large, begin_, used);
  begin_ = 0;
  end_ = used;
  // The thread keeps one buffer for all its connections: the larger, within limits.
  if (large.size() > spare->size() && large.size() <= kKeptBytes) *spare = std::move(large);
}

void FrameParser::Commit(size_t n) { end_ += n; }

void FrameParser::Feed(std::string_view bytes) {
  if (bytes.empty()) return;
  std::memcpy(Reserve(bytes.size()).data, bytes.data(), bytes.size());
  Commit(bytes.size());
}

std::string FrameParser::TakeBuffered() {
  std::string taken(Buffered());
  Consume(taken.size());
  return taken;
}

FrameParser::Result FrameParser::Broken(std::string why) {
  // The rest of the stream means nothing without a frame's beginning, so its bytes go at once.
  error_ = std::move(why);
  begin_ = end_ = 0;
  buffer_ = {};
  return Result::kBroken;
}

FrameParser::Result FrameParser::CheckLength(uint64_t frame_bytes) {
  if (frame_bytes > frame_bytes_max_) {
    return Broken(
        absl::StrCat("a frame of ", frame_bytes, " bytes; the limit is ", frame_bytes_max_));
  }
  frame_bytes_ = frame_bytes;
  return buffered_bytes() < frame_bytes ? Result::kNeedMore : Result::kFrame;
}

void FrameParser::Consume(size_t n) {
  begin_ += n;
  frame_bytes_ = 0;
  // A single large frame must not leave its memory with the connection for ever.
  if (begin_ == end_ && buffer_.size() > kKeptBytes) {
    buffer_ = {};
    begin_ = end_ = 0;
  }
}

FrameParser::Result FrameParser::Next(Frame* frame) {
  if (!error_.empty()) return Result::kBroken;
  if (!framing_known_) {
    // A connection keeps the protocol it began with.
    std::string_view start = Buffered().substr(0, 4);
    if (start.size() < 4) return Result::kNeedMore;
    if (IsHttpMethod(start)) return Result::kHttp;
    if (start == kThriftMagic) {
      framing_ = Framing::kThriftV0;
    } else if (start != kRdsnMagic) {
      return Broken("unknown protocol");
    }
    framing_known_ = true;
  }
  if (expect_ == Expect::kThriftReply) return NextThriftReply(frame);
  return framing_ == Framing::kRdsn ? NextRdsn(frame) : NextThriftRequest(frame);
}

FrameParser::Result FrameParser::NextThriftRequest(Frame* frame) {
  std::string_view bytes = Buffered();
  // The shorter of the two headers: the version stands in both.
  if (bytes.size() < kThriftV1HeaderBytes) return Result::kNeedMore;
  if (bytes.substr(0, 4) != kThriftMagic) return Broken("no THFT where a frame should begin");
  const char* head = bytes.data();
  auto version = LoadBig<uint32_t>(head + 4);
  uint64_t before_body = 0;
  uint64_t body_bytes = 0;
  if (version == 0) {
    auto header_bytes = LoadBig<uint32_t>(head + 8);
    if (header_bytes != kThriftV0HeaderBytes)
      return Broken(absl::StrCat("THFT header of ", header_bytes, " bytes"));
    if (bytes.size() < kThriftV0HeaderBytes) return Result::kNeedMore;
    before_body = kThriftV0HeaderBytes;
    body_bytes = LoadBig<uint32_t>(head + 16);
  } else if (version == 1) {
    auto meta_bytes = LoadBig<uint32_t>(head + 8);
    if (meta_bytes > kThriftMetaBytesMax)
      return Broken(absl::StrCat("THFT meta of ", meta_bytes, " bytes"));
    before_body = kThriftV1HeaderBytes + uint64_t{meta_bytes};
    body_bytes = LoadBig<uint32_t>(head + 12);
  } else {
    return Broken(absl::StrCat("THFT header version ", version));
  }
  if (Result r = CheckLength(before_body + body_bytes); r != Result::kFrame) return r;

  *frame = Frame();
  RequestHeader& header = frame->header;
  if (version == 0) {
    header.framing = Framing::kThriftV0;
    header.pid = {LoadBig<int32_t>(head + 24), LoadBig<int32_t>(head + 28)};
    header.timeout_ms = LoadBig<int32_t>(head + 32);
    header.thread_hash = LoadBig<int32_t>(head + 36);
    header.partition_hash = LoadBig<uint64_t>(head + 40);
  } else {
    header.framing = Framing::kThriftV1;
    header.timeout_is_real = true;
    absl::StatusOr<ThriftRequestMeta> meta = DecodeThriftRequestMeta(
        bytes.substr(kThriftV1HeaderBytes, before_body - kThriftV1HeaderBytes));
    // The frame's end is known all the same, so the connection can go on.
    frame->payload_readable = meta.ok();
    if (meta.ok()) {
      header.pid = {meta->app_id, meta->partition_index};
      header.timeout_ms = meta->client_timeout;
      header.partition_hash = static_cast<uint64_t>(meta->client_partition_hash);
      header.is_backup_request = meta->is_backup_request;
    }
  }
  ByteReader in(bytes.substr(before_body, body_bytes));
  MessageBegin begin;
  if (!ReadMessageBegin(&in, &begin, kRpcNameBytesMax)) return Broken("undecodable message begin");
  if (begin.type != kCall && begin.type != kOneWay)
    return Broken(absl::StrCat("message type ", int{begin.type}));
  header.name = begin.name;
  frame->id = static_cast<uint32_t>(begin.sequence_id);
  frame->body = in.rest();
  Consume(before_body + body_bytes);
  return Result::kFrame;
}

FrameParser::Result FrameParser::NextThriftReply(Frame* frame) {
  std::string_view bytes = Buffered();
  if (bytes.size() < 4) return Result::kNeedMore;
  auto total = LoadBig<uint32_t>(bytes.data());
  // The length counts its own field.
  if (total < 4) return Broken("a reply shorter than its length field");
  if (Result r = CheckLength(total); r != Result::kFrame) return r;
  ByteReader in(bytes.substr(4, total - 4));
  auto error_bytes = in.Big<uint32_t>();
  if (error_bytes > kErrorNameBytesMax) return Broken("undecodable error name");
  std::string_view error = in.Bytes(error_bytes);
  MessageBegin begin;
  if (!ReadMessageBegin(&in, &begin, kRpcNameBytesMax + 4) || begin.type != kReply) {
    return Broken("undecodable reply begin");
  }
  *frame = Frame();
  frame->is_request = false;
  frame->header.framing = Framing::kThriftV0;
  frame->header.name = begin.name;
  frame->id = static_cast<uint32_t>(begin.sequence_id);
  frame->error = ErrorCodeFromName(error);
  frame->body = in.rest();
  Consume(total);
  return Result::kFrame;
}

FrameParser::Result FrameParser::NextRdsn(Frame* frame) {
  std::string_view bytes = Buffered();
  if (bytes.size() < kRdsnHeaderBytes) return Result::kNeedMore;
  const char* head = bytes.data();
  // The header is looked at again with each part of a long frame that comes; its checksum only
  // once.
  if (frame_bytes_ == 0) {  // once a frame
    if (bytes.substr(0, 4) != kRdsnMagic) return Broken("no RDSN where a frame should begin");
    if (!HeaderCrcMatches(bytes.substr(0, kRdsnHeaderBytes)))
      return Broken("header checksum mismatch");
  }
  auto body_bytes = LoadLittle<uint32_t>(head + kBodyLengthAt);
  if (Result r = CheckLength(kRdsnHeaderBytes + uint64_t{body_bytes}); r != Result::kFrame)
    return r;
  std::string_view body = bytes.substr(kRdsnHeaderBytes, body_bytes);
  auto body_crc = LoadLittle<uint32_t>(head + kBodyCrcAt);
  if (body_crc != 0 && body_crc != Crc32c(body)) return Broken("body checksum mismatch");

  *frame = Frame();
  RequestHeader& header = frame->header;
  frame->id = LoadLittle<uint64_t>(head + kIdAt);
  frame->trace_id = LoadLittle<uint64_t>(head + kTraceIdAt);
  frame->context = LoadLittle<uint64_t>(head + kContextAt);
  frame->is_request = (frame->context & kRdsnRequest) != 0;
  // Another format is answered rather than refused: the frame's end is known.
  frame->payload_readable = (frame->context & kRdsnFormatMask) == kRdsnThriftBinary;
  header.framing = Framing::kRdsn;
  header.name = FixedName(head + kNameAt);
  header.pid = {LoadLittle<int32_t>(head + kPidAt), LoadLittle<int32_t>(head + kPidAt + 4)};
  header.from = Endpoint::FromPacked(LoadLittle<uint64_t>(head + kFromAt)).value_or(Endpoint{});
  header.timeout_ms = LoadLittle<int32_t>(head + kTimeoutAt);
  header.timeout_is_real = true;
  header.thread_hash = LoadLittle<int32_t>(head + kThreadHashAt);
  header.partition_hash = LoadLittle<uint64_t>(head + kPartitionHashAt);
  header.is_backup_request = (frame->context & kRdsnBackupRequest) != 0;
  header.forward_supported = (frame->context & kRdsnForwardSupported) != 0;
  if (!frame->is_request) frame->error = ErrorCodeFromName(FixedName(head + kErrorNameAt));
  frame->body = body;
  Consume(kRdsnHeaderBytes + body_bytes);
  return Result::kFrame;
}

std::string RdsnRequestHeader(const Frame& request, std::string_view body, Checksums checksums) {
  std::string header = RdsnHeader(request, request.header.name, request.context | kRdsnRequest,
                                  request.header.from, ErrorCode::kOk, body.size());
  if (checksums == Checksums::kHeaderAndBody) AddChecksums(body, &header);
  return header;
}

std::string RdsnReplyHeader(const Frame& request, ErrorCode error, Endpoint from,
                            std::string_view body, Checksums checksums) {
  std::string header = RdsnReplyHeader(request, error, from, body.size());
  if (checksums == Checksums::kHeaderAndBody) AddChecksums(body, &header);
  return header;
}

std::string RdsnReplyHeader(const Frame& request, ErrorCode error, Endpoint from,
                            size_t body_bytes) {
  return RdsnHeader(request, request.header.name + "_ACK", request.context & ~kRdsnRequest, from,
                    error, body_bytes);
}

std::string ThriftReplyHeader(const Frame& request, ErrorCode error, size_t body_bytes) {
  std::string_view error_name = ErrorCodeName(SafeForThriftClients(error));
  std::string out;
  out.reserve(4 + 4 + error_name.size() + 12 + request.header.name.size() + 4 +
              (error == ErrorCode::kOk ? body_bytes : 0));
  // The total length stands first and is known last.
  out.append(4, '\0');
  AppendBig<uint32_t>(static_cast<uint32_t>(error_name.size()), &out);
  out.append(error_name);
  AppendMessageBegin(kReply, request.header.name, "_ACK", static_cast<int32_t>(request.id), &out);
  // Clients read no result behind an error.
  size_t total = out.size() + (error == ErrorCode::kOk ? body_bytes : 0);
  StoreBig(static_cast<uint32_t>(total), out.data());
  return out;
}

std::string ThriftRequestHeader(const Frame& request, size_t body_bytes) {
  const RequestHeader& header = request.header;
  std::string begin;
  AppendMessageBegin(kCall, header.name, "", static_cast<int32_t>(request.id), &begin);
  auto length = static_cast<uint32_t>(begin.size() + body_bytes);
  std::string out(kThriftMagic);
  if (header.framing == Framing::kThriftV1) {
    std::string meta = EncodeThriftRequestMeta(
        {.app_id = header.pid.app_id,
         .partition_index = header.pid.index,
         .client_timeout = header.timeout_ms,
         .client_partition_hash = static_cast<int64_t>(header.partition_hash),
         .is_backup_request = header.is_backup_request});
    AppendBig<uint32_t>(1, &out);
    AppendBig<uint32_t>(static_cast<uint32_t>(meta.size()), &out);
    AppendBig(length, &out);
    out += meta;
  } else {
    AppendBig<uint32_t>(0, &out);
    AppendBig<uint32_t>(kThriftV0HeaderBytes, &out);
    AppendBig<uint32_t>(0, &out);
    AppendBig(length, &out);
    AppendBig<uint32_t>(0, &out);
    AppendBig(header.pid.app_id, &out);
    AppendBig(header.pid.index, &out);
    AppendBig(header.timeout_ms, &out);
    AppendBig(header.thread_hash, &out);
    AppendBig(header.partition_hash, &out);
  }
  return out + begin;
}

}  // namespace arion
