// HdrHistogram's interval log, format 1.3: one line per interval with its histogram in the compressed V2 encoding. Its
// own tools (HdrHistogramLogAnalyzer, HistogramLogProcessor) read it.
//
//   line       start s, length s, max ms, base64 of:
//   compressed int32 cookie 0x1c849314, int32 length, zlib stream of:
//   V2         int32 cookie 0x1c849313, int32 payload bytes, int32 normalizing offset 0, int32 significant digits 3,
//              int64 lowest value 1, int64 highest value, double ratio 1, payload
//   payload    the counters up to the last that is not 0, as ZigZag LEB128 of at most 9 bytes; a negative number is a
//              run of zeros
// All integers are big-endian. Counters are those of sim::Histogram, whose buckets are HdrHistogram's.
#pragma once

#include <cstdint>
#include <string>

#include "sim/histogram.h"

namespace berth::run {

/// The text of the last column of a line.
[[nodiscard]] std::string hdr_encoded(const sim::Histogram& histogram);

/// Collects values in intervals of fixed length; intervals without a value have no line.
class HdrLog {
 public:
  /// `start_s` since the epoch; `what` names the logged values in the head.
  HdrLog(double start_s, double interval_s, const std::string& what);
  /// `times` values at `at_s` after the start; `at_s` never decreases.
  void record(double at_s, std::int64_t value_ns, std::uint64_t times);
  /// Adds to the current interval.
  void record_all(const sim::Histogram& values) { histogram_.add(values); }
  /// Closes the last interval at `end_s` and returns the log.
  [[nodiscard]] std::string finish(double end_s);

 private:
  void close(double end_s);

  double interval_s_, begin_s_ = 0;
  sim::Histogram histogram_;
  std::string text_;
};

}  // namespace berth::run
