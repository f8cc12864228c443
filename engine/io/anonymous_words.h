// Cuts texts into units that are replaced or kept (words, numbers, addresses, UUIDs), and lists the words that stay
// because they are Nomad's own. Used by anonymize.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::io {

/// Which of Nomad's own words may occur in a text, by the place of the text.
enum class Vocabulary : std::uint8_t {
  name,        ///< names and values that users choose: almost none
  secret,      ///< task inputs: like `name`, but numbers are words too
  enumerated,  ///< members with a fixed set of values: Type, Status, Driver, ...
  message,     ///< Nomad's sentences, and the reasons in metrics
  attribute,   ///< keys of node attributes
  variable,    ///< inside of ${...}
  schedule,    ///< cron expressions
};

/// True if `word` stays in a text of that vocabulary. Ignores ASCII case.
[[nodiscard]] bool is_nomads_word(std::string_view word, Vocabulary vocabulary);

enum class UnitKind : std::uint8_t {
  none,      ///< a separator: one character that stays
  fixed,     ///< a UUID, or an address that every machine has, such as 127.0.0.1: stays
  number,    ///< up to five digits, with or without a unit of time
  word,      ///< letters and digits
  hardware,  ///< a MAC address: a word, colons included
  address4,
  address6,
};
struct Unit {
  UnitKind kind = UnitKind::none;
  std::size_t size = 1;  ///< in bytes
};

/// The unit that begins at `text[at]`, which must be the start of the text or follow a unit or a separator. Reads no
/// more bytes than the unit has, up to a bound.
[[nodiscard]] Unit unit_at(std::string_view text, std::size_t at);

/// True for a version that the operands `version` and `semver` can read, such as 1.8.0-dev or 5.15.0-91-generic.
[[nodiscard]] bool looks_like_version(std::string_view text);

}  // namespace berth::io
