// R-HCL-570 to 581: texts. Characters are grapheme clusters where the specification says so. Results that may exceed
// kMaxWeight are measured before they are built.
#include <re2/re2.h>
#include <utf8proc.h>

#include <algorithm>

#include "hcl/function_table.h"
#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

/// Longest text that regex_replace() searches: a match may read to the end of the text, so the cost is quadratic.
constexpr std::size_t kMaxSearched = 64U << 10U;

std::string map_characters(std::string_view text, utf8proc_int32_t (*map)(utf8proc_int32_t)) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    append_utf8(result, static_cast<char32_t>(map(static_cast<utf8proc_int32_t>(next_code_point(text, at)))));
  }
  return result;
}

/// Simple case mapping: letters whose upper case is several letters, or was added later, stay unchanged.
utf8proc_int32_t to_upper(utf8proc_int32_t c) { return c == 0xDF ? c : utf8proc_toupper(c); }

CallOutcome title(Arguments arguments, const FileAccess&) {
  const std::string& text = arguments[0].string();
  std::string result;
  char32_t before = ' ';
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    const bool in_word = before < 0x80 ? is_identifier_continue(before) && before != '-' : !is_space(before);
    append_utf8(result, in_word ? c : static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
    before = c;
  }
  return Value::of(result);
}

CallOutcome reversed(Arguments arguments, const FileAccess&) {
  const std::string& text = arguments[0].string();
  std::string result(text.size(), '\0');
  std::size_t end = text.size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = grapheme_end(text, at);
    end -= next - at;
    text.copy(result.data() + end, next - at, at);
    at = next;
  }
  return Value::of(result);
}

CallOutcome substring(Arguments arguments, const FileAccess&) {
  const std::string& text = arguments[0].string();
  const auto offset = to_integer(arguments[1].number());
  if (!offset) return fail(offset.error());
  const auto wanted = to_integer(arguments[2].number());
  if (!wanted) return fail(wanted.error());
  const auto count = static_cast<std::int64_t>(grapheme_count(text));
  std::int64_t begin = *offset;
  std::int64_t length = *wanted;
  if (begin < 0) {
    begin = begin < -count ? 0 : begin + count;
    if (length == 0) length = -1;
  }
  if (begin > count || length == 0) return Value::of("");
  const std::int64_t end = length < 0 || length > count - begin ? count : begin + length;
  std::size_t at = 0;
  std::size_t first = 0;
  for (std::int64_t i = 0; i < end; ++i) {
    if (i == begin) first = at;
    at = grapheme_end(text, at);
  }
  if (begin >= end) first = at;
  return Value::of(std::string_view(text).substr(first, at - first));
}

CallOutcome join(Arguments arguments, const FileAccess&) {
  const std::string& separator = arguments[0].string();
  const auto lists = arguments.subspan(1);
  if (lists.empty()) return fail("at least one list is required");
  std::size_t size = 0;
  for (std::size_t l = 0; l < lists.size(); ++l) {
    for (std::size_t i = 0; i < lists[l].size(); ++i) {
      const Value& item = lists[l].items()[i];
      if (item.is_null()) {
        const std::string list = lists.size() > 1 ? " of list " + std::to_string(l + 1) : "";
        return fail_argument(l + 1, "element " + std::to_string(i) + list + " is null; cannot concatenate null values");
      }
      size += item.string().size() + separator.size();
      if (size > kMaxWeight) return fail(kTooLarge);
    }
  }
  std::string result;
  bool first = true;
  for (const Value& list : lists) {
    for (const Value& item : list.items()) {
      if (!first) result += separator;
      first = false;
      result += item.string();
    }
  }
  return Value::of(result);
}

CallOutcome split(Arguments arguments, const FileAccess&) {
  const std::string& separator = arguments[0].string();
  const std::string_view text = arguments[1].string();
  std::vector<Value> parts;
  if (separator.empty()) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      (void)next_code_point(text, at);
      parts.push_back(Value::of(text.substr(begin, at - begin)));
    }
    return Value::list(Kind::string, std::move(parts));
  }
  std::size_t begin = 0;
  for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator, begin)) {
    parts.push_back(Value::of(text.substr(begin, at - begin)));
    begin = at + separator.size();
  }
  parts.push_back(Value::of(text.substr(begin)));
  return Value::list(Kind::string, std::move(parts));
}

CallOutcome sort(Arguments arguments, const FileAccess&) {
  std::vector<Value> items(arguments[0].items().begin(), arguments[0].items().end());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_null()) {
      return fail("given list element " + std::to_string(i) + " is null; a null string cannot be sorted");
    }
  }
  std::stable_sort(items.begin(), items.end(), [](const Value& a, const Value& b) { return a.string() < b.string(); });
  return Value::list(Kind::string, std::move(items));
}

