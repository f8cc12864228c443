#include "berth/error.h"

namespace berth {

const char* to_text(Errc code) noexcept {
  switch (code) {
    case Errc::token_mismatch:
      return "token_mismatch";
    case Errc::queue_full:
      return "queue_full";
    case Errc::unknown_object:
      return "unknown_object";
    case Errc::not_outstanding:
      return "not_outstanding";
    case Errc::processing_failed:
      return "processing_failed";
    case Errc::already_used:
      return "already_used";
  }
  return "unknown code";
}

std::string line(const Error& error) {
  return std::string(to_text(error.code)) + ": " +
         (error.text.empty() ? "subject " + std::to_string(error.subject) : error.text);
}

}  // namespace berth
