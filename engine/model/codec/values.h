// Reads values from JSON and writes them as JSON. Included only by the files of this folder that instantiate codec.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "base/json.h"
#include "base/json_members.h"
#include "base/printable.h"
#include "base/type_kinds.h"
#include "model/codec/codec.h"

namespace berth::model {
namespace codec {

using base::is_map;
using base::is_optional;
using base::is_shared;
using base::is_vector;

/// A JSON pointer as a chain of stack frames: free until an error needs its text.
struct Place {
  const Place* parent = nullptr;
  std::string_view key = {};
  std::size_t index = 0;

  [[nodiscard]] std::string text() const {
    std::string out = parent ? parent->text() : std::string(key);
    if (!parent) return out;
    out += '/';
    if (!key.empty()) {
      for (const char c : base::printable(key, false)) {  // errors are one line
        if (c == '~')
          out += "~0";
        else if (c == '/')
          out += "~1";
        else
          out += c;
      }
    } else {
      out += std::to_string(index);
    }
    return out;
  }
};

class Reader {
 public:
  /// `consumed`: strings and retained values may be moved out of the input, which the caller owns.
  enum class Input : std::uint8_t { kept, consumed };
  explicit Reader(const ReadOptions& options, Input input = Input::kept)
      : options_(options), consumes_(input == Input::consumed) {}

  template <class T>
  void read(const json::Value& value, T& out, const Place& place) {
    if (error_) return;
    if constexpr (is_shared<T>::value) {
      typename T::value_type read_value{};
      read(value, read_value, place);
      out = std::move(read_value);
    } else if constexpr (std::same_as<T, json::Value>) {
      copy_or_move(value, out);
    } else if constexpr (is_optional<T>::value) {
      if (value.is_null())
        out.reset();
      else
        read(value, out.emplace(), place);
    } else if constexpr (std::same_as<T, base::Time>) {
      read_time(value, out, place);
    } else {
      if (value.is_null()) {
        out = T{};
        return;
      }
      if constexpr (std::same_as<T, std::string>) {
        if (!value.is_string()) return mistyped(value, "a string", place);
        copy_or_move(value.as_string(), out);
      } else if constexpr (std::same_as<T, bool>) {
        if (!value.is_bool()) return mistyped(value, "true or false", place);
        out = value.as_bool();
      } else if constexpr (std::integral<T>) {
        read_integer(value, out, place);
      } else if constexpr (std::floating_point<T>) {
        if (!value.is_number()) return mistyped(value, "a number", place);
        out = value.as_double();
      } else if constexpr (is_vector<T>::value) {
        if (!value.is_array()) return mistyped(value, "a list", place);
        out.clear();
        out.reserve(value.size());
        for (std::size_t i = 0; i < value.items().size() && !error_; ++i)
          read(value.items()[i], out.emplace_back(), Place{&place, {}, i});
      } else if constexpr (is_map<T>::value) {
        if (!value.is_object()) return mistyped(value, "an object", place);
        out.clear();
        for (const json::Member& member : value.members()) {
          if (error_) return;
          read(member.value, out[member.key], Place{&place, member.key});
        }
      } else {
        if (!value.is_object()) return mistyped(value, "an object", place);
        FieldReader fields{*this, value, place, {}};
        fields.known.reserve(value.size());
        T::fields(out, fields);
      }
    }
  }

  [[nodiscard]] Result<void> result() && {
    if (error_) return tl::unexpected(std::move(*error_));
    return {};
  }

 private:
  struct FieldReader {
    Reader& reader;
    const json::Value& object;
    const Place& place;
    std::vector<std::string_view> known;  ///< names of fields that are present

