// Builds a commit beside the work tree that it belongs to.
#pragma once

#include <functional>
#include <string>

#include "gate/failure.h"

namespace berth::gate {

/// The program of commit `revision` of the repository that the current folder is in: checks it out into a work tree of
/// its own below build/gate, builds the target berth_program of the preset release, keeps the program as
/// build/gate/COMMIT/berth and removes the work tree. A program that is there already is taken. Errors: no repository,
/// no such commit, changes that are not committed (kUsage: what would the head be?), a build that fails (kOwnFailure,
/// naming its log).
[[nodiscard]] Outcome<std::string> build_revision(const std::string& revision,
                                                  const std::function<void(const std::string&)>& say);

}  // namespace berth::gate
