// The file of a recording: one JSON object per line, whose first member gives its kind.
//
//   {"format": "berth-recording", "version": 1, "Address", "Topics", "Redacted", "Time"}   the first line
//   {"State": CLUSTER.json, "Time"}     a whole cluster. It is complete once the frames of this file up to its Index
//   are
//                                       applied: the stream was followed while the cluster was read
//   {"Index", "Events", "Time"}         a frame of the event stream, as Nomad sends it (R-API-582)
//   {"SchedulerConfig", "Time"}         a new scheduler configuration, which has no event
//   {"Skipped": {"Index", "Problem"}}   an object of a frame that could not be read
//   {"Gap": {"After", "Before", "Reason"}, "Time"}   frames between two indexes are missing; a new State follows
//   {"End": {"Reason", "Index", "Frames"}, "Time"}   the last line of a recording that was not killed
//
// Time: arrival, unix ns. Index: the last one recorded. `version` is raised when an older berth would read a file
// wrongly.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/event_frame.h"

namespace berth::record {

inline constexpr std::uint64_t kVersion = 1;

struct Header {
  std::string address;
  std::vector<std::string> topics;  ///< recorded ones: "Topic" or "Topic:key"
  bool redacted = false;
  std::int64_t time_ns = 0;
};
struct Gap {
  std::uint64_t after = 0, before = 0;  ///< indexes of the frames around the gap; 0: none yet
  std::string reason;
};
struct End {
  std::string reason;
  std::uint64_t index = 0, frames = 0;
};

/// Writes a recording line by line. Each line reaches the file at once, so that a killed recording lacks at most part
/// of its last line.
class Writer {
 public:
  /// Error: the file exists and is not empty.
  [[nodiscard]] static Result<void> check(const std::string& path);
  /// Creates the file; "-" is standard output. Error: check(), or it cannot be created.
  [[nodiscard]] static Result<std::unique_ptr<Writer>> create(const std::string& path);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write(const Header& header);
  void write(const model::ClusterState& state, std::int64_t time_ns);
  void write(const io::EventFrame& frame, std::int64_t time_ns);
  void write(const model::SchedulerConfiguration& config, std::int64_t time_ns);
  void write(const Gap& gap, std::int64_t time_ns);
  void write(const End& end, std::int64_t time_ns);
  void write_skipped(std::uint64_t index, const std::string& problem);
  /// Ends the file. Some file systems report only now that its content could not be stored: see error().
  void close();

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Why a line could not be written; empty: none failed. Nothing is written after the first error.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  Writer(std::FILE* file, bool owned) : file_(file), owned_(owned) {}
  void line(json::Value value, std::int64_t time_ns);

  std::FILE* file_;  ///< null: closed
  const bool owned_;
  std::uint64_t bytes_ = 0;
  std::string error_;
};

/// Receives the lines of a recording in order.
class Reader {
 public:
  virtual ~Reader() = default;
  virtual void take(model::ClusterState state, std::int64_t time_ns) = 0;
  virtual void take(io::EventFrame frame, std::int64_t time_ns) = 0;
  virtual void take(const model::SchedulerConfiguration& config) = 0;
  virtual void take(const Gap& gap) = 0;
  virtual void take_skipped(std::uint64_t index) = 0;
};

/// What a reader can be given: a recording, or the changes between two states (between.h).
class Source {
 public:
  virtual ~Source() = default;
  /// Passes everything to `reader`, in order. May be called again.
  [[nodiscard]] virtual Result<void> read(Reader& reader) = 0;
  /// Why the source lacks part of what this evaluation changed; null: it has all.
  [[nodiscard]] virtual const char* why_unknown(const std::string& /*eval_id*/) const { return nullptr; }
};

/// A recording. Can be read any number of times; each time it is read from the file line by line.
class Recording final : public Source {
 public:
  /// Checks the first line of the file. Error: it is not a recording, or one of a later version.
  [[nodiscard]] static Result<Recording> open(const std::string& path);

  /// Passes every line to `reader`. Error: a line is damaged. A damaged last line is skipped and reported in notes().
  [[nodiscard]] Result<void> read(Reader& reader) override;

  [[nodiscard]] const Header& header() const { return header_; }
  /// After read(): null if the file lacks its last line.
  [[nodiscard]] const std::optional<End>& end() const { return end_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  [[nodiscard]] Result<void> read_line(const json::Value& line, const std::string& place, Reader& reader);

  std::string path_;
  std::optional<std::string> text_;  // contents of a pipe, which cannot be read twice
  Header header_;
  std::optional<End> end_;
  std::vector<std::string> notes_;
};

}  // namespace berth::record
