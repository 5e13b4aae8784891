// SPDX-License-Identifier: Apache-2.0
#include "meta_ensemble/cluster_id_node.h"

#include <absl/strings/str_cat.h>

#include <memory>
#include <utility>

#include "base/cluster_identity.h"
#include "meta_ensemble/state_tree.h"
#include "zookeeper/zookeeper_session.h"

namespace arion {
namespace {

using Id = absl::StatusOr<std::optional<uint32_t>>;

class IdLearner : public std::enable_shared_from_this<IdLearner> {
 public:
  IdLearner(ZooKeeperSession& session, const std::string& root,
            std::function<uint32_t()> id_to_make, absl::AnyInvocable<void(Id)> done)
      : session_(session),
        folder_(root + "/arion"),
        path_(root + kClusterIdKey),
        id_to_make_(std::move(id_to_make)),
        done_(std::move(done)) {}

  void Read() {
    session_.Get(path_, [self = shared_from_this()](const absl::StatusOr<ZooKeeperNode>& node) {
      if (node.ok()) return self->Take(node->data);
      if (!absl::IsNotFound(node.status())) return self->Fail("can't read ", node.status());
      const uint32_t id = self->id_to_make_();
      if (id == 0) return self->done_(std::nullopt);
      MakePath(self->session_, self->folder_, [self, id](const absl::Status& made) {
        if (!made.ok()) return self->done_(made);
        self->Make(id);
      });
    });
  }

 private:
  void Make(uint32_t id) {
    session_.Create(path_, FormatClusterId(id), ZooKeeperSession::Mode::kPersistent,
                    [self = shared_from_this()](const absl::StatusOr<std::string>& made) {
                      // What is stored holds, whoever made it.
                      if (made.ok() || absl::IsAlreadyExists(made.status())) return self->Read();
                      self->Fail("can't make ", made.status());
                    });
  }
  void Take(const std::string& text) {
    if (const std::optional<uint32_t> id = ParseClusterId(text)) return done_(id);
    done_(absl::DataLossError(absl::StrCat(
        "node ", path_, " holds '", text, "', which is no cluster's id: write the 8 hexadecimal ",
        "digits into it that the servers' .arion-cluster files begin with")));
  }
  void Fail(const char* what, const absl::Status& why) {
    done_(absl::Status(why.code(), absl::StrCat(what, path_, ": ", why.message())));
  }

  ZooKeeperSession& session_;
  const std::string folder_;
  const std::string path_;
  const std::function<uint32_t()> id_to_make_;
  absl::AnyInvocable<void(Id)> done_;
};

}  // namespace

void LearnClusterId(ZooKeeperSession& session, const std::string& root,
                    std::function<uint32_t()> id_to_make, absl::AnyInvocable<void(Id)> done) {
  std::make_shared<IdLearner>(session, root, std::move(id_to_make), std::move(done))->Read();
}

}  // namespace arion
