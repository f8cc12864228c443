#include "io/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

namespace berth::io {
namespace {

tl::unexpected<InputError> failed(const std::string& path, const std::string& what, std::string remedy) {
  return tl::unexpected(InputError{path, "", what, std::move(remedy)});
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return failed(path, std::strerror(errno), "check the path");
  if (S_ISDIR(info.st_mode)) return failed(path, "is a folder", "name a file in it");
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return failed(path, std::strerror(errno), "check the path and its permissions");
  gzbuffer(file, 1 << 18);
  std::string content;
  content.reserve(static_cast<std::size_t>(info.st_size));
  std::string chunk(1 << 20, '\0');
  int count;
  while ((count = gzread(file, chunk.data(), static_cast<unsigned>(chunk.size()))) > 0)
    content.append(chunk.data(), static_cast<std::size_t>(count));
  int code = Z_OK;
  const std::string message = gzerror(file, &code);
  const int closed = gzclose(file);
  if (count < 0 || closed == Z_BUF_ERROR)
    return failed(path, "cannot be unpacked: " + (message.empty() ? "the gzip data end early" : message),
                  "fetch the file again");
  return content;
}

Result<void> read_lines(const std::string& path, const std::function<bool(std::string_view, std::size_t)>& each) {
  auto content = read_file(path);
  if (!content) return tl::unexpected(content.error());
  std::string_view rest = *content;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty() && !each(line, number)) break;
  }
  return {};
}

Result<void> write_file_atomically(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".part" + std::to_string(getpid());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return failed(path, std::string("cannot be written: ") + std::strerror(errno), "check the folder");
  std::string_view rest = content;
  int error = 0;
  while (!rest.empty() && error == 0) {
    const ssize_t count = write(fd, rest.data(), rest.size());
    if (count > 0)
      rest.remove_prefix(static_cast<std::size_t>(count));
    else if (count < 0 && errno != EINTR)
      error = errno;
  }
  if (error == 0 && fsync(fd) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
    return failed(path, std::string("cannot be written: ") + std::strerror(error),
                  "free some space or name another file");
  }
  return {};
}

}  // namespace berth::io
