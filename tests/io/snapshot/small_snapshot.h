// Snapshots written in a test: msgpack, a tar archive of three members, gzip.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/sha256.h"

namespace berth::testing {

inline std::string big_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

inline std::string packed_text(std::string_view text) {  // the old form: no d9 (R-SNAP-30)
  if (text.size() < 32) return static_cast<char>(0xa0 | text.size()) + std::string(text);
  return "\xda" + big_endian(text.size(), 2) + std::string(text);
}

/// A JSON value as a server writes it; members named in `raw` are already msgpack.
inline std::string packed(const json::Value& v) {
  if (v.is_null()) return "\xc0";
  if (v.is_bool()) return v.as_bool() ? "\xc3" : "\xc2";
  if (v.is_int64()) return "\xd3" + big_endian(static_cast<std::uint64_t>(v.as_int()), 8);
  if (v.is_uint64()) return "\xcf" + big_endian(v.as_uint(), 8);
  if (v.is_double()) {
    std::uint64_t bits = 0;
    const double d = v.as_double();
    std::memcpy(&bits, &d, 8);
    return "\xcb" + big_endian(bits, 8);
  }
  if (v.is_string()) return packed_text(v.as_string());
  std::string out;
  if (v.is_array()) {
    out = "\xdc" + big_endian(v.size(), 2);
    for (const json::Value& item : v.items()) out += packed(item);
    return out;
  }
  out = "\xde" + big_endian(v.size(), 2);
  for (const json::Member& m : v.members()) out += packed_text(m.key) + packed(m.value);
  return out;
}

inline std::string record(int type, const std::string& object) { return static_cast<char>(type) + object; }
inline std::string record(int type, const json::Value& object) { return record(type, packed(object)); }

/// A member of a ustar archive, padded to whole blocks.
inline std::string tar_member(const std::string& name, const std::string& text, char type = '0') {
  std::string head(512, '\0');
  const auto put = [&](std::size_t at, const std::string& bytes) { head.replace(at, bytes.size(), bytes); };
  const auto octal = [](std::uint64_t value, int digits) {
    std::string out(static_cast<std::size_t>(digits), '0');
    for (auto it = out.rbegin(); it != out.rend(); ++it, value >>= 3) *it = static_cast<char>('0' + (value & 7));
    return out;
  };
  put(0, name), put(100, "0000600"), put(108, "0000000"), put(116, "0000000");
  put(124, octal(text.size(), 11)), put(136, octal(0, 11)), put(148, "        ");
  head[156] = type;
  put(257, std::string("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + std::string("\0 ", 2));
  std::string out = head + text;
  out.append((512 - out.size() % 512) % 512, '\0');
  return out;
}

/// Level 0 only stores the text, with tables of 3 KiB instead of 256.
inline std::string gzip(const std::string& text, int level = 6) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, (level == 0 ? 9 : 15) + 16, level == 0 ? 1 : 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string sha256(const std::string& text) {
  base::Sha256 sum;
  sum.add(text);
  return sum.hex();
}

/// The parts of a snapshot before they are packed. A test may damage each of them.
struct SnapshotParts {
  std::string state = "\x80";  ///< state.bin: the header, then records
  std::string meta, sums;      ///< "": computed
  std::string after;           ///< after the two blocks that end the archive

  [[nodiscard]] std::string meta_text() const {
    return meta.empty() ? R"({"Version":1,"ID":"2-40-1","Index":40,"Term":2,"Peers":"","Configuration":{},)"
                          R"("ConfigurationIndex":1,"Size":)" +
                              std::to_string(state.size()) + "}\n"
                        : meta;
  }
  [[nodiscard]] std::string sums_text() const {
    return sums.empty() ? sha256(meta_text()) + "  meta.json\n" + sha256(state) + "  state.bin\n" : sums;
  }
  [[nodiscard]] std::string archive() const {
    return tar_member("meta.json", meta_text()) + tar_member("state.bin", state) +
           tar_member("SHA256SUMS", sums_text()) + std::string(1024, '\0') + after;
  }
  [[nodiscard]] std::string file(int level = 6) const { return gzip(archive(), level); }
};

}  // namespace berth::testing
