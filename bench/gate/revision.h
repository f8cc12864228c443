// Builds a commit in a separate work tree.
#pragma once

#include <functional>
#include <string>

#include "gate/failure.h"

namespace berth::gate {

/// Path of the program of commit `revision` in the current folder's repository. Checks it out into a work tree below
/// build/gate, builds the target berth_program of the preset release, stores the program as build/gate/COMMIT/berth and
/// removes the work tree. Reuses an existing program. Errors: no repository, no such commit, uncommitted changes
/// (kUsage, because the head would be undefined), a failing build (kOwnFailure, with its log).
[[nodiscard]] Outcome<std::string> build_revision(const std::string& revision,
                                                  const std::function<void(const std::string&)>& say);

}  // namespace berth::gate
