#include "http/transport/gzip.h"

#include <zlib.h>

#include <new>

namespace berth::http::transport {

struct Gzip::State {
  z_stream stream{};
};

Gzip::Gzip() : state_(std::make_unique<State>()) {
  constexpr int kGzipWindow = 15 + 16, kMemory = 8;
  if (deflateInit2(&state_->stream, 1, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

Gzip::~Gzip() { deflateEnd(&state_->stream); }

std::string Gzip::pack(std::string_view text, bool last) {
  z_stream& stream = state_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  std::string out;
  std::size_t used = 0;
  do {
    out.resize(used + text.size() / 4 + 256);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(out.size() - used);
    deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
    used = out.size() - stream.avail_out;
  } while (stream.avail_out == 0);
  out.resize(used);
  return out;
}

}  // namespace berth::http::transport
