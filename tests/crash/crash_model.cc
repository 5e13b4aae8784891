// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/crash_model.h"

#include <algorithm>
#include <map>

namespace arion::crash {
namespace {

// The part of sector `sector` that a write covers, as a range of the file.
std::pair<uint64_t, uint64_t> PartOf(const Op& write, uint64_t sector) {
  return {std::max(write.offset, sector * kSectorBytes),
          std::min(write.offset + write.bytes->size(), (sector + 1) * kSectorBytes)};
}

// A file's content while changes are laid over it. Bytes beyond the size are kept: the size may
// come later.
struct Draft {
  std::string bytes;
  uint64_t size = 0;
};

bool IsSame(std::string_view lower, uint64_t begin, std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char there = begin + i < lower.size() ? lower[begin + i] : '\0';
    if (there != bytes[i]) return false;
  }
  return true;
}

}  // namespace

CrashModel::CrashModel(Tree durable) : durable_(std::move(durable)) {
  for (auto& [number, node] : durable_.nodes) node.written_end = node.content->bytes.size();
}

size_t CrashModel::atoms() const {
  size_t n = 0;
  for (const Change& change : changes_) n += change.atoms();
  return n;
}

void CrashModel::AddWrite(const Op& op) {
  Change change{.op = op};
  const Node& node = durable_.nodes.at(op.inode);
  const uint64_t end = op.offset + op.bytes->size();
  change.complete = !op.direct;
  change.in_place = op.direct && end <= node.written_end;
  uint64_t size = node.content->bytes.size();
  bool is_overlaid = false;
  for (const Change& older : changes_) {
    if (older.op.inode != op.inode || older.op.kind == OpKind::kName) continue;
    if (older.op.kind == OpKind::kTruncate) {
      size = older.op.size;
      is_overlaid = true;
    } else {
      const uint64_t older_end = older.op.offset + older.op.bytes->size();
      size = std::max(size, older_end);
      is_overlaid = is_overlaid || (older.op.offset < end && op.offset < older_end);
    }
  }
  change.extends = end > size || is_overlaid;
  for (uint64_t sector = op.offset / kSectorBytes; sector * kSectorBytes < end; ++sector) {
    const auto [from, to] = PartOf(op, sector);
    const std::string_view bytes = std::string_view(*op.bytes).substr(from - op.offset, to - from);
    if (is_overlaid || !IsSame(node.content->bytes, from, bytes))
      change.sectors.push_back(static_cast<uint32_t>(sector));
  }
  changes_.push_back(std::move(change));
}

void CrashModel::Settle(const Change& change) {
  const Op& op = change.op;
  if (op.kind == OpKind::kName) {
    ApplyName(op, &durable_);
    return;
  }
  Node& node = durable_.nodes.at(op.inode);
  uint64_t dead_from = op.size;
  uint64_t dead_to = UINT64_MAX;
  if (op.kind == OpKind::kTruncate) {
    node.Edit().resize(op.size, '\0');
    node.written_end = std::min(node.written_end, op.size);
  } else {
    dead_from = op.offset;
    dead_to = op.offset + op.bytes->size();
    std::string& bytes = node.Edit();
    if (change.extends && bytes.size() < dead_to) bytes.resize(dead_to, '\0');
    for (const uint32_t sector : change.sectors) {
      const auto [from, to] = PartOf(op, sector);
      PutBytes(&bytes, from, std::string_view(*op.bytes).substr(from - op.offset, to - from));
    }
    if (op.offset <= node.written_end) node.written_end = std::max(node.written_end, dead_to);
  }
  // What is older and still unsynced does not come back above this.
  for (Change& older : changes_) {
    if (&older == &change) break;
    if (older.op.inode != op.inode || older.op.kind == OpKind::kName) continue;
    if (older.op.kind == OpKind::kTruncate) {
      // One whose sync failed: the size is on the disk anew now.
      if (op.kind == OpKind::kTruncate || (change.extends && dead_to > older.op.size))
        older.op.size = node.content->bytes.size();
      continue;
    }
    std::erase_if(older.sectors, [&](uint32_t sector) {
      const auto [from, to] = PartOf(older.op, sector);
      return dead_from <= from && to <= dead_to;
    });
    if (older.op.offset + older.op.bytes->size() <= dead_to) older.extends = false;
  }
}

template <class Covers>
bool CrashModel::SettleWhere(Covers covers) {
  bool any = false;
  for (const Change& change : changes_) {
    if (change.lost || !covers(change)) continue;
    Settle(change);
    any = true;
  }
  std::erase_if(changes_, [&](const Change& change) { return !change.lost && covers(change); });
  return any;
}