CallOutcome indent(Arguments arguments, const FileAccess&) {
  const auto spaces = to_integer(arguments[0].number());
  if (!spaces) return fail(spaces.error());
  if (*spaces < 0) return fail("invalid argument");
  const std::string& text = arguments[1].string();
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (lines > 0 && static_cast<std::size_t>(*spaces) > kMaxWeight / lines) return fail(kTooLarge);
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') result.append(static_cast<std::size_t>(*spaces), ' ');
  }
  return Value::of(result);
}

CallOutcome trim(Arguments arguments, const FileAccess&) {
  const std::string_view text = arguments[0].string();
  std::vector<char32_t> cutset;
  for (std::size_t at = 0; at < arguments[1].string().size();) {
    cutset.push_back(next_code_point(arguments[1].string(), at));
  }
  std::sort(cutset.begin(), cutset.end());
  const auto cut = [&](char32_t c) { return std::binary_search(cutset.begin(), cutset.end(), c); };
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t next = begin;
    if (!cut(next_code_point(text, next))) break;
    begin = next;
  }
  std::size_t end = begin;  // after the last character to keep
  for (std::size_t at = begin; at < text.size();) {
    if (!cut(next_code_point(text, at))) end = at;
  }
  return Value::of(text.substr(begin, end - begin));
}

CallOutcome trim_space(Arguments arguments, const FileAccess&) {
  const std::string_view text = arguments[0].string();
  std::size_t begin = text.size();
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (is_space(next_code_point(text, at))) continue;
    begin = std::min(begin, start);
    end = at;
  }
  return Value::of(begin < end ? text.substr(begin, end - begin) : "");
}

CallOutcome replace(Arguments arguments, const FileAccess&) {
  const std::string_view text = arguments[0].string();
  const std::string_view wanted = arguments[1].string();
  const std::string_view with = arguments[2].string();
  std::string result;
  std::size_t begin = 0;
  const auto put = [&](std::size_t end) {  // appends the text up to `end`, then the replacement
    result.append(text.substr(begin, end - begin));
    result.append(with);
    begin = end + wanted.size();
    return result.size() <= kMaxWeight;
  };
  if (wanted.empty()) {
    for (std::size_t at = 0;;) {
      if (!put(at)) return fail(kTooLarge);
      if (at == text.size()) break;
      (void)next_code_point(text, at);
    }
  } else {
    for (auto at = text.find(wanted); at != std::string_view::npos; at = text.find(wanted, begin)) {
      if (!put(at)) return fail(kTooLarge);
    }
  }
  result.append(text.substr(begin));
  return Value::of(result);
}

/// The error text for a pattern that does not compile, in the words of Go's package.
std::string pattern_fault(const re2::RE2& pattern) {
  const char* problem = "";
  switch (pattern.error_code()) {
    case re2::RE2::ErrorBadEscape:
      problem = "invalid escape sequence";
      break;
    case re2::RE2::ErrorBadCharRange:
      problem = "invalid character class range";
      break;
    case re2::RE2::ErrorBadCharClass:
      problem = "invalid character class";
      break;
    case re2::RE2::ErrorMissingBracket:
      problem = "missing closing ]";
      break;
    case re2::RE2::ErrorMissingParen:
      problem = "missing closing )";
      break;
    case re2::RE2::ErrorUnexpectedParen:
      problem = "unexpected )";
      break;
    case re2::RE2::ErrorTrailingBackslash:
      return "error parsing regexp: trailing backslash at end of expression: ``";
    case re2::RE2::ErrorRepeatArgument:
      problem = "missing argument to repetition operator";
      break;
    case re2::RE2::ErrorRepeatSize:
      problem = "invalid repeat count";
      break;
    case re2::RE2::ErrorRepeatOp:
      problem = "invalid nested repetition operator";
      break;
    case re2::RE2::ErrorBadPerlOp:
      problem = "invalid or unsupported Perl syntax";
      break;
    case re2::RE2::ErrorBadNamedCapture:
      problem = "invalid named capture";
      break;
    case re2::RE2::ErrorPatternTooLarge:
      problem = "expression too large";
      break;
    default:
      return "error parsing regexp: " + pattern.error();
  }
  return std::string("error parsing regexp: ") + problem + ": `" + pattern.error_arg() + "`";
}

