// Records of state.bin as the objects of Nomad's API (R-SNAP-20, 30 to 40, 90): the values of msgpack become those of
// JSON, times and byte strings by the field they stand in. Secrets are skipped by their length and never become a value
// (R-SNAP-111).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "io/cluster_parts.h"

namespace berth::io {

/// What is done with the records of a type, by its byte.
struct RecordType {
  enum class Use : std::uint8_t { unknown, skip, index_entry, job, job_version, object };
  Use use = Use::unknown;
  ApiKind kind = ApiKind::ignored;         ///< of an object
  std::array<std::string_view, 2> name{};  ///< members that together name the object; the first, or only, is the ID
  const char* what = "";                   ///< in messages
  const char* table = "";                  ///< key of its table's index entry
};
[[nodiscard]] RecordType record_type(std::uint8_t type);

/// Jobs that allocations carry, by content. Of the fields that change while a version lives, such as its status, those
/// seen first stand for all (R-SNAP-73).
class EmbeddedJobs {
 public:
  struct Content {
    std::uint64_t first = 0, second = 0;
    bool operator==(const Content&) const = default;
  };
  /// Of a job's bytes, whose bounds were checked: 128 bits, the same for every order of the entries of maps.
  [[nodiscard]] static Content content_of(std::string_view object);

  [[nodiscard]] const std::size_t* find(const Content& content) const;
  std::size_t add(const Content& content, std::shared_ptr<const model::Job> job);
  [[nodiscard]] const model::JobTable& table() const { return table_; }

 private:
  struct Hash {
    std::size_t operator()(const Content& content) const { return content.first; }
  };
  std::unordered_map<Content, std::size_t, Hash> positions_;
  model::JobTable table_;
};

/// Reads one object of a record, whose bounds the walk has checked. An allocation's job comes out as its position in
/// `jobs`.
class RecordReader {
 public:
  RecordReader(std::uint8_t type, std::string_view object, EmbeddedJobs& jobs)
      : type_(type), bytes_(object), jobs_(jobs) {}

  /// The object; null after a value that its key cannot have, which bad_key() names.
  [[nodiscard]] json::Value read();
  [[nodiscard]] const std::string& bad_key() const { return bad_key_; }

 private:
  struct Shape;
  static const Shape& shape_of(std::uint8_t type);

  [[nodiscard]] json::Value value(const Shape* shape);
  [[nodiscard]] json::Value map(const Shape* shape, std::uint64_t entries);
  [[nodiscard]] json::Value text(std::string_view bytes, const Shape* shape);
  [[nodiscard]] json::Value time(std::string_view bytes, const Shape* shape);
  [[nodiscard]] json::Value embedded_job(const Shape* shape);
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
