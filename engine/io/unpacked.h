// The bytes of a file in pieces, unpacked where it is gzip; and the members of a tar archive in them. Nothing is
// written to disk, and nothing of a member is held but the piece in hand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::io {

/// What kind of file a path names, by its first bytes; a file named *.snap is a snapshot whatever they are.
enum class FileKind : std::uint8_t { text, snapshot, archive };
[[nodiscard]] FileKind kind_of_file(const std::string& path);

class Unpacked {
 public:
  enum class Fault : std::uint8_t { none, not_gzip, damaged, ends_early, unreadable };

  /// "-" is standard input. `gzip_only`: a file that is not packed is a fault.
  [[nodiscard]] static Result<std::unique_ptr<Unpacked>> open(const std::string& path, bool gzip_only);
  ~Unpacked();

  /// The next piece, valid until the next call; empty at the end and after a fault. All but the last are whole blocks
  /// of a tar archive. At the end the checks of gzip have been made.
  [[nodiscard]] std::string_view next();
  [[nodiscard]] Fault fault() const;

 private:
  struct State;
  explicit Unpacked(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The members of a tar archive, one after the other.
class TarMembers {
 public:
  struct Member {
    std::string name;
    std::uint64_t bytes = 0;
    bool is_file = false;  ///< a regular file, and no link
  };

  explicit TarMembers(Unpacked& source);
  ~TarMembers();

  /// The next member; nothing at the end of the archive and where it is damaged.
  [[nodiscard]] std::optional<Member> next();
  /// The next piece of the present member; empty at its end and where the archive is damaged.
  [[nodiscard]] std::string_view data();
  [[nodiscard]] bool damaged() const;
  /// Reads what follows the archive to its end. False: something else than zeros.
  [[nodiscard]] bool only_zeros_follow();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::io
