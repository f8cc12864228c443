// Recordings of a cluster's event stream, and their replay.
#include "fuzz/harness.h"
#include "record/replay.h"

namespace berth::fuzz {
namespace {

void fuzz_recording(std::string_view input) {
  auto recording = record::Recording::open(scratch_file("recording.jsonl", input));
  if (!recording) return require_line(recording.error().line());
  const auto report = record::replay(*recording, {});
  if (!report) return require_line(report.error().line());
  require(report->equal <= report->compared && report->compared <= report->finished,
          "more evaluations are equal or compared than finished");
  require(report->equal + report->different.size() == report->compared,
          "the equal and different evaluations are not the compared ones");
}

const FuzzTarget kRecording("recording", fuzz_recording);

}  // namespace
}  // namespace berth::fuzz
