// SPDX-License-Identifier: Apache-2.0
#include "rpc/encoded_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "messages/client_messages.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

const std::vector<KeyValue> kRows = {{"a", "1", {}},
                                     {"", "", {}},
                                     {std::string(300, 'k'), std::string(70000, 'v'), 5},
                                     {"z", "", -1}};

// `response`, whose rows are encoded one by one.
template <class Response>
std::string OneByOne(Response response) {
  EncodedRows rows;
  for (const KeyValue& row : response.kvs) rows.Add(row.key, row.value, row.expire_ts_seconds);
  response.kvs.clear();
  return std::move(rows).Finish(response);
}

TEST(EncodedRowsTest, AreTheBytesOfTheWholeMessage) {
  MultiGetResponse get{
      .error = 7, .kvs = kRows, .app_id = 2, .partition_index = 1, .server = "127.0.0.1:34801"};
  EXPECT_EQ(OneByOne(get), EncodeWrapped(get));
  get.kvs.clear();
  EXPECT_EQ(OneByOne(get), EncodeWrapped(get));
  ScanResponse scan{.kvs = kRows, .context_id = 1234567890123, .app_id = 2, .server = "s"};
  EXPECT_EQ(OneByOne(scan), EncodeWrapped(scan));
  scan = {.kvs = {}, .kv_count = 17};
  EXPECT_EQ(OneByOne(scan), EncodeWrapped(scan));
}

TEST(EncodedRowsTest, TurnAround) {
  EncodedRows rows;
  for (const KeyValue& row : kRows) rows.Add(row.key, row.value, row.expire_ts_seconds);
  rows.Reverse();
  const MultiGetResponse whole{.kvs = {kRows.rbegin(), kRows.rend()}};
  EXPECT_EQ(std::move(rows).Finish(MultiGetResponse()), EncodeWrapped(whole));
}

}  // namespace
}  // namespace arion
