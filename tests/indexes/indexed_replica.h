// IndexedReplica: an engine with indexes, a model of what it holds at each decree, and questions
// whose answers are compared with the model. Without a log: after a crash it stands at an earlier
// decree.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/raw_key.h"
#include "engine/engine.h"
#include "indexes/field_order.h"
#include "indexes/field_reader.h"
#include "indexes/index_build.h"
#include "indexes/index_finder.h"
#include "indexes/index_set.h"
#include "indexes/indexed_engine.h"
#include "tests/engine/test_environment.h"

namespace arion {

class IndexedReplica {
 public:
  using Model = std::map<std::string, std::string>;

  // `files`: of the environment.
  IndexedReplica(TestEnvironment& environment, EngineFactory& plain,
                 const IndexOptions& options = {})
      : environment_(environment), plain_(plain), indexed_(environment, plain, options) {
    Open();
  }

  Engine& engine() { return *engine_; }
  std::shared_ptr<const Engine> shared_engine() const { return engine_; }
  IndexSet& indexes() { return *engine_->indexes(); }
  const Model& model() const { return states_.back(); }
  EngineFactory& indexed() { return indexed_; }
  std::string data() const { return environment_.root() + "/1.0.pegasus/data"; }
  std::string index_directory() const { return environment_.root() + "/1.0.pegasus/index"; }

  void Open() {
    auto engine = indexed_.Open(data());
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    Opened();
  }
  void CrashAndOpen() {
    build_ = nullptr;
    engine_ = nullptr;
    Open();
  }
  void CloseAndOpen() {
    build_ = nullptr;
    ASSERT_TRUE(engine_->Close().ok());
    engine_ = nullptr;
    Open();
  }
  // As an older version, which knows no indexes.
  template <class Work>
  void WithOlderVersion(Work work) {
    build_ = nullptr;
    ASSERT_TRUE(engine_->Close().ok());
    engine_ = nullptr;
    auto engine = plain_.Open(data());
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    work();
    ASSERT_TRUE(engine_->Close().ok());
    engine_ = nullptr;
    Open();
  }

  // The data are a copy of an earlier moment again, and the indexes are not.
  void PutBackData(const std::string& copy) {
    build_ = nullptr;
    ASSERT_TRUE(engine_->Close().ok());
    engine_ = nullptr;
    std::filesystem::remove_all(data());
    std::filesystem::copy(copy, data(), std::filesystem::copy_options::recursive);
    Open();
  }

  // Several at once are one mutation.
  void Put(const std::vector<std::pair<std::string, std::string>>& records) {
    std::vector<std::string> keys;
    for (const auto& record : records) keys.push_back(JoinRawKey(record.first, "s"));
    std::vector<WriteOp> ops;
    Model next = model();
    for (size_t i = 0; i < records.size(); ++i) {
      ops.push_back({.key = keys[i], .value = records[i].second});
      next[records[i].first] = records[i].second;
    }
    Apply(ops, std::move(next));
  }
  void Remove(const std::string& name) {
    const std::string key = JoinRawKey(name, "s");
    Model next = model();
    next.erase(name);
    Apply({{.kind = WriteOp::Kind::kRemove, .key = key}}, std::move(next));
  }

  static std::vector<NamedIndex> Named(
      const std::vector<std::pair<std::string, std::string>>& texts) {
    std::vector<NamedIndex> indexes;
    for (const auto& [name, text] : texts) indexes.push_back({name, *IndexDefinition::Parse(text)});
    return indexes;
  }
  absl::Status Define(const std::vector<std::pair<std::string, std::string>>& texts) {
    build_ = nullptr;  // a build is of one list
    return indexes().Define(Named(texts), *engine_);
  }
  // One step of the build, which is begun if none is under way. false: nothing is to be built.
  bool BuildStep(int64_t records) {
    if (build_ == nullptr) {
      auto begun = indexes().BeginBuild(*engine_);
      EXPECT_TRUE(begun.ok()) << begun.status();
      build_ = *std::move(begun);
      if (build_ == nullptr) return false;
    }
    const absl::Status stepped = build_->Step(records);
    EXPECT_TRUE(stepped.ok()) << stepped;
    if (build_->is_done()) build_ = nullptr;
    return true;
  }
  void BuildAll() {
    while (BuildStep(1000)) {
    }
  }
  void DropBuild() { build_ = nullptr; }

  // The whole answer, page by page: the hash keys, in their order.
  absl::StatusOr<std::vector<std::string>> Find(FindRequest request) {
    std::vector<std::string> names;
    for (;;) {
      ASSIGN_OR_RETURN(const FindResponse page, FindPage(request));
      if (page.error != 0) return absl::UnavailableError("error " + std::to_string(page.error));
      for (const FoundRow& row : page.rows) {
        names.emplace_back(SplitRawKey(row.key)->hash_key);
        EXPECT_EQ(row.value.has_value(), request.with_value);
        if (row.value) {
          EXPECT_EQ(row.value->bytes, model().at(names.back()));
        }
      }
      EXPECT_LE(page.rows.size(), static_cast<size_t>(request.limit));
      if (!page.next) return names;
      EXPECT_TRUE(!request.after || *request.after != *page.next) << "it goes on";
      request.after = page.next;
    }
  }
  ReadTerms Terms() const {
    return {.pid = {1, 0},
            .server = "here",
            .now = 0,
            .clock = environment_.clock(),
            .deadline = Instant::InfiniteFuture()};
  }
  static absl::StatusOr<FindResponse> FindPageOf(const std::shared_ptr<const Engine>& engine,
                                                 const FindRequest& request,
                                                 const ReadTerms& terms) {
    IndexFinder finder(engine, request);
    for (;;) {
      ASSIGN_OR_RETURN(auto answer, finder.Turn(terms));
      if (answer) return *answer;
    }
  }
  absl::StatusOr<FindResponse> FindPage(const FindRequest& request) {
    return FindPageOf(engine_, request, Terms());
  }
  // What the model says.
  std::vector<std::string> Wanted(const FindRequest& request, const std::string& definition) {
    FieldReader reader({*IndexDefinition::Parse(definition)});
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [name, value] : model()) {
      const auto& fields = reader.Read(value);
      if (fields.empty() || !IsWithin(request, fields[0].field)) continue;
      std::string position;
      EXPECT_TRUE(AppendField(fields[0].field, &position));
      found.emplace_back(position + JoinRawKey(name, "s"), name);
    }
    std::sort(found.begin(), found.end());
    if (request.descending) std::reverse(found.begin(), found.end());
    std::vector<std::string> names;
    for (const auto& entry : found) names.push_back(entry.second);
    return names;
  }

 private:
  void Apply(const std::vector<WriteOp>& ops, Model next) {
    const absl::Status applied = engine_->Apply(engine_->last_applied() + 1, 1, ops);
    ASSERT_TRUE(applied.ok()) << applied;
    states_.push_back(std::move(next));
  }
  void Opened() {
    ASSERT_LT(static_cast<size_t>(engine_->last_applied().value()), states_.size());
    states_.resize(static_cast<size_t>(engine_->last_applied().value()) + 1);
  }

  TestEnvironment& environment_;
  EngineFactory& plain_;
  IndexedEngineFactory indexed_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<IndexBuild> build_;
  // By decree.
  std::vector<Model> states_{1};
};

}  // namespace arion
