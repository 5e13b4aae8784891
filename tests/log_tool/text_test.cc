// What arion_log prints: digests, JSON, keys, blocks of other versions, progress.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/coding.h"
#include "tools/log/json_line.h"
#include "tools/log/payload_keys.h"
#include "tools/log/progress.h"
#include "tools/log/sha256.h"
#include "tools/log/unreadable_block.h"
#include "tools/log/update_text.h"

namespace arion::logtool {
namespace {

TEST(Sha256, MeetsTheStandardsVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(JsonLine, KeepsOrderAndEscapesAnyByte) {
  std::string out;
  const Print print = [&](std::string_view text) { out += text; };
  JsonLine line(print);
  line.Add("b", std::string_view("q\"\\\n\xff\xc3\xa9", 7)).Add("a", int64_t{-1});
  line.BeginList("l").BeginItem().Add("x", 1).EndItem().BeginItem().Add("x", 2).EndItem().EndList();
  line.Finish();
  EXPECT_EQ(out, "{\"b\":\"q\\\"\\\\\\n\xc3\xbf\xc3\xa9\",\"a\":-1,\"l\":[{\"x\":1},{\"x\":2}]}\n");
}

TEST(JsonLine, PrintsLongListsInPieces) {
  std::string out;
  size_t largest = 0;
  const Print print = [&](std::string_view text) {
    out += text;
    largest = std::max(largest, text.size());
  };
  JsonLine line(print);
  line.BeginList("l");
  for (int i = 0; i < 10000; ++i) line.BeginItem().Add("i", i).EndItem();
  line.EndList();
  line.Finish();
  EXPECT_LT(largest, 20u << 10);
  EXPECT_EQ(std::count(out.begin(), out.end(), '{'), 10001);
  EXPECT_EQ(out.find("}{"), std::string::npos);
  EXPECT_EQ(out.substr(out.size() - 13), "{\"i\":9999}]}\n");
}

// ---- payloads (wal/FORMAT.md 3.2) ----

std::string Blob(std::string_view bytes) {
  std::string out;
  AppendBig(static_cast<int32_t>(bytes.size()), &out);
  return out += bytes;
}
std::string Field(uint8_t type, int16_t id, const std::string& value) {
  std::string out(1, static_cast<char>(type));
  AppendBig(id, &out);
  return out + value;
}
std::string List(uint8_t type, const std::vector<std::string>& items) {
  std::string out(1, static_cast<char>(type));
  AppendBig(static_cast<int32_t>(items.size()), &out);
  for (const std::string& item : items) out += item;
  return out;
}
std::string I32(int32_t value) {
  std::string out;
  AppendBig(value, &out);
  return out;
}
const std::string kStop(1, '\0');
std::string Wrapped(const std::string& value) { return Field(12, 0, value) + kStop; }

std::string KeysOf(WriteCode code, const std::string& payload) {
  return KeysText({.code = code, .serialization = 1, .data = payload});
}

TEST(PayloadKeys, OfEachCode) {
  const std::string raw = JoinRawKey("h", "s");
  EXPECT_EQ(KeysOf(WriteCode::kPut, Wrapped(Field(12, 1, Blob(raw)) + Field(12, 2, Blob("v")) +
                                            Field(8, 3, I32(0)) + kStop)),
            "h : s");
  EXPECT_EQ(KeysOf(WriteCode::kRemove, Wrapped(Blob(raw))), "h : s");
  const std::string a = Field(12, 1, Blob("a")) + Field(12, 2, Blob("v")) + kStop;
  const std::string b = Field(12, 1, Blob("b\n")) + Field(12, 2, Blob("v")) + kStop;
  EXPECT_EQ(KeysOf(WriteCode::kMultiPut,
                   Wrapped(Field(12, 1, Blob("h")) + Field(15, 2, List(12, {a, b})) +
                           Field(8, 3, I32(0)) + kStop)),
            "h : a, h : b\\n");
  EXPECT_EQ(KeysOf(WriteCode::kMultiRemove,
                   Wrapped(Field(12, 1, Blob("h")) +
                           Field(15, 2, List(12, {Blob("a"), Blob("b")})) + kStop)),
            "h : a, h : b");
  EXPECT_EQ(
      KeysOf(WriteCode::kCheckAndSet, Wrapped(Field(12, 1, Blob("h")) + Field(12, 2, Blob("c")) +
                                              Field(12, 6, Blob("s")) + kStop)),
      "h : c, h : s");
  const std::string mutate = Field(8, 1, I32(0)) + Field(12, 2, Blob("m")) + kStop;
  EXPECT_EQ(
      KeysOf(WriteCode::kCheckAndMutate, Wrapped(Field(12, 1, Blob("h")) + Field(12, 2, Blob("c")) +
                                                 Field(15, 5, List(12, {mutate})) + kStop)),
      "h : c, h : m");
  EXPECT_EQ(KeysOf(WriteCode::kEmpty, ""), "");
}

TEST(PayloadKeys, OfBothFormsOfADuplicate) {
  const std::string entry = Field(12, 2, Blob("RPC_RRDB_RRDB_REMOVE")) +
                            Field(12, 3, Blob(Wrapped(Blob(JoinRawKey("h", "s"))))) + kStop;
  EXPECT_EQ(KeysOf(WriteCode::kDuplicate, Wrapped(entry)), "h : s");
  EXPECT_EQ(KeysOf(WriteCode::kDuplicate, Wrapped(Field(15, 1, List(12, {entry, entry})) + kStop)),
            "h : s, h : s");
}

TEST(PayloadKeys, WhatIsNotAPayloadIsSaidAndShownUpTo16Keys) {
  EXPECT_EQ(KeysOf(WriteCode::kPut, "rubbish").substr(0, 1), "?");
  EXPECT_EQ(KeysOf(WriteCode::kRemove, Wrapped(I32(-5))).substr(0, 1), "?");
  EXPECT_EQ(KeysOf(WriteCode::kMultiRemove,
                   Wrapped(Field(12, 1, Blob("h")) +
                           Field(15, 2, List(12, std::vector<std::string>(20, Blob("s")))) + kStop))
                .substr(15 * 7),
            "h : s, and 4 more");
}

TEST(UnreadableBlock, ShowsCodesOfOtherVersionsByNameAndSize) {
  std::string mutation;
  AppendLittle(int64_t{0}, &mutation);
  AppendLittle(int32_t{2}, &mutation);
  AppendLittle(int32_t{1}, &mutation);
  for (const int64_t number : {3, 7, 92, 6, 0}) AppendLittle(number, &mutation);
  AppendLittle(int32_t{1}, &mutation);
  AppendLittle(int32_t{12}, &mutation);
  mutation += "RPC_NEW_CODE";
  AppendLittle(int32_t{1}, &mutation);
  AppendLittle(int32_t{5}, &mutation);
  mutation += "12345";
  EXPECT_EQ(UnreadableBlockText(mutation),
            "    2.1  decree 7  ballot 3  says it is at 92  RPC_NEW_CODE(5)\n");
  EXPECT_EQ(UnreadableBlockText("xyz"), "    no mutation in the last 3 bytes\n");
  for (size_t n = 0; n < mutation.size(); ++n) (void)UnreadableBlockText(mutation.substr(0, n));
}

class HandClock : public Clock {
 public:
  Instant Now() const override { return now; }
  int64_t WallMicros() const override { return 0; }
  Instant now;
};

TEST(Progress, IsSilentForASecondThenTellsRateAndWhatIsLeft) {
  HandClock clock;
  std::vector<std::string> lines;
  Progress progress(clock, "verify", [&](std::string_view line) { lines.emplace_back(line); });
  progress.Expect(40'000'000);
  clock.now = clock.now + absl::Milliseconds(999);
  progress.Add(5'000'000);
  EXPECT_TRUE(lines.empty());
  clock.now = clock.now + absl::Milliseconds(1001);
  progress.Add(5'000'000);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "\rverify  10.0 MB of 40.0 MB  25 %  5.00 MB/s  6 s left\x1b[K");
  progress.Add(1);  // too early for another one
  EXPECT_EQ(lines.size(), 1u);
  progress.Clear();
  EXPECT_EQ(lines.back(), "\r\x1b[K");
}

}  // namespace
}  // namespace arion::logtool
