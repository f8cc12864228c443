#include "berth/job.h"

#include <filesystem>

#include "api/impl.h"
#include "hcl/job_file.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "model/codec/api_keys.h"
#include "model/job.h"
#include "model/registration/register_job.h"

namespace berth {

struct Job::Reading {
  static Result<Job> from_document(json::Value document, const std::string& path) {
    model::RegistrationRequest request;
    request.path = path;
    auto registered = model::register_job(document, request);
    if (!registered) return tl::unexpected(registered.error());
    if (!registered->job) return tl::unexpected(InputError{path, "", registered->error, "correct the job"});
    auto impl = std::make_shared<Impl>();
    impl->input = std::move(document);
    impl->path = path;
    impl->job = std::move(registered->job);
    impl->warnings = std::move(registered->warnings);
    const json::Value* wrapped = impl->input.find_ignoring_case("Job");
    for (std::string& warning : model::job_key_warnings(wrapped ? *wrapped : impl->input, wrapped ? "/Job" : ""))
      impl->warnings.push_back(std::move(warning));
    return Job(std::move(impl));
  }
};

Result<Job> Job::from_json(std::string_view text, const std::string& path) {
  auto value = io::parse_json(text, path);
  if (!value) return tl::unexpected(value.error());
  return Reading::from_document(*std::move(value), path);
}

Result<Job> Job::from_hcl(std::string_view text, const HclInput& input, const std::string& path) {
  hcl::ModuleInput module;
  module.name = path == "-" ? "job.hcl" : std::filesystem::path(path).filename().string();  // R-HCL-701
  module.text = std::string(text);
  module.arguments = input.variables;
  if (!input.variable_content.empty()) module.variable_content = input.variable_content;
  module.strict = input.strict;
  auto job = hcl::read_job(std::move(module));
  if (!job) return tl::unexpected(InputError{path, "", job.error(), "correct the job file"});
  json::Value document = json::Value::object();
  document.set("Job", *std::move(job));
  return Reading::from_document(std::move(document), path);
}

Result<Job> Job::from_text(std::string_view text, const std::string& path) {
  return hcl::is_job_file(text) ? from_hcl(text, {}, path) : from_json(text, path);
}

Result<Job> Job::from_file(const std::string& path) {
  auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  return from_text(*text, path);
}

const std::string& Job::id() const { return impl_->job->id; }
const std::string& Job::job_namespace() const { return impl_->job->namespace_; }
const std::string& Job::type() const { return impl_->job->type; }
std::int64_t Job::priority() const { return impl_->job->priority; }
std::int64_t Job::count() const {
  std::int64_t count = 0;
  for (const model::TaskGroup& group : impl_->job->task_groups) count += group.count;
  return count;
}
const std::vector<std::string>& Job::warnings() const { return impl_->warnings; }

}  // namespace berth
