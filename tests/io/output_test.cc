// Output files: how the file already at the path decides the way of writing, and that no temporary file remains.
#include "io/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "io/files.h"

namespace berth::io {
namespace {

namespace fs = std::filesystem;

class OutputTest : public ::testing::Test {
 protected:
  OutputTest() {
    std::string name = (fs::temp_directory_path() / "berth-output-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~OutputTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string in(const std::string& name) const { return folder_ + "/" + name; }
  static void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static mode_t mode_of(const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static void fine(const Result<void>& result) { EXPECT_TRUE(result) << (result ? "" : result.error().line()); }

  std::string folder_;
};

TEST_F(OutputTest, NewFilesFollowTheUmaskAndExistingOnesKeepTheirMode) {
  const mode_t mask = umask(027);
  fine(check_output(in("new")));
  EXPECT_EQ(files(), 0U) << "a check leaves nothing behind";
  fine(write_output(in("new"), "one"));
  EXPECT_EQ(mode_of(in("new")), 0640U);
  umask(mask);
  chmod(in("new").c_str(), 0604);
  fine(write_output(in("new"), "two"));
  EXPECT_EQ(mode_of(in("new")), 0604U);
  EXPECT_EQ(text_of(in("new")), "two");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputTest, LinksAreFollowed) {
  put(in("real"), "old");
  fs::create_directory(in("sub"));
  fs::create_symlink("real", in("link"));
  fs::create_symlink("../link", in("sub/chain"));
  fs::create_symlink("not-yet", in("dangling"));
  fs::create_symlink("circle", in("circle"));
  fine(write_output(in("sub/chain"), "new"));
  EXPECT_EQ(text_of(in("real")), "new");
  EXPECT_TRUE(fs::is_symlink(in("link")) && fs::is_symlink(in("sub/chain")));
  fine(check_output(in("dangling")));
  fine(write_output(in("dangling"), "made"));
  EXPECT_TRUE(fs::is_symlink(in("dangling")));
  EXPECT_EQ(text_of(in("not-yet")), "made");
  EXPECT_FALSE(check_output(in("circle")));
}

TEST_F(OutputTest, DevicesAndPipesAreWrittenDirectly) {
  fine(check_output("/dev/null"));
  fine(write_output("/dev/null", "lost"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const auto full = write_output("/dev/full", "too much");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().line(),
            "/dev/full: cannot be written: No space left on device; free some space or name another file");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));

  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = text_of(in("pipe")); });
  fine(write_output(in("pipe"), std::string(100'000, 'x')));
  reader.join();
  EXPECT_EQ(read.size(), 100'000U);
  EXPECT_TRUE(fs::is_fifo(in("pipe")));

  put(in("one"), "old");
  fs::create_hard_link(in("one"), in("two"));
  fine(write_output(in("two"), "new"));
  EXPECT_EQ(text_of(in("one")), "new") << "both names stay names of one file";
}

TEST_F(OutputTest, UnwritablePathsAreReportedBeforeTheWork) {
  struct Case {
    std::string path, problem;
  };
  put(in("file"), "");
  for (const Case& c : {Case{folder_, "is a folder"}, Case{in("none/x"), "its folder does not exist"},
                        Case{in("file/x"), "Not a directory"}, Case{in("x/"), "its folder does not exist"},
                        Case{"", "No such file"}, Case{in(std::string(300, 'n')), "File name too long"}}) {
    const auto checked = check_output(c.path);
    ASSERT_FALSE(checked) << c.path;
    EXPECT_NE(checked.error().problem.find(c.problem), std::string::npos) << checked.error().line();
    EXPECT_FALSE(write_output(c.path, "x")) << c.path;
  }
  fine(check_output(in(std::string(255, 'n'))));
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputTest, AbandonedPartialFilesAreRemovedAndThoseInUseKept) {
  const std::string held = in("r.json.part77"), left = in("r.json.part12-0"), other = in("r.json.partial");
  for (const std::string& path : {held, left, other}) put(path, "half");
  const int fd = open(held.c_str(), O_WRONLY);
  ASSERT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
  fine(check_output(in("r.json")));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(held)) << "another process is at it";
  EXPECT_TRUE(fs::exists(other)) << "no name of ours";
  close(fd);
  fine(write_output(in("r.json"), "whole"));
  EXPECT_FALSE(fs::exists(held));
  EXPECT_EQ(text_of(in("r.json")), "whole");
}

TEST_F(OutputTest, EveryPathOfAFileHasTheSameIdentity) {
  put(in("a"), "");
  fs::create_symlink("a", in("link"));
  fs::create_hard_link(in("a"), in("hard"));
  fs::create_directory(in("d"));
  const auto a = file_identity(in("a"));
  ASSERT_TRUE(a);
  for (const std::string& same : {in("link"), in("hard"), in("./a"), in("d/../a")})
    EXPECT_EQ(file_identity(same), a) << same;
  EXPECT_NE(file_identity(in("b")), a);
  EXPECT_EQ(file_identity(in("b")), file_identity(in("d/../b"))) << "where nothing is yet, the place counts";
  EXPECT_FALSE(file_identity("/dev/null"));
  for (const char* path : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) EXPECT_TRUE(is_standard_output(path));
}

TEST_F(OutputTest, ReadingIsBounded) {
  const std::uint64_t before = read_limit();
  put(in("ten"), "0123456789");
  set_read_limit(10);
  EXPECT_TRUE(read_file(in("ten")));
  set_read_limit(9);
  const auto refused = read_file(in("ten"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().problem, "has more than 9 bytes");
  EXPECT_FALSE(read_file("/dev/zero"));
  set_read_limit(before);

  struct Size {
    const char* text;
    std::optional<std::uint64_t> bytes;
  };
  for (const Size& size : {Size{"1", 1}, Size{"4K", 4096}, Size{"2M", 2 << 20}, Size{"1G", 1 << 30}, Size{"0", {}},
                           Size{"", {}}, Size{"G", {}}, Size{"-1", {}}, Size{"9999999T", {}}, Size{"1g", {}}})
    EXPECT_EQ(parse_size(size.text), size.bytes) << size.text;
  EXPECT_EQ(size_words(1), "1 byte");
  EXPECT_EQ(size_words(std::uint64_t{3} << 29), "1.5 GiB");
}

TEST_F(OutputTest, ByteOrderMarksAreSkippedOrRefused) {
  put(in("bom"), "\xEF\xBB\xBF{}");
  EXPECT_EQ(read_file(in("bom")), std::string("{}"));
  put(in("utf16"), std::string("\xFF\xFE{\0}\0", 6));
  ASSERT_FALSE(read_file(in("utf16")));
  EXPECT_EQ(read_file(in("utf16")).error().problem, "is UTF-16");
}

}  // namespace
}  // namespace berth::io
