#include "io/unpacked.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/late_library.h"
#include "io/files.h"
#include "io/snapshot/wiped_buffer.h"

namespace berth::io {
namespace {

// libarchive, loaded on first use.
constexpr base::LateLibrary kArchive = {BERTH_ARCHIVE_LIBRARY, "libarchive13"};
BERTH_LATE(kArchive, archive_entry_filetype);
BERTH_LATE(kArchive, archive_entry_hardlink);
BERTH_LATE(kArchive, archive_entry_pathname);
BERTH_LATE(kArchive, archive_entry_size);
BERTH_LATE(kArchive, archive_entry_sparse_count);
BERTH_LATE(kArchive, archive_filter_bytes);
BERTH_LATE(kArchive, archive_read_data_block);
BERTH_LATE(kArchive, archive_read_free);
BERTH_LATE(kArchive, archive_read_new);
BERTH_LATE(kArchive, archive_read_next_header);
BERTH_LATE(kArchive, archive_read_open);
BERTH_LATE(kArchive, archive_read_support_filter_none);
BERTH_LATE(kArchive, archive_read_support_format_tar);

constexpr std::size_t kPieceBytes = 256 << 10;  // whole tar blocks of 512 bytes

bool is_gzip(std::string_view head) { return head.starts_with("\x1f\x8b"); }
bool is_tar(std::string_view block) { return block.size() >= 512 && block.substr(257, 5) == "ustar"; }

}  // namespace

struct Unpacked::State {
  int file = -1;
  std::string text;       ///< standard input, already unpacked by read_file()
  std::string_view rest;  ///< unread part of `text`
  bool is_text = false, packed = false, ended = false, any = false;
  Fault fault = Fault::none;
  z_stream stream{};
  WipedBuffer in{kPieceBytes}, out{kPieceBytes};

  ~State() {
    if (packed) inflateEnd(&stream);
    if (file >= 0) close(file);
  }

