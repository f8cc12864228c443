// main() of every test program. For a failing test it also prints the rules that the test is about: those cited by its
// name, its parameter or its message, and those cited nearest above the failing line (tests/spec/find.sh --of).
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <string_view>

namespace {

class RuleListener : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    std::string said = std::string(test.test_suite_name()) + " " + test.name() + "\n";
    if (test.value_param()) said += std::string(test.value_param()) + "\n";
    std::set<int> failed_lines;
    for (int i = 0; i < test.result()->total_part_count(); ++i) {
      const testing::TestPartResult& part = test.result()->GetTestPartResult(i);
      if (!part.failed()) continue;
      said += std::string(part.message()) + "\n";
      if (part.file_name() && std::string_view(part.file_name()) == test.file())
        failed_lines.insert(part.line_number());
    }
    if (failed_lines.empty()) failed_lines.insert(test.line());

    // The compiler received paths relative to the build folder.
    std::string command = "cd '" BERTH_BINARY_DIR "' && bash '" BERTH_SOURCE_DIR "/tests/spec/find.sh' --of '" +
                          std::string(test.file()) + "' " + std::to_string(test.line());
    for (const int line : failed_lines) command.append(1, ' ').append(std::to_string(line));
    std::fflush(stdout);
    if (std::FILE* script = popen(command.c_str(), "w")) {
      std::fwrite(said.data(), 1, said.size(), script);
      pclose(script);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new RuleListener);  // googletest deletes it
  return RUN_ALL_TESTS();
}