    template <class T>
    void operator()(std::string_view key, T& out) {
      const json::Value* value = reader.options_.ignore_case ? object.find_ignoring_case(key) : object.find(key);
      if (!value) {
        out = T{};
        return;
      }
      known.push_back(key);
      reader.read(*value, out, Place{&place, key});
    }
    /// Retains members that no field named, unchanged (R-MODEL-7).
    void extra(json::Value& out) {
      out = json::Value();
      if (known.size() == object.size() && !reader.options_.ignore_case) return;
      json::Object others;
      for (const json::Member& member : object.members())
        if (std::find(known.begin(), known.end(), member.key) == known.end() && !member.value.is_null())
          others.push_back(member);
      if (!others.empty()) json::merge_members(others, out);
    }
    void extra(json::Retained& out) {
      json::Value members;
      extra(members);
      out = std::move(members);
    }
    void job(std::string_view key, std::shared_ptr<const Job>& out) {
      out.reset();
      const json::Value* value = object.find(key);
      if (!value) return;
      known.push_back(key);
      if (value->is_null()) return;
      const Place here{&place, key};
      if (reader.options_.jobs && value->is_int()) {
        const std::uint64_t index = value->as_uint();
        if (index >= reader.options_.jobs->size())
          return reader.fail(here,
                             "job " + std::to_string(index) + " is not in the table of " +
                                 std::to_string(reader.options_.jobs->size()) + " jobs",
                             "use an index into `jobs`");
        out = (*reader.options_.jobs)[index];
        return;
      }
      auto job = std::make_shared<Job>();
      reader.read(*value, *job, here);
      out = std::move(job);
    }
  };

  template <class T>
  void copy_or_move(const T& from, T& to) {
    if (consumes_)
      to = std::move(const_cast<T&>(from));
    else
      to = from;
  }

  template <class T>
  void read_integer(const json::Value& value, T& out, const Place& place) {
    if (options_.integral_reals && value.is_double() && std::abs(value.as_double()) < 0x1p63 &&
        std::trunc(value.as_double()) == value.as_double())
      return read_integer(json::Value(static_cast<std::int64_t>(value.as_double())), out, place);
    if (!value.is_int()) return mistyped(value, "an integer", place);
    bool fits;
    if constexpr (std::is_signed_v<T>)
      fits = value.is_int64() && value.as_int() >= std::numeric_limits<T>::min() &&
             value.as_int() <= std::numeric_limits<T>::max();
    else
      fits = (value.is_uint64() || value.as_int() >= 0) && value.as_uint() <= std::numeric_limits<T>::max();
    if (!fits)
      return fail(place,
                  json::to_text(value) + " is outside " + std::to_string(std::numeric_limits<T>::min()) + ".." +
                      std::to_string(std::numeric_limits<T>::max()),
                  "use a value in that range");
    out = static_cast<T>(value.is_uint64() ? value.as_uint() : static_cast<std::uint64_t>(value.as_int()));
  }

  void read_time(const json::Value& value, base::Time& out, const Place& place) {
    out = base::Time{};
    if (value.is_null()) return;
    if (value.is_int()) {
      out.ns = value.as_int();
      return;
    }
    if (!value.is_string()) return mistyped(value, "an RFC 3339 time", place);
    if (value.as_string().empty()) return;
    const auto time = base::parse_rfc3339(value.as_string());
    if (!time)
      return fail(place, "'" + value.as_string().substr(0, 60) + "' " + base::rfc3339_problem(value.as_string()),
                  "write it as 2026-01-02T03:04:05Z");
    out = *time;
  }

  void mistyped(const json::Value& value, const char* wanted, const Place& place) {
    fail(place, std::string("expected ") + wanted + ", got " + value.kind(), "correct the value");
  }
  void fail(const Place& place, std::string problem, std::string remedy) {
    if (!error_) error_ = InputError{options_.path, place.text(), std::move(problem), std::move(remedy)};
  }

  const ReadOptions& options_;
  const bool consumes_;
  std::optional<InputError> error_;
};

template <class T>
concept OmitsZero = requires {
  requires T::kOmitZero;
};

class Writer {
 public:
  Writer(WriteMode mode, const JobTable* jobs) : mode_(mode), jobs_(jobs) {}

