#include "hcl/source.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "hcl/unicode.h"

namespace berth::hcl {
namespace {

constexpr std::uint32_t kMarkEvery = 1024;  // bytes of a line between two marks

}  // namespace

Source::Source(std::string name, std::string text, Position origin) : name_(std::move(name)), text_(std::move(text)) {
  marks_.push_back({0, origin});
  Position here = origin;
  for (std::size_t at = 0; at < text_.size();) {
    const std::size_t end = grapheme_end(text_, at);
    if (text_[end - 1] == '\n') {  // LF, or CR LF as one cluster
      here = {here.line + 1, 1};
      marks_.push_back({static_cast<std::uint32_t>(end), here});
    } else {
      ++here.column;
      if (end - marks_.back().offset >= kMarkEvery) marks_.push_back({static_cast<std::uint32_t>(end), here});
    }
    at = end;
  }
}

Position Source::position(std::uint32_t offset) const {
  const auto after = std::upper_bound(marks_.begin(), marks_.end(), offset,
                                      [](std::uint32_t wanted, const Mark& mark) { return wanted < mark.offset; });
  const Mark& mark = *(after - 1);
  Position here = mark.position;
  for (std::size_t at = mark.offset; at < offset && at < text_.size(); at = grapheme_end(text_, at)) ++here.column;
  return here;
}

std::string_view Range::content() const {
  if (source == nullptr) return {};
  return std::string_view(source->text()).substr(begin, end - begin);
}

std::string Range::text() const {
  if (source == nullptr) return ":0,0-0";
  const Position from = source->position(begin);
  const Position to = source->position(end);
  if (from.line == to.line) return fmt::format("{}:{},{}-{}", source->name(), from.line, from.column, to.column);
  return fmt::format("{}:{},{}-{},{}", source->name(), from.line, from.column, to.line, to.column);
}

std::string Diagnostic::text() const {
  return fmt::format("{}: {}; {}", subject ? subject->text() : "<nil>", summary, detail);
}

void Diagnostics::add(Diagnostic diagnostic) {
  ++count_;
  if (items_.size() < kMost) items_.push_back(std::move(diagnostic));
}

void Diagnostics::add(const Diagnostics& others) {
  const std::size_t total = count_ + others.count_;
  for (const Diagnostic& other : others.items_) add(other);
  count_ = total;
}

void Diagnostics::insert(std::size_t at, Diagnostic diagnostic) {
  ++count_;
  if (at >= kMost) return;
  items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(at), std::move(diagnostic));
  if (items_.size() > kMost) items_.pop_back();
}

void Diagnostics::clear() {
  items_.clear();
  count_ = 0;
}

std::string Diagnostics::first_text() const {
  if (items_.empty()) return {};
  std::string text = items_.front().text();
  if (count_ > 1) text += fmt::format(", and {} other diagnostic(s)", count_ - 1);
  return text;
}

std::string Diagnostics::all_text() const {
  std::vector<const Diagnostic*> order;
  for (const Diagnostic& item : items_) order.push_back(&item);
  const auto key = [](const Diagnostic* item) {
    const bool placed = item->subject && item->subject->source != nullptr;
    return std::tuple(placed, placed ? std::string_view(item->subject->source->name()) : std::string_view(),
                      placed ? item->subject->begin : 0, placed ? item->subject->end : 0);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Diagnostic* a, const Diagnostic* b) { return key(a) < key(b); });
  std::string text;
  for (const Diagnostic* item : order) {
    if (!text.empty()) text += '\n';
    text += item->text();
  }
  if (count_ > items_.size()) text += fmt::format("\n<nil>: Too many errors; {} more are not shown", count_ - kMost);
  return text;
}

namespace {

constexpr std::size_t kFar = 3;  // distances from this one on give no suggestion

// Levenshtein distance up to kFar. Only for texts whose lengths differ by less than kFar, so O(name).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    // Cells further than kFar from the diagonal are at least kFar.
    const std::size_t from = i > kFar ? i - kFar : 1;
    const std::size_t to = std::min(b.size(), i + kFar);
    std::size_t diagonal = row[from - 1];
    row[from - 1] = from == 1 ? i : kFar;
    for (std::size_t j = from; j <= to; ++j) {
      const std::size_t above = j == i + kFar ? kFar : row[j];
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view suggestion(std::string_view name, std::span<const std::string> candidates) {
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    const std::size_t shorter = std::min(name.size(), candidate.size());
    if (longer - shorter < kFar && distance(name, candidate) < kFar) return candidate;
  }
  return {};
}

}  // namespace berth::hcl
