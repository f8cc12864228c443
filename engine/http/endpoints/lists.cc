#include "http/endpoints/lists.h"

#include <algorithm>
#include <compare>

#include "base/text.h"

namespace berth::http {

namespace {

constexpr std::size_t kPiece = 32 << 10;

/// Writes a row. `any`: a row was written before. A row whose object is gone writes nothing.
void write_row(const ListRows& list, std::uint32_t row, bool& any, std::string& out) {
  const std::size_t before = out.size();
  if (any) out += ',';
  const std::size_t begin = out.size();
  list.write(row, out);
  if (out.size() == begin)
    out.resize(before);
  else
    any = true;
}

/// Sorts the rows, at least the first `most`.
void order_rows(ListRows& list, std::size_t most) {
  if (!list.before) return;
  const auto less = [&](std::uint32_t a, std::uint32_t b) {
    return list.descends ? list.before(b, a) : list.before(a, b);
  };
  auto& rows = list.rows;
  if (most < rows.size() / 8)
    std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(most), rows.end(), less);
  else
    std::sort(rows.begin(), rows.end(), less);
}

/// All rows, in pieces.
NextPiece all_rows(std::function<ListRows()> make) {
  struct State {
    std::function<ListRows()> make;
    ListRows list;
    std::size_t at = 0;
    bool any = false;
  };
  auto state = std::make_shared<State>();
  state->make = std::move(make);
  return [state](std::string& out) {
    if (state->make) {
      state->list = std::exchange(state->make, nullptr)();
      order_rows(state->list, state->list.rows.size());
      out += '[';
    }
    const auto& rows = state->list.rows;
    while (state->at < rows.size() && out.size() < kPiece) write_row(state->list, rows[state->at++], state->any, out);
    if (state->at < rows.size()) return true;
    out += ']';
    return false;
  };
}

std::strong_ordering compare_tokens(std::string_view a, std::string_view b, TokenKind kind) {
  if (kind == TokenKind::text) return a.compare(b) <=> 0;
  const std::size_t dot_a = std::min(a.find('.'), a.size()), dot_b = std::min(b.find('.'), b.size());
  const auto number_a = base::parse_uint64(a.substr(0, dot_a)), number_b = base::parse_uint64(b.substr(0, dot_b));
  if (!number_a || !number_b || (kind == TokenKind::creation && dot_b == b.size())) return a.compare(b) <=> 0;
  if (*number_a != *number_b) return *number_a <=> *number_b;
  return a.substr(dot_a).compare(b.substr(dot_b)) <=> 0;
}

/// Reduces `list` to the rows of the page. The error is that of the filter.
tl::expected<void, std::string> cut_page(const Request& request, const std::optional<Filter>& filter, ListRows& list,
                                         Reply& reply) {
  if (list.token && !request.next_token.empty())
    std::erase_if(list.rows, [&](std::uint32_t row) {
      const auto order = compare_tokens(list.token(row), request.next_token, list.tokens);
      return list.descends ? order > 0 : order < 0;
    });
  const bool few = request.per_page > 0 && list.token && !filter;
  order_rows(list, few ? static_cast<std::size_t>(request.per_page) + 1 : list.rows.size());
  std::vector<std::uint32_t> page;
  for (const std::uint32_t row : list.rows) {
    if (filter && list.passes) {
      const auto passes = list.passes(row, *filter);
      if (!passes) return tl::unexpected(filter_failure(passes.error()));
      if (!*passes) continue;
    }
    if (list.token && request.per_page != 0 && static_cast<std::int64_t>(page.size()) >= request.per_page) {
      reply.next_token(list.token(row));
      break;
    }
    page.push_back(row);
  }
  list.rows = std::move(page);
  list.before = nullptr;
  return {};
}

/// One page, or all rows that pass: finds the rows now and writes them in pieces.
Reply page_of(const Request& request, const std::optional<Filter>& filter, Where where, ListRows list) {
  Reply reply;
  if (const auto cut = cut_page(request, filter, list, reply); !cut) {
    reply.fail(400, cut.error());
    return reply;
  }
  reply.stream(where, all_rows([list = std::move(list)] { return list; }));
  return reply;
}

}  // namespace

tl::expected<std::optional<Filter>, std::string> filter_of(const Request& request) {
  if (request.filter.empty()) return std::nullopt;
  auto filter = Filter::parse(request.filter);
  if (!filter)
    return tl::unexpected("failed to create result paginator: failed to read filter expression: " + filter.error());
  return std::move(*filter);
}

std::string filter_failure(const std::string& error) { return "failed to read result page: " + error; }

void send_list(Simulation& simulation, const Request& request, Reply& reply, Where where, Where writes,
               std::function<ListRows()> make) {
  const auto filter = filter_of(request);
  if (!filter) return reply.fail(400, filter.error());
  if (request.per_page == 0 && request.next_token.empty() && !*filter && where == writes)
    return reply.stream(where, all_rows(std::move(make)));
  if (where == Where::simulation) {
    reply = page_of(request, *filter, where, make());
    return;
  }
  // Made by a reader thread, delivered on the simulation's thread.
  auto deliver = reply.later();
  simulation.post_reader([&simulation, request, filter = *filter, writes, make = std::move(make),
                          deliver = std::move(deliver)] {
    simulation.post_read([deliver, page = page_of(request, filter, writes, make())](Simulation&) { deliver(page); });
  });
}

}  // namespace berth::http
