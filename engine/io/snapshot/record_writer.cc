#include "io/snapshot/record_writer.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/base64.h"
#include "base/time.h"
#include "io/snapshot/record_shape.h"

namespace berth::io {
namespace {

using Leaf = RecordShape::Leaf;

class RecordWriter {
 public:
  RecordWriter(std::string& out, std::string_view job) : out_(out), job_(job) {}

  void value(const json::Value& value, const RecordShape* shape) {
    const Leaf leaf = shape ? shape->leaf : Leaf::plain;
    if (leaf == Leaf::time || leaf == Leaf::time_text) {
      if (!value.is_array() && !value.is_object()) return time(value);
    } else if (leaf == Leaf::bytes && value.is_string()) {
      return text(base::from_base64(value.as_string()).value_or(value.as_string()));
    } else if (leaf == Leaf::numbers && value.is_array()) {
      std::string bytes;
      for (const json::Value& number : value.items()) bytes += static_cast<char>(number.as_int());
      return text(bytes);
    }
    if (value.is_array()) {
      head(value.size(), 0x90, 0xdc);
      for (const json::Value& item : value.items()) this->value(item, shape);
    } else if (value.is_object()) {
      map(value, shape);
    } else {
      scalar(value);
    }
  }

 private:
  void big_endian(std::uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out_ += static_cast<char>(value >> shift & 0xff);
  }

  void byte(unsigned value) { out_ += static_cast<char>(value); }

  /// Of an array or a map; `wide` is the form with 16 bits, the next one that with 32.
  void head(std::size_t size, unsigned small, unsigned wide) {
    if (size < 16) return byte(small | static_cast<unsigned>(size));
    const bool fits = size <= 0xffff;
    byte(fits ? wide : wide + 1), big_endian(size, fits ? 2 : 4);
  }

  void text(std::string_view bytes) {
    if (bytes.size() < 32) {
      byte(0xa0 | static_cast<unsigned>(bytes.size()));
    } else {
      const bool fits = bytes.size() <= 0xffff;  // never the form with 8 bits, which older readers lack (R-SNAP-30)
      byte(fits ? 0xda : 0xdb), big_endian(bytes.size(), fits ? 2 : 4);
    }
    out_ += bytes;
  }

  void scalar(const json::Value& value) {
    if (value.is_null()) return byte(0xc0);
    if (value.is_bool()) return byte(value.as_bool() ? 0xc3 : 0xc2);
    if (value.is_string()) return text(value.as_string());
    if (value.is_double()) return byte(0xcb), big_endian(std::bit_cast<std::uint64_t>(value.as_double()), 8);
    if (value.is_int64() && value.as_int() < 0) return negative(value.as_int());
    const std::uint64_t number = value.as_uint();
    if (number < 0x80) return byte(static_cast<unsigned>(number));
    const int width = number <= 0xff ? 0 : number <= 0xffff ? 1 : number <= 0xffffffff ? 2 : 3;
    byte(0xccU + static_cast<unsigned>(width)), big_endian(number, 1 << width);
  }

  void negative(std::int64_t number) {
    if (number >= -32) return byte(static_cast<unsigned>(number & 0xff));
    const int width = number >= -0x80 ? 0 : number >= -0x8000 ? 1 : number >= -0x80000000LL ? 2 : 3;
    byte(0xd0U + static_cast<unsigned>(width)), big_endian(static_cast<std::uint64_t>(number), 1 << width);
  }

  /// A text of the API, ns since 1970, or null for no time (R-SNAP-36).
  void time(const json::Value& value) {
    std::int64_t seconds = 0, ns = 0, offset = -1;
    const auto at = value.is_string() ? base::parse_rfc3339(value.as_string())
                    : value.is_int()  ? std::optional(base::Time{value.as_int()})
                                      : std::nullopt;
    if (at && !at->is_zero()) {
      ns = (at->ns % base::kSecond + base::kSecond) % base::kSecond;
      seconds = (at->ns - ns) / base::kSecond + kSecondsBefore1970;
      if (value.is_string()) offset = offset_minutes(value.as_string());
    }
    byte(0xaf), byte(1);
    big_endian(static_cast<std::uint64_t>(seconds), 8), big_endian(static_cast<std::uint64_t>(ns), 4);
    big_endian(static_cast<std::uint64_t>(offset), 2);
  }

  /// Of `...+01:00`; -1: UTC.
  static std::int64_t offset_minutes(std::string_view text) {
    const std::string_view zone = text.substr(text.size() - std::min<std::size_t>(text.size(), 6));
    if (zone.size() < 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return -1;
    const auto digits = [&](std::size_t i) { return (zone[i] - '0') * 10 + (zone[i + 1] - '0'); };
    const std::int64_t minutes = digits(1) * 60 + digits(4);
    return zone[0] == '-' ? -minutes : minutes;
  }

  void map(const json::Value& object, const RecordShape* shape) {
    head(object.size(), 0x80, 0xde);
    for (const json::Member& member : object.members()) {
      text(member.key);
      const RecordShape* under = !shape ? nullptr : shape->leaf == Leaf::free ? shape : shape->under(member.key);
      if (under && under->leaf == Leaf::job && !job_.empty())
        out_ += job_;
      else
        value(member.value, under);
    }
  }

  std::string& out_;
  std::string_view job_;
};

}  // namespace

void append_record_object(std::string& out, std::uint8_t type, const json::Value& object, std::string_view job) {
  RecordWriter(out, job).value(object, &record_shape(type));
}

}  // namespace berth::io
