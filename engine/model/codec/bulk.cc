#include "model/codec/bulk.h"

#include <charconv>
#include <concepts>
#include <type_traits>

#include "base/json.h"
#include "base/type_kinds.h"

namespace berth::model {
namespace {

using base::is_map;
using base::is_optional;
using base::is_shared;
using base::is_vector;

/// Writes what codec::Writer (values.h) and json::append_text() write together.
class TextWriter {
 public:
  explicit TextWriter(std::string& out) : out_(out) {}

  template <class T>
  void write(const T& value) {
    if constexpr (is_shared<T>::value) {
      write(*value);
    } else if constexpr (std::same_as<T, json::Value>) {
      json::append_text(out_, value);
    } else if constexpr (is_optional<T>::value) {
      value ? write(*value) : write(json::Value());
    } else if constexpr (std::same_as<T, base::Time>) {
      value.is_zero() ? write(json::Value()) : json::append_quoted(out_, base::to_rfc3339(value));
    } else if constexpr (std::same_as<T, std::string>) {
      json::append_quoted(out_, value);
    } else if constexpr (std::same_as<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::integral<T>) {
      char digits[24];
      out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    } else if constexpr (std::floating_point<T>) {
      out_ += json::double_text(static_cast<double>(value));
    } else if constexpr (is_vector<T>::value) {
      out_ += '[';
      bool first = true;
      for (const auto& item : value) {
        if (!first) out_ += ',';
        first = false;
        write(item);
      }
      out_ += ']';
    } else if constexpr (is_map<T>::value) {
      out_ += '{';
      bool first = true;
      for (const auto& [key, item] : value) {
        begin(key, first);
        write(item);
      }
      out_ += '}';
    } else {
      out_ += '{';
      FieldWriter fields{*this};
      T::fields(value, fields);
      out_ += '}';
    }
  }

 private:
  struct FieldWriter {
    TextWriter& writer;
    bool first = true;

    template <class T>
    void operator()(std::string_view key, const base::Shared<T>& value) {
      (*this)(key, *value);
    }
    void operator()(std::string_view key, const json::Retained& value) { (*this)(key, *value); }
    template <class T>
    void operator()(std::string_view key, const T& value) {
      if (is_absent(value)) return;
      const std::size_t before = writer.out_.size();
      const bool was_first = first;
      writer.begin(key, first);
      const std::size_t begin = writer.out_.size();
      writer.write(value);
      // A struct of which nothing was written is left out, too.
      if constexpr (!is_optional<T>::value && std::is_class_v<T> && !std::same_as<T, json::Value>)
        if (writer.out_.size() == begin + 2 && writer.out_[begin] == '{') {
          writer.out_.resize(before);
          first = was_first;
        }
    }
    void extra(const json::Value& extra) {
      for (const json::Member& member : extra.members()) {
        writer.begin(member.key, first);
        writer.write(member.value);
      }
    }
    void job(std::string_view, const std::shared_ptr<const Job>&) {}

    template <class T>
    static bool is_absent(const T& value) {
      if constexpr (is_optional<T>::value)
        return !value.has_value();
      else if constexpr (std::same_as<T, std::string> || is_vector<T>::value || is_map<T>::value)
        return value.empty();
      else if constexpr (std::is_arithmetic_v<T>)
        return value == T{};
      else if constexpr (std::same_as<T, json::Value>)
        return value.is_null();
      else if constexpr (std::same_as<T, base::Time>)
        return value.is_zero();
      else
        return false;
    }
  };

  void begin(std::string_view key, bool& first) {
    if (!first) out_ += ',';
    first = false;
    json::append_quoted(out_, key);
    out_ += ':';
  }

  std::string& out_;
};

}  // namespace

template <class T>
void append_sparse(std::string& out, const T& value) {
  TextWriter(out).write(value);
}

#define BERTH_X(T) template void append_sparse<T>(std::string & out, const T& value);
BERTH_BULK_TYPES(BERTH_X)
#undef BERTH_X

}  // namespace berth::model
