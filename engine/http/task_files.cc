#include "http/task_files.h"

#include <algorithm>
#include <array>

#include "base/duration.h"
#include "base/text.h"
#include "base/time.h"
#include "http/endpoints/entities.h"
#include "model/job.h"

namespace berth::http {

namespace {

constexpr std::array<const char*, 3> kSharedFolders = {"data", "logs", "tmp"};
constexpr std::array<const char*, 4> kTaskFolders = {"local", "private", "secrets", "tmp"};
constexpr std::int64_t kLogMost = 10 * (10 << 20);  // bytes: ten files of 10 MB, the default of a task

/// A duration in a driver's configuration: a text, or a number of ns.
std::int64_t duration_of(const json::Value& value) {
  const std::int64_t ns = value.is_string() ? base::parse_duration(value.as_string()).value_or(0) : value.as_int();
  return std::max<std::int64_t>(ns, 0);
}

std::int64_t number_of(const json::Value& value) {
  const std::int64_t number = value.is_string() ? base::parse_int64(value.as_string()).value_or(0) : value.as_int();
  return std::clamp<std::int64_t>(number, 0, kLogMost);
}

/// Size limit of a task's logs in bytes, from its `logs` block.
std::int64_t log_limit(const model::Task& task) {
  if (!task.log_config || task.log_config->max_files <= 0 || task.log_config->max_file_size_mb <= 0) return kLogMost;
  const std::int64_t files = task.log_config->max_files, size = task.log_config->max_file_size_mb;
  return std::min<std::int64_t>(kLogMost, std::min<std::int64_t>(files, 1000) * std::min<std::int64_t>(size, 1000)
                                              << 20);
}

}  // namespace

void LongText::add(std::string text, std::int64_t times, std::int64_t most) {
  const auto length = static_cast<std::int64_t>(text.size());
  const std::int64_t room = most - size_;
  if (length == 0 || times <= 0 || room <= 0) return;
  const std::int64_t size = times > room / length ? room : times * length;
  parts_.push_back({std::move(text), size_, size});
  size_ += size;
}

std::string LongText::read(std::int64_t offset, std::int64_t limit) const {
  std::string out;
  const std::int64_t end = limit > size_ - offset ? size_ : offset + limit;
  for (const Part& part : parts_) {
    std::int64_t at = std::max(offset, part.begin);
    const std::int64_t stop = std::min(end, part.begin + part.size);
    const auto length = static_cast<std::int64_t>(part.text.size());
    while (at < stop) {
      const std::int64_t within = (at - part.begin) % length, count = std::min(length - within, stop - at);
      out.append(part.text, static_cast<std::size_t>(within), static_cast<std::size_t>(count));
      at += count;
    }
  }
  return out;
}

TaskFiles::TaskFiles(model::Allocation alloc, std::int64_t now_ns)
    : alloc_(std::move(alloc)), group_(alloc_.job ? alloc_.job->group(alloc_.task_group) : nullptr), now_ns_(now_ns) {}

bool TaskFiles::has_task(std::string_view task) const {
  return group_ && std::any_of(group_->tasks.begin(), group_->tasks.end(),
                               [&](const model::Task& one) { return one.name == task; });
}

const model::TaskState* TaskFiles::state_of(std::string_view task) const {
  const auto found = alloc_.task_states.find(std::string(task));
  return found == alloc_.task_states.end() || !found->second ? nullptr : &*found->second;
}

bool TaskFiles::has_started(std::string_view task) const {
  const model::TaskState* state = state_of(task);
  return state && !state->started_at.is_zero();
}

LongText TaskFiles::log(std::string_view task, std::string_view type) const {
  LongText out;
  const model::TaskState* state = state_of(task);
  const auto of = !group_ ? std::vector<model::Task>::const_iterator()
                          : std::find_if(group_->tasks.begin(), group_->tasks.end(),
                                         [&](const model::Task& one) { return one.name == task; });
  if (!state || !group_ || of == group_->tasks.end()) return out;
  const std::int64_t most = log_limit(*of);
  const json::Array none;
  const json::Array& events = state->events.is_array() ? state->events.items() : none;
  if (of->driver != "mock_driver") {
    if (type != "stdout") return out;
    for (const json::Value& event : events) {
      const std::string& given = event["DisplayMessage"].as_string();
      out.add(base::to_rfc3339(base::Time{event["Time"].as_int()}) + " " + event["Type"].as_string() + ": " +
                  (given.empty() ? display_message(event) : given) + "\n",
              1, most);
    }
    return out;
  }
  const std::string prefix(type);
  const std::string& text = of->config[prefix + "_string"].as_string();
  const std::int64_t repeat = number_of(of->config[prefix + "_repeat"]);
  const std::int64_t every = duration_of(of->config[prefix + "_repeat_duration"]);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i]["Type"].as_string() != "Started") continue;
    const std::int64_t begin = events[i]["Time"].as_int();
    std::int64_t end = now_ns_;
    for (std::size_t next = i + 1; next < events.size(); ++next)
      if (events[next]["Type"].as_string() == "Terminated") {
        end = events[next]["Time"].as_int();
        break;
      }
    const std::int64_t lived = std::max<std::int64_t>(end - begin, 0);
    out.add(text, 1 + (every > 0 ? std::min(repeat, lived / every) : repeat), most);
  }
  return out;
}

