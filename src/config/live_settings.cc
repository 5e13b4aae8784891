// SPDX-License-Identifier: Apache-2.0
#include "config/live_settings.h"

#include <algorithm>

#include "base/log.h"
#include "base/status.h"
#include "config/config_rules.h"

namespace arion {
namespace {

// Keys of [arion.server] concern both kinds.
bool Concerns(ServerKind kind, std::string_view section) {
  return section != (kind == ServerKind::kMeta ? "arion.replica" : "arion.meta");
}

// What must not be on a page.
bool IsSecret(std::string_view key) {
  for (const std::string_view part : {"token", "secret", "password"})
    if (key.find(part) != std::string_view::npos) return true;
  return false;
}

absl::Status NoSuchKey(std::string_view key) {
  return absl::NotFoundError(absl::StrCat("there is no setting ", Text(key.substr(0, 100))));
}

}  // namespace

LiveSettings::LiveSettings(ServerKind kind, const ServerConfig& config)
    : kind_(kind), config_(config) {
  // What is left in it at the end is listed as well: keys without a row of their own.
  std::map<std::string, ServerConfig::Given> given = config.given;
  for (const Setting& setting : Settings()) {
    if (!Concerns(kind, setting.section)) continue;
    Entry entry{.section = std::string(setting.section),
                .key = std::string(setting.key),
                .help = std::string(setting.help),
                .default_value = std::string(setting.default_text),
                .is_changeable = setting.is_changeable()};
    const auto it = given.find(entry.key);
    entry.at_start = entry.value = it == given.end() ? entry.default_value : it->second.value;
    if (it != given.end()) entry.origin = it->second.origin;
    if (it != given.end()) given.erase(it);
    entries_.push_back(std::move(entry));
  }
  for (const auto& [key, written] : given)  // an older version's, or of the other kind of server
    entries_.push_back({.section = written.section,
                        .key = key,
                        .at_start = written.value,
                        .origin = written.origin,
                        .value = written.value});
  // Hidden from here on: entries are all that pages and commands see. A default is no secret.
  for (Entry& entry : entries_)
    if (IsSecret(entry.key) && !entry.origin.empty()) entry.at_start = entry.value = "(hidden)";
}

std::vector<LiveSettings::Entry> LiveSettings::Entries() const {
  const MutexLock lock(mutex_);
  return entries_;
}

std::optional<LiveSettings::Entry> LiveSettings::Find(std::string_view name) const {
  const std::string_view key = CurrentName(name);
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.key == key) return entry;
  return std::nullopt;
}

absl::Status LiveSettings::Set(std::string_view name, std::string_view value) {
  const std::string_view key = CurrentName(name);
  const MutexLock lock(mutex_);
  const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& known) { return known.key == key; });
  // The present name, so that a former one works here, too.
  if (entry == entries_.end()) return NoSuchKey(key);
  if (!entry->is_changeable)
    return absl::FailedPreconditionError(
        absl::StrCat(entry->key,
                     " can't be changed while the server runs; write it into the configuration "
                     "file and restart"));
  const auto rule = std::find_if(Rules().begin(), Rules().end(),
                                 [&](const Rule& known) { return known.setting.key == key; });
  // A copy is changed and judged as a whole; the configuration that counts stays untouched on an
  // error.
  Draft draft;
  draft.config = config_;
  RETURN_IF_ERROR(rule->apply(draft, value, kInOperation));
  RETURN_IF_ERROR(CheckTogether(kind_, kInOperation, {}, draft.config));
  LOG(WARNING) << "setting " << entry->key << " becomes \"" << value << "\", was \"" << entry->value
               << "\"";
  config_ = std::move(draft.config);
  entry->value = value;
  // Under the lock: two changes reach the server in the order in which they are shown.
  if (changed_) changed_(config_);
  return absl::OkStatus();
}

absl::Status LiveSettings::Reset(std::string_view key) {
  const std::optional<Entry> entry = Find(key);
  return entry ? Set(key, entry->at_start) : NoSuchKey(key);
}

}  // namespace arion
