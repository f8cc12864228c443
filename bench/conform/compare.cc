#include "conform/compare.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace berth::conform {

bool is_zero(const json::Value& v) {
  if (v.is_null()) return true;
  if (v.is_bool()) return !v.as_bool();
  if (v.is_number()) return v.as_double() == 0;
  if (v.is_string()) return v.as_string().empty();
  return v.size() == 0;
}

namespace {

std::string shortened(const json::Value& v) {
  std::string text = json::to_text(v);
  if (text.size() > 300) text = text.substr(0, 300) + "...";
  return text;
}

class Comparer {
 public:
  explicit Comparer(const CompareOptions& options) : options_(options) {}

  void run(const json::Value& expected, const json::Value& got, const std::string& place) {
    if (options_.absent_is_zero && is_zero(expected) && is_zero(got)) return;
    if (expected.is_number() && got.is_number()) {
      const bool same = expected.is_int() && got.is_int() ? expected == got : expected.as_double() == got.as_double();
      if (!same) add(place, expected, got);
    } else if (expected.is_object() && (got.is_object() || (options_.absent_is_zero && got.is_null()))) {
      for (const json::Member& m : expected.members()) run(m.value, got[m.key], place + "/" + m.key);
      for (const json::Member& m : got.members())
        if (!expected.has(m.key)) run(json::Value(), m.value, place + "/" + m.key);
    } else if (expected.is_array() && got.is_array()) {
      if (options_.lists_are_sets)
        run_sets(expected, got, place);
      else
        run_lists(expected, got, place);
    } else if (expected != got) {
      add(place, expected, got);
    }
  }
  std::vector<Difference> take() { return std::move(out_); }

 private:
  void run_lists(const json::Value& expected, const json::Value& got, const std::string& place) {
    if (expected.size() != got.size()) return add(place, expected, got);
    for (std::size_t i = 0; i < expected.size(); ++i) run(expected[i], got[i], place + "/" + std::to_string(i));
  }
  void run_sets(const json::Value& expected, const json::Value& got, const std::string& place) {
    if (expected.size() != got.size()) return add(place, expected, got);
    std::vector<bool> used(got.size());
    for (const json::Value& want : expected.items()) {
      bool found = false;
      for (std::size_t i = 0; i < got.size() && !found; ++i) {
        if (used[i]) continue;
        Comparer inner(options_);
        inner.run(want, got[i], "");
        if (inner.out_.empty()) found = used[i] = true;
      }
      if (!found) return add(place, expected, got);
    }
  }
  void add(const std::string& place, const json::Value& expected, const json::Value& got) {
    out_.push_back({place, shortened(expected), shortened(got), std::string(options_.rule)});
  }

  const CompareOptions& options_;
  std::vector<Difference> out_;
};

}  // namespace

std::vector<Difference> compare(const json::Value& expected, const json::Value& got, const CompareOptions& options) {
  Comparer comparer(options);
  comparer.run(expected, got, "");
  return comparer.take();
}

std::string bits_text(double value) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::uint64_t bits = std::isnan(value) ? 0x7ff8000000000001ULL : std::bit_cast<std::uint64_t>(value);
  std::string out(16, '0');
  for (int i = 15; i >= 0; --i, bits >>= 4) out[static_cast<std::size_t>(i)] = kHex[bits & 15];
  return out;
}

std::optional<double> parse_bits(std::string_view text) {
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, 16);
  if (text.size() != 16 || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return std::bit_cast<double>(bits);
}

std::string same_nan(const json::Value& bits) {
  const auto value = parse_bits(bits.as_string());
  return value ? bits_text(*value) : bits.as_string();
}

}  // namespace berth::conform
