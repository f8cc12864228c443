#include "io/snapshot/snapshot_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "io/snapshot/container.h"
#include "io/snapshot/msgpack.h"
#include "io/snapshot/records.h"
#include "io/snapshot/wiped_buffer.h"

namespace berth::io {
namespace {

/// Largest accepted record (R-SNAP-130).
constexpr std::uint64_t kRecordBytesMax = std::uint64_t{256} << 20;

const char* words_of(msgpack::Walk::State state) {
  switch (state) {
    case msgpack::Walk::State::truncated:
      return "truncated record";
    case msgpack::Walk::State::absurd_length:
      return "absurd length";
    case msgpack::Walk::State::too_deep:
      return "nesting too deep";
    default:
      return "bad value";  // the byte c1 begins no value
  }
}

/// Reads state.bin piece by piece. A window holds the current record, which is decoded once the walk has found its end
/// (R-SNAP-123).
class Records {
 public:
  Records(const std::string& path, ExportCollector& collector, Warnings& warnings)
      : path_(path), collector_(collector), warnings_(warnings) {
    options_.path = path;
    options_.integral_reals = true;
    options_.jobs = &jobs_.table();
  }

  /// Takes a piece of state.bin; an empty piece ends it.
  Result<void> take(std::string_view piece, std::uint64_t state_bytes) {
    if (piece.empty()) return finish();
    // Records that are whole within the piece are read there; only the remainder is copied into the window.
    std::string_view rest = piece;
    if (window_.size() > 0) {
      window_.append(piece);
      rest = window_.view();
    }
    const std::size_t had = rest.size();
    while (true) {
      auto used = take_record(rest, state_bytes);
      if (!used) return tl::unexpected(used.error());
      if (*used == 0) break;
      rest.remove_prefix(*used);
    }
    if (window_.size() > 0)
      window_.drop(had - rest.size());
    else
      window_.append(rest);
    return {};
  }

  /// Reports and indexes that need all records.
  void conclude(Warnings& notes) {
    std::uint64_t state_index = 0;
    for (auto& [key, value] : indexes_) {
      const auto newest = newest_.find(key);
      if (newest != newest_.end() && newest->second > value) {  // R-SNAP-82
        notes.push_back(fmt::format("snapshot: index {} of table {} is below that of its records; raised to {}", value,
                                    shortened(key), newest->second));
        value = newest->second;
      }
      state_index = std::max(state_index, value);
    }
    collector_.raise_index(state_index);
    for (std::size_t type = 0; type < unknown_.size(); ++type)
      if (unknown_[type] > 0)
        notes.push_back(fmt::format("snapshot: {} records of the unknown type {} skipped", unknown_[type], type));
    if (event_sinks_ > 0) notes.push_back(fmt::format("snapshot: {} event sinks skipped", event_sinks_));
  }

 private:
  tl::unexpected<InputError> fault(const std::string& text, std::uint64_t offset) const {
    std::string where = fmt::format(" at offset {} of state.bin", offset);
    if (has_header_ && offset > 0) where += fmt::format(", record {}, type {}", record_, type_);
    return snapshot_error(path_, text + where);
  }

  /// Reads the header or a record from the start of `rest`; returns its size, 0 if it is incomplete.
  Result<std::size_t> take_record(std::string_view rest, std::uint64_t state_bytes) {
    if (rest.empty()) return std::size_t{0};
    const std::size_t lead = has_header_ ? 1 : 0;  // the type byte
    type_ = static_cast<std::uint8_t>(rest[0]);
    const std::uint64_t left = state_bytes - std::min(state_bytes, offset_ + lead);
    const std::string_view object = rest.substr(lead);
    const msgpack::Walk::State state = walk_.go_on(object, left);
    if (walk_.position() > kRecordBytesMax) return fault("record too large", offset_);
    if (state == msgpack::Walk::State::more) return std::size_t{0};
    const bool is_map = !object.empty() && msgpack::read_head(padded(object)).kind == msgpack::Kind::map;
    if (!has_header_ && (!is_map || state != msgpack::Walk::State::done)) return fault("bad header", 0);
    if (state != msgpack::Walk::State::done) return fault(words_of(state), offset_ + lead + walk_.position());
    const auto bytes = static_cast<std::size_t>(walk_.position());
    if (has_header_) {
      if (auto done = decode(object.substr(0, bytes)); !done) return tl::unexpected(done.error());
      ++record_;
    }
    has_header_ = true;
    walk_.restart();
    offset_ += lead + bytes;
    return lead + bytes;
  }

