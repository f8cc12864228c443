#include "hcl/module.h"

#include <deque>

#include <fmt/format.h>

#include "hcl/json_syntax.h"
#include "hcl/locals.h"
#include "hcl/parser.h"
#include "hcl/variables.h"

namespace berth::hcl {

struct Module::State {
  Workspace workspace;
  std::deque<NativeBody> native;
  std::deque<JsonNode> json;
  Root variable_values, local_values;
  Context constants;  // for defaults, variable files and arguments
  Context job;        // for the job and for locals

  explicit State(FileAccess files) {
    constants.workspace = &workspace;
    job.others = Context::Others::pass;
    job.variables = &variable_values;
    job.locals = &local_values;
    job.files = std::move(files);
    job.workspace = &workspace;
  }

  Body parse(const std::string& name, std::string text, const Context& context, Diagnostics& out) {
    workspace.sources.emplace_back(name, std::move(text));
    const Source& source = workspace.sources.back();
    if (looks_like_json(source.text())) return {json.emplace_back(parse_json_file(source, out)), nullptr, context};
    return {native.emplace_back(parse_file(source, workspace.tree, out)), nullptr, context};
  }
};

Module::Module() = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30U;  // offsets have 32 bits

const Schema& root_schema() {
  static const Schema schema{{}, {{"job", {"name"}}, {"locals", {}}, {"variable", {"name"}}, {"variables", {}}}, false};
  return schema;
}

tl::expected<void, std::string> parse_variable_files(const ModuleInput& input, Module::State& state,
                                                     std::vector<Body>& files) {
  for (const VariableFile& file : input.variable_files) {
    if (!file.text) {
      return tl::unexpected(
          fmt::format("unable to parse var file: <nil>: Failed to read file; failed to read \"{}\": {}", file.path,
                      file.text.error()));
    }
    Diagnostics out;
    files.push_back(state.parse(file.path, *file.text, state.constants, out));
    if (!out.empty()) return tl::unexpected("unable to parse var file: " + out.first_text());
  }
  if (input.variable_content) {
    Diagnostics out;
    files.push_back(state.parse("input.hcl", *input.variable_content, state.constants, out));
    if (!out.empty()) return tl::unexpected("unable to parse var content: " + out.first_text());
  }
  return {};
}

// The only job; reports an error if there is none or more than one (R-HCL-221).
std::optional<Block> only_job(const Content& root, Diagnostics& out) {
  std::optional<Block> job;
  for (const Block& block : root.blocks) {
    if (block.type != "job") continue;
    if (job) {
      out.add(
          block.header, "Duplicate job block",
          fmt::format("Only one block of type \"job\" is allowed. Previous definition was at {}.", job->header.text()));
      continue;
    }
    job = block;
  }
  if (!job) out.add({std::nullopt, "Missing job block", "A job block is required"});
  return job;
}

}  // namespace

tl::expected<Module, std::string> read_module(ModuleInput input) {
  if (input.text.size() > kMostBytes) return tl::unexpected(input.name + " is larger than 1 GiB; make it smaller");
  Module module;
  module.state = std::make_unique<Module::State>(input.files);
  Module::State& state = *module.state;

  // Phase a: syntax. Errors of variable files hide those of the job file (R-HCL-264).
  std::vector<Body> files;
  if (auto parsed = parse_variable_files(input, state, files); !parsed) return tl::unexpected(parsed.error());
  Diagnostics out;
  const Body file = state.parse(input.name, std::move(input.text), state.job, out);
  if (!out.empty()) return tl::unexpected(out.first_text());

  // Phase b: the root.
  const Content root = file.content(root_schema(), out);
  if (!out.empty()) return tl::unexpected(out.all_text());

  // Phase c: variables and locals.
  Variables variables(state.constants, state.job, state.variable_values, out, module.warnings);
  Locals locals(state.local_values, out);
  for (const Block& block : root.blocks) {
    if (block.type == "variable") variables.declare(block);
    if (block.type == "variables") variables.declare_all(block);
    if (block.type == "locals") locals.collect(block);
  }
  variables.set_from_environment(input.environment);
  for (const Body& body : files) variables.set_from_file(body, input.strict);
  variables.set_from_arguments(input.arguments, input.strict);
  module.variables = variables.settle();
  locals.evaluate();
  if (out.empty()) module.job = only_job(root, out);
  if (!out.empty()) {
    out.add(module.warnings);
    return tl::unexpected(out.all_text());
  }
  return module;
}

}  // namespace berth::hcl
