// Recordings of a cluster's event stream, and their replay.
#include "fuzz/harness.h"
#include "io/json_parse.h"
#include "record/replay.h"

namespace berth::fuzz {
namespace {

/// A finding if a file was opened as a recording although its first line that is not empty does not name the format.
/// Compressed files are not checked.
void require_header(std::string_view input) {
  if (input.starts_with("\x1f\x8b")) return;
  for (std::string& line : lines_of(input)) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const auto header = io::parse_json(line);
    require(header && (*header)["format"].as_string() == "berth-recording", "opened without a header: ", line);
    return;
  }
  throw Finding("an empty file is opened as a recording");
}

void fuzz_recording(std::string_view input) {
  auto recording = record::Recording::open(scratch_file("recording.jsonl", input));
  if (!recording) return require_line(recording.error().line());
  require_header(input);
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
