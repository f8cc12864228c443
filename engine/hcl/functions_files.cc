// R-HCL-660 to 665: files in the folder of FileAccess. Nomad reads any path; berth refuses paths outside it, links
// included, and files that are not regular or are larger than a job file may be.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/base64.h"
#include "hcl/function_table.h"
#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = 16U << 20U;
constexpr std::size_t kMaxEntries = 20'000;    // that fileset() visits
constexpr std::size_t kMaxAlternatives = 256;  // of the {a,b} in a pattern

/// Go's filepath.Clean: removes "." and cancels "..", "." if nothing remains.
std::string cleaned(const std::string& path) {
  std::string text = fs::path(path).lexically_normal().string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text.empty() ? "." : text;
}

tl::expected<std::string, std::string> expanded(const std::string& path) {
  if (!path.starts_with('~')) return path;
  if (path.size() > 1 && path[1] != '/') return tl::unexpected<std::string>("cannot expand user-specific home dir");
  const char* home = std::getenv("HOME");
  if (home == nullptr) return tl::unexpected<std::string>("HOME is not set");
  return home + path.substr(1);
}

/// The file that a path of a job file refers to, and its text in messages.
struct Place {
  fs::path path;
  std::string shown;
};

tl::expected<Place, std::string> place_of(const std::string& path, const FileAccess& files) {
  const auto home = expanded(path);
  if (!home) return tl::unexpected("failed to expand ~: " + home.error());
  Place place{fs::path(files.folder) / *home, cleaned(*home)};
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(files.folder, error), error);
  const fs::path target = fs::weakly_canonical(place.path, error);
  const auto [end, _] = std::mismatch(folder.begin(), folder.end(), target.begin(), target.end());
  if (error || (end != folder.end() && !end->empty())) {
    return tl::unexpected(place.shown + " is outside the job file's folder; berth reads nothing there");
  }
  return place;
}

std::string mode_text(fs::file_status status) {
  std::string text = status.type() == fs::file_type::directory   ? "d"
                     : status.type() == fs::file_type::fifo      ? "p"
                     : status.type() == fs::file_type::socket    ? "S"
                     : status.type() == fs::file_type::block     ? "D"
                     : status.type() == fs::file_type::character ? "Dc"
                                                                 : "-";
  const auto bits = static_cast<unsigned>(status.permissions());
  for (int shift = 8; shift >= 0; --shift) {
    constexpr std::string_view kLetters = "xwr";
    text += (bits >> shift & 1U) != 0 ? kLetters[static_cast<std::size_t>(shift) % 3] : '-';
  }
  return text;
}

tl::expected<std::string, std::string> content(const std::string& path, const FileAccess& files) {
  const auto place = place_of(path, files);
  if (!place) return tl::unexpected(place.error());
  std::error_code error;
  const auto status = fs::status(place->path, error);
  if (status.type() == fs::file_type::not_found) return tl::unexpected("no file exists at " + place->shown);
  if (status.type() != fs::file_type::regular) return tl::unexpected("failed to read " + place->shown);
  if (fs::file_size(place->path, error) > kMaxFile || error) {
    return tl::unexpected(place->shown + " is larger than 16 MiB, which is too large for a job file");
  }
  std::ifstream stream(place->path, std::ios::binary);
  std::string text(kMaxFile + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad() || (text.empty() && !stream.eof())) return tl::unexpected("failed to read " + place->shown);
  return text;
}

CallOutcome file(Arguments arguments, const FileAccess& files) {
  const std::string& path = arguments[0].string();
  const auto text = content(path, files);
  if (!text) return fail(text.error());
  if (!is_utf8(*text)) {
    return fail("contents of " + path +
                " are not valid UTF-8; use the filebase64 function to obtain the Base64 encoded contents or the other "
                "file functions (e.g. filemd5, filesha256) to obtain file hashing results instead");
  }
  return Value::of(*text);
}

CallOutcome file_base64(Arguments arguments, const FileAccess& files) {
  const auto text = content(arguments[0].string(), files);
  if (!text) return fail(text.error());
  return Value::of(base::to_base64(*text));
}

