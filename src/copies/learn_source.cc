// SPDX-License-Identifier: Apache-2.0
#include "copies/learn_source.h"

#include <algorithm>
#include <utility>

#include "base/crc.h"
#include "base/log.h"
#include "base/status.h"
#include "decrees/log_shipment.h"
#include "env/file_system.h"
#include "pacifica/effects.h"
#include "wal/private_log.h"

namespace arion {
namespace {

// What one shipment may read at most: it is held in memory.
constexpr uint64_t kLogBytesMax = 64 << 20;
constexpr size_t kReadBytes = 4 << 20;
// Of a copy: what it costs whatever its size, and how many bytes a second it brings.
constexpr absl::Duration kCopyOverhead = absl::Seconds(1);
constexpr double kCopyRate = 100 << 20;

absl::StatusOr<std::string> ChecksumOf(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, files.OpenForRead(path));
  uint32_t crc = 0;
  std::string chunk;
  // Sequential pieces: a table file may be larger than memory.
  for (uint64_t offset = 0;; offset += chunk.size()) {
    RETURN_IF_ERROR(file->ReadAt(offset, kReadBytes, &chunk));
    if (chunk.empty()) break;
    crc = Crc32c(chunk, crc);
  }
  return absl::StrFormat("%08x", crc);
}

bool IsTable(std::string_view name) { return name.ends_with(".sst"); }
// By its name without the first directory: files of checkpoints lie directly in theirs.
bool IsOfIndexes(std::string_view name) { return name.find('/') != name.npos; }

}  // namespace

// Two rough figures are enough: both ways lead to the goal, and only the time differs.
bool CheckpointIsCheaper(absl::Duration replay, uint64_t engine_bytes) {
  return replay > kCopyOverhead + absl::Seconds(static_cast<double>(engine_bytes) / kCopyRate);
}

absl::StatusOr<std::vector<MutationPtr>> ReadHistory(PrivateLog& log, Decree first,
                                                     Decree committed, uint64_t piece_bytes) {
  // A piece that proves no decree would not get its reader on: four times as much, up to the limit.
  for (uint64_t bytes_max = piece_bytes;; bytes_max = std::min(bytes_max * 4, kLogBytesMax)) {
    ASSIGN_OR_RETURN(const PrivateLog::Piece read, log.ReadFrom(first, bytes_max));
    const LogPiece piece = read.is_cut ? LogPiece::kCutByLimit : LogPiece::kReachesEnd;
    std::vector<MutationPtr> history = ProvenHistory(first, committed, piece, read.mutations);
    // Nothing is committed yet that the reader lacks: an empty piece is right.
    if (!history.empty() || (!read.is_cut && committed < first)) return history;
    if (!read.is_cut)
      return absl::OutOfRangeError(
          absl::StrCat("the log has no decree ", first.value(), ", though it was committed"));
    if (bytes_max == kLogBytesMax)
      return absl::OutOfRangeError("the log proves too little within one shipment");
  }
}

LearnSource::LearnSource(FileSystem& files, std::shared_ptr<ServedFiles> served, PartitionId pid,
                         std::string data_path, std::string disk_tag)
    : files_(files),
      served_(std::move(served)),
      pid_(pid),
      data_path_(std::move(data_path)),
      disk_tag_(std::move(disk_tag)) {}

uint64_t LearnSource::PieceBytes(Endpoint learner) const {
  // A learner without a record has got no piece yet; it starts gently.
  const auto it = progress_.find(learner);
  const bool is_gaining = it == progress_.end() || it->second.is_gaining;
  return is_gaining ? kGentlePieceBytes : kPieceBytes;
}

absl::Status LearnSource::Read(PrivateLog& log, Engine& engine, uint64_t piece_bytes,
                               ShipState* ship, Shipment* shipment) {
  if (ship->what == ShipState::What::kLog) {
    const auto history = ReadHistory(log, ship->first, ship->committed, piece_bytes);
    if (history.ok()) {
      ship->response.state = MakeLogShipment(ship->first, *history);
      return absl::OkStatus();
    }
    const absl::Status& read = history.status();
    // Not an error for the learner: a checkpoint holds what the log lacks.
    LOG(WARNING) << "[" << pid_ << "] a learner gets a checkpoint: " << read.message();
    if (absl::IsDataLoss(read)) shipment->log_damage = read;
    ship->what = ShipState::What::kCheckpoint;
    ship->response.type = LearnType::kApp;
  }
  return ReadCheckpoint(engine, ship, &shipment->share);
}

