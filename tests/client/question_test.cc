// SPDX-License-Identifier: Apache-2.0
#include "client/question.h"
#include "base/error_code.h"

#include <gtest/gtest.h>

#include "base/crc.h"
#include "base/raw_key.h"
#include "rpc/thrift_codec.h"

namespace arion {
namespace {

using Kind = Question::Kind;

template <class Response>
Body Answered(Response response, StorageError error = StorageError::kOk) {
  response.error = static_cast<int32_t>(error);
  return EncodeWrapped(response);
}

// What all questions about "h" have in common: they go where its records lie.
void ExpectQuestion(const Question& question, const char* name, Kind kind) {
  EXPECT_STREQ(question.name, name);
  EXPECT_EQ(question.kind, kind) << name;
  EXPECT_EQ(question.partition_hash, Crc64("h")) << name;
  EXPECT_FALSE(question.body.empty()) << name;
}

TEST(Question, EachGoesWhereItsHashKeyLies) {
  const std::string key = JoinRawKey("h", "s");
  ExpectQuestion(GetQuestion(key), kRpcGet, Kind::kRead);
  ExpectQuestion(TtlQuestion(key), kRpcTtl, Kind::kRead);
  ExpectQuestion(RemoveQuestion(key), kRpcRemove, Kind::kWrite);
  ExpectQuestion(SortKeyCountQuestion("h"), kRpcSortKeyCount, Kind::kRead);
  ExpectQuestion(QuestionOf(UpdateRequest{.key = key}), kRpcPut, Kind::kWrite);
  ExpectQuestion(QuestionOf(MultiPutRequest{.hash_key = "h"}), kRpcMultiPut, Kind::kWrite);
  ExpectQuestion(QuestionOf(MultiRemoveRequest{.hash_key = "h"}), kRpcMultiRemove, Kind::kWrite);
  ExpectQuestion(QuestionOf(MultiGetRequest{.hash_key = "h"}), kRpcMultiGet, Kind::kRead);
}

// What the server decides from what it holds must not happen twice.
TEST(Question, DecidedWritesSaySo) {
  ExpectQuestion(QuestionOf(IncrRequest{.key = JoinRawKey("h", "s")}), kRpcIncr,
                 Kind::kDecidedWrite);
  ExpectQuestion(QuestionOf(CheckAndSetRequest{.hash_key = "h"}), kRpcCheckAndSet,
                 Kind::kDecidedWrite);
  ExpectQuestion(QuestionOf(CheckAndMutateRequest{.hash_key = "h"}), kRpcCheckAndMutate,
                 Kind::kDecidedWrite);
}

TEST(Question, WithoutAHashKeyTheSortKeyRoutes) {
  EXPECT_EQ(GetQuestion(JoinRawKey("", "s")).partition_hash, Crc64("s"));
  EXPECT_EQ(QuestionOf(IncrRequest{.key = JoinRawKey("", "s")}).partition_hash, Crc64("s"));
}

TEST(Question, ABatchGoesWhereItsFirstKeyLies) {
  BatchGetRequest request;
  EXPECT_EQ(QuestionOf(request).partition_hash, Crc64(""));
  request.keys = {{.hash_key = "h", .sort_key = "s"}, {.hash_key = "other", .sort_key = "s"}};
  ExpectQuestion(QuestionOf(request), kRpcBatchGet, Kind::kRead);
  request.keys[0].hash_key = "";
  EXPECT_EQ(QuestionOf(request).partition_hash, Crc64("s"));
}

TEST(Question, AScanGoesToThePartitionItIsToldOf) {
  EXPECT_EQ(QuestionOf(GetScannerRequest(), 7).partition_hash, 7u);
  EXPECT_EQ(QuestionOf(ScanRequest(), 8).partition_hash, 8u);
  EXPECT_STREQ(QuestionOf(GetScannerRequest(), 7).name, kRpcGetScanner);
  EXPECT_STREQ(QuestionOf(ScanRequest(), 8).name, kRpcScan);
}

TEST(Question, ItsBodyIsTheRequest) {
  const UpdateRequest put{.key = JoinRawKey("h", "s"), .value = "v", .expire_ts_seconds = 9};
  EXPECT_EQ(DecodeWrapped<UpdateRequest>(QuestionOf(put).body).value(), put);
  EXPECT_EQ(DecodeWrapped<Blob>(GetQuestion("raw").body).value(), Blob("raw"));
}

TEST(Question, AnswersAreWhatTheServerSaid) {
  EXPECT_TRUE(PutAnswer(Answered(UpdateResponse())).ok());
  EXPECT_TRUE(MultiRemoveAnswer(Answered(MultiRemoveResponse())).ok());
  EXPECT_EQ(GetAnswer(Answered(ReadResponse{.value = "v"})).value(), "v");
  EXPECT_EQ(TtlAnswer(Answered(TtlResponse{.ttl_seconds = -1})).value(), -1);
  EXPECT_EQ(IncrAnswer(Answered(IncrResponse{.new_value = 5})).value(), 5);
  EXPECT_EQ(CountAnswer(Answered(CountResponse{.count = 3})).value(), 3);
  EXPECT_TRUE(BatchGetAnswer(Answered(BatchGetResponse())).ok());
}

TEST(Question, WithoutAnAnswerTheReasonIsPassedOn) {
  const Body none = absl::UnavailableError("nobody there");
  EXPECT_EQ(PutAnswer(none), none.status());
  EXPECT_EQ(GetAnswer(none).status(), none.status());
  EXPECT_EQ(ScanAnswer(none).status(), none.status());
}

TEST(Question, WhatCanNotBeReadLeavesAWriteOpenAndFailsARead) {
  const Body torn = std::string("?");
  EXPECT_TRUE(absl::IsDeadlineExceeded(PutAnswer(torn)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(MultiRemoveAnswer(torn)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(IncrAnswer(torn).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(CheckAnswer(torn).status()));
  EXPECT_TRUE(absl::IsInternal(GetAnswer(torn).status()));
  EXPECT_TRUE(absl::IsInternal(MultiGetAnswer(torn).status()));
}

// The mutation was in the log before storage failed, so the write may have happened.
TEST(Question, FailedStorageLeavesAWriteOpenAndFailsARead) {
  for (const StorageError error : {StorageError::kIOError, StorageError::kCorruption}) {
    EXPECT_TRUE(absl::IsDeadlineExceeded(PutAnswer(Answered(UpdateResponse(), error))));
    EXPECT_TRUE(absl::IsInternal(GetAnswer(Answered(ReadResponse(), error)).status()));
  }
}

TEST(Question, WhatIsNotThereIsNotFound) {
  EXPECT_TRUE(
      absl::IsNotFound(GetAnswer(Answered(ReadResponse(), StorageError::kNotFound)).status()));
  EXPECT_TRUE(
      absl::IsNotFound(TtlAnswer(Answered(TtlResponse(), StorageError::kNotFound)).status()));
}

TEST(Question, WhatTheServerCallsNotValidWasNotWritten) {
  for (const StorageError error : {StorageError::kInvalidArgument, StorageError::kNotSupported})
    EXPECT_TRUE(absl::IsInvalidArgument(PutAnswer(Answered(UpdateResponse(), error))));
  const absl::Status no_number =
      IncrAnswer(Answered(IncrResponse(), StorageError::kInvalidArgument)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(no_number));
  EXPECT_NE(no_number.message().find("is to be a number"), absl::string_view::npos) << no_number;
}

// Each of these errors is an answer of its own kind of request, and of no other.
TEST(Question, AnErrorThatIsAnAnswerIsPassedOn) {
  const auto check = CheckAnswer(Answered(CheckResponse(), StorageError::kTryAgain));
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->error, static_cast<int32_t>(StorageError::kTryAgain));
  EXPECT_FALSE(CheckAnswer(Answered(CheckResponse(), StorageError::kIncomplete)).ok());
  const auto part = MultiGetAnswer(Answered(MultiGetResponse(), StorageError::kIncomplete));
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->error, static_cast<int32_t>(StorageError::kIncomplete));
  EXPECT_FALSE(MultiGetAnswer(Answered(MultiGetResponse(), StorageError::kTryAgain)).ok());
  const auto forgotten = ScanAnswer(Answered(ScanResponse(), StorageError::kNotFound));
  ASSERT_TRUE(forgotten.ok()) << forgotten.status();
  EXPECT_FALSE(BatchGetAnswer(Answered(BatchGetResponse(), StorageError::kNotFound)).ok());
}

TEST(Question, ACountThatWasGivenUpIsNone) {
  EXPECT_EQ(CountAnswer(Answered(CountResponse{.count = 0})).value(), 0);
  EXPECT_TRUE(absl::IsDeadlineExceeded(CountAnswer(Answered(CountResponse{.count = -1})).status()));
}

}  // namespace
}  // namespace arion
