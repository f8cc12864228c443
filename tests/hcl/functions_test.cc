// Functions of HCL (R-HCL-550 to 665) that recorded expressions do not cover, and bounds on their cost.
#include "hcl/functions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace berth::hcl {
namespace {

Value number(std::string_view text) { return Value::of(*Number::parse(text)); }

/// JSON of the result, or the error's text.
std::string answer(const char* name, const std::vector<Value>& arguments, const FileAccess& files = {}) {
  const Function* function = find_function(name);
  if (function == nullptr) return "no such function";
  const auto result = call(*function, arguments, files);
  if (!result) return "error: " + result.error().text;
  return json_text(*result).value_or("unknown");
}

TEST(HclFunctions, AreFoundByName) {
  EXPECT_EQ(function_names().size(), 83U);
  EXPECT_TRUE(std::is_sorted(function_names().begin(), function_names().end()));
  EXPECT_EQ(find_function("tostring"), nullptr);
  for (const std::string& name : function_names()) {
    const bool special = name == "can" || name == "convert" || name == "try";
    EXPECT_EQ(find_function(name) != nullptr, !special) << name;
  }
}

TEST(HclFunctions, BoundTheSizeOfTheirResults) {
  const std::string mib(1U << 20U, 'x');
  std::vector<Value> many;
  for (int i = 0; i < 2000; ++i) many.push_back(number("1"));
  const Value list = Value::tuple(many);
  struct Case {
    const char* name;
    std::vector<Value> arguments;
  };
  const Case cases[] = {
      {"setproduct", {list, list, list, list}},
      {"replace", {Value::of(mib), Value::of("x"), Value::of(mib)}},
      {"replace", {Value::of(mib), Value::of(""), Value::of(mib)}},
      {"join", {Value::of(mib), list}},
      {"indent", {number("9000000000000000000"), Value::of("a\nb")}},
      {"formatlist", {Value::of(mib + "%d"), list}},
  };
  for (const Case& c : cases) EXPECT_EQ(answer(c.name, c.arguments), std::string("error: ") + kTooLarge) << c.name;
  EXPECT_EQ(answer("format", {Value::of("%1000000000s"), Value::of("a")}),
            "error: width or precision at offset 0 is more than 4096");
  EXPECT_EQ(answer("format", {Value::of("%.99999999999999999999f"), number("1")}),
            "error: width or precision at offset 0 is more than 4096");
  EXPECT_EQ(answer("regex_replace", {Value::of(mib), Value::of("x"), Value::of("")}),
            "error: the text has 1048576 bytes; at most 65536 are searched");
  EXPECT_EQ(answer("bcrypt", {Value::of("a"), number("31")}),
            "error: error occured generating password berth spends a cost of 12 at most on one password");
  EXPECT_EQ(answer("jsondecode", {Value::of(std::string(100'000, '['))}), std::string("error: ") + kTooDeep);
  EXPECT_EQ(answer("range", {number("1e30")}).substr(0, 26), "error: more than 1024 valu");
}

TEST(HclFunctions, YamlAliasesExpandWithinABound) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += std::string(j > 0 ? "," : "") + "*a" + std::to_string(i - 1);
    text += "]\n";
  }
  EXPECT_EQ(answer("yamldecode", {Value::of(text)}), std::string("error: ") + kTooLarge);
}

TEST(HclFunctions, DecodeYaml) {  // R-HCL-623
  EXPECT_EQ(answer("yamldecode", {Value::of("a: 2001-12-14\nb: 2001-12-14t21:59:43.10-05:00\n")}),
            R"({"a":"2001-12-14T00:00:00Z","b":"2001-12-14T21:59:43.1-05:00"})");
  EXPECT_EQ(answer("yamldecode", {Value::of("1\n---\n2\n")}),
            "error: on line 2, column 1: unexpected extra content after value");
  EXPECT_EQ(answer("yamldecode", {Value::of("? [a]\n: 1\n")}),
            "error: on line 1, column 3: only strings are allowed as mapping keys");
  EXPECT_EQ(answer("yamldecode", {Value::of("<<: [{a: 1}, {a: 2, b: 3}]\nb: 4\n")}), R"({"a":1,"b":4})");
}

TEST(HclFunctions, EncodeAndHash) {
  EXPECT_EQ(answer("yamlencode", {Value::object({{"a b", Value::of("x")}})}), R"("\"a b\": \"x\"\n")");
  EXPECT_EQ(answer("jsonencode", {Value::of("<&>\x01")}), R"("\"\\u003c\\u0026\\u003e\\u0001\"")");
  EXPECT_EQ(answer("sha256", {Value::of("abc")}),
            "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"");
  EXPECT_EQ(answer("csvdecode", {Value::of("")}), "error: missing header line");
  EXPECT_EQ(answer("csvdecode", {Value::of("a\n\"x\n")}),
            "error: CSV parse error on line 3: extraneous or missing \" in quoted-field");
}

TEST(HclFunctions, ReadFilesBelowTheirFolderOnly) {  // R-HCL-660 to 665, and berth's bound
  namespace fs = std::filesystem;
  const fs::path root = fs::path(BERTH_BINARY_DIR) / "hcl_files_test";
  fs::remove_all(root);
  fs::create_directories(root / "job" / "sub");
  std::ofstream(root / "job" / "a.txt") << "A";
  std::ofstream(root / "job" / "sub" / "b.txt") << "B";
  std::ofstream(root / "job" / "raw.bin") << "\xFF";
  std::ofstream(root / "secret.txt") << "S";
  fs::create_symlink(root / "secret.txt", root / "job" / "link.txt");
  const FileAccess files{true, (root / "job").string()};
  EXPECT_EQ(answer("file", {Value::of("a.txt")}, files), "\"A\"");
  EXPECT_EQ(answer("file", {Value::of("./sub/../a.txt")}, files), "\"A\"");
  EXPECT_EQ(answer("file", {Value::of("none.txt")}, files), "error: no file exists at none.txt");
  EXPECT_EQ(answer("file", {Value::of("sub")}, files), "error: failed to read sub");
  EXPECT_EQ(answer("file", {Value::of("raw.bin")}, files).substr(0, 44),
            "error: contents of raw.bin are not valid UTF");
  EXPECT_EQ(answer("filebase64", {Value::of("raw.bin")}, files), "\"/w==\"");
  EXPECT_EQ(answer("fileexists", {Value::of("a.txt")}, files), "true");
  EXPECT_EQ(answer("fileexists", {Value::of("b.txt")}, files), "false");
  EXPECT_EQ(answer("fileset", {Value::of("."), Value::of("**/*.{txt,bin}")}, files),
            R"(["a.txt","link.txt","raw.bin","sub/b.txt"])");
  EXPECT_EQ(answer("fileset", {Value::of("."), Value::of("[a]*")}, files), R"(["a.txt"])");
  EXPECT_EQ(answer("fileset", {Value::of("absent"), Value::of("*")}, files), "[]");
  EXPECT_EQ(answer("fileset", {Value::of("."), Value::of("[")}, files),
            "error: failed to glob pattern ([): syntax error in pattern");
  for (const char* outside : {"../secret.txt", "/etc/passwd", "link.txt", "sub/../../secret.txt"}) {
    EXPECT_NE(answer("file", {Value::of(outside)}, files).find("is outside the job file's folder"), std::string::npos)
        << outside;
  }
  for (const char* name : {"file", "filebase64", "fileexists", "abspath", "basename", "dirname", "pathexpand"}) {
    EXPECT_EQ(answer(name, {Value::of("a.txt")}), "error: filesystem function disabled");
  }
  EXPECT_EQ(answer("basename", {Value::of("")}, files), "\".\"");
  EXPECT_EQ(answer("pathexpand", {Value::of("~other/x")}, files), "error: cannot expand user-specific home dir");
  fs::remove_all(root);
}

TEST(HclFunctions, CountAddresses) {  // R-HCL-640 to 643
  EXPECT_EQ(answer("cidrhost", {Value::of("10.0.0.0/24"), number("-1")}), "\"10.0.0.255\"");
  EXPECT_EQ(answer("cidrhost", {Value::of("10.0.0.0/24"), number("-257")}),
            "error: prefix of 24 does not accommodate a host numbered -257");
  EXPECT_EQ(answer("cidrsubnet", {Value::of("fd00::/8"), number("8"), number("255")}), "\"fdff::/16\"");
  EXPECT_EQ(answer("cidrsubnet", {Value::of("10.0.0.0/8"), number("30"), number("0")}),
            "error: insufficient address space to extend prefix of 8 by 30");
  EXPECT_EQ(answer("cidrnetmask", {Value::of("10.0.0.0/12")}), "\"255.240.0.0\"");
  EXPECT_EQ(answer("cidrhost", {Value::of("010.0.0.0/8"), number("1")}),
            "error: invalid CIDR expression: invalid CIDR address: 010.0.0.0/8");
  EXPECT_EQ(answer("cidrsubnets", {Value::of("0.0.0.0/0"), number("1"), number("1"), number("1")}),
            "error: not enough remaining address space for a subnet with a prefix of 1 bits after 128.0.0.0/1");
}

TEST(HclFunctions, ComputeTimes) {  // R-HCL-590 to 592
  EXPECT_EQ(answer("formatdate", {Value::of("EEEE, DD-MMM-YY hh:mm:ss ZZZ"), Value::of("2018-01-02T23:12:01-08:00")}),
            "\"Tuesday, 02-Jan-18 23:12:01 -0800\"");
  EXPECT_EQ(answer("formatdate", {Value::of("H:mm aa"), Value::of("2018-01-02T00:05:01Z")}), "\"12:05 am\"");
  EXPECT_EQ(answer("timeadd", {Value::of("2017-11-22T23:59:59+01:00"), Value::of("1s")}),
            "\"2017-11-23T00:00:00+01:00\"");
  EXPECT_EQ(answer("timeadd", {Value::of("2017-11-22T00:00:00.25Z"), Value::of("-500ms")}), "\"2017-11-21T23:59:59Z\"");
  struct Bad {
    const char *time, *why;
  };
  for (const Bad& one : {Bad{"x", "cannot use \"x\" as year"}, Bad{"", "end of string before year"},
                         Bad{"2018", "end of string where \"-\" is expected"},
                         Bad{"2018/01/02T03:02:01Z", "found \"/01/02T03:02:01Z\" where \"-\" is expected"},
                         Bad{"2018-01-02", "missing required time introducer 'T'"},
                         Bad{"2018-01-02T03:02Z", "found \"Z\" where \":\" is expected"},
                         Bad{"2018-01-02T03:02:01", "end of string before UTC offset"},
                         Bad{"2018-01-02T03:02:01+25:00", "end of string before UTC offset"},
                         Bad{"2018-01-02T03:02:01Zx", "cannot use \"x\" as timestamp segment"},
                         Bad{"2018-02-30T03:02:01Z", "day out of range"}})
    EXPECT_EQ(answer("formatdate", {Value::of("YYYY"), Value::of(one.time)}),
              std::string("error: not a valid RFC3339 timestamp: ") + one.why);
}

TEST(HclFunctions, FormatAListWithoutArguments) {  // R-HCL-584
  EXPECT_EQ(answer("formatlist", {Value::of("x")}), "[\"x\"]");
  EXPECT_EQ(answer("formatlist", {Value::of("%s")}),
            "error: not enough arguments for \"%s\" at 0: need index 1 but have 0 total");
}

}  // namespace
}  // namespace berth::hcl