absl::Duration LearnSource::LogPatience(Endpoint learner, const ShipState& ship) {
  // A learner's first piece has nothing to compare with: it counts as gaining.
  const int64_t shipped = ship.response.state.to_decree_included - ship.first + 1;
  Progress& progress = progress_.try_emplace(learner, Progress{ship.committed}).first->second;
  const int64_t grown = ship.committed - std::exchange(progress.committed, ship.committed);
  progress.is_gaining = shipped >= 2 * grown;
  return progress.is_gaining ? kLogPauseMax : kLogPauseMin;
}

absl::Status LearnSource::ReadCheckpoint(Engine& engine, ShipState* ship,
                                         std::shared_ptr<void>* share) {
  std::shared_ptr<void> hold;
  absl::StatusOr<Engine::CheckpointFiles> checkpoint = engine.NewestCheckpoint(&hold);
  // A checkpoint that ends before `first` would leave a gap that the log can't fill.
  if (absl::IsNotFound(checkpoint.status()) ||
      (checkpoint.ok() && checkpoint->decree < ship->first)) {
    RETURN_IF_ERROR(engine.Checkpoint().status());
    checkpoint = engine.NewestCheckpoint(&hold);
  }
  RETURN_IF_ERROR(checkpoint.status());
  if (checkpoint->decree < ship->first)
    return absl::UnavailableError("what is committed is not applied yet");

  LearnResponse& response = ship->response;
  LearnState& state = response.state;
  state.to_decree_included = checkpoint->decree;
  // It may have been made since the learner asked.
  response.last_committed_decree = std::max(response.last_committed_decree, checkpoint->decree);
  const std::string checkpoint_name = BaseName(checkpoint->directory);
  Offer offer = OfferOf(checkpoint_name, checkpoint->names);
  std::shared_ptr<void> indexes_hold;
  absl::StatusOr<Engine::IndexFiles> indexes = engine.ShipIndexes(*checkpoint, &indexes_hold);
  // Without them the learner builds its own.
  LOG_IF(WARNING, !indexes.ok()) << data_path_ << ": indexes are not shipped: " << indexes.status();
  if (indexes.ok()) {
    offer.names.insert(offer.names.end(), indexes->names.begin(), indexes->names.end());
    NoteIndexStore(indexes->store);
  }
  RETURN_IF_ERROR(AddSizesAndChecksums(&offer));
  ServedFiles::Names names;
  for (size_t i = 0; i < offer.names.size(); ++i)
    names[offer.names[i]] = static_cast<uint64_t>(offer.sizes[i]);
  const auto data_end = static_cast<ptrdiff_t>(checkpoint->names.size());
  const auto split = [data_end](auto& all, auto& data, auto& rest) {
    data.assign(all.begin(), all.begin() + data_end);
    rest.assign(all.begin() + data_end, all.end());
  };
  LearnIndexes shipped;
  split(offer.names, state.files, shipped.files);
  split(offer.sizes, state.file_sizes.emplace(), shipped.sizes);
  split(offer.checksums, state.file_checksums.emplace(), shipped.checksums);
  if (!shipped.files.empty()) state.indexes = std::move(shipped);
  response.base_local_dir = data_path_;
  response.replica_disk_tag = disk_tag_;
  // Learners of one checkpoint share the open files. The decree alone does not tell one checkpoint
  // from another after a new content; Forget clears it then. Indexes may have become whole since.
  const bool is_same = newest_share_decree_ == checkpoint->decree && newest_share_names_ == names;
  *share = is_same ? newest_share_.lock() : nullptr;
  newest_share_names_ = names;
  if (*share == nullptr)
    *share =
        served_->Share(data_path_, std::move(names),
                       std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
                           std::move(hold), std::move(indexes_hold)));
  newest_share_ = *share;
  newest_share_decree_ = checkpoint->decree;
  return absl::OkStatus();
}

LearnSource::Offer LearnSource::OfferOf(const std::string& directory,
                                        const std::vector<std::string>& names) {
  Offer offer;
  for (const std::string& name : names) offer.names.push_back(JoinPath(directory, name));
  return offer;
}

