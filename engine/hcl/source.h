// Source texts, ranges in them, and diagnostics in Nomad's words and form (R-HCL-21, 700 to 704).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth::hcl {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  ///< skipped at the beginning of a text

/// Line and column from 1; columns count grapheme clusters (R-HCL-21).
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

/// A named text. Finding a position costs O(log lines + 1 KiB), even in long lines. Not movable, because ranges point
/// to it.
class Source {
 public:
  /// `origin`: position of the text in the file of that name (for a string in a JSON file).
  Source(std::string name, std::string text, Position origin = {});
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Position position(std::uint32_t offset) const;

 private:
  struct Mark {
    std::uint32_t offset;
    Position position;
  };
  std::string name_;
  std::string text_;
  std::vector<Mark> marks_;  // the start of each line, and every KiB in long lines
};

/// Half-open range of bytes. Without a source it is in a text given as an argument, and prints as ":0,0-0" (R-HCL-265).
struct Range {
  const Source* source = nullptr;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  [[nodiscard]] std::string text() const;  ///< "f.hcl:3,5-8" or "f.hcl:3,9-4,1"
  [[nodiscard]] Range start() const { return {source, begin, begin}; }
  [[nodiscard]] std::string_view content() const;
};

struct Diagnostic {
  std::optional<Range> subject;
  std::string summary;
  std::string detail;

  [[nodiscard]] std::string text() const;  ///< "<range>: <summary>; <detail>"
};

/// Diagnostics in the order found. After kMost, further ones are only counted, so that a file full of errors costs
/// little.
class Diagnostics {
 public:
  static constexpr std::size_t kMost = 10'000;

  void add(Range subject, std::string_view summary, std::string detail) {
    add(Diagnostic{subject, std::string(summary), std::move(detail)});
  }
  void add(Diagnostic diagnostic);
  void add(const Diagnostics& others);
  void insert(std::size_t at, Diagnostic diagnostic);
  void clear();

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::span<const Diagnostic> items() const { return items_; }
  /// The first and the number of further ones: for errors of syntax and of free-form blocks (R-HCL-703).
  [[nodiscard]] std::string first_text() const;
  /// All, one per line, those without subject first, then by position (R-HCL-5, 702).
  [[nodiscard]] std::string all_text() const;

 private:
  std::vector<Diagnostic> items_;
  std::size_t count_ = 0;
};

/// The first of `candidates` at an edit distance below 3, for "Did you mean"; empty if there is none (R-HCL-235). Cost:
/// O(candidates * name).
[[nodiscard]] std::string_view suggestion(std::string_view name, std::span<const std::string> candidates);

}  // namespace berth::hcl
