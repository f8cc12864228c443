// Tar archives of API answers, such as `nomad operator debug` writes.
#include <algorithm>
#include <cctype>
#include <map>

#include "io/cluster_parts.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "io/unpacked.h"

namespace berth::io {
namespace {

/// Most members of an archive; a debug archive of one hour has some thousands.
constexpr std::size_t kMembersMax = 1'000'000;

/// A path without the number of its capture, as in nomad/0003/nodes.json; captures count up from 0000.
std::string without_capture(const std::string& path) {
  const std::size_t name = path.rfind('/');
  if (name == path.npos || name < 4) return path;
  const std::size_t begin = path.rfind('/', name - 1) + 1;  // 0 when there is none
  const bool digits = name - begin >= 4 && std::all_of(path.begin() + static_cast<std::ptrdiff_t>(begin),
                                                       path.begin() + static_cast<std::ptrdiff_t>(name),
                                                       [](unsigned char c) { return std::isdigit(c) != 0; });
  return digits ? path.substr(0, begin) + path.substr(name + 1) : path;
}

}  // namespace

void keep_last_captures(std::vector<std::string>& files) {
  std::map<std::string, std::string> last;  // `files` ascend, so a later capture replaces an earlier one
  for (const std::string& file : files) last[without_capture(file)] = file;
  std::erase_if(files, [&](const std::string& file) { return last.at(without_capture(file)) != file; });
}

Result<void> add_archive(const std::string& path, ExportCollector& collector, Warnings& notes) {
  const auto refuse = [&](std::string problem, std::string remedy) {
    return tl::unexpected(InputError{path, "", std::move(problem), std::move(remedy)});
  };
  auto source = Unpacked::open(path, false);
  if (!source) return tl::unexpected(source.error());
  TarMembers members(**source);
  std::map<std::string, std::pair<std::string, std::string>> texts;  // path without capture -> path, text
  std::uint64_t bytes = 0;
  std::size_t count = 0, others = 0;
  const std::string too_large = "unpacks to more than " + size_words(read_limit());
  while (const auto member = members.next()) {
    if (++count > kMembersMax) return refuse("has more than 1,000,000 members", "name a folder with the answers alone");
    bytes += member->is_file ? member->bytes : 0;
    if (bytes > read_limit()) return refuse(too_large, "--max-input 4G allows more, if the memory is there");
    if (!member->is_file || !member->name.ends_with(".json")) {
      others += member->is_file;
      continue;
    }
    std::string text;
    for (std::string_view piece = members.data(); !piece.empty(); piece = members.data()) {
      if (text.size() + piece.size() > member->bytes) return refuse("damaged tar archive", "fetch the file again");
      text += piece;
    }
    if (members.damaged() || text.size() != member->bytes) break;
    auto& entry = texts[without_capture(member->name)];
    if (entry.first <= member->name) entry = {member->name, std::move(text)};
  }
  if ((*source)->fault() == Unpacked::Fault::none && !members.damaged()) static_cast<void>(members.only_zeros_follow());
  switch ((*source)->fault()) {
    case Unpacked::Fault::none:
    case Unpacked::Fault::not_gzip:
      break;
    case Unpacked::Fault::ends_early:
      return refuse("truncated file", "fetch the file again");
    case Unpacked::Fault::damaged:
      return refuse("damaged gzip stream", "fetch the file again");
    case Unpacked::Fault::unreadable:
      return refuse("cannot be read", "check the disk");
  }
  if (members.damaged()) return refuse("damaged tar archive", "fetch the file again");
  for (auto& [key, entry] : texts) {
    const std::string name = path + ":" + shortened(entry.first, 200);
    const auto document = parse_json(entry.second, name);
    if (!document) return tl::unexpected(document.error());
    if (auto done = collector.add(*document, name, true); !done) return done;
    entry.second.clear(), entry.second.shrink_to_fit();
  }
  if (others > 0)
    notes.push_back(path + ": " + std::to_string(others) + " files that are not JSON hold nothing of a cluster");
  return {};
}

}  // namespace berth::io