absl::Status LearnSource::ReadForFollower(Engine& engine, Decree needed, LearnResponse* response,
                                          std::shared_ptr<void>* share) {
  if (engine.last_applied() < needed)
    return absl::UnavailableError(absl::StrCat("decree ", needed.value(), " is not applied yet"));
  std::shared_ptr<void> hold;
  absl::StatusOr<Engine::CheckpointFiles> checkpoint = engine.NewestCheckpoint(&hold);
  if (absl::IsNotFound(checkpoint.status()) || (checkpoint.ok() && checkpoint->decree < needed)) {
    RETURN_IF_ERROR(engine.Checkpoint().status());
    checkpoint = engine.NewestCheckpoint(&hold);
  }
  response->replica_disk_tag = disk_tag_;
  response->base_local_dir = data_path_;
  LearnState& state = response->state;
  if (absl::IsNotFound(checkpoint.status()) && engine.last_applied() == Decree(0))
    return absl::OkStatus();
  RETURN_IF_ERROR(checkpoint.status());
  if (checkpoint->decree < needed)
    return absl::InternalError(absl::StrCat("a new checkpoint ends at decree ",
                                            checkpoint->decree.value(), ", before ",
                                            needed.value()));
  response->base_local_dir = checkpoint->directory;
  state.to_decree_included = checkpoint->decree;
  state.files = checkpoint->names;
  Offer offer = OfferOf(BaseName(checkpoint->directory), checkpoint->names);
  RETURN_IF_ERROR(AddSizesAndChecksums(&offer));
  ServedFiles::Names names;
  for (size_t i = 0; i < offer.names.size(); ++i)
    names[checkpoint->names[i]] = static_cast<uint64_t>(offer.sizes[i]);
  state.file_sizes = std::move(offer.sizes);
  state.file_checksums = std::move(offer.checksums);
  *share = served_->Share(checkpoint->directory, std::move(names), std::move(hold));
  return absl::OkStatus();
}

// Indexes that were dropped and made again count their files from the beginning.
void LearnSource::NoteIndexStore(const std::weak_ptr<const void>& store) {
  const bool is_same = !store.owner_before(index_store_) && !index_store_.owner_before(store);
  if (is_same) return;
  index_store_ = store;
  std::erase_if(tables_, [](const auto& table) { return IsOfIndexes(table.first); });
}

// Table files keep their checksums from request to request, since they never change. At most
// kSummedBytesMax are read now; the first file is always read, however large, so each request gets
// on.
absl::Status LearnSource::AddSizesAndChecksums(Offer* offer) {
  // Sizes are taken now, while they are held: files of a held checkpoint do not change.
  for (const std::string& name : offer->names) {
    ASSIGN_OR_RETURN(const FileStatus status, files_.Stat(JoinPath(data_path_, name)));
    offer->sizes.push_back(static_cast<int64_t>(status.size));
  }
  std::map<std::string, Sum> tables;
  uint64_t summed_bytes = 0;
  bool is_complete = true;
  for (size_t i = 0; i < offer->names.size(); ++i) {
    // Without the decree in front: table files go from checkpoint to checkpoint.
    const std::string name = offer->names[i].substr(offer->names[i].find('/') + 1);
    Sum sum{.size = offer->sizes[i]};
    const auto known = tables_.find(name);
    if (known != tables_.end() && known->second.size == sum.size) {
      sum = known->second;
    } else {
      is_complete =
          is_complete &&
          (summed_bytes == 0 || summed_bytes + static_cast<uint64_t>(sum.size) <= kSummedBytesMax);
      // Later files may be known from before: the loop goes on for their sake.
      if (!is_complete) continue;
      summed_bytes += static_cast<uint64_t>(sum.size);
      ASSIGN_OR_RETURN(sum.crc, ChecksumOf(files_, JoinPath(data_path_, offer->names[i])));
    }
    offer->checksums.push_back(sum.crc);
    if (IsTable(name)) tables[name] = std::move(sum);
  }
  // Names of tables that the checkpoint no longer has are forgotten with this.
  tables_ = std::move(tables);
  return is_complete ? absl::OkStatus()
                     : absl::UnavailableError("the checksums of its files are being computed");
}

void LearnSource::KeepOnly(absl::Span<const Endpoint> learners) {
  const auto is_gone = [&](const auto& entry) {
    return std::find(learners.begin(), learners.end(), entry.first) == learners.end();
  };
  std::erase_if(shares_, is_gone);
  std::erase_if(progress_, is_gone);
}

}  // namespace arion
