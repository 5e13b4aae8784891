// SPDX-License-Identifier: Apache-2.0
#include "tools/log/server_commands.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/fuzz/memory_files.h"

namespace arion::logtool {
namespace {

// A server is about to stop: its last work is done by the time its lock can be had.
class StoppingServerFiles : public MemoryFiles {
 public:
  explicit StoppingServerFiles(std::function<void(MemoryFiles& files)> last_work)
      : last_work_(std::move(last_work)) {}
  absl::StatusOr<std::unique_ptr<WritableFile>> Lock(const std::string& path) override {
    last_work_(*this);
    return OpenForWrite(path, CreateMode::kTruncate);
  }

 private:
  const std::function<void(MemoryFiles& files)> last_work_;
};

void AddReplica(MemoryFiles& files, const std::string& directory) {
  files.Put(directory + "/.init-info", "{\"init_offset_in_shared_log\":0}");
  files.Put(directory + "/.arion-log", "");
}

absl::Status PrepareRollback(MemoryFiles& files, std::string* said) {
  return RunServerCommand(files,
                          {.kind = ServerCommand::Kind::kPrepareRollback,
                           .directories = {"/server"},
                           .doing = ServerCommand::Doing::kDoes},
                          [said](std::string_view text) { said->append(text); });
}

TEST(ServerCommandsTest, ARollbackPreparesWhatIsThereOnceItHasTheLocks) {
  StoppingServerFiles files(
      [](MemoryFiles& now) { AddReplica(now, "/server/d1/reps/2.1.pegasus"); });
  AddReplica(files, "/server/d1/reps/2.0.pegasus");
  std::string said;
  const absl::Status prepared = PrepareRollback(files, &said);
  ASSERT_TRUE(prepared.ok()) << prepared;
  EXPECT_EQ(said,
            "2.0: .arion-log removed\n2.1: .arion-log removed\n"
            "shared log: none\n2 replicas prepared\n");
}

TEST(ServerCommandsTest, ARollbackIsRefusedWhereADirectoryCameThatIsNotLocked) {
  StoppingServerFiles files(
      [](MemoryFiles& now) { AddReplica(now, "/server/d2/reps/2.1.pegasus"); });
  AddReplica(files, "/server/d1/reps/2.0.pegasus");
  std::string said;
  EXPECT_TRUE(absl::IsUnavailable(PrepareRollback(files, &said)));
  EXPECT_NE(files.all().count("/server/d1/reps/2.0.pegasus/.arion-log"), 0u) << "nothing is done";
}

}  // namespace
}  // namespace arion::logtool
