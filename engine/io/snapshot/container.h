// The container of a snapshot: one gzip stream around a tar archive of meta.json, state.bin and SHA256SUMS (R-SNAP-1 to
// 6).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::io {

/// Largest accepted state.bin (R-SNAP-130).
inline constexpr std::uint64_t kStateBytesMax = std::uint64_t{16} << 30;

/// The used part of meta.json. `index` is the applied index, which may be above the state's (R-SNAP-81).
struct SnapshotMeta {
  std::uint64_t index = 0, term = 0;
};

/// Formats an error of a snapshot: one line that begins with `snapshot: `.
[[nodiscard]] tl::unexpected<InputError> snapshot_error(const std::string& path, const std::string& text);

/// Reads the container and passes state.bin on in pieces: `take(piece, bytes of state.bin)`, with an empty piece at its
/// end. The checksums come last, so results of the pieces are valid only if this returns a value.
[[nodiscard]] Result<SnapshotMeta> read_container(
    const std::string& path, const std::function<Result<void>(std::string_view piece, std::uint64_t bytes)>& take);

}  // namespace berth::io
