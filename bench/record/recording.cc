#include "record/recording.h"

#include <sys/stat.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "io/export_import.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "io/output.h"

namespace berth::record {

// ---------------------------------------------------------------- writing

Result<void> Writer::check(const std::string& path) {
  struct stat there {};
  if (io::is_standard_output(path) || stat(path.c_str(), &there) != 0) return {};
  if (!S_ISREG(there.st_mode) || there.st_size == 0) return {};
  return tl::unexpected(InputError{path, "", "exists already",
                                   "name another file, or remove it: what it recorded cannot be recorded again"});
}

Result<std::unique_ptr<Writer>> Writer::create(const std::string& path) {
  if (auto fine = check(path); !fine) return tl::unexpected(fine.error());
  if (io::is_standard_output(path)) return std::unique_ptr<Writer>(new Writer(stdout, false));
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file)
    return tl::unexpected(
        InputError{path, "", std::string("cannot be created: ") + std::strerror(errno), "name another file"});
  return std::unique_ptr<Writer>(new Writer(file, true));
}

Writer::~Writer() { close(); }

void Writer::close() {
  std::FILE* const file = std::exchange(file_, nullptr);
  if (file && owned_ && std::fclose(file) != 0 && error_.empty()) error_ = std::strerror(errno);
}

void Writer::line(json::Value value, std::int64_t time_ns) {
  if (!error_.empty()) return;
  if (time_ns != 0) value.set("Time", time_ns);
  const std::string text = json::to_text(value) + "\n";
  bytes_ += text.size();
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0)
    error_ = std::strerror(errno);
}

void Writer::write(const Header& header) {
  json::Value out = json::Value::object(), topics = json::Value::array();
  for (const std::string& topic : header.topics) topics.push(topic);
  out.set("format", "berth-recording"), out.set("version", kVersion);
  out.set("Address", header.address), out.set("Topics", std::move(topics)), out.set("Redacted", header.redacted);
  line(std::move(out), header.time_ns);
}

void Writer::write(const model::ClusterState& state, std::int64_t time_ns) {
  json::Value out = json::Value::object();
  out.set("State", io::cluster_to_json(state));
  line(std::move(out), time_ns);
}

void Writer::write(const io::EventFrame& frame, std::int64_t time_ns) { line(io::to_json(frame), time_ns); }

void Writer::write(const model::SchedulerConfiguration& config, std::int64_t time_ns) {
  json::Value out = json::Value::object();
  out.set("SchedulerConfig", model::to_json(config));
  line(std::move(out), time_ns);
}

void Writer::write(const Gap& gap, std::int64_t time_ns) {
  json::Value out = json::Value::object();
  json::Value& about = out.set("Gap", json::Value::object());
  about.set("After", gap.after), about.set("Before", gap.before), about.set("Reason", gap.reason);
  line(std::move(out), time_ns);
}

void Writer::write(const End& end, std::int64_t time_ns) {
  json::Value out = json::Value::object();
  json::Value& about = out.set("End", json::Value::object());
  about.set("Reason", end.reason), about.set("Index", end.index), about.set("Frames", end.frames);
  line(std::move(out), time_ns);
}

void Writer::write_skipped(std::uint64_t index, const std::string& problem) {
  json::Value out = json::Value::object();
  json::Value& about = out.set("Skipped", json::Value::object());
  about.set("Index", index), about.set("Problem", problem);
  line(std::move(out), 0);
}

// ---------------------------------------------------------------- reading

namespace {

/// Calls each(line, number, is_last) for every non-empty line. The text may arrive in pieces of any length. A line is
/// passed on when the next one begins. Ends when `each` returns false.
template <class Each>
class LineFeed {
 public:
  explicit LineFeed(const Each& each) : each_(each) {}

  Result<bool> add(std::string_view piece, const std::string& path) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      part_ += piece.substr(0, end);
      if (part_.size() > io::read_limit())
        return tl::unexpected(InputError{path, std::to_string(number_ + 1),
                                         "a line has more than " + io::size_words(io::read_limit()),
                                         "--max-input 4G allows more, if the memory is there"});
      if (end == piece.npos) return true;
      piece.remove_prefix(end + 1);
      if (auto more = end_line(); !more || !*more) return more;
    }
    return true;
  }
  Result<bool> finish() {
    if (auto more = end_line(); !more || !*more) return more;
    return hand_over(true);
  }

 private:
  Result<bool> end_line() {
    ++number_;
    if (!part_.empty() && part_.back() == '\r') part_.pop_back();
    if (part_.empty()) return true;
    auto more = hand_over(false);
    held_ = std::move(part_), held_number_ = number_;
    part_.clear();
    return more;
  }
  Result<bool> hand_over(bool is_last) {
    if (held_.empty()) return true;
    return each_(std::string_view(held_), held_number_, is_last);
  }

  const Each& each_;
  std::string part_, held_;  // the line being read, and the one before it
  std::size_t number_ = 0, held_number_ = 0;
};

