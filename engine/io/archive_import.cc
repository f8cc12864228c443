// Tar archives of API answers, such as `nomad operator debug` writes.
#include <algorithm>
#include <cctype>
#include <map>

#include "io/cluster_parts.h"
#include "io/files.h"
#include "io/json_tree.h"
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

bool is_capture(const std::string& path) { return without_capture(path) != path; }

bool begins_like_json(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != text.npos && (text[begin] == '{' || text[begin] == '[');
}

std::string others_note(const std::string& path, std::size_t count, const std::string& first) {
  return path + ": " + std::to_string(count) + (count == 1 ? " file holds" : " files hold") +
         " nothing of a cluster, such as " + shortened(first);
}

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
  std::string first_other;
  const auto skip = [&](const std::string& name) {
    if (others++ == 0) first_other = name;
  };
  const std::string too_large = "unpacks to more than " + size_words(read_limit());
  while (const auto member = members.next()) {
    if (++count > kMembersMax) return refuse("has more than 1,000,000 members", "name a folder with the answers alone");
    bytes += member->is_file ? member->bytes : 0;
    if (bytes > read_limit()) return refuse(too_large, "--max-input 4G allows more, if the memory is there");
    if (!member->is_file || !member->name.ends_with(".json")) {
      if (member->is_file) skip(member->name);
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
  const bool captured =
      std::any_of(texts.begin(), texts.end(), [](const auto& t) { return t.first != t.second.first; });
  for (auto& [key, entry] : texts) {
    const auto& [member, text] = entry;
    if (captured && key == member && !begins_like_json(text)) {  // what Consul, Vault or a licence answered
      skip(member);
      continue;
    }
    const std::string name = path + ":" + shortened(member, 200);
    const std::size_t before = collector.objects();
    auto done = each_json_document(text, name, [&](const JsonElement& document, std::size_t) {
      return collector.add(to_value(document), name, true);
    });
    if (!done) return done;
    if (collector.objects() == before) skip(member);
    entry.second.clear(), entry.second.shrink_to_fit();
  }
  if (others > 0) notes.push_back(others_note(path, others, first_other));
  return {};
}

}  // namespace berth::io
