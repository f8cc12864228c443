// Failure of a gate that could not be completed: one line of text and an exit code.
#pragma once

#include "berth/result.h"
#include "run/interrupt.h"

namespace berth::gate {

inline constexpr int kPass = 0, kOwnFailure = 1, kUsage = 2, kRegression = 3, kInconclusive = 4;  ///< exit codes

struct Failure {
  int exit_code = kOwnFailure;
  InputError error;
};
template <class T>
using Outcome = tl::expected<T, Failure>;

/// The failure of a program that was run: inconclusive if a signal ended it, else bad usage.
[[nodiscard]] inline tl::unexpected<Failure> failure_of(const InputError& error) {
  return tl::unexpected(Failure{run::interrupted() ? kInconclusive : kUsage, error});
}

[[nodiscard]] inline tl::unexpected<Failure> fail(int exit_code, std::string path, std::string problem,
                                                  std::string remedy, std::string place = "") {
  return tl::unexpected(Failure{exit_code, {std::move(path), std::move(place), std::move(problem), std::move(remedy)}});
}

}  // namespace berth::gate