std::optional<std::string> TaskFiles::clean(std::string_view path) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : base::split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else {
      if (parts.empty()) return std::nullopt;
      parts.pop_back();
    }
  }
  std::string out;
  for (const std::string_view part : parts) out += (out.empty() ? "" : "/") + std::string(part);
  return out;
}

std::optional<TaskFiles::Log> TaskFiles::log_of(const std::string& path) const {
  constexpr std::string_view kFolder = "alloc/logs/";
  if (!path.starts_with(kFolder)) return std::nullopt;
  for (const char* type : {"stdout", "stderr"}) {
    const std::string end = std::string(".") + type + ".0";
    if (!path.ends_with(end) || path.size() < kFolder.size() + end.size()) continue;
    Log out{path.substr(kFolder.size(), path.size() - kFolder.size() - end.size()), type};
    if (has_task(out.task) && has_started(out.task)) return out;
  }
  return std::nullopt;
}

std::optional<FileInfo> TaskFiles::stat(const std::string& path) const {
  if (path.empty()) return FileInfo{alloc_.id, true, "drwxr-xr-x", 4096, alloc_.create_time};
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
  for (FileInfo& one : list(folder))
    if (one.name == path.substr(slash == std::string::npos ? 0 : slash + 1)) return std::move(one);
  return std::nullopt;
}

std::vector<FileInfo> TaskFiles::list(const std::string& folder) const {
  std::vector<FileInfo> out;
  const auto add = [&](const std::string& name) {
    out.push_back({name, true, "drwxrwxrwx", 4096, alloc_.create_time});
  };
  if (folder.empty()) {
    add("alloc");
    if (group_)
      for (const model::Task& task : group_->tasks) add(task.name);
  } else if (folder == "alloc") {
    for (const char* name : kSharedFolders) add(name);
  } else if (folder == "alloc/logs" && group_) {
    for (const model::Task& task : group_->tasks) {
      const model::TaskState* state = state_of(task.name);
      if (!has_started(task.name)) continue;
      for (const char* type : {"stdout", "stderr"}) {
        const std::int64_t size = log(task.name, type).size();
        out.push_back({task.name + "." + type + ".0", false, "-rw-rw-rw-", size, state->started_at.ns});
      }
    }
  } else if (has_task(folder)) {
    for (const char* name : kTaskFolders) add(name);
    out.back().mode = "dtrwxrwxrwx";
  }
  std::sort(out.begin(), out.end(), [](const FileInfo& a, const FileInfo& b) { return a.name < b.name; });
  return out;
}

std::optional<LongText> TaskFiles::content(const std::string& path) const {
  const auto of = log_of(path);
  if (!of) return std::nullopt;
  return log(of->task, of->type);
}

std::string TaskFiles::shown(const std::string& path) const {
  return "/var/nomad/alloc/" + alloc_.id + (path.empty() ? "" : "/" + path);
}

}  // namespace berth::http
