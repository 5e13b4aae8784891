// SPDX-License-Identifier: Apache-2.0
#include "client/table_operations.h"

#include <utility>

#include "base/raw_key.h"

namespace arion {
namespace {

// Whether the keys can be sent at all; if not, `done` hears of it.
template <class Done>
bool Refuses(ClusterClient& client, std::string_view hash_key, Done& done) {
  if (hash_key.size() <= kHashKeyBytesMax) return false;
  client.strand()->Post([done = std::move(done)]() mutable {
    done(absl::InvalidArgumentError("hash key over 65534 bytes"));
  });
  return true;
}

// `answer`: what the body says.
template <class Answer, class Done>
void AskOfHashKey(ClusterClient& client, const std::string& table, std::string_view hash_key,
                  Question question, Answer answer, Done done) {
  if (Refuses(client, hash_key, done)) return;
  client.Ask(table, std::move(question), {},
             [answer, done = std::move(done)](auto body) mutable { done(answer(body)); });
}

}  // namespace

void MultiPut(ClusterClient& client, const std::string& table, const MultiPutRequest& request,
              ClusterClient::StatusCallback done) {
  AskOfHashKey(client, table, request.hash_key, QuestionOf(request), PutAnswer, std::move(done));
}

void MultiRemove(ClusterClient& client, const std::string& table, const MultiRemoveRequest& request,
                 ClusterClient::StatusCallback done) {
  AskOfHashKey(client, table, request.hash_key, QuestionOf(request), MultiRemoveAnswer,
               std::move(done));
}

void Incr(ClusterClient& client, const std::string& table, const IncrRequest& request,
          Answered<int64_t> done) {
  AskOfHashKey(client, table, "", QuestionOf(request), IncrAnswer, std::move(done));
}

void CheckAndSet(ClusterClient& client, const std::string& table, const CheckAndSetRequest& request,
                 Answered<CheckResponse> done) {
  AskOfHashKey(client, table, request.hash_key, QuestionOf(request), CheckAnswer, std::move(done));
}

void CheckAndMutate(ClusterClient& client, const std::string& table,
                    const CheckAndMutateRequest& request, Answered<CheckResponse> done) {
  AskOfHashKey(client, table, request.hash_key, QuestionOf(request), CheckAnswer, std::move(done));
}

void MultiGet(ClusterClient& client, const std::string& table, const MultiGetRequest& request,
              Answered<MultiGetResponse> done) {
  AskOfHashKey(client, table, request.hash_key, QuestionOf(request), MultiGetAnswer,
               std::move(done));
}

void CountSortKeys(ClusterClient& client, const std::string& table, std::string_view hash_key,
                   Answered<int64_t> done) {
  AskOfHashKey(client, table, hash_key, SortKeyCountQuestion(hash_key), CountAnswer,
               std::move(done));
}

}  // namespace arion