CallOutcome file_exists(Arguments arguments, const FileAccess& files) {
  const auto place = place_of(arguments[0].string(), files);
  if (!place) return fail(place.error());
  std::error_code error;
  const auto status = fs::status(place->path, error);
  if (status.type() == fs::file_type::not_found) return Value::of(false);
  if (status.type() == fs::file_type::none) return fail("failed to stat " + place->shown);
  if (status.type() == fs::file_type::regular) return Value::of(true);
  return fail(place->shown + " is not a regular file, but \"" + mode_text(status) + "\"");
}

/// A pattern of fileset(): alternatives without braces, each split at slashes.
class Glob {
 public:
  /// False: invalid syntax.
  bool parse(const std::string& pattern) {
    std::vector<std::string> alternatives;
    if (!expand_braces(pattern, alternatives, 0)) return false;
    for (const std::string& alternative : alternatives) {
      std::vector<std::string> segments;
      std::size_t begin = 0;
      for (;;) {
        const auto slash = alternative.find('/', begin);
        segments.push_back(alternative.substr(begin, slash - begin));
        if (!well_formed(segments.back())) return false;
        if (slash == std::string::npos) break;
        begin = slash + 1;
      }
      patterns_.push_back(std::move(segments));
    }
    return true;
  }

  bool matches(const std::vector<std::string>& path) const {
    return std::any_of(patterns_.begin(), patterns_.end(),
                       [&](const auto& pattern) { return matches_segments(pattern, path); });
  }

 private:
  static bool expand_braces(const std::string& pattern, std::vector<std::string>& out, int depth) {
    const auto open = pattern.find('{');
    if (open == std::string::npos) {
      out.push_back(pattern);
      return out.size() <= kMaxAlternatives;
    }
    if (depth > 16) return false;
    int level = 0;
    std::size_t begin = open + 1;
    std::vector<std::string> choices;
    std::size_t at = open;
    for (; at < pattern.size(); ++at) {
      if (pattern[at] == '{') ++level;
      if (pattern[at] == '}') --level;
      if ((pattern[at] == ',' && level == 1) || level == 0) {
        choices.push_back(pattern.substr(begin, at - begin));
        begin = at + 1;
      }
      if (level == 0) break;
    }
    if (level != 0) return false;
    return std::all_of(choices.begin(), choices.end(), [&](const std::string& choice) {
      return expand_braces(pattern.substr(0, open) + choice + pattern.substr(at + 1), out, depth + 1);
    });
  }

  static bool well_formed(const std::string& segment) {
    for (std::size_t at = 0; at < segment.size(); ++at) {
      if (segment[at] == '\\' && ++at == segment.size()) return false;
      if (segment[at] == '[') {
        const auto close = segment.find(']', at + 1);
        if (close == std::string::npos || close == at + 1) return false;
        at = close;
      }
    }
    return true;
  }

  /// Matches one character with the pattern's element at `at`, and advances past the element. False: no match.
  static bool matches_one(const std::string& pattern, std::size_t& at, char c) {
    if (pattern[at] == '?') {
      ++at;
      return true;
    }
    if (pattern[at] == '[') {
      const auto close = pattern.find(']', at + 1);
      std::size_t i = at + 1;
      const bool negated = pattern[i] == '^' || pattern[i] == '!';
      if (negated) ++i;
      bool found = false;
      for (; i < close; ++i) {
        const bool range = i + 2 < close && pattern[i + 1] == '-';
        found = found || (range ? c >= pattern[i] && c <= pattern[i + 2] : c == pattern[i]);
        if (range) i += 2;
      }
      at = close + 1;
      return found != negated;
    }
    if (pattern[at] == '\\') ++at;
    return pattern[at++] == c;
  }

