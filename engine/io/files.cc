#include "io/files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/text.h"

namespace berth::io {
namespace {

tl::unexpected<InputError> failed(const std::string& path, const std::string& what, std::string remedy) {
  return tl::unexpected(InputError{path, "", what, std::move(remedy)});
}

std::atomic<std::uint64_t> g_read_limit{std::uint64_t{1} << 30};

tl::unexpected<InputError> too_large(const std::string& path, bool packed) {
  return failed(path, std::string(packed ? "unpacks to" : "has") + " more than " + size_words(read_limit()),
                "--max-input 4G allows more, if the memory is there");
}

/// Removes the byte order mark that some editors write; UTF-16 is an error.
Result<std::string> without_mark(std::string content, const std::string& path) {
  if (content.starts_with("\xEF\xBB\xBF")) content.erase(0, 3);
  if (content.starts_with("\xFF\xFE") || content.starts_with("\xFE\xFF"))
    return failed(path, "is UTF-16", "save it as UTF-8");
  return content;
}

Result<std::string> read_open(const std::string& path, gzFile file, std::uint64_t expected) {
  const std::uint64_t limit = read_limit();
  gzbuffer(file, 1 << 18);
  std::string content;
  content.reserve(static_cast<std::size_t>(expected));
  std::string chunk(1 << 20, '\0');
  int count;
  bool over = false;
  while (!over && (count = gzread(file, chunk.data(), static_cast<unsigned>(chunk.size()))) > 0) {
    over = content.size() + static_cast<std::size_t>(count) > limit;
    if (!over) content.append(chunk.data(), static_cast<std::size_t>(count));
  }
  const bool packed = gzdirect(file) == 0;
  int code = Z_OK;
  const std::string message = gzerror(file, &code);
  const int closed = gzclose(file);
  if (over) return too_large(path, packed);
  if (count < 0 && code == Z_ERRNO) return failed(path, "cannot be read: " + std::string(std::strerror(errno)), "");
  if (count < 0 || closed == Z_BUF_ERROR)
    return failed(path, "cannot be unpacked: " + (message.empty() ? "the gzip data end early" : message),
                  "fetch the file again");
  return without_mark(std::move(content), path);
}

Result<std::string> read_standard_input() {
  const int fd = dup(STDIN_FILENO);
  gzFile file = fd < 0 ? nullptr : gzdopen(fd, "rb");
  if (!file) {
    if (fd >= 0) close(fd);
    return failed("-", std::string("standard input: ") + std::strerror(errno), "hand a file to it");
  }
  return read_open("-", file, 0);
}

}  // namespace

std::uint64_t read_limit() { return g_read_limit.load(); }
void set_read_limit(std::uint64_t bytes) { g_read_limit.store(bytes); }

std::optional<std::uint64_t> parse_size(std::string_view text) {
  static constexpr std::string_view kUnits = "KMGT";
  int shift = 0;
  if (!text.empty())
    if (const std::size_t unit = kUnits.find(text.back()); unit != std::string_view::npos)
      shift = 10 * static_cast<int>(unit + 1), text.remove_suffix(1);
  const auto number = base::parse_uint64(text);
  if (!number || *number == 0 || *number > std::uint64_t{INT64_MAX} >> shift) return std::nullopt;
  return *number << shift;
}

std::string size_words(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  std::size_t unit = 0;
  double amount = static_cast<double>(bytes) / 1024;
  for (; amount >= 1024 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  return fmt::format("{:.3g} {}", amount, kUnits[unit]);
}

Result<std::string> read_file(const std::string& path) {
  if (path == "-") {
    static const Result<std::string> content = read_standard_input();
    return content;
  }
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return failed(path, std::strerror(errno), "check the path");
  if (S_ISDIR(info.st_mode)) return failed(path, "is a folder", "name a file in it");
  const std::uint64_t size = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  if (size > read_limit()) return too_large(path, false);
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return failed(path, std::strerror(errno), "check the path and its permissions");
  return read_open(path, file, size);
}

Result<void> read_lines(const std::string& path, const std::function<bool(std::string_view, std::size_t)>& each) {
  auto content = read_file(path);
  if (!content) return tl::unexpected(content.error());
  std::string_view rest = *content;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty() && !each(line, number)) break;
  }
  return {};
}

}  // namespace berth::io
