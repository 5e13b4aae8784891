// RemoteCommands: what tools have a server do by words (RPC_CLI_CLI_CALL).
//
//   commands.Add("flush-log", "", "flushes the server's text log", [](const Words&) {
//     FlushLog();
//     return std::string("OK");
//   });
//
// Shapes    An answer is text. Commands that show and set one value answer JSON: {"error": "ok",
//           "<command>": value}, or {"error": "ok", "result": "OK"} for a change, "ERR: ..." for
//           one that was refused. The answer to an unknown command names it. No word ends in a
//           shell or a path.
// Threads   Add before the first Handle; Handle from any thread. Commands run in the pool given,
//           and may wait.
// Lifetime  The pool outlives the last request.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace arion {

class DiskPool;
struct InboundRequest;
class LiveSettings;

// One for a server program. `help` is one of the commands.
class RemoteCommands {
 public:
  using Words = std::vector<std::string>;
  using Run = std::function<std::string(const Words& arguments)>;

  explicit RemoteCommands(DiskPool& pool);

  // `usage`: the arguments; `help`: one line.
  void Add(std::string name, std::string usage, std::string help, Run run);
  // A command that shows and sets a setting; `unit` is put behind the number that is set.
  void AddSetting(std::string name, LiveSettings& settings, std::string key, std::string unit,
                  std::string help);
  // A command of older versions that Arion does not have; its answer is why.
  void AddRefused(std::string name, std::string why);

  // Takes the request and answers it later. False: it is not a remote command.
  bool Handle(InboundRequest& request);
  // Runs a command on the calling thread.
  std::string Answer(const std::string& name, const Words& arguments) const;

 private:
  struct Command {
    std::string usage, help;
    Run run;
  };
  struct Book {
    std::map<std::string, Command> commands;
    std::atomic<int> waiting{0};
  };
  std::string Help(const Words& arguments) const;

  DiskPool& pool_;
  const std::shared_ptr<Book> book_ = std::make_shared<Book>();
};

// {"error": "ok", "<name>": "<value>"}
std::string CommandJson(std::string_view name, std::string_view value);
// "ERR: ..."
std::string CommandError(std::string_view why);

}  // namespace arion