  /// A head that may be cut off, padded with zeros.
  static std::string_view padded(std::string_view object) {
    thread_local std::array<char, 16> head;
    head.fill(0);
    std::copy_n(object.begin(), std::min<std::size_t>(object.size(), 9), head.begin());
    return {head.data(), head.size()};
  }

  Result<void> decode(std::string_view object) {
    const RecordType type = record_type(type_);
    if (type.use == RecordType::Use::unknown) {
      ++unknown_[type_];
      return {};
    }
    if (type.use == RecordType::Use::skip) {
      event_sinks_ += type_ == 20;
      return {};
    }
    RecordReader reader(type_, object, jobs_);
    const json::Value value = reader.read();
    if (!reader.bad_key().empty()) return fault("bad value for " + reader.bad_key(), offset_);
    if (type.use == RecordType::Use::index_entry) return take_index(value);

    std::string identity;
    for (const std::string_view key : type.name) {
      if (key.empty()) continue;
      const json::Value& part = value[key];
      if (!part.is_string() && !part.is_null()) return fault("bad value for " + std::string(key), offset_);
      if (part.as_string().empty() && key != "Namespace") return fault("object without identity", offset_);
      identity.append(part.as_string()) += '\0';
    }
    const std::string name = shortened(value[type.name[0]].as_string());
    if (type.use == RecordType::Use::job_version) identity += json::to_text(value["Version"]);
    identity += static_cast<char>(type_);
    if (!seen_.insert(std::move(identity)).second)
      warnings_.push_back(fmt::format("snapshot: {} {} is recorded twice; the later record is kept", type.what, name));
    if (const std::uint64_t index = value["ModifyIndex"].as_uint(); *type.table)
      newest_[type.table] = std::max(newest_[type.table], index);
    auto done = collector_.add_record(type.kind, value, type.use == RecordType::Use::job_version, options_);
    if (done) return {};
    std::string key = done.error().place;  // only the place: the problem may quote the value (R-SNAP-112)
    while (key.starts_with('/')) key.erase(0, 1);
    return fault("bad value for " + (key.empty() ? std::string(type.name[0]) : key), offset_);
  }

  Result<void> take_index(const json::Value& entry) {
    const json::Value &key = entry["Key"], &value = entry["Value"];
    if (!key.is_string() && !key.is_null()) return fault("bad value for Key", offset_);
    if (key.as_string().empty()) return fault("object without identity", offset_);
    if (!value.is_null() && !value.is_uint64() && !(value.is_int64() && value.as_int() >= 0))
      return fault("bad value for Value", offset_);
    if (!indexes_.emplace(key.as_string(), value.as_uint()).second) {
      warnings_.push_back("snapshot: index entry " + shortened(key.as_string()) +
                          " is recorded twice; the later record is kept");
      indexes_[key.as_string()] = value.as_uint();
    }
    return {};
  }

  Result<void> finish() {
    if (!has_header_) return fault("bad header", 0);
    if (window_.size() > 0) return fault("truncated record", offset_ + window_.size());
    return {};
  }

  const std::string& path_;
  ExportCollector& collector_;
  Warnings& warnings_;
  model::ReadOptions options_;
  EmbeddedJobs jobs_;
  WipedBuffer window_;
  msgpack::Walk walk_;
  std::uint64_t offset_ = 0;  ///< of the current record in state.bin
  std::uint64_t record_ = 1;  ///< number of the current record
  std::uint8_t type_ = 0;
  bool has_header_ = false;
  std::map<std::string, std::uint64_t> indexes_;              ///< table -> index of its index entry
  std::map<std::string, std::uint64_t, std::less<>> newest_;  ///< table -> largest ModifyIndex of its records
  std::unordered_set<std::string> seen_;                      ///< type and identity of every record so far
  std::array<std::uint64_t, 256> unknown_{};
  std::uint64_t event_sinks_ = 0;
};

}  // namespace

Result<void> add_snapshot(const std::string& path, ExportCollector& collector, Warnings& warnings, Warnings& notes) {
  Records records(path, collector, warnings);
  const auto meta =
      read_container(path, [&](std::string_view piece, std::uint64_t bytes) { return records.take(piece, bytes); });
  if (!meta) return tl::unexpected(meta.error());
  records.conclude(notes);
  return {};
}

}  // namespace berth::io