  /// Reads into `buffer` up to its capacity; 0 at the end of the file.
  std::size_t read_some(WipedBuffer& buffer) {
    std::size_t size = 0;
    while (size < buffer.capacity()) {
      const ssize_t count = read(file, buffer.data() + size, buffer.capacity() - size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fault = Fault::unreadable;
      if (count <= 0) break;
      size += static_cast<std::size_t>(count);
    }
    buffer.set_size(size);
    return size;
  }

  bool refill() {
    if (read_some(in) == 0) return false;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    return true;
  }

  std::string_view inflate_piece() {
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.capacity());
    while (stream.avail_out > 0 && !ended && fault == Fault::none) {
      if (stream.avail_in == 0 && !refill()) {
        if (fault == Fault::none) fault = Fault::ends_early;
        break;
      }
      const int code = inflate(&stream, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {  // end of one gzip member; several in a row are one stream (R-SNAP-5)
        if (stream.avail_in == 0 && !refill()) ended = true;
        if (!ended && inflateReset(&stream) != Z_OK) fault = Fault::damaged;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        fault = Fault::damaged;
      }
    }
    out.set_size(out.capacity() - stream.avail_out);
    return out.view();
  }
};

Unpacked::Unpacked(std::unique_ptr<State> state) : state_(std::move(state)) {}
Unpacked::~Unpacked() = default;
Unpacked::Fault Unpacked::fault() const { return state_->fault; }

Result<std::unique_ptr<Unpacked>> Unpacked::open(const std::string& path, bool gzip_only) {
  auto state = std::make_unique<State>();
  if (path == "-") {
    auto text = read_file(path);
    if (!text) return tl::unexpected(text.error());
    state->text = std::move(*text), state->rest = state->text, state->is_text = true;
    return std::unique_ptr<Unpacked>(new Unpacked(std::move(state)));
  }
  state->file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (state->file < 0) return tl::unexpected(InputError{path, "", std::strerror(errno), "check the path"});
  if (state->read_some(state->in) == 0 || !is_gzip(state->in.view())) {
    if (gzip_only && state->fault == Fault::none) state->fault = Fault::not_gzip;
    state->any = true;  // the first piece is already in `in`
    return std::unique_ptr<Unpacked>(new Unpacked(std::move(state)));
  }
  state->stream.next_in = reinterpret_cast<Bytef*>(state->in.data());
  state->stream.avail_in = static_cast<uInt>(state->in.size());
  if (inflateInit2(&state->stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  state->packed = true;
  return std::unique_ptr<Unpacked>(new Unpacked(std::move(state)));
}

std::string_view Unpacked::next() {
  State& s = *state_;
  if (s.fault != Fault::none) return {};
  if (s.packed) return s.ended ? std::string_view() : s.inflate_piece();
  if (s.is_text) {
    const std::string_view piece = s.rest.substr(0, kPieceBytes);
    s.rest.remove_prefix(piece.size());
    return piece;
  }
  if (!s.any) s.read_some(s.in);
  s.any = false;
  return s.in.view();
}

FileKind kind_of_file(const std::string& path) {
  if (path.ends_with(".snap")) return FileKind::snapshot;
  auto source = Unpacked::open(path, false);
  if (!source) return FileKind::text;  // the reader of texts reports what is wrong
  const std::string_view piece = (*source)->next();
  if (!is_tar(piece)) return FileKind::text;
  const std::string_view name(piece.data(), strnlen(piece.data(), 100));
  return name == "meta.json" || name == "state.bin" || name == "SHA256SUMS" ? FileKind::snapshot : FileKind::archive;
}

struct TarMembers::State {
  Unpacked& source;
  archive* reader = archive_read_new();
  std::string_view piece;          ///< the last one passed to the reader
  std::uint64_t handed_bytes = 0;  ///< up to the end of `piece`
  bool damaged = false;

  explicit State(Unpacked& from) : source(from) {
    if (!reader) throw std::bad_alloc();
    archive_read_support_filter_none(reader);
    archive_read_support_format_tar(reader);
    archive_read_open(reader, this, nullptr, &State::give, nullptr);
  }
  ~State() { archive_read_free(reader); }

  static la_ssize_t give(archive*, void* self, const void** buffer) {
    auto& state = *static_cast<State*>(self);
    state.piece = state.source.next();
    state.handed_bytes += state.piece.size();
    *buffer = state.piece.data();
    return static_cast<la_ssize_t>(state.piece.size());
  }
};

TarMembers::TarMembers(Unpacked& source) : state_(std::make_unique<State>(source)) {}
TarMembers::~TarMembers() = default;
bool TarMembers::damaged() const { return state_->damaged; }

std::optional<TarMembers::Member> TarMembers::next() {
  archive_entry* entry = nullptr;
  const int code = archive_read_next_header(state_->reader, &entry);
  if (code == ARCHIVE_EOF) return std::nullopt;
  if (code < ARCHIVE_WARN || archive_entry_size(entry) < 0) {
    state_->damaged = true;
    return std::nullopt;
  }
  const char* name = archive_entry_pathname(entry);
  return Member{name ? name : "", static_cast<std::uint64_t>(archive_entry_size(entry)),
                archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry) &&
                    archive_entry_sparse_count(entry) == 0};
}

std::string_view TarMembers::data() {
  const void* data = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  const int code = archive_read_data_block(state_->reader, &data, &size, &offset);
  if (code == ARCHIVE_EOF) return {};
  if (code < ARCHIVE_WARN) {
    state_->damaged = true;
    return {};
  }
  return {static_cast<const char*>(data), size};
}

bool TarMembers::only_zeros_follow() {
  State& s = *state_;
  const auto zeros = [](std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
  };
  const auto end = static_cast<std::uint64_t>(std::max<la_int64_t>(archive_filter_bytes(s.reader, 0), 0));
  if (end < s.handed_bytes &&
      !zeros(s.piece.substr(s.piece.size() - std::min<std::uint64_t>(s.handed_bytes - end, s.piece.size()))))
    return false;
  for (std::string_view piece = s.source.next(); !piece.empty(); piece = s.source.next())
    if (!zeros(piece)) return false;
  return true;
}

}  // namespace berth::io
