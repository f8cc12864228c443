// Reads a file in pieces, unpacking gzip, and the members of a tar archive in it. Nothing is written to disk; only the
// current piece is in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::io {

/// Kind of a file, by its first bytes; a file named *.snap is always a snapshot.
enum class FileKind : std::uint8_t { text, snapshot, archive };
[[nodiscard]] FileKind kind_of_file(const std::string& path);

class Unpacked {
 public:
  enum class Fault : std::uint8_t { none, not_gzip, damaged, ends_early, unreadable };

  /// "-" is standard input. `gzip_only`: an unpacked file is a fault.
  [[nodiscard]] static Result<std::unique_ptr<Unpacked>> open(const std::string& path, bool gzip_only);
  ~Unpacked();

  /// The next piece, valid until the next call; empty at the end and after a fault. All but the last consist of whole
  /// 512-byte tar blocks. The end is reported only after gzip's checks.
  [[nodiscard]] std::string_view next();
  [[nodiscard]] Fault fault() const;

 private:
  struct State;
  explicit Unpacked(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Iterates over the members of a tar archive.
class TarMembers {
 public:
  struct Member {
    std::string name;
    std::uint64_t bytes = 0;
    bool is_file = false;  ///< a regular file, not a link
  };

  explicit TarMembers(Unpacked& source);
  ~TarMembers();

  /// The next member; nullopt at the end of the archive and if it is damaged.
  [[nodiscard]] std::optional<Member> next();
  /// The next piece of the current member; empty at its end and if the archive is damaged.
  [[nodiscard]] std::string_view data();
  [[nodiscard]] bool damaged() const;
  /// Reads the rest of the file after the archive. False if it holds anything but zeros.
  [[nodiscard]] bool only_zeros_follow();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::io
