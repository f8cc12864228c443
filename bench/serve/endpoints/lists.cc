#include "serve/endpoints/lists.h"

namespace berth::serve {

namespace {

constexpr std::size_t kPiece = 32 << 10;

/// `any`: whether a row was written before. A row whose object is gone by now writes nothing.
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

/// All rows, a piece at a time.
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
      out += '[';
    }
    const auto& rows = state->list.rows;
    while (state->at < rows.size() && out.size() < kPiece) write_row(state->list, rows[state->at++], state->any, out);
    if (state->at < rows.size()) return true;
    out += ']';
    return false;
  };
}

/// One page as a whole.
Reply page_of(const Request& request, const ListRows& list) {
  Reply reply;
  std::string out = "[";
  std::int64_t taken = 0;
  bool any = false;
  for (const std::uint32_t row : list.rows) {
    const std::string token = list.token(row);
    if (!request.next_token.empty() && (request.reverse ? token > request.next_token : token < request.next_token))
      continue;
    if (request.per_page != 0 && taken >= request.per_page) {
      reply.next_token(token);
      break;
    }
    ++taken;
    write_row(list, row, any, out);
  }
  out += ']';
  reply.json_text(std::move(out));
  return reply;
}

}  // namespace

void send_list(Simulation& simulation, const Request& request, Reply& reply, Where where,
               std::function<ListRows()> make) {
  if (request.per_page == 0 && request.next_token.empty()) return reply.stream(where, all_rows(std::move(make)));
  if (where == Where::simulation) {
    reply = page_of(request, make());
    return;
  }
  auto deliver = reply.later();
  simulation.post_reader(
      [request, make = std::move(make), deliver = std::move(deliver)] { deliver(page_of(request, make())); });
}

}  // namespace berth::serve