  /// `*` is tried shortest first, and only the last `*` is tried again, which is enough: O(pattern * text).
  static bool matches_segment(const std::string& pattern, const std::string& text) {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string::npos;
    std::size_t star_text = 0;
    while (t < text.size()) {
      if (p < pattern.size() && pattern[p] == '*') {
        star = p++;
        star_text = t;
        continue;
      }
      std::size_t next = p;
      if (p < pattern.size() && matches_one(pattern, next, text[t])) {
        p = next;
        ++t;
        continue;
      }
      if (star == std::string::npos) return false;
      p = star + 1;
      t = ++star_text;
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
  }

  /// `**` matches any number of folders. One row per segment of the pattern, O(pattern * path).
  static bool matches_segments(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
    std::vector<bool> reached(path.size() + 1, false);
    reached[0] = true;
    for (const std::string& segment : pattern) {
      std::vector<bool> next(path.size() + 1, false);
      for (std::size_t i = 0; i <= path.size(); ++i) {
        if (segment == "**") {
          next[i] = reached[i] || (i > 0 && next[i - 1]);
        } else {
          next[i] = i > 0 && reached[i - 1] && matches_segment(segment, path[i - 1]);
        }
      }
      reached = std::move(next);
    }
    return reached[path.size()];
  }

  std::vector<std::vector<std::string>> patterns_;
};

CallOutcome file_set(Arguments arguments, const FileAccess& files) {
  const auto place = place_of(arguments[0].string(), files);
  if (!place) return fail(place.error());
  const std::string& pattern = arguments[1].string();
  Glob glob;
  if (!glob.parse(pattern)) {
    return fail("failed to glob pattern (" + cleaned(place->shown + "/" + pattern) + "): syntax error in pattern");
  }
  std::vector<Value> found;
  std::size_t visited = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(place->path, fs::directory_options::skip_permission_denied, error), end;
       !error && entry != end; entry.increment(error)) {
    if (++visited > kMaxEntries) return fail(place->shown + " has more than 20000 files and folders");
    std::vector<std::string> path;
    const fs::path relative = entry->path().lexically_relative(place->path);
    for (const auto& part : relative) path.push_back(part.string());
    if (!glob.matches(path)) continue;
    std::error_code unreadable;
    const auto status = fs::status(entry->path(), unreadable);
    if (status.type() == fs::file_type::not_found) {
      return fail("failed to stat (" + cleaned(place->shown + "/" + relative.string()) + ")");
    }
    if (status.type() == fs::file_type::regular) found.push_back(Value::of(relative.generic_string()));
  }
  return Value::set(Kind::string, std::move(found));
}

CallOutcome base_name(Arguments arguments, const FileAccess&) {
  std::string path = arguments[0].string();
  if (path.empty()) return Value::of(".");
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return Value::of(path == "/" ? path : path.substr(path.rfind('/') + 1));
}

CallOutcome directory_name(Arguments arguments, const FileAccess&) {
  const std::string& path = arguments[0].string();
  const auto slash = path.rfind('/');
  return Value::of(cleaned(slash == std::string::npos ? "" : path.substr(0, slash + 1)));
}

CallOutcome absolute_path(Arguments arguments, const FileAccess& files) {
  std::error_code error;
  const fs::path path =
      fs::absolute(fs::path(files.folder.empty() ? "." : files.folder) / arguments[0].string(), error);
  return Value::of(cleaned(path.string()));
}

CallOutcome expanded_path(Arguments arguments, const FileAccess&) {
  const auto path = expanded(arguments[0].string());
  if (!path) return fail(path.error());
  return Value::of(*path);
}

/// Fails before it accesses the path if files are not allowed (R-HCL-665).
template <Function::Body kBody>
CallOutcome when_allowed(Arguments arguments, const FileAccess& files) {
  if (!files.allowed) return fail("filesystem function disabled");
  return kBody(arguments, files);
}

}  // namespace

void add_file_functions(Functions& table) {
  const Parameter path{"path", Kind::string};
  table.push_back({"file", {path}, {}, when_allowed<file>});
  table.push_back({"filebase64", {path}, {}, when_allowed<file_base64>});
  table.push_back({"fileexists", {path}, {}, when_allowed<file_exists>});
  table.push_back({"fileset", {path, {"pattern", Kind::string}}, {}, when_allowed<file_set>});
  table.push_back({"abspath", {path}, {}, when_allowed<absolute_path>});
  table.push_back({"basename", {path}, {}, when_allowed<base_name>});
  table.push_back({"dirname", {path}, {}, when_allowed<directory_name>});
  table.push_back({"pathexpand", {path}, {}, when_allowed<expanded_path>});
}

}  // namespace berth::hcl
