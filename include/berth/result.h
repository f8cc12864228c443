// How berth's functions fail: an answer is a value, a misbehaving world is an error value, a bug is an assertion.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace berth {

/// What went wrong inside the engine with something handed to it; `subject` names the object.
enum class Errc : std::uint8_t {
  token_mismatch,     ///< subject = evaluation row; the token was replaced by a redelivery
  queue_full,         ///< subject = capacity; try again after an ack
  unknown_object,     ///< subject = row or index that does not exist
  not_outstanding,    ///< subject = evaluation row; it was not handed out, or already acknowledged
  processing_failed,  ///< the evaluation ended with a processing error (R-SCHED-5); the text says why
  already_used,       ///< a plan that was committed before, or one of another cluster
};

struct Error {
  Errc code{};
  std::uint64_t subject = 0;
  std::string text;  ///< verbatim text where a rule fixes one, else empty
};

/// A file or a value in it that cannot be used. Printed as one line: `path:place: problem; remedy`.
struct InputError {
  std::string path;     ///< file, or "-" when the text did not come from a file
  std::string place;    ///< line, JSON pointer or table.key; empty when the whole file is meant
  std::string problem;  ///< what is wrong
  std::string remedy;   ///< what to do about it

  [[nodiscard]] std::string line() const {
    std::string out = path.empty() ? "-" : path;
    if (!place.empty()) out += ":" + place;
    out += ": " + problem;
    if (!remedy.empty()) out += "; " + remedy;
    return out;
  }
};

template <class T, class E = InputError>
using Result = tl::expected<T, E>;

}  // namespace berth
