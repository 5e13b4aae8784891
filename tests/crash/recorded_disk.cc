// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/recorded_disk.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace arion::crash {
namespace {

absl::Status Failed(std::string_view step) {
  return absl::DataLossError(absl::StrCat(Text(step), ": Input/output error"));
}

}  // namespace

std::string Op::ToString() const {
  switch (kind) {
    case OpKind::kName:
      if (inode == 0) return absl::StrCat("remove ", name);
      if (from_directory != 0) return absl::StrCat("rename ", from, " to ", name);
      return absl::StrCat(is_directory ? "mkdir " : "create ", name, " = inode ", inode);
    case OpKind::kWrite:
      return absl::StrCat("write", direct ? " direct" : "", " inode ", inode, " [", offset, ", ",
                          offset + bytes->size(), ")", direct ? absl::StrCat(" #", id) : "");
    case OpKind::kWritten:
      return absl::StrCat("written #", id);
    case OpKind::kWriteFailed:
      return absl::StrCat("write FAILED #", id);
    case OpKind::kTruncate:
      return absl::StrCat("truncate inode ", inode, " to ", size);
    case OpKind::kSyncFile:
      return absl::StrCat("sync inode ", inode);
    case OpKind::kSyncDirectory:
      return absl::StrCat("sync directory ", inode);
    case OpKind::kFlushBegin:
      return absl::StrCat("flush begins #", id);
    case OpKind::kFlushEnd:
      return absl::StrCat("flush ended #", id);
    case OpKind::kSyncFailed:
      return absl::StrCat("sync of inode ", inode, " FAILED");
    case OpKind::kFlushFailed:
      return absl::StrCat("flush FAILED #", id);
    case OpKind::kPowerCut:
      return "POWER CUT";
    case OpKind::kAppended:
      return absl::StrCat("  appended mutation ", number);
    case OpKind::kReported:
      return absl::StrCat("  reported mutation ", number);
    case OpKind::kOpened:
      return absl::StrCat("  opened: ", mutations.size(), " mutations");
    case OpKind::kCheckpoint:
      return absl::StrCat("  checkpoint ", number);
    case OpKind::kValidStart:
      return absl::StrCat("  new beginning ", valid_start, " after decree ", number);
    case OpKind::kClosed:
      return "  closed";
    case OpKind::kProcessEnd:
      return "  process ended";
    case OpKind::kFault:
      return "  FAULT";
  }
  return "?";
}

void ApplyName(const Op& op, Tree* tree) {
  if (op.from_directory != 0) {
    auto& from = tree->nodes.at(op.from_directory).entries;
    const auto found = from.find(op.from);
    if (found != from.end() && found->second == op.inode) from.erase(found);
  }
  auto& entries = tree->nodes.at(op.directory).entries;
  if (op.inode == 0) {
    entries.erase(op.name);
  } else {
    entries[op.name] = op.inode;
  }
}

void RecordedDisk::Record(Op op) {
  if (ops_ != nullptr) ops_->push_back(std::move(op));
}

void RecordedDisk::Mark(Op op) { Record(std::move(op)); }

void RecordedDisk::ApplyName(const Op& op) {
  crash::ApplyName(op, &tree_);
  Record(op);
}

absl::Status RecordedDisk::TakeFault(FaultPlan::Site site, uint64_t directory) {
  int64_t& seen = site == FaultPlan::Site::kWrite ? writes_seen_ : syncs_seen_;
  ++seen;
  if (plan_.site != site || seen < plan_.nth || seen >= plan_.nth + plan_.count)
    return absl::OkStatus();
  has_lost_ = has_lost_ || site == FaultPlan::Site::kSync;
  Record({.kind = OpKind::kFault, .inode = directory});
  return plan_.status;
}

absl::StatusOr<uint64_t> RecordedDisk::Create(const std::string& path) {
  ASSIGN_OR_RETURN(const Tree::Place place, tree_.FindPlace(path));
  RETURN_IF_ERROR(TakeFault(FaultPlan::Site::kWrite));
  const uint64_t inode = tree_.next_inode++;
  Node& made = tree_.nodes[inode];
  // Coarse, as real ones are: files made close to each other share it.
  made.birth_nanos = (tree_.next_birth_nanos += 1'300'000) / 4'000'000 * 4'000'000;
  ApplyName({.kind = OpKind::kName,
             .inode = inode,
             .directory = place.directory,
             .name = place.name,
             .birth_nanos = made.birth_nanos});
  return inode;
}

absl::Status RecordedDisk::CreateDirectories(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (!tree_.Find(part).ok()) {
      ASSIGN_OR_RETURN(const Tree::Place place, tree_.FindPlace(part));
      const uint64_t inode = tree_.next_inode++;
      tree_.nodes[inode].is_directory = true;
      ApplyName({.kind = OpKind::kName,
                 .inode = inode,
                 .directory = place.directory,
                 .name = place.name,
                 .is_directory = true});
    }
    if (end == std::string::npos) return absl::OkStatus();
  }
}

absl::Status RecordedDisk::Rename(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const Tree::Place source, tree_.FindPlace(from));
  ASSIGN_OR_RETURN(const Tree::Place target, tree_.FindPlace(to));
  ASSIGN_OR_RETURN(const uint64_t inode, tree_.Find(from));
  ApplyName({.kind = OpKind::kName,
             .inode = inode,
             .directory = target.directory,
             .name = target.name,
             .from_directory = source.directory,
             .from = source.name});
  return absl::OkStatus();
}

