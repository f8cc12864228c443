// How berth's functions report: a result is a value, bad input is an error value, a bug is an assertion.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace berth {

/// Error codes of the engine. `subject` identifies the object.
enum class Errc : std::uint8_t {
  token_mismatch,     ///< subject = evaluation row; the token was replaced by a redelivery
  queue_full,         ///< subject = capacity; try again after an ack
  unknown_object,     ///< subject = row or index that does not exist
  not_outstanding,    ///< subject = evaluation row; it was not handed out, or already acknowledged
  processing_failed,  ///< the evaluation ended with a processing error (R-SCHED-5); the text says why
  already_used,       ///< a plan that was committed before, or of another cluster
};

struct Error {
  Errc code{};
  std::uint64_t subject = 0;
  std::string text;  ///< verbatim text if a rule defines one, else empty
};

/// An unusable file or value in a file. Printed as one line: `path:place: problem; remedy`.
struct InputError {
  std::string path;     ///< file, or "-" if the text did not come from a file
  std::string place;    ///< line, JSON pointer or table.key; empty: the whole file
  std::string problem;  ///< what is wrong
  std::string remedy;   ///< what to do about it

  /// Without path and place: `problem; remedy`.
  [[nodiscard]] std::string reason() const { return remedy.empty() ? problem : problem + "; " + remedy; }
  [[nodiscard]] std::string line() const {
    std::string out = path.empty() ? "-" : path;
    if (!place.empty()) out += ":" + place;
    return out + ": " + reason();
  }
};

template <class T, class E = InputError>
using Result = tl::expected<T, E>;

}  // namespace berth