/// Reads the lines of a file, plain or gzip, which may be larger than memory. `text`: its contents, if already read.
template <class Each>
Result<void> for_each_line(const std::string& path, const std::optional<std::string>& text, const Each& each) {
  LineFeed lines(each);
  const auto result = [](const Result<bool>& done) -> Result<void> {
    if (!done) return tl::unexpected(done.error());
    return {};
  };
  if (text) {
    const auto more = lines.add(*text, path);
    return result(more && *more ? lines.finish() : more);
  }
  const auto refuse = [&](const std::string& problem, const char* remedy) {
    return tl::unexpected(InputError{path, "", problem, remedy});
  };
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return refuse(std::strerror(errno), "check the path");
  std::string chunk(1 << 20, '\0');
  int count = 0;
  while ((count = gzread(file.get(), chunk.data(), static_cast<unsigned>(chunk.size()))) > 0) {
    const auto more = lines.add({chunk.data(), static_cast<std::size_t>(count)}, path);
    if (!more || !*more) return result(more);
  }
  int code = Z_OK;
  const std::string message = gzerror(file.get(), &code);
  if (code == Z_ERRNO) return refuse(std::string("cannot be read: ") + std::strerror(errno), "check the path");
  if (code != Z_OK && code != Z_STREAM_END) return refuse("cannot be unpacked: " + message, "fetch the file again");
  return result(lines.finish());
}

}  // namespace

Result<Recording> Recording::open(const std::string& path) {
  Recording out;
  out.path_ = path;
  struct stat there {};
  // A pipe or device cannot be read twice.
  if (path == "-" || (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))) {
    auto text = io::read_file(path);
    if (!text) return tl::unexpected(text.error());
    out.text_ = std::move(*text);
  }
  Result<json::Value> first;
  const auto take_first = [&](std::string_view line, std::size_t, bool) -> Result<bool> {
    first = io::parse_json(line, path);
    return false;
  };
  if (auto done = for_each_line(path, out.text_, take_first); !done) return tl::unexpected(done.error());
  const auto refuse = [&](std::string problem, std::string remedy) {
    return tl::unexpected(InputError{path, "1", std::move(problem), std::move(remedy)});
  };
  if (!first || (*first)["format"].as_string() != "berth-recording")
    return refuse("is no recording", "make one: berth record http://127.0.0.1:4646 -o FILE");
  if (const json::Value& version = (*first)["version"]; version.as_uint() == 0 || version.as_uint() > kVersion)
    return refuse("is a recording of version " + json::to_text(version) + "; this berth reads up to version " +
                      std::to_string(kVersion),
                  "take a newer berth");
  out.header_.address = (*first)["Address"].as_string();
  for (const json::Value& topic : (*first)["Topics"].items()) out.header_.topics.push_back(topic.as_string());
  out.header_.redacted = (*first)["Redacted"].as_bool();
  out.header_.time_ns = (*first)["Time"].as_int();
  return out;
}

Result<void> Recording::read(Reader& reader) {
  notes_.clear(), end_.reset();
  bool is_header = true;
  const auto take = [&](std::string_view line, std::size_t number, bool is_last) -> Result<bool> {
    if (std::exchange(is_header, false)) return true;
    const std::string place = std::to_string(number);
    const auto value = io::parse_json(line, path_, place);
    if (value) {
      if (auto done = read_line(*value, place, reader); !done) return tl::unexpected(done.error());
      return true;
    }
    if (!is_last) return tl::unexpected(value.error());
    notes_.push_back("line " + place + ", the last one, is cut after " + std::to_string(line.size()) +
                     " bytes and left out: the recording was killed");
    return true;
  };
  return for_each_line(path_, text_, take);
}

Result<void> Recording::read_line(const json::Value& line, const std::string& place, Reader& reader) {
  const std::int64_t time_ns = line["Time"].as_int();
  if (const json::Value* state = line.find("State")) {
    auto imported = io::import_cluster_json(*state, path_ + ":" + place);
    if (!imported) return tl::unexpected(imported.error());
    notes_.insert(notes_.end(), imported->warnings.begin(), imported->warnings.end());
    reader.take(std::move(imported->state), time_ns);
  } else if (const json::Value* given = line.find("SchedulerConfig")) {
    model::SchedulerConfiguration config;
    model::ReadOptions options;
    options.path = path_, options.place = place + ":/SchedulerConfig";
    if (auto done = model::from_json(*given, config, options); !done) return done;
    reader.take(config);
  } else if (const json::Value* gap = line.find("Gap")) {
    reader.take({(*gap)["After"].as_uint(), (*gap)["Before"].as_uint(), (*gap)["Reason"].as_string()});
  } else if (const json::Value* skipped = line.find("Skipped")) {
    reader.take_skipped((*skipped)["Index"].as_uint());
  } else if (const json::Value* end = line.find("End")) {
    end_ = End{(*end)["Reason"].as_string(), (*end)["Index"].as_uint(), (*end)["Frames"].as_uint()};
  } else {
    std::vector<InputError> faults;
    auto frame = io::read_event_frame(line, path_, place + ":", faults);
    if (!frame) return tl::unexpected(frame.error());
    if (!faults.empty()) return tl::unexpected(faults.front());
    reader.take(std::move(*frame), time_ns);
  }
  return {};
}

}  // namespace berth::record
