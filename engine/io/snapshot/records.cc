#include "io/snapshot/records.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/base64.h"
#include "base/time.h"
#include "io/snapshot/msgpack.h"
#include "io/snapshot/record_shape.h"

namespace berth::io {
namespace {

using msgpack::Head;

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t out = 0;
  for (const char c : bytes) out = out << 8 | static_cast<unsigned char>(c);
  return out;
}

/// Seconds from 1 January of year 1 to the end of year 9999 (R-SNAP-130).
constexpr std::int64_t kSecondsMax = 315537897600;
/// Seconds before and after 1970 that fit into 64 bits of ns, with room for an offset: 1677 to 2262.
constexpr std::int64_t kNsSeconds = 9'220'000'000;

/// RFC 3339 with the stored offset, as the API prints it; offset 0 is Z.
std::string text_of(std::int64_t ns, std::int64_t offset_minutes) {
  std::string text = base::to_rfc3339(base::Time{ns + offset_minutes * 60 * base::kSecond});
  if (offset_minutes == 0 || text.empty()) return text;
  text.pop_back();
  const std::int64_t minutes = std::abs(offset_minutes);
  return text + fmt::format("{}{:02}:{:02}", offset_minutes < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

/// Two 64-bit lanes; multiplication spreads low bits upwards, the rotation brings high ones down.
EmbeddedJobs::Content mixed(EmbeddedJobs::Content a, std::uint64_t with) {
  a.first = std::rotl((a.first ^ with) * 0x9e3779b97f4a7c15ULL, 29);
  a.second = std::rotl((a.second + with) * 0xd6e8feb86659fd93ULL, 31) ^ (a.first >> 17);
  return a;
}

EmbeddedJobs::Content mixed(EmbeddedJobs::Content a, std::string_view bytes) {
  a = mixed(a, bytes.size());
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    a = mixed(a, word);
    bytes.remove_prefix(8);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return mixed(a, word);
}

/// True for fields of an embedded job that depend on when the allocation was written (R-SNAP-72).
bool is_of_the_moment(std::string_view key) {
  return key == "ModifyIndex" || key == "Status" || key == "Stable" || key == "StatusDescription";
}

EmbeddedJobs::Content hash_value(std::string_view bytes, std::size_t& at, bool is_job) {
  const Head head = msgpack::read_head(bytes.substr(at));
  const std::size_t begin = at;
  at += head.bytes;
  switch (head.kind) {
    case msgpack::Kind::text:
    case msgpack::Kind::extension:
      at += head.size;
      return mixed({1, 1}, bytes.substr(begin + head.bytes, head.size));
    case msgpack::Kind::array: {
      EmbeddedJobs::Content out = mixed({2, 2}, head.size);
      for (std::uint64_t i = 0; i < head.size; ++i) {
        const EmbeddedJobs::Content item = hash_value(bytes, at, false);
        out = mixed(mixed(out, item.first), item.second);
      }
      return out;
    }
    case msgpack::Kind::map: {
      EmbeddedJobs::Content out = mixed({3, 3}, is_job ? 0 : head.size);
      for (std::uint64_t i = 0; i < head.size; ++i) {
        const Head key = msgpack::read_head(bytes.substr(at));
        const std::string_view name =
            key.kind == msgpack::Kind::text ? bytes.substr(at + key.bytes, key.size) : std::string_view();
        EmbeddedJobs::Content entry = hash_value(bytes, at, false);
        const EmbeddedJobs::Content item = hash_value(bytes, at, false);
        if (is_job && is_of_the_moment(name)) continue;
        entry = mixed(mixed(entry, item.first), item.second);
        out.first += entry.first, out.second += entry.second;  // a sum, because the order of entries must not matter
      }
      return out;
    }
    default:
      return mixed({4, 4}, bytes.substr(begin, head.bytes));
  }
}

}  // namespace

RecordType record_type(std::uint8_t type) {
  using Use = RecordType::Use;
  switch (type) {
    case 0:
      return {Use::object, ApiKind::node, {"ID"}, "node", "nodes"};
    case 1:
      return {Use::job, ApiKind::job, {"ID", "Namespace"}, "job", "jobs"};
    case 2:
      return {Use::index_entry, ApiKind::ignored, {"Key"}, "index entry", ""};
    case 3:
      return {Use::object, ApiKind::eval, {"ID"}, "evaluation", "evals"};
    case 4:
      return {Use::object, ApiKind::alloc, {"ID"}, "allocation", "allocs"};
    case 9:
      return {Use::job_version, ApiKind::job, {"ID", "Namespace"}, "job version", "job_version"};
    case 10:
      return {Use::object, ApiKind::deployment, {"ID"}, "deployment", "deployment"};
    case 13:
      return {Use::object, ApiKind::config, {}, "scheduler configuration", ""};
    case 17:
      return {Use::object, ApiKind::csi_plugin, {"ID"}, "CSI plugin", "csi_plugins"};
    case 18:
      return {Use::object, ApiKind::csi_volume, {"ID", "Namespace"}, "CSI volume", "csi_volumes"};
    case 28:
      return {Use::object, ApiKind::pool, {"Name"}, "node pool", "node_pools"};
    case 31:
      return {Use::object, ApiKind::host_volume, {"ID"}, "host volume", "host_volumes"};
    case 64:
      return {Use::object, ApiKind::name_space, {"Name"}, "namespace", "namespaces"};
    default:
      // 6 (periodic launches) and views such as 7 (job summaries) are derived by berth. The rest is unused or secret.
      return {type <= 30 ? Use::skip : Use::unknown, ApiKind::ignored, {}, "", ""};
  }
}

EmbeddedJobs::Content EmbeddedJobs::content_of(std::string_view object) {
  std::size_t at = 0;
  return hash_value(object, at, true);
}

EmbeddedJobs::Content EmbeddedJobs::bytes_of(std::string_view object) { return mixed({5, 5}, object); }

const std::size_t* EmbeddedJobs::find(const Content& content) const {
  const auto found = positions_.find(content);
  return found == positions_.end() ? nullptr : &found->second;
}

std::size_t EmbeddedJobs::add(const Content& content, std::shared_ptr<const model::Job> job) {
  table_.push_back(std::move(job));
  positions_.emplace(content, table_.size() - 1);
  return table_.size() - 1;
}

json::Value RecordReader::read() {
  json::Value out = value(&record_shape(type_));
  if (!bad_key_.empty()) return {};
  if (!out.is_object()) {
    bad_key_ = "the object";
    return {};
  }
  return out;
}

json::Value RecordReader::bad() {
  if (bad_key_.empty()) {
    for (const std::string_view key : path_) {
      if (!bad_key_.empty()) bad_key_ += '/';
      bad_key_ += shortened(std::string(key));
    }
    if (bad_key_.empty()) bad_key_ = "the object";
  }
  return {};
}

void RecordReader::skip() {
  msgpack::Walk walk;
  const std::string_view rest = bytes_.substr(at_);
  static_cast<void>(walk.go_on(rest, rest.size()));
  at_ += walk.position();
}

json::Value RecordReader::value(const RecordShape* shape) {
  using Leaf = RecordShape::Leaf;
  if (!bad_key_.empty()) return {};
  if (shape && shape->leaf == Leaf::job) return embedded_job(shape);
  const Head head = msgpack::read_head(bytes_.substr(at_));
  at_ += head.bytes;
  const bool is_time = shape && (shape->leaf == Leaf::time || shape->leaf == Leaf::time_text);
  const bool is_bytes = shape && (shape->leaf == Leaf::bytes || shape->leaf == Leaf::numbers);
  if ((is_time || is_bytes) && head.kind != msgpack::Kind::nil && head.kind != msgpack::Kind::text &&
      head.kind != msgpack::Kind::extension)
    return bad();
  switch (head.kind) {
    case msgpack::Kind::boolean:
      return head.truth;
    case msgpack::Kind::integer:
      return head.integer;
    case msgpack::Kind::unsigned_integer:
      return head.unsigned_;
    case msgpack::Kind::real:
      return head.real;
    case msgpack::Kind::text:
      at_ += head.size;
      return text(bytes_.substr(at_ - head.size, head.size), shape);
    case msgpack::Kind::extension: {
      at_ += head.size;
      if (!is_time || head.extension != -1) return is_time || is_bytes ? bad() : json::Value();
      const std::string_view bytes = bytes_.substr(at_ - head.size, head.size);
      std::uint64_t ns = 0;
      std::int64_t seconds = 0;
      if (bytes.size() == 4)
        seconds = static_cast<std::int64_t>(big_endian(bytes));
      else if (bytes.size() == 8)
        ns = big_endian(bytes) >> 34, seconds = static_cast<std::int64_t>(big_endian(bytes) & ((1ULL << 34) - 1));
      else if (bytes.size() == 12)
        ns = big_endian(bytes.substr(0, 4)), seconds = static_cast<std::int64_t>(big_endian(bytes.substr(4)));
      else
        return bad();
      if (seconds < -kNsSeconds || seconds > kNsSeconds || ns >= 1'000'000'000) return bad();
      const std::int64_t at = seconds * base::kSecond + static_cast<std::int64_t>(ns);
      return shape->leaf == Leaf::time ? json::Value(at) : json::Value(text_of(at, 0));
    }
    case msgpack::Kind::array: {
      json::Array items;
      items.reserve(std::min<std::uint64_t>(head.size, 4096));  // R-SNAP-131
      for (std::uint64_t i = 0; i < head.size && bad_key_.empty(); ++i) items.push_back(value(shape));
      return json::Value(std::move(items));
    }
    case msgpack::Kind::map:
      return map(shape, head.size);
    default:
      return {};
  }
}

json::Value RecordReader::map(const RecordShape* shape, std::uint64_t entries) {
  json::Object members;
  members.reserve(std::min<std::uint64_t>(entries, 4096));
  const bool is_free = shape && shape->leaf == RecordShape::Leaf::free;
  for (std::uint64_t i = 0; i < entries && bad_key_.empty(); ++i) {
    const Head head = msgpack::read_head(bytes_.substr(at_));
    if (head.kind != msgpack::Kind::text) return bad();  // R-SNAP-40
    const std::string_view key = bytes_.substr(at_ + head.bytes, head.size);
    at_ += head.bytes + head.size;
    const RecordShape* under = is_free ? shape : shape ? shape->under(key) : nullptr;
    const bool is_nil = msgpack::read_head(bytes_.substr(at_)).kind == msgpack::Kind::nil;
    if (under &&
        (under->leaf == RecordShape::Leaf::dropped || (under->leaf == RecordShape::Leaf::unless_nil && is_nil))) {
      skip();
      continue;
    }
    path_.push_back(key);
    json::Value item = value(under);
    path_.pop_back();
    members.push_back({std::string(key), std::move(item)});
  }
  return json::Value(std::move(members));
}

json::Value RecordReader::text(std::string_view bytes, const RecordShape* shape) {
  using Leaf = RecordShape::Leaf;
  switch (shape ? shape->leaf : Leaf::plain) {
    case Leaf::time:
    case Leaf::time_text:
      return time(bytes, shape);
    case Leaf::bytes:
      return base::to_base64(bytes);
    case Leaf::numbers: {
      json::Array items;
      for (const char c : bytes) items.emplace_back(std::int64_t{static_cast<unsigned char>(c)});
      return json::Value(std::move(items));
    }
    default:
      return bytes;
  }
}

json::Value RecordReader::time(std::string_view bytes, const RecordShape* shape) {
  const bool as_text = shape->leaf == RecordShape::Leaf::time_text;
  if (bytes.empty()) return {};
  const bool second_form = bytes.size() == 16 && bytes[0] == 2;
  if ((bytes.size() == 15 && bytes[0] == 1) || second_form) {
    const auto seconds = static_cast<std::int64_t>(big_endian(bytes.substr(1, 8)));
    const auto ns = static_cast<std::int64_t>(big_endian(bytes.substr(9, 4)));
    const auto offset = static_cast<std::int16_t>(big_endian(bytes.substr(13, 2)));
    if (seconds < 0 || seconds >= kSecondsMax || ns >= base::kSecond) return bad();
    if (seconds == 0 && ns == 0) return {};
    const std::int64_t unix_seconds = seconds - kSecondsBefore1970;
    if (unix_seconds < -kNsSeconds || unix_seconds > kNsSeconds) return bad();
    const std::int64_t at = unix_seconds * base::kSecond + ns;
    return as_text ? json::Value(text_of(at, offset == -1 ? 0 : offset)) : json::Value(at);
  }
  const auto parsed = base::parse_rfc3339(bytes);
  if (!parsed) return bad();
  return as_text ? json::Value(bytes) : json::Value(parsed->ns);
}

json::Value RecordReader::embedded_job(const RecordShape*) {
  const std::size_t begin = at_;
  const Head head = msgpack::read_head(bytes_.substr(at_));
  if (head.kind == msgpack::Kind::nil) {
    ++at_;
    return {};
  }
  if (head.kind != msgpack::Kind::map) return bad();
  skip();
  const std::string_view object = bytes_.substr(begin, at_ - begin);
  const EmbeddedJobs::Content bytes = EmbeddedJobs::bytes_of(object);
  if (const std::size_t* known = jobs_.find(bytes)) return static_cast<std::uint64_t>(*known);
  const EmbeddedJobs::Content content = EmbeddedJobs::content_of(object);
  if (const std::size_t* known = jobs_.find(content)) {
    const std::size_t position = *known;  // adding may move it
    jobs_.add_bytes(bytes, position);
    return static_cast<std::uint64_t>(position);
  }
  RecordReader reader(1, object, jobs_);
  const json::Value job = reader.read();
  if (!reader.bad_key().empty()) {
    bad_key_ = "Job/" + reader.bad_key();
    return {};
  }
  model::ReadOptions options;
  options.integral_reals = true;
  auto stored = read_stored_job(job, options);
  if (!stored) {
    bad_key_ = "Job" + stored.error().place;
    return {};
  }
  const std::size_t position = jobs_.add(content, std::move(*stored));
  jobs_.add_bytes(bytes, position);
  return static_cast<std::uint64_t>(position);
}

}  // namespace berth::io