absl::Status RecordedDisk::Remove(const std::string& path) {
  ASSIGN_OR_RETURN(const Tree::Place place, tree_.FindPlace(path));
  RETURN_IF_ERROR(tree_.Find(path).status());
  ApplyName({.kind = OpKind::kName, .directory = place.directory, .name = place.name});
  return absl::OkStatus();
}

absl::Status RecordedDisk::Link(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const uint64_t inode, tree_.Find(from));
  ASSIGN_OR_RETURN(const Tree::Place place, tree_.FindPlace(to));
  ApplyName({.kind = OpKind::kName,
             .inode = inode,
             .directory = place.directory,
             .name = place.name,
             .birth_nanos = node(inode).birth_nanos});
  return absl::OkStatus();
}

absl::Status RecordedDisk::Write(uint64_t inode, uint64_t offset, std::string_view bytes) {
  if (absl::Status fault = TakeFault(FaultPlan::Site::kWrite); !fault.ok()) {
    WriteHalf(inode, offset, bytes);
    return fault;
  }
  if (ops_ != nullptr)
    Record({.kind = OpKind::kWrite,
            .inode = inode,
            .offset = offset,
            .bytes = std::make_shared<const std::string>(bytes)});
  PutBytes(&tree_.nodes.at(inode).Edit(), offset, bytes);
  return absl::OkStatus();
}

void RecordedDisk::WriteHalf(uint64_t inode, uint64_t offset, std::string_view bytes) {
  const std::string_view half = bytes.substr(0, bytes.size() / 2 / kSectorBytes * kSectorBytes);
  if (half.empty()) return;
  Record({.kind = OpKind::kWrite,
          .inode = inode,
          .offset = offset,
          .bytes = std::make_shared<const std::string>(half)});
  PutBytes(&tree_.nodes.at(inode).Edit(), offset, half);
}

absl::Status RecordedDisk::Truncate(uint64_t inode, uint64_t size) {
  RETURN_IF_ERROR(TakeFault(FaultPlan::Site::kWrite));
  Record({.kind = OpKind::kTruncate, .inode = inode, .size = size});
  tree_.nodes.at(inode).Edit().resize(size, '\0');
  return absl::OkStatus();
}

absl::Status RecordedDisk::SyncFile(uint64_t inode) {
  const absl::Status fault = TakeFault(FaultPlan::Site::kSync);
  Record({.kind = fault.ok() ? OpKind::kSyncFile : OpKind::kSyncFailed, .inode = inode});
  return fault.ok() ? fault : Failed("fdatasync");
}

absl::Status RecordedDisk::SyncDirectory(uint64_t directory) {
  RETURN_IF_ERROR(TakeFault(FaultPlan::Site::kSync, directory));
  Record({.kind = OpKind::kSyncDirectory, .inode = directory});
  return absl::OkStatus();
}

uint64_t RecordedDisk::BeginWrite(uint64_t inode, uint64_t offset, std::string_view bytes) {
  const uint64_t id = next_id_++;
  in_flight_.push_back({id, inode, offset, std::make_shared<const std::string>(bytes)});
  Record({.kind = OpKind::kWrite,
          .inode = inode,
          .id = id,
          .offset = offset,
          .bytes = in_flight_.back().bytes,
          .direct = true});
  return id;
}

absl::Status RecordedDisk::EndWrite(uint64_t id) {
  const auto found = std::find_if(in_flight_.begin(), in_flight_.end(),
                                  [&](const InFlight& write) { return write.id == id; });
  const InFlight write = *found;
  in_flight_.erase(found);
  if (absl::Status fault = TakeFault(FaultPlan::Site::kWrite); !fault.ok()) {
    Record({.kind = OpKind::kWriteFailed, .id = id});
    WriteHalf(write.inode, write.offset, *write.bytes);
    return fault;
  }
  PutBytes(&tree_.nodes.at(write.inode).Edit(), write.offset, *write.bytes);
  Record({.kind = OpKind::kWritten, .id = id});
  return absl::OkStatus();
}

uint64_t RecordedDisk::BeginFlush() {
  const uint64_t id = next_id_++;
  Record({.kind = OpKind::kFlushBegin, .id = id});
  return id;
}

absl::Status RecordedDisk::EndFlush(uint64_t id) {
  const absl::Status fault = TakeFault(FaultPlan::Site::kSync);
  Record({.kind = fault.ok() ? OpKind::kFlushEnd : OpKind::kFlushFailed, .id = id});
  return fault.ok() ? fault : Failed("flush of the device");
}

void RecordedDisk::CutPower(const Tree& tree) {
  in_flight_.clear();
  has_lost_ = false;
  tree_ = tree;
  Record({.kind = OpKind::kPowerCut, .tree = std::make_shared<const Tree>(tree)});
}

void RecordedDisk::EndProcess() {
  const FaultPlan plan = std::exchange(plan_, {});
  while (!in_flight_.empty()) (void)EndWrite(in_flight_.front().id);
  plan_ = plan;
  Record({.kind = OpKind::kProcessEnd});
}

}  // namespace arion::crash