bool CrashModel::Apply(const Op& op) {
  switch (op.kind) {
    case OpKind::kName:
      if (op.inode != 0) {
        Node& node = durable_.nodes[op.inode];
        if (op.from_directory == 0) {
          node.is_directory = op.is_directory;
          node.birth_nanos = op.birth_nanos;
        }
        durable_.next_birth_nanos = std::max(durable_.next_birth_nanos, node.birth_nanos + 2);
      }
      changes_.push_back({.op = op, .complete = true});
      return true;
    case OpKind::kWrite:
      AddWrite(op);
      return true;
    case OpKind::kWritten:
      for (Change& change : changes_)
        if (change.op.kind == OpKind::kWrite && change.op.direct && change.op.id == op.id)
          change.complete = true;
      return false;
    case OpKind::kWriteFailed:
      for (Change& change : changes_)
        if (change.op.kind == OpKind::kWrite && change.op.direct && change.op.id == op.id)
          change.failed = true;
      return false;
    case OpKind::kProcessEnd:
      std::erase_if(changes_, [](const Change& change) { return change.failed; });
      return true;
    case OpKind::kTruncate:
      changes_.push_back({.op = op, .complete = true});
      return true;
    case OpKind::kSyncFile:
      return SettleWhere([&](const Change& change) {
        return change.op.kind != OpKind::kName && change.op.inode == op.inode && change.complete;
      });
    case OpKind::kSyncDirectory:
      return SettleWhere([&](const Change& change) {
        return change.op.kind == OpKind::kName &&
               (change.op.directory == op.inode || change.op.from_directory == op.inode);
      });
    case OpKind::kFlushBegin:
      for (Change& change : changes_)
        if (change.complete && change.in_place && change.flush_id == 0) change.flush_id = op.id;
      return false;
    case OpKind::kFlushEnd:
      return SettleWhere([&](const Change& change) { return change.flush_id == op.id; });
    case OpKind::kSyncFailed:
      for (Change& change : changes_)
        if (change.op.kind != OpKind::kName && change.op.inode == op.inode && change.complete)
          change.lost = true;
      return false;
    case OpKind::kFlushFailed:
      for (Change& change : changes_)
        if (change.flush_id == op.id) change.lost = true;
      return false;
    case OpKind::kPowerCut:
      *this = CrashModel(*op.tree);
      return true;
    default:
      return false;
  }
}

Tree CrashModel::EndProcess() {
  for (Change& change : changes_) change.complete = true;
  Tree tree = Build(Choice(atoms(), true));
  // Files that only the disk still knows keep their numbers.
  tree.next_inode = durable_.nodes.rbegin()->first + 1;
  return tree;
}

Tree CrashModel::Build(const Choice& choice) const {
  Tree tree = durable_;
  std::map<uint64_t, Draft> drafts;
  size_t atom = 0;
  for (const Change& change : changes_) {
    const size_t n = change.atoms();
    const size_t begin = atom;
    atom += n;
    bool any = false;
    for (size_t i = 0; i < n; ++i) any = any || choice[begin + i];
    if (!any) continue;
    const Op& op = change.op;
    if (op.kind == OpKind::kName) {
      ApplyName(op, &tree);
      continue;
    }
    auto [at, is_new] = drafts.try_emplace(op.inode);
    Draft& draft = at->second;
    if (is_new) {
      draft.bytes = durable_.nodes.at(op.inode).content->bytes;
      draft.size = draft.bytes.size();
    }
    if (op.kind == OpKind::kTruncate) {
      if (op.size < draft.bytes.size()) draft.bytes.resize(op.size);
      draft.size = op.size;
      continue;
    }
    uint64_t kept_end = 0;
    for (size_t i = 0; i < change.sectors.size(); ++i) {
      if (!choice[begin + i]) continue;
      const auto [from, to] = PartOf(op, change.sectors[i]);
      PutBytes(&draft.bytes, from, std::string_view(*op.bytes).substr(from - op.offset, to - from));
      kept_end = to;
    }
    if (!change.extends) continue;
    if (choice[begin + n - 2]) draft.size = std::max(draft.size, kept_end);
    if (choice[begin + n - 1]) draft.size = std::max(draft.size, op.offset + op.bytes->size());
  }
  for (auto& [inode, draft] : drafts) {
    draft.bytes.resize(draft.size, '\0');
    tree.nodes.at(inode).content = std::make_shared<FileBytes>(FileBytes{std::move(draft.bytes)});
  }
  tree.KeepReachable();
  return tree;
}

}  // namespace arion::crash
