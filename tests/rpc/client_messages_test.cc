// What real clients send and accept (rpc/PROTOCOL.md 5 to 7), byte by byte.
// SPDX-License-Identifier: Apache-2.0
#include "messages/client_messages.h"

#include <gtest/gtest.h>

#include "rpc/thrift_codec.h"
#include "tests/rpc/fixtures.h"

namespace arion {
namespace {

// Decodes the captured argument, expects `value`, and its bytes again with the clients' field id.
template <class T>
void ExpectArgument(const std::string& hex, const T& value) {
  const std::string bytes = FromHex(hex);
  const absl::StatusOr<T> decoded = DecodeWrapped<T>(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, value);
  EXPECT_EQ(EncodeWrapped(*decoded, PeerGeneration::kNone, 1), bytes);
}
// The same for arguments with fields left out, which we never do.
template <class T>
void ExpectSparseArgument(const std::string& hex, const T& value) {
  const absl::StatusOr<T> decoded = DecodeWrapped<T>(FromHex(hex));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, value);
  EXPECT_EQ(*DecodeWrapped<T>(EncodeWrapped(*decoded)), value);
}

const std::string kRawKey("\0\2h1s1", 6);

TEST(ClientMessagesTest, SingleKeysOfAllClients) {
  ExpectArgument("0c0001 00000006 000268317331 00", Blob(kRawKey));
  ExpectArgument("0c0001 00000002 6831 00", Blob("h1"));
}

TEST(ClientMessagesTest, PutOfAllClients) {
  const std::string head = "0c0001 0c0001 00000006 000268317331 0c0002 00000002 7631 080003 ";
  ExpectArgument(head + "00000000 00 00", UpdateRequest{.key = kRawKey, .value = "v1"});
  ExpectArgument(head + "147b5290 00 00", UpdateRequest{kRawKey, "v1", 0x147b5290});
  ExpectArgument(head + "00000064 00 00", UpdateRequest{kRawKey, "v1", 100});
}

TEST(ClientMessagesTest, MultiPutOfGoAndPython) {
  ExpectArgument(
      "0c0001 0c0001 00000002 6831 0f0002 0c 00000002 0c0001 00000002 7331 0c0002 00000002 7631 00 "
      "0c0001 00000002 7332 0c0002 00000002 7632 00 080003 00000000 00 00",
      MultiPutRequest{.hash_key = "h1", .kvs = {{"s1", "v1", {}}, {"s2", "v2", {}}}});
}

TEST(ClientMessagesTest, MultiRemoveOfGoJavaAndPython) {
  const std::string head =
      "0c0001 0c0001 00000002 6831 0f0002 0c 00000002 00000002 7331 00000002 7332 ";
  MultiRemoveRequest request{.hash_key = "h1", .sort_keys = {"s1", "s2"}};
  ExpectArgument(head + "0a0003 0000000000000000 00 00", request);
  ExpectSparseArgument(head + "00 00", request);
  request.max_count = 100;
  ExpectArgument(head + "0a0003 0000000000000064 00 00", request);
}

TEST(ClientMessagesTest, MultiGetOfGo) {
  ExpectArgument(
      "0c0001 0c0001 00000002 6831 0f0002 0c 00000002 00000002 7331 00000002 7332 080003 00000064 "
      "080004 000186a0 020005 00 0c0006 00000000 0c0007 00000000 020008 01 020009 00 08000a "
      "00000000 0c000b 00000000 02000c 00 00 00",
      MultiGetRequest{.hash_key = "h1",
                      .sort_keys = {"s1", "s2"},
                      .max_kv_count = 100,
                      .max_kv_size = 100000,
                      .start_inclusive = true});
}

TEST(ClientMessagesTest, MultiGetRangeOfJavaLeavesOutWhatIsNull) {
  ExpectSparseArgument(
      "0c0001 0c0001 00000002 6831 080003 0000000a 080004 00000064 020005 00 0c0006 00000002 7331 "
      "020008 01 020009 00 08000a 00000000 02000c 00 00 00",
      MultiGetRequest{.hash_key = "h1",
                      .max_kv_count = 10,
                      .max_kv_size = 100,
                      .start_sort_key = "s1",
                      .start_inclusive = true});
}

TEST(ClientMessagesTest, MultiGetOfPypegasusAndNodeExcludesItsStart) {
  ExpectSparseArgument(
      "0c0001 0c0001 00000002 6831 0f0002 0c 00000000 080003 00000064 080004 000f4240 020005 00 00 "
      "00",
      MultiGetRequest{.hash_key = "h1", .max_kv_count = 100, .max_kv_size = 1000000});
  ExpectSparseArgument(
      "0c0001 0c0001 00000002 6831 080003 0000000a 080004 000003e8 020005 00 00 00",
      MultiGetRequest{.hash_key = "h1", .max_kv_count = 10, .max_kv_size = 1000});
}

TEST(ClientMessagesTest, BatchGetOfJava) {
  ExpectArgument(
      "0c0001 0f0001 0c 00000002 0c0001 00000002 6831 0c0002 00000002 7331 00 0c0001 00000002 6831 "
      "0c0002 00000002 7332 00 00 00",
      BatchGetRequest{.keys = {{"h1", "s1"}, {"h1", "s2"}}});
}

TEST(ClientMessagesTest, IncrOfGoAndJava) {
  ExpectArgument(
      "0c0001 0c0001 00000006 000268317331 0a0002 0000000000000005 080003 00000000 00 00",
      IncrRequest{.key = kRawKey, .increment = 5});
}

TEST(ClientMessagesTest, CheckAndSetOfJavaLeavesOutItsOperand) {
  ExpectSparseArgument(
      "0c0001 0c0001 00000002 6831 0c0002 00000002 7331 080003 00000001 020005 01 0c0006 00000002 "
      "7332 0c0007 00000002 7631 080008 00000000 020009 01 00 00",
      CheckAndSetRequest{.hash_key = "h1",
                         .check_sort_key = "s1",
                         .check_type = 1,
                         .set_diff_sort_key = true,
                         .set_sort_key = "s2",
                         .set_value = "v1",
                         .return_check_value = true});
}

TEST(ClientMessagesTest, CheckAndMutateOfJavaLeavesOutItsOperand) {
  ExpectSparseArgument(
      "0c0001 0c0001 00000002 6831 0c0002 00000002 7331 080003 00000003 0f0005 0c 00000002 080001 "
      "00000000 0c0002 00000002 7333 0c0003 00000002 7631 080004 147b53a9 00 080001 00000001 "
      "0c0002 00000002 7334 080004 00000000 00 020006 00 00 00",
      CheckAndMutateRequest{
          .hash_key = "h1",
          .check_sort_key = "s1",
          .check_type = 3,
          .mutate_list = {{Mutate::kPut, "s3", "v1", 0x147b53a9}, {Mutate::kDelete, "s4", "", 0}}});
}

TEST(ClientMessagesTest, GetScannerOfGo) {
  ExpectArgument(
      "0c0001 0c0001 00000004 00026831 0c0002 00000006 00026831ffff 020003 01 020004 00 080005 "
      "000003e8 020006 00 080007 00000000 0c0008 00000000 080009 00000000 0c000a 00000000 02000b "
      "00 00 00",
      GetScannerRequest{.start_key = FromHex("00026831"),
                        .stop_key = FromHex("00026831ffff"),
                        .start_inclusive = true,
                        .batch_size = 1000,
                        .validate_partition_hash = false});
}

TEST(ClientMessagesTest, GetScannerOfJavaAndPypegasusLeavesTheHashCheckOn) {
  ExpectSparseArgument(
      "0c0001 0c0001 00000004 00026831 0c0002 00000004 00026832 020003 01 020004 00 080005 "
      "00000064 020006 00 080007 00000000 080009 00000000 00 00",
      GetScannerRequest{.start_key = FromHex("00026831"),
                        .stop_key = FromHex("00026832"),
                        .start_inclusive = true,
                        .batch_size = 100});
  ExpectSparseArgument(
      "0c0001 0c0001 00000002 0000 0c0002 00000004 c3bfc3bf 020003 01 020004 00 080005 000003e8 00 "
      "00",
      GetScannerRequest{.start_key = FromHex("0000"),
                        .stop_key = FromHex("c3bfc3bf"),
                        .start_inclusive = true,
                        .batch_size = 1000});
}

// Arion's own.
TEST(ClientMessagesTest, ASumOfRecordsInTheirPlace) {
  ExpectArgument(
      "0c0001 0c0001 00000000 0c0002 00000000 020003 00 020004 00 080005 00000000 020006 00 080007 "
      "00000000 0c0008 00000000 080009 00000000 0c000a 00000000 0203e8 01 00 00",
      GetScannerRequest{.only_return_sum = true});
  EXPECT_EQ(
      EncodeWrapped(ScanResponse{.kv_count = 3, .sum = -2, .next_key = Blob("k")}),
      FromHex("0c0000 080001 00000000 0f0002 0c 00000000 0a0003 ffffffffffffffff 080004 00000000 "
              "080005 00000000 0b0006 00000000 080007 00000003 0a03e8 fffffffffffffffe 0c03e9 "
              "00000001 6b 00 00"));
}

TEST(ClientMessagesTest, ScansOfAllClients) {
  ExpectArgument("0c0001 0a0001 000000000000004d 00 00", ScanRequest{.context_id = 77});
  ExpectArgument("0a0001 000000000000004d 00", int64_t{77});
}

TEST(ClientMessagesTest, IncrAnswerIsTheOneThatClientsAccepted) {
  EXPECT_EQ(EncodeWrapped(IncrResponse{
                .new_value = 42, .app_id = 2, .decree = 7, .server = "127.0.0.1:34601"}),
            FromHex("0c0000 080001 00000000 0a0002 000000000000002a 080003 00000002 080004 "
                    "00000000 0a0005 0000000000000007 0b0006 0000000f "
                    "3132372e302e302e313a3334363031 00 00"));
}

// Go and Node read them without looking whether they are there.
TEST(ClientMessagesTest, EveryFieldOfAnAnswerIsWrittenThoughEmpty) {
  EXPECT_EQ(EncodeWrapped(ReadResponse{}),
            FromHex("0c0000 080001 00000000 0c0002 00000000 080003 00000000 080004 00000000 0b0006 "
                    "00000000 00 00"));
  EXPECT_EQ(EncodeWrapped(MultiGetResponse{.kvs = {{"s", "", {}}}}),
            FromHex("0c0000 080001 00000000 0f0002 0c 00000001 0c0001 00000001 73 0c0002 00000000 "
                    "00 080003 00000000 080004 00000000 0b0006 00000000 00 00"));
  EXPECT_EQ(EncodeWrapped(BatchGetResponse{.data = {{"h", "s", ""}}}),
            FromHex("0c0000 080001 00000000 0f0002 0c 00000001 0c0001 00000001 68 0c0002 00000001 "
                    "73 0c0003 00000000 00 080003 00000000 080004 00000000 0b0006 00000000 00 00"));
  EXPECT_EQ(EncodeWrapped(CountResponse{.count = -1}),
            FromHex("0c0000 080001 00000000 0a0002 ffffffffffffffff 080003 00000000 080004 "
                    "00000000 0b0006 00000000 00 00"));
  EXPECT_EQ(EncodeWrapped(MultiRemoveResponse{.count = 2}),
            FromHex("0c0000 080001 00000000 0a0002 0000000000000002 080003 00000000 080004 "
                    "00000000 0a0005 ffffffffffffffff 0b0006 00000000 00 00"));
  EXPECT_EQ(EncodeWrapped(CheckResponse{}),
            FromHex("0c0000 080001 00000000 020002 00 020003 00 0c0004 00000000 080005 00000000 "
                    "080006 00000000 0a0007 ffffffffffffffff 0b0008 00000000 00 00"));
  EXPECT_EQ(EncodeWrapped(ScanResponse{}),
            FromHex("0c0000 080001 00000000 0f0002 0c 00000000 0a0003 ffffffffffffffff 080004 "
                    "00000000 080005 00000000 0b0006 00000000 00 00"));
  EXPECT_EQ(
      EncodeWrapped(ScanResponse{.kvs = {{"k", "", 9}}, .context_id = 5, .kv_count = 3}),
      FromHex("0c0000 080001 00000000 0f0002 0c 00000001 0c0001 00000001 6b 0c0002 00000000 080003 "
              "00000009 00 0a0003 0000000000000005 080004 00000000 080005 00000000 0b0006 00000000 "
              "080007 00000003 00 00"));
}

}  // namespace
}  // namespace arion
