#include "io/snapshot/container.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <set>

#include "base/sha256.h"
#include "io/json_parse.h"
#include "io/unpacked.h"

namespace berth::io {
namespace {

constexpr std::uint64_t kMetaBytesMax = 1 << 20, kSumsBytesMax = 64 << 10;
constexpr std::array<const char*, 3> kMembers = {"meta.json", "state.bin", "SHA256SUMS"};

/// Reads one container. Each step returns the text of its fault, or "".
class Container {
 public:
  Container(Unpacked& source, const std::function<Result<void>(std::string_view, std::uint64_t)>& take)
      : source_(source), members_(source), take_(take) {}

  /// The error of `take`, if that stopped the read.
  std::optional<InputError> error;
  SnapshotMeta meta;

  std::string read() {
    while (auto member = members_.next())
      if (std::string fault = read_member(*member); !fault.empty()) return fault;
    if (std::string fault = damage(); !fault.empty()) return fault;
    for (const char* name : kMembers)
      if (!seen_.contains(name)) return std::string("missing member ") + name;
    const bool zeros = members_.only_zeros_follow();
    if (std::string fault = damage(); !fault.empty()) return fault;
    if (!zeros) return "data after the archive";
    if (meta_size_ != state_bytes_) return "size of state.bin differs from meta.json";
    return check_sums();
  }

 private:
  /// The fault of the gzip stream or of the archive; the stream's comes first.
  std::string damage() const {
    switch (source_.fault()) {
      case Unpacked::Fault::not_gzip:
        return "not a gzip file";
      case Unpacked::Fault::damaged:
        return "damaged gzip stream";
      case Unpacked::Fault::ends_early:
        return "truncated file";
      case Unpacked::Fault::unreadable:
        return "cannot be read";
      case Unpacked::Fault::none:
        break;
    }
    return members_.damaged() ? "damaged tar archive" : "";
  }

  std::string read_member(const TarMembers::Member& member) {
    const bool known = member.name == kMembers[0] || member.name == kMembers[1] || member.name == kMembers[2];
    if (!known || !member.is_file) return "unexpected member";
    if (!seen_.insert(member.name).second) return "repeated member";
    if (member.name == "state.bin") return read_state(member.bytes);
    const bool is_meta = member.name == "meta.json";
    if (member.bytes > (is_meta ? kMetaBytesMax : kSumsBytesMax)) return is_meta ? "bad meta.json" : "bad SHA256SUMS";
    std::string text;
    for (std::string_view piece = members_.data(); !piece.empty(); piece = members_.data()) text += piece;
    if (text.size() != member.bytes) return or_damage("damaged tar archive");
    base::Sha256 sum;
    sum.add(text);
    sums_[member.name] = sum.hex();
    return is_meta ? read_meta(text) : read_sums(text);
  }

  std::string or_damage(const char* otherwise) const {
    std::string fault = damage();
    return fault.empty() ? otherwise : fault;
  }

  std::string read_state(std::uint64_t bytes) {
    if (bytes > kStateBytesMax) return "snapshot too large";
    state_bytes_ = bytes;
    base::Sha256 sum;
    std::uint64_t had = 0;
    for (std::string_view piece = members_.data(); !piece.empty(); piece = members_.data()) {
      sum.add(piece);
      had += piece.size();
      if (std::string fault = hand_on(piece); !fault.empty()) return fault;
    }
    if (had != bytes) return or_damage("damaged tar archive");
    sums_["state.bin"] = sum.hex();
    return hand_on({});
  }

  std::string hand_on(std::string_view piece) {
    auto done = take_(piece, state_bytes_);
    if (done) return "";
    error = done.error();
    return "refused";
  }

  std::string read_meta(const std::string& text) {
    const auto document = parse_json(text, "meta.json");
    if (!document || !document->is_object()) return "bad meta.json";
    const json::Value &version = (*document)["Version"], &index = (*document)["Index"], &term = (*document)["Term"],
                      &size = (*document)["Size"];
    const auto number = [](const json::Value& value) {
      return value.is_null() || value.is_uint64() || (value.is_int64() && value.as_int() >= 0);
    };
    if (!version.is_null() && !version.is_int()) return "bad meta.json";
    if (version.as_int() != 0 && version.as_int() != 1)
      return fmt::format("unsupported snapshot version {}", json::to_text(version));
    if (!number(index) || !number(term) || !number(size)) return "bad meta.json";
    meta = {index.as_uint(), term.as_uint()};
    meta_size_ = size.as_uint();
    return "";
  }

  std::string read_sums(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      if (end == text.npos || line.size() < 67 || line.substr(64, 2) != "  ") return "bad SHA256SUMS";
      text.remove_prefix(end + 1);
      std::string hex(line.substr(0, 64)), name(line.substr(66));
      for (char& c : hex) {
        if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return "bad SHA256SUMS";
      }
      if ((name != "meta.json" && name != "state.bin") || !listed_.emplace(std::move(name), std::move(hex)).second)
        return "bad SHA256SUMS";
    }
    return listed_.size() == 2 ? "" : "bad SHA256SUMS";
  }

  std::string check_sums() const {
    for (const auto& [name, hex] : listed_)
      if (sums_.at(name) != hex) return "checksum of " + name + " does not match";
    return "";
  }

  Unpacked& source_;
  TarMembers members_;
  const std::function<Result<void>(std::string_view, std::uint64_t)>& take_;
  std::set<std::string, std::less<>> seen_;
  std::map<std::string, std::string> sums_, listed_;
  std::uint64_t state_bytes_ = 0, meta_size_ = 0;
};

}  // namespace

tl::unexpected<InputError> snapshot_error(const std::string& path, const std::string& text) {
  return tl::unexpected(InputError{path, "", "snapshot: " + text, "save it again: nomad operator snapshot save FILE"});
}

Result<SnapshotMeta> read_container(const std::string& path,
                                    const std::function<Result<void>(std::string_view, std::uint64_t)>& take) {
  auto source = Unpacked::open(path, path != "-");
  if (!source) return tl::unexpected(source.error());
  Container container(**source, take);
  const std::string fault = container.read();
  if (container.error) return tl::unexpected(*container.error);
  if (!fault.empty()) return snapshot_error(path, fault);
  return container.meta;
}

}  // namespace berth::io