  template <class T>
  json::Value write(const T& value) {
    if constexpr (is_shared<T>::value) {
      return write(*value);
    } else if constexpr (std::same_as<T, json::Value>) {
      return value;
    } else if constexpr (is_optional<T>::value) {
      return value ? write(*value) : json::Value();
    } else if constexpr (std::same_as<T, base::Time>) {
      return value.is_zero() ? json::Value() : json::Value(base::to_rfc3339(value));
    } else if constexpr (std::same_as<T, std::string>) {
      return value;
    } else if constexpr (std::same_as<T, bool>) {
      return value;
    } else if constexpr (std::signed_integral<T>) {
      return static_cast<std::int64_t>(value);
    } else if constexpr (std::unsigned_integral<T>) {
      return static_cast<std::uint64_t>(value);
    } else if constexpr (std::floating_point<T>) {
      return static_cast<double>(value);
    } else if constexpr (is_vector<T>::value) {
      json::Array items;
      items.reserve(value.size());
      for (const auto& item : value) items.push_back(write(item));
      return json::Value(std::move(items));
    } else if constexpr (is_map<T>::value) {
      json::Object members;
      members.reserve(value.size());
      for (const auto& [key, item] : value) members.push_back({key, write(item)});
      return json::Value(std::move(members));
    } else {
      FieldWriter fields{*this, json::Value::object(), mode_ == WriteMode::sparse || OmitsZero<T>};
      T::fields(value, fields);
      return std::move(fields.out);
    }
  }

 private:
  struct FieldWriter {
    Writer& writer;
    json::Value out;
    bool omit_zero;

    template <class T>
    void operator()(std::string_view key, const base::Shared<T>& value) {
      (*this)(key, *value);
    }
    void operator()(std::string_view key, const json::Retained& value) { (*this)(key, *value); }
    template <class T>
    void operator()(std::string_view key, const T& value) {
      json::Value text = writer.write(value);
      if constexpr (is_vector<T>::value || is_map<T>::value)
        if (value.empty()) text = json::Value();  // absent lists and maps are null (R-MODEL-604)
      if (omit_zero && is_zero(value, text)) return;
      out.members().push_back({std::string(key), std::move(text)});
    }
    void extra(const json::Value& extra) {
      for (const json::Member& member : extra.members()) out.members().push_back(member);
    }
    void job(std::string_view key, const std::shared_ptr<const Job>& job) {
      if (!job) return;
      if (writer.jobs_)
        for (std::size_t i = 0; i < writer.jobs_->size(); ++i)
          if ((*writer.jobs_)[i] == job) {
            out.set(key, static_cast<std::uint64_t>(i));
            return;
          }
      out.set(key, writer.write(*job));
    }
    /// Zero of the field's own type; a field that may be absent is zero only when it is absent.
    template <class T>
    static bool is_zero(const T& value, const json::Value& text) {
      if constexpr (is_optional<T>::value)
        return !value.has_value();
      else if constexpr (std::same_as<T, std::string>)
        return value.empty();
      else if constexpr (std::is_arithmetic_v<T>)
        return value == T{};
      else if constexpr (std::same_as<T, json::Value>)
        return text.is_null();
      else
        return text.is_null() || (text.is_object() && text.size() == 0) || (text.is_array() && text.size() == 0);
    }
  };

  WriteMode mode_;
  const JobTable* jobs_;
};

}  // namespace codec

template <class T>
Result<void> from_json(const json::Value& value, T& out, const ReadOptions& options) {
  codec::Reader reader(options);
  reader.read(value, out, codec::Place{nullptr, options.place});
  return std::move(reader).result();
}

template <class T>
json::Value to_json(const T& value, WriteMode mode, const JobTable* jobs) {
  return codec::Writer(mode, jobs).write(value);
}

}  // namespace berth::model
