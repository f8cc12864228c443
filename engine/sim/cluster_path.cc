#include "sim/cluster_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "io/folder_files.h"

namespace berth::sim {
namespace {

namespace fs = std::filesystem;

/// TOML begins with a key, a comment or a table; JSON with an object, or with a list of objects.
bool is_data(std::string_view head) {
  constexpr std::string_view kGzip = "\x1f\x8b", kTar = "ustar";
  constexpr std::size_t kTarMagicAt = 257;  // POSIX.1-1988
  if (head.starts_with(kGzip)) return true;
  if (head.size() > kTarMagicAt && head.substr(kTarMagicAt).starts_with(kTar)) return true;
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);  // byte order mark
  const auto skip_space = [&] { head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size())); };
  skip_space();
  if (head.starts_with("{")) return true;
  if (!head.starts_with("[")) return false;
  head.remove_prefix(1);
  skip_space();
  return head.starts_with("{");
}

/// A workload's name: the file's, without extensions and without characters that names cannot have.
std::string name_of(const fs::path& path) {
  const fs::path file = path.has_filename() ? path.filename() : path.parent_path().filename();
  std::string name = file.string();
  if (const std::size_t dot = name.find('.', 1); dot != std::string::npos) name.resize(dot);
  if (name.empty() || name == ".") name = "cluster";
  name.resize(std::min<std::size_t>(name.size(), 100));
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '-';
  return name;
}

}  // namespace

std::optional<std::string> workload_of_cluster(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const bool any = std::any_of(fs::directory_iterator(path, error), fs::directory_iterator(), [](const auto& entry) {
      return io::is_cluster_name(entry.path().filename().string());
    });
    if (!any) return std::nullopt;
  } else {
    if (path.ends_with(".toml") || !fs::is_regular_file(path, error)) return std::nullopt;
    std::array<char, 512> head{};
    std::ifstream in(path, std::ios::binary);
    in.read(head.data(), head.size());
    if (!is_data({head.data(), static_cast<std::size_t>(in.gcount())})) return std::nullopt;
  }
  return fmt::format(
      "name = \"{}\"\n"
      "description = \"an imported cluster, and its own jobs at the rates estimated from it\"\n"
      "departures = true\n"
      "[cluster]\n"
      "generator = \"import\"\n"
      "file = \".\"\n"
      "[jobs]\n"
      "generator = \"import\"\n"
      "[arrivals]\n"
      "process = \"trace\"\n",
      name_of(path));
}

}  // namespace berth::sim
