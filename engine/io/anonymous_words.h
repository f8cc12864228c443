// Texts cut into units that are replaced or kept: words, numbers, addresses, UUIDs; and the words that stay because
// they are Nomad's and not a user's. For anonymize.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace berth::io {

/// Which words of Nomad's may stand in a text, by where the text is.
enum class Vocabulary : std::uint8_t {
  name,        ///< names and values that users choose: hardly any
  secret,      ///< what tasks are given: as `name`, and numbers are words as well
  enumerated,  ///< members with a fixed set of values: Type, Status, Driver, ...
  message,     ///< sentences of Nomad's, and the reasons of metrics
  attribute,   ///< keys of node attributes
  variable,    ///< inside of ${...}
  schedule,    ///< cron
};

/// True if `word` stays in a text of that vocabulary. ASCII case does not matter.
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
  std::size_t size = 1;  ///< bytes
};

/// The unit that begins `text[at]`, where a unit may begin: at the begin of the text, behind another unit or a
/// separator. Looks at no more bytes than the unit has, up to a bound.
[[nodiscard]] Unit unit_at(std::string_view text, std::size_t at);

/// True for a version as `version` and `semver` read it, such as 1.8.0-dev or 5.15.0-91-generic.
[[nodiscard]] bool looks_like_version(std::string_view text);

}  // namespace berth::io
