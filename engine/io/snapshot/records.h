// Converts records of state.bin to the objects of Nomad's API (R-SNAP-20, 30 to 40, 90): msgpack values become JSON,
// and the field decides the form of times and byte strings. Secrets are skipped by length and never become a value
// (R-SNAP-111).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "io/cluster_parts.h"

namespace berth::io {

struct RecordShape;  // record_shape.h

/// How records are treated, by their type byte.
struct RecordType {
  enum class Use : std::uint8_t { unknown, skip, index_entry, job, job_version, object };
  Use use = Use::unknown;
  ApiKind kind = ApiKind::ignored;         ///< only for `object`
  std::array<std::string_view, 2> name{};  ///< members that form the object's identity; the first is its ID
  const char* what = "";                   ///< noun for messages
  const char* table = "";                  ///< key of the index entry of the record's table
};
[[nodiscard]] RecordType record_type(std::uint8_t type);

/// The jobs that allocations embed, deduplicated by content. For fields that change within a version, such as its
/// status, the first value seen is used (R-SNAP-73).
class EmbeddedJobs {
 public:
  struct Content {
    std::uint64_t first = 0, second = 0;
    bool operator==(const Content&) const = default;
  };
  /// 128-bit hash of a job's bytes, whose bounds were checked. The order of map entries does not matter.
  [[nodiscard]] static Content content_of(std::string_view object);
  /// 128-bit hash of the bytes as they are: several times faster, and usually enough.
  [[nodiscard]] static Content bytes_of(std::string_view object);

  [[nodiscard]] const std::size_t* find(const Content& content) const;
  std::size_t add(const Content& content, std::shared_ptr<const model::Job> job);
  /// Finds the job at `position` by these bytes, too.
  void add_bytes(const Content& bytes, std::size_t position) { positions_.emplace(bytes, position); }
  [[nodiscard]] const model::JobTable& table() const { return table_; }

 private:
  struct Hash {
    std::size_t operator()(const Content& content) const { return content.first; }
  };
  std::unordered_map<Content, std::size_t, Hash> positions_;
  model::JobTable table_;
};

/// Reads one object of a record whose bounds the walk has checked. An allocation's job becomes its position in `jobs`.
class RecordReader {
 public:
  RecordReader(std::uint8_t type, std::string_view object, EmbeddedJobs& jobs)
      : type_(type), bytes_(object), jobs_(jobs) {}

  /// Returns the object; null if a value does not fit its key, which bad_key() names.
  [[nodiscard]] json::Value read();
  [[nodiscard]] const std::string& bad_key() const { return bad_key_; }

 private:
  [[nodiscard]] json::Value value(const RecordShape* shape);
  [[nodiscard]] json::Value map(const RecordShape* shape, std::uint64_t entries);
  [[nodiscard]] json::Value text(std::string_view bytes, const RecordShape* shape);
  [[nodiscard]] json::Value time(std::string_view bytes, const RecordShape* shape);
  [[nodiscard]] json::Value embedded_job(const RecordShape* shape);
  void skip();
  json::Value bad();

  std::uint8_t type_;
  std::string_view bytes_;
  EmbeddedJobs& jobs_;
  std::size_t at_ = 0;
  std::vector<std::string_view> path_;
  std::string bad_key_;
};

}  // namespace berth::io