/// A replacement, split once at its references to groups.
class Replacement {
 public:
  Replacement(std::string_view text, const re2::RE2& pattern) {
    std::string literal;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] != '$') {
        literal += text[at++];
        continue;
      }
      if (at + 1 < text.size() && text[at + 1] == '$') {
        literal += '$';
        at += 2;
        continue;
      }
      std::size_t end = at;
      const std::string name = reference(text, at, end);
      if (name.empty()) {
        literal += text[at++];
        continue;
      }
      parts_.push_back({std::move(literal), group_of(name, pattern)});
      literal.clear();
      at = end;
    }
    parts_.push_back({std::move(literal), -1});
  }

  void append(std::string& out, const std::vector<re2::StringPiece>& groups) const {
    for (const Part& part : parts_) {
      out += part.literal;
      if (part.group >= 0 && static_cast<std::size_t>(part.group) < groups.size()) {
        const auto& group = groups[static_cast<std::size_t>(part.group)];
        out.append(group.data() == nullptr ? "" : group.data(), group.size());
      }
    }
  }

 private:
  struct Part {
    std::string literal;
    int group;  // the group that follows; -1: none
  };

  /// The name after the `$` at `at`: letters, digits and underscores, in braces or as long as possible.
  static std::string reference(std::string_view text, std::size_t at, std::size_t& end) {
    const bool braces = at + 1 < text.size() && text[at + 1] == '{';
    std::size_t last = at + (braces ? 2 : 1);
    const std::size_t first = last;
    while (last < text.size() && text[last] != '-' && is_identifier_continue(static_cast<unsigned char>(text[last]))) {
      ++last;
    }
    if (braces && (last == text.size() || text[last] != '}')) return "";
    end = last + (braces ? 1 : 0);
    return std::string(text.substr(first, last - first));
  }

  static int group_of(const std::string& name, const re2::RE2& pattern) {
    if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      return name.size() < 9 ? std::stoi(name) : -1;
    }
    const auto& names = pattern.NamedCapturingGroups();
    const auto found = names.find(name);
    return found != names.end() ? found->second : -1;
  }

  std::vector<Part> parts_;
};

CallOutcome regex_replace(Arguments arguments, const FileAccess&) {
  const std::string& text = arguments[0].string();
  re2::RE2::Options options;
  options.set_log_errors(false);
  const re2::RE2 pattern(arguments[1].string(), options);
  if (!pattern.ok()) return fail(pattern_fault(pattern));
  if (text.size() > kMaxSearched) {
    return fail("the text has " + std::to_string(text.size()) + " bytes; at most 65536 are searched");
  }
  const Replacement replacement(arguments[2].string(), pattern);
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(pattern.NumberOfCapturingGroups()) + 1);
  std::string result;
  std::size_t done = 0;  // end of the last match
  std::size_t search = 0;
  bool matched = false;
  while (search <= text.size() && pattern.Match(text, search, text.size(), re2::RE2::UNANCHORED, groups.data(),
                                                static_cast<int>(groups.size()))) {
    const auto begin = static_cast<std::size_t>(groups[0].data() - text.data());
    const std::size_t end = begin + groups[0].size();
    result.append(text, done, begin - done);
    // An empty match directly after another match is ignored.
    if (end > begin || begin > done || !matched) replacement.append(result, groups);
    if (result.size() > kMaxWeight) return fail(kTooLarge);
    matched = true;
    done = end;
    search = end;
    if (end == begin) {
      if (end == text.size()) break;
      (void)next_code_point(text, search);
    }
  }
  result.append(text, done);
  return Value::of(result);
}

}  // namespace

void add_text_functions(Functions& table) {
  const Parameter text{"str", Kind::string};
  table.push_back({"upper", {text}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
                     return Value::of(map_characters(a[0].string(), to_upper));
                   }});
  table.push_back({"lower", {text}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
                     return Value::of(map_characters(a[0].string(), utf8proc_tolower));
                   }});
  table.push_back({"title", {text}, {}, title});
  table.push_back({"strlen", {text}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
                     return Value::of(static_cast<std::int64_t>(grapheme_count(a[0].string())));
                   }});
  table.push_back({"strrev", {text}, {}, reversed});
  table.push_back({"reverse", {text}, {}, reversed});
  table.push_back({"substr", {text, {"offset", Kind::number}, {"length", Kind::number}}, {}, substring});
  table.push_back({"join", {{"separator", Kind::string}}, Parameter{"lists", Type::list(Kind::string)}, join});
  table.push_back({"split", {{"separator", Kind::string}, text}, {}, split});
  table.push_back({"sort", {{"list", Type::list(Kind::string)}}, {}, sort});
  table.push_back({"chomp", {text}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
                     const auto last = a[0].string().find_last_not_of("\r\n");
                     return Value::of(std::string_view(a[0].string()).substr(0, last + 1));
                   }});
  table.push_back({"indent", {{"spaces", Kind::number}, text}, {}, indent});
  table.push_back({"trim", {text, {"cutset", Kind::string}}, {}, trim});
  table.push_back(
      {"trimprefix", {text, {"prefix", Kind::string}}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
         const std::string_view all = a[0].string();
         return Value::of(all.starts_with(a[1].string()) ? all.substr(a[1].string().size()) : all);
       }});
  table.push_back(
      {"trimsuffix", {text, {"suffix", Kind::string}}, {}, [](Arguments a, const FileAccess&) -> CallOutcome {
         const std::string_view all = a[0].string();
         return Value::of(all.ends_with(a[1].string()) ? all.substr(0, all.size() - a[1].string().size()) : all);
       }});
  table.push_back({"trimspace", {text}, {}, trim_space});
  table.push_back({"replace", {text, {"substr", Kind::string}, {"replace", Kind::string}}, {}, replace});
  table.push_back({"regex_replace", {text, {"pattern", Kind::string}, {"replace", Kind::string}}, {}, regex_replace});
}

}  // namespace berth::hcl
