#include "run/hdr_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/assert.h"

namespace berth::run {
namespace {

constexpr std::uint32_t kCookie = 0x1c849313, kCompressedCookie = 0x1c849314;

template <class Integer>
void put(std::string& out, Integer value) {
  for (int shift = 8 * (static_cast<int>(sizeof value) - 1); shift >= 0; shift -= 8)
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xff);
}

/// ZigZag LEB128: seven bits per byte, lowest first; a ninth byte has eight.
void put_count(std::string& out, std::int64_t value) {
  std::uint64_t bits = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  for (int byte = 0; byte < 8; ++byte) {
    if (bits < 0x80) {
      out += static_cast<char>(bits);
      return;
    }
    out += static_cast<char>((bits & 0x7f) | 0x80);
    bits >>= 7;
  }
  out += static_cast<char>(bits);
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63];
  }
  return out;
}

}  // namespace

std::string hdr_encoded(const sim::Histogram& histogram) {
  std::string payload;
  std::int64_t zeros = 0;
  for (const std::uint64_t count : histogram.counts()) {
    if (count == 0) {
      ++zeros;
      continue;
    }
    if (zeros > 0) put_count(payload, zeros == 1 ? 0 : -zeros);
    zeros = 0;
    put_count(payload, static_cast<std::int64_t>(count));
  }
  std::string plain;
  put(plain, kCookie);
  put(plain, static_cast<std::uint32_t>(payload.size()));
  put(plain, std::uint32_t{0});
  put(plain, std::uint32_t{3});
  put(plain, std::int64_t{1});
  put(plain, std::int64_t{INT64_MAX});
  put(plain, std::bit_cast<std::uint64_t>(1.0));
  plain += payload;

  uLongf size = compressBound(plain.size());
  std::string packed(size, '\0');
  const int done = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                             reinterpret_cast<const Bytef*>(plain.data()), plain.size(), Z_DEFAULT_COMPRESSION);
  BERTH_ASSERT(done == Z_OK);  // the buffer was large enough
  packed.resize(done == Z_OK ? size : 0);
  std::string out;
  put(out, kCompressedCookie);
  put(out, static_cast<std::uint32_t>(packed.size()));
  return base64(out + packed);
}

HdrLog::HdrLog(double start_s, double interval_s, const std::string& what) : interval_s_(interval_s) {
  text_ = fmt::format(
      "#[{}]\n#[Histogram log format version 1.3]\n#[StartTime: {:.3f} (seconds since epoch), "
      "{:%Y-%m-%dT%H:%M:%SZ}]\n"
      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
      what, start_s, fmt::gmtime(static_cast<std::time_t>(start_s)));
}

void HdrLog::close(double end_s) {
  if (histogram_.count() > 0)
    text_ += fmt::format("{:.3f},{:.3f},{:.3f},{}\n", begin_s_, end_s - begin_s_,
                         static_cast<double>(histogram_.max()) / 1e6, hdr_encoded(histogram_));
  histogram_.clear();
}

void HdrLog::record(double at_s, std::int64_t value_ns, std::uint64_t times) {
  if (at_s >= begin_s_ + interval_s_) {
    close(begin_s_ + interval_s_);
    begin_s_ = std::floor(at_s / interval_s_) * interval_s_;
  }
  histogram_.record(value_ns, times);
}

std::string HdrLog::finish(double end_s) {
  close(std::max(end_s, begin_s_));
  return text_;
}

}  // namespace berth::run
