// Jobs: JSON of the API and job files in HCL.
#include "fuzz/harness.h"
#include "hcl/job_file.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "model/registration/register_job.h"

namespace berth::fuzz {
namespace {

/// The job as it would be stored; "" if it is refused.
std::string stored_text(const json::Value& document) {
  const auto done = model::register_job(document);
  if (!done) {
    require_line(done.error().line());
    return "";
  }
  if (!done->job) {
    require(!done->error.empty(), "a job is refused without a reason");
    return "";
  }
  const json::Value stored = model::to_json(*done->job);
  model::Job again;
  const auto read = model::from_json(stored, again);
  require(read.has_value(), "a stored job cannot be read");
  std::string text = json::to_text(stored);
  require_equal(text, json::to_text(model::to_json(again)), "a stored job differs when it is read again");
  return text;
}

void fuzz_job_json(std::string_view input) {
  const auto document = io::parse_json(input);
  if (!document) return require_line(document.error().line());
  const std::string text = json::to_text(*document);
  const auto again = io::parse_json(text);
  require(again.has_value(), "written JSON cannot be read: ", text);
  require_equal(text, json::to_text(*again), "JSON differs when it is read again");
  require_equal(stored_text(*document), stored_text(*again), "a job from written JSON differs");
}

void fuzz_job_hcl(std::string_view input) {
  hcl::ModuleInput module;
  module.name = "job.hcl";
  module.text = std::string(input);
  auto job = hcl::read_job(std::move(module));
  if (!job) return require(!job.error().empty(), "a job file is refused without a reason");
  json::Value document = json::Value::object();
  document.set("Job", *job);
  const std::string text = json::to_text(document);
  const auto again = io::parse_json(text);
  require(again.has_value(), "the job of a job file cannot be read as JSON: ", text);
  require_equal(text, json::to_text(*again), "the job of a job file differs as JSON");
  require_equal(stored_text(document), stored_text(*again), "a job file and its JSON give different jobs");
  hcl::canonicalize(*job);
  const std::string canonical = json::to_text(*job);
  hcl::canonicalize(*job);
  require_equal(canonical, json::to_text(*job), "canonicalizing a job twice changes it");
}

const FuzzTarget kJobJson("job_json", fuzz_job_json);
const FuzzTarget kJobHcl("job_hcl", fuzz_job_hcl);

}  // namespace
}  // namespace berth::fuzz
