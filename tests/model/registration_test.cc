// Jobs as input: defaults, canonical form, implied constraints, validation, cron, change detection. Recorded decisions
// compare whole registrations; here single rules are checked by hand.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "model/periodic/cron.h"
#include "model/predicates.h"
#include "model/registration/job_canonical.h"
#include "model/registration/register_job.h"
#include "model/update/spec_changed.h"
#include "model/update/tasks_updated.h"

namespace berth::model {
namespace {

constexpr const char* kMinimal = R"({"ID":"j","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"exec"}]}]})";

json::Value parsed(std::string_view text) { return io::parse_json(text).value(); }

Registration registered(const json::Value& job) {
  auto done = register_job(job);
  EXPECT_TRUE(done) << (done ? "" : done.error().line());
  return done ? *done : Registration{};
}

/// The minimal job with one more member in the job, its group and its task, each JSON text or "".
Registration with(const std::string& job, const std::string& group = "", const std::string& task = "") {
  const auto more = [](const std::string& text) { return text.empty() ? "" : "," + text; };
  return registered(parsed(R"({"ID":"j","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"exec")" + more(task) +
                           "}]" + more(group) + "}]" + more(job) + "}"));
}

TEST(Registration, FillsTheDefaultsOfAServiceJob) {  // R-MODEL-222 to 231, 240 to 243
  const Registration done = registered(parsed(kMinimal));
  ASSERT_TRUE(done.job) << done.error;
  const Job& job = *done.job;
  EXPECT_EQ(job.name, "j");
  EXPECT_EQ(job.type, "service");
  EXPECT_EQ(job.priority, 50);
  EXPECT_EQ(job.region, "global");
  EXPECT_EQ(job.node_pool, "default");
  EXPECT_EQ(job.datacenters, std::vector<std::string>{"*"});
  EXPECT_EQ(job.status, "pending");
  EXPECT_TRUE(done.creates_eval);
  const TaskGroup& group = job.task_groups.at(0);
  EXPECT_EQ(group.count, 1);
  EXPECT_EQ(group.ephemeral_disk->size_mb, 300);
  EXPECT_TRUE(group.reschedule_policy->unlimited);
  EXPECT_EQ(group.restart_policy->attempts, 2);
  EXPECT_EQ(group.update->max_parallel, 1);
  EXPECT_EQ(group.migrate->max_parallel, 1);
  const Task& task = group.tasks.at(0);
  EXPECT_EQ(task.resources->cpu, 100);
  EXPECT_EQ(task.resources->memory_mb, 300);
  EXPECT_EQ(task.kill_timeout, 5 * base::kSecond);
  EXPECT_EQ(task.log_config->max_files, 10);
}

TEST(Registration, KeepsExplicitZeros) {  // R-MODEL-220, trap 25
  const Registration done = with(R"("Priority":0)", R"("Count":0)");
  ASSERT_TRUE(done.job) << done.error;
  EXPECT_EQ(done.job->priority, 50);
  EXPECT_EQ(done.job->task_groups[0].count, 0);
  EXPECT_NE(with("", "", R"("Resources":{"Cores":0})").error.find("minimum CPU value is 1; got 0"), std::string::npos);
}

TEST(Registration, MatchesKeysWithoutCaseAsAFallback) {  // R-MODEL-608
  const Registration done = registered(parsed(
      R"({"Job":{"id":"j","PRIORITY":70,"Unknown":1,"taskgroups":[{"name":"g","tasks":[{"NAME":"t","driver":"exec"}]}]}})"));
  ASSERT_TRUE(done.job) << done.error;
  EXPECT_EQ(done.job->priority, 70);
  EXPECT_EQ(done.job->task_groups[0].tasks[0].driver, "exec");
  EXPECT_TRUE(done.job->extra->is_null());
}

TEST(Registration, RecognisesTheRegisteredForm) {  // R-MODEL-621
  json::Value job = parsed(kMinimal);
  job.set("Version", 3), job.set("JobModifyIndex", 20), job.set("CreateIndex", 10);
  const Registration done = registered(job);
  ASSERT_TRUE(done.job);
  EXPECT_TRUE(done.registered_form);
  EXPECT_EQ(done.job->version, 3u);
  EXPECT_EQ(done.job->job_modify_index, 20u);
  job.set("JobModifyIndex", 0);
  EXPECT_FALSE(is_registered_form(job));
}

TEST(Registration, KeepsExtraClaims) {  // R-HCL-462: a list of texts
  const Registration done = with("", "", R"("Identities":[{"Name":"i","Audience":["a"],"TTL":1,"ExtraClaims":["x"]}])");
  ASSERT_TRUE(done.job) << done.error;
  const json::Value& identities = done.job->task_groups[0].tasks[0].identities;
  EXPECT_EQ(json::to_text(identities[0]["ExtraClaims"]), R"(["x"])");
}

struct RejectCase {
  const char* name;
  const char *job, *group, *task, *text;
};
class RejectedJobs : public ::testing::TestWithParam<RejectCase> {};

TEST_P(RejectedJobs, HaveNomadsErrors) {  // R-MODEL-250 to 256
  const RejectCase& c = GetParam();
  const Registration done = with(c.job, c.group, c.task);
  EXPECT_FALSE(done.job);
  EXPECT_NE(done.error.find(c.text), std::string::npos) << done.error;
}

INSTANTIATE_TEST_SUITE_P(
    Jobs, RejectedJobs,
    ::testing::Values(
        RejectCase{"Type", R"("Type":"other")", "", "", "Invalid job type: \"other\""},
        RejectCase{"Core", R"("Type":"_core")", "", "", "job type cannot be core"},
        RejectCase{"EmptyDatacenters", R"("Datacenters":["","a",""])", "", "",
                   "2 errors occurred:\n\t* Job datacenter must be non-empty string\n\t* Job datacenter"},
        RejectCase{"Priority", R"("Priority":101)", "", "", "job priority must be between [1, 100]"},
        RejectCase{"Payload", R"("Payload":"aGk=")", "", "", "payload"},
        RejectCase{"TotalCount", "", R"("Count":50001)", "", "job_max_count"},
        RejectCase{"SystemCount", R"("Type":"system")", R"("Count":2)", "",
                   "Job task group g has count 2. Count cannot exceed 1 with system scheduler"},
        RejectCase{"SystemScaling", R"("Type":"system")", R"("Scaling":{"Max":1})", "", "scaling"},
        RejectCase{"Cron", R"("Type":"batch","Periodic":{"Spec":"bad"})", "", "",
                   "Invalid cron spec \"bad\": missing field(s)"},
        RejectCase{"TimeZone", R"("Type":"batch","Periodic":{"Spec":"@daily","TimeZone":"Nowhere/X"})", "", "",
                   "Invalid time zone \"Nowhere/X\": unknown time zone Nowhere/X"},
        RejectCase{"TimeZoneFolder", R"("Type":"batch","Periodic":{"Spec":"@daily","TimeZone":"Europe"})", "", "",
                   "Invalid time zone \"Europe\": unknown time zone Europe"},
        RejectCase{"NegativeCount", "", R"("Count":-1)", "", "Task group count can't be negative"},
        RejectCase{"NoTasks", R"("TaskGroups":[{"Name":"g"}])", "", "", "Missing tasks for task group"},
        RejectCase{"Ambiguous", "", R"("ReschedulePolicy":{"Attempts":3,"Interval":3600000000000})", "",
                   "Unlimited = true is ambiguous"},
        RejectCase{"PortValue", "", R"("Networks":[{"ReservedPorts":[{"Label":"p","Value":70000}]}])", "",
                   "Port p (70000) cannot be greater than 65535"},
        RejectCase{"PortTwice", "",
                   R"("Networks":[{"ReservedPorts":[{"Label":"p","Value":80},{"Label":"q","Value":80}]}])", "",
                   "Static port 80 already reserved by taskgroup network:p"},
        RejectCase{"Canary", "", R"("Update":{"AutoPromote":true})", "",
                   "Auto Promote requires a Canary count greater than zero"},
        RejectCase{"CpuAndCores", "", "", R"("Resources":{"CPU":100,"Cores":1})",
                   "Task can only ask for 'cpu' or 'cores' resource, not both."},
        RejectCase{"Memory", "", "", R"("Resources":{"MemoryMB":5})", "minimum MemoryMB value is 10; got 5"},
        RejectCase{"DistinctOnTask", "", "", R"("Constraints":[{"Operand":"distinct_hosts"}])",
                   "Constraint 1 has disallowed Operand at task level: distinct_hosts"},
        RejectCase{"Regexp", R"("Constraints":[{"LTarget":"${meta.a}","RTarget":"(","Operand":"regexp"}])", "", "",
                   "Constraint 1 validation failed"},
        RejectCase{"Version", R"("Constraints":[{"LTarget":"${meta.a}","RTarget":"x","Operand":"version"}])", "", "",
                   "Constraint 1 validation failed"},
        RejectCase{"SameDestination", "", "",
                   R"("Templates":[{"DestPath":"a","EmbeddedTmpl":"x"},{"DestPath":"b","EmbeddedTmpl":"x"},
                        {"DestPath":"a","EmbeddedTmpl":"x"},{"DestPath":"a","EmbeddedTmpl":"x"}])",
                   "Template 3 has same destination as 1\n\t* Template 4 has same destination as 1"},
        RejectCase{"Brace", R"("Constraints":[{"LTarget":"$bad","RTarget":"x","Operand":"="}])", "", "",
                   "attribute \"$bad\" is missing an opening brace"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Registration, NamesTheLengthOfADescription) {  // R-MODEL-250
  const std::string longer(1001, 'x'), text = R"({"Description":")" + longer + R"("})";
  EXPECT_NE(with("\"UI\":" + text).error.find("UI description must be under 1000 characters, currently 1001"),
            std::string::npos);
  EXPECT_NE(with("\"VersionTag\":" + text)
                .error.find("Tagged version description must be under 1000 characters, currently 1001"),
            std::string::npos);
  EXPECT_TRUE(with(R"("UI":{"Description":")" + longer.substr(1) + R"("})").job);
}

TEST(Registration, WarnsInOrder) {  // R-MODEL-258
  const Registration done = registered(parsed(R"({"ID":"j","Type":"batch","Periodic":{"Spec":"@daily"},"TaskGroups":[
      {"Name":"a","Tasks":[{"Name":"t","Driver":"exec","Services":[{"Name":"s"}]}]},
      {"Name":"b","Tasks":[{"Name":"u","Driver":"exec","Resources":{"MemoryMaxMB":400}}]}]})"));
  ASSERT_TRUE(done.job) << done.error;
  ASSERT_EQ(done.warnings.size(), 3U);
  EXPECT_TRUE(done.warnings[0].starts_with("task \"t\" in group \"a\" defines services")) << done.warnings[0];
  EXPECT_TRUE(done.warnings[1].starts_with("cron is deprecated")) << done.warnings[1];
  EXPECT_TRUE(done.warnings[2].starts_with("Memory oversubscription")) << done.warnings[2];
  const Registration update = registered(parsed(R"({"ID":"j","TaskGroups":[
      {"Name":"a","Count":2,"Update":{"MaxParallel":3,"Canary":1,"AutoPromote":true},
       "Tasks":[{"Name":"t","Driver":"exec","Services":[{"Name":"s"}]}]},
      {"Name":"b","Update":{"Canary":1},"Tasks":[{"Name":"u","Driver":"exec"}]}]})"));
  ASSERT_TRUE(update.job) << update.error;
  ASSERT_EQ(update.warnings.size(), 3U);
  EXPECT_TRUE(update.warnings[0].starts_with("Group \"a\" has warnings")) << update.warnings[0];
  EXPECT_TRUE(update.warnings[1].starts_with("task \"t\" in group")) << update.warnings[1];
  EXPECT_EQ(update.warnings[2], "auto_promote must be true for all groups to enable automatic promotion");
}

TEST(Registration, NamesThePlaceOfAMistypedValue) {  // R-MODEL-608: a text is no duration
  const auto done = register_job(parsed(
      R"({"Job":{"ID":"j","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"exec","KillTimeout":"30s"}]}]}})"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().place, "/Job/TaskGroups/0/Tasks/0/KillTimeout");
  EXPECT_FALSE(register_job(parsed(R"({"ID":"j","TaskGroups":5})")));
  EXPECT_FALSE(register_job(parsed(R"([1,2])")));
}

TEST(ReschedulePolicy, CountsTheAttemptsThatFit) {  // W-10
  const auto text = [](ReschedulePolicy policy) { return validate_reschedule(policy).text(); };
  ReschedulePolicy policy{.attempts = 10,
                          .interval = 3600 * base::kSecond,
                          .delay = 30 * base::kSecond,
                          .delay_function = "exponential",
                          .max_delay = 3600 * base::kSecond};
  EXPECT_NE(text(policy).find("can only make 7 attempts"), std::string::npos) << text(policy);
  EXPECT_NE(text(policy).find("at least 3h32m0s"), std::string::npos) << text(policy);  // 12720 s
  policy = {.attempts = 3, .interval = 60 * base::kSecond, .delay = 30 * base::kSecond, .delay_function = "constant"};
  EXPECT_NE(text(policy).find("can only make 2 attempts"), std::string::npos);
  EXPECT_NE(text(policy).find("at least 1m30s"), std::string::npos);
  policy.interval = 90 * base::kSecond;
  EXPECT_EQ(text(policy), "");
  policy.delay_function = "exponential", policy.max_delay = INT64_MAX;
  policy.attempts = INT64_MAX;  // any number of attempts is judged in constant time
  EXPECT_NE(text(policy), "");
  policy.delay_function = "fibonacci", policy.max_delay = 30 * base::kSecond;
  EXPECT_NE(text(policy), "");
  policy.delay = policy.max_delay = policy.interval = INT64_MAX;  // nor are sums that do not fit visited one by one
  EXPECT_EQ(text(policy), "");
}

TEST(ImpliedConstraints, AreAddedOnce) {  // R-MODEL-244
  Job job = *with("", R"("Networks":[{"Mode":"bridge"}])", R"("KillSignal":"SIGINT")").job;
  const auto before = job.task_groups[0].constraints;
  ASSERT_EQ(before.size(), 6u);
  EXPECT_EQ(before[0].text(), "${attr.os.signals} set_contains SIGINT");
  EXPECT_EQ(before[1].text(), "${attr.plugins.cni.version.bridge} semver >= 0.4.0");
  add_implied_constraints(job);
  EXPECT_EQ(job.task_groups[0].constraints, before);
  EXPECT_TRUE(job.task_groups[0].services.is_null());
}

TEST(JobNames, MustNotBeEmpty) {  // R-MODEL-215, R-REG-302, 303
  Job job = *registered(parsed(kMinimal)).job;
  Namespace team;
  team.name = "team";
  team.capabilities = parsed(R"({"EnabledTaskDrivers":["docker"],"DisabledNetworkModes":["host"]})");
  EXPECT_EQ(validate_namespace(job, {team}), "");
  job.namespace_ = "team";
  EXPECT_EQ(validate_namespace(job, {team}), R"(used task driver "exec" is not allowed in namespace "team")");
  job.task_groups[0].tasks.push_back(job.task_groups[0].tasks[0]);
  EXPECT_EQ(validate_namespace(job, {team}),
            R"(used task drivers ["exec" "exec"] are not allowed in namespace "team")");
  for (Task& task : job.task_groups[0].tasks) task.driver = "docker";
  job.task_groups[0].networks.emplace_back();  // mode "" is host
  EXPECT_EQ(validate_namespace(job, {team}), R"(used group network mode "host" is not allowed in namespace "team")");
  job.namespace_ = "other", job.node_pool = "gone";
  EXPECT_EQ(validate_namespace(job, {team}), R"(job "j" is in nonexistent namespace "other")");
  EXPECT_EQ(validate_pool(job, {}), R"(job "j" is in nonexistent node pool "gone")");
}

TEST(EnforcedIndex, MustEqualTheStoredIndex) {  // R-MODEL-259
  Job job;
  job.job_modify_index = 7;
  EXPECT_EQ(check_enforced_index(&job, 7), "");
  EXPECT_EQ(check_enforced_index(nullptr, 0), "");
  for (const auto& [stored, index] : {std::pair<const Job*, std::uint64_t>{&job, 0}, {&job, 6}, {nullptr, 7}})
    EXPECT_TRUE(check_enforced_index(stored, index).starts_with("Enforcing job modify index"));
}

TEST(SpecChanged, IgnoresBookkeeping) {  // R-MODEL-276
  const Job stored = *registered(parsed(kMinimal)).job;
  Job other = stored;
  other.version = 4, other.stable = true, other.status = "dead", other.submit_time = 5, other.job_modify_index = 9;
  EXPECT_FALSE(spec_changed(stored, other));
  other.priority = 51;
  EXPECT_TRUE(spec_changed(stored, other));
}

TEST(TasksUpdated, SeparatesInPlaceFromDestructive) {  // R-SCHED-103, 107
  const Job stored = *with(R"("Meta":{"a":"1"})").job;
  Job other = stored;
  other.task_groups[0].count = 5;
  other.priority = 80;
  EXPECT_FALSE(tasks_updated(stored, other, "g"));
  other.task_groups[0].tasks[0].meta["a"] = "1";  // merged meta stays the same
  EXPECT_FALSE(tasks_updated(stored, other, "g"));
  other.meta["a"] = "2";  // the task's own entry wins
  EXPECT_FALSE(tasks_updated(stored, other, "g"));
  other.meta["b"] = "2";
  EXPECT_TRUE(tasks_updated(stored, other, "g"));
  EXPECT_TRUE(tasks_updated(stored, stored, "missing"));
}

/// Every field that no recorded vector changes alone (section 6c of the specification).
constexpr const char* kEverything = R"({"ID":"j","Type":"service","TaskGroups":[{"Name":"g","Count":1,
  "Consul":{"Namespace":"n","Cluster":"c","Partition":"p"},
  "Networks":[{"Mode":"bridge","Device":"eth0","IP":"10.0.0.1","Hostname":"h",
    "DNS":{"Servers":["s"],"Searches":["t"],"Options":["o"]},"CNI":{"Args":{"a":"b"}},
    "DynamicPorts":[{"Label":"http","Value":20001,"To":80,"HostNetwork":"default"}]}],
  "Volumes":{"v":{"Name":"v","Type":"host","Source":"s","ReadOnly":false,"Sticky":false,"AccessMode":"a",
    "AttachmentMode":"m","MountOptions":{"FSType":"ext4","MountFlags":["x","y"]},"PerAlloc":false}},
  "Services":[{"Name":"web","PortLabel":"http","Cluster":"c","Connect":{"Native":false,
    "Gateway":{"Proxy":{"ConnectTimeout":5},"Ingress":{"Listeners":[{"Port":1}]}},
    "SidecarService":{"Port":"p"},
    "SidecarTask":{"Name":"n","Driver":"d","User":"u","Config":{"a":1},"Env":{"a":"b"},"Meta":{"a":"b"},
      "KillTimeout":1,"LogConfig":{"MaxFiles":1},"ShutdownDelay":1,"KillSignal":"s",
      "VolumeMounts":[{"Volume":"v"}],"Identities":[{"Name":"i"}],"Resources":{"CPU":5}}}}],
  "Tasks":[{"Name":"t","Driver":"exec","Consul":{"Namespace":"n","Cluster":"c","Partition":"p"},
    "Vault":{"Role":"r","Namespace":"n","Cluster":"c","Env":false,"DisableFile":false,"ChangeMode":"m",
      "ChangeSignal":"s","AllowTokenExpiration":false},
    "Templates":[{"SourcePath":"s","DestPath":"d","EmbeddedTmpl":"t","ChangeMode":"m","ChangeSignal":"s","Once":false,
      "Splay":1,"Perms":"6","Uid":1,"Gid":1,"LeftDelim":"l","RightDelim":"r","Envvars":false,"VaultGrace":1,
      "ErrMissingKey":false,"Wait":{"Min":1,"Max":2},
      "ChangeScript":{"Command":"c","Args":["a"],"Timeout":1,"FailOnError":false,"RunOnFirstRender":false}}],
    "VolumeMounts":[{"Volume":"v","Destination":"d","ReadOnly":false,"PropagationMode":"p","SELinuxLabel":"z"}],
    "CSIPluginConfig":{"ID":"i","Type":"node","MountDir":"m","StagePublishBaseDir":"s","HealthTimeout":1},
    "Resources":{"CPU":1,"MemoryMB":1,"Devices":[{"Name":"gpu","Count":1,
      "Constraints":[{"LTarget":"l","RTarget":"r","Operand":"="}]}]}}]}]})";

void change_leaf(json::Value& value) {
  if (value.is_bool())
    value = !value.as_bool();
  else if (value.is_number())
    value = value.as_int() + 1;
  else
    value = value.as_string() + "x";
}

json::Value* leaf_at(json::Value& document, std::string_view path) {  // `path`: steps separated by blanks
  json::Value* at = &document;
  for (const std::string_view step : base::split(path, ' '))
    at = at->is_array() ? &at->items()[static_cast<std::size_t>(*base::parse_int64(step))] : at->find(step);
  return at;
}

std::size_t leaves_tried(const std::string& path, bool destructive) {  // 1, or one per leaf below the path
  json::Value document = parsed(kEverything);
  json::Value* at = leaf_at(document, path);
  EXPECT_TRUE(at) << path;
  if (!at) return 0;
  const json::Value& value = *at;
  std::size_t tried = 0;
  for (const json::Member& member : value.members()) tried += leaves_tried(path + " " + member.key, destructive);
  for (std::size_t i = 0; i < value.items().size(); ++i)
    tried += leaves_tried(path + " " + std::to_string(i), destructive);
  if (value.is_object() || value.is_array()) return tried;
  Job stored, other;
  EXPECT_TRUE(from_json(document, stored));
  change_leaf(*at);
  EXPECT_TRUE(from_json(document, other));
  EXPECT_EQ(tasks_updated(stored, other, "g"), destructive) << path;
  return 1;
}

TEST(TasksUpdated, EveryDetailCountsByItself) {  // R-SCHED-103 to 106
  const std::string group = "TaskGroups 0 ", task = "TaskGroups 0 Tasks 0 ", network = group + "Networks 0 ";
  std::size_t tried = 0;
  for (const std::string& path :
       {network + "DNS", network + "CNI Args", network + "Mode", network + "Hostname", network + "DynamicPorts 0 To",
        network + "DynamicPorts 0 HostNetwork", group + "Volumes v", group + "Services 0 PortLabel",
        group + "Services 0 Cluster", group + "Services 0 Connect", group + "Consul Partition",
        group + "Consul Cluster", task + "Consul Partition", task + "Consul Cluster", task + "Vault",
        task + "Templates 0", task + "VolumeMounts 0", task + "CSIPluginConfig", task + "Resources Devices 0"})
    tried += leaves_tried(path, true);
  EXPECT_GE(tried, 75U);
}

TEST(TasksUpdated, ChangesOfOtherMembersAreInPlace) {  // R-SCHED-104, 105, 107
  const std::string group = "TaskGroups 0 ", task = "TaskGroups 0 Tasks 0 ", network = group + "Networks 0 ";
  for (const std::string& path : {network + "Device", network + "IP", network + "DynamicPorts 0 Value",
                                  group + "Consul Namespace", task + "Consul Namespace", group + "Count"})
    EXPECT_EQ(leaves_tried(path, false), 1U) << path;
  json::Value document = parsed(kEverything);
  Job stored, other;
  ASSERT_TRUE(from_json(document, stored));
  document.find("TaskGroups")->items()[0].erase("Consul");  // adding or removing the block is no difference
  document.find("TaskGroups")->items()[0].find("Tasks")->items()[0].erase("Consul");
  json::Value& flags = *leaf_at(document, group + "Volumes v MountOptions MountFlags");
  std::swap(flags.items()[0], flags.items()[1]);  // a set
  ASSERT_TRUE(from_json(document, other));
  EXPECT_FALSE(tasks_updated(stored, other, "g"));
  EXPECT_FALSE(tasks_updated(other, stored, "g"));
}

struct CronCase {
  const char *name, *spec, *after, *zone, *next;
};
class NextMatch : public ::testing::TestWithParam<CronCase> {};

TEST_P(NextMatch, IsStrictlyLater) {  // R-MODEL-117
  const CronCase& c = GetParam();
  const auto cron = parse_cron(c.spec);
  ASSERT_TRUE(cron) << cron.error();
  const auto zone = TimeZone::load(c.zone);
  ASSERT_TRUE(zone);
  const base::Time next = next_match(*cron, *base::parse_rfc3339(c.after), *zone);
  EXPECT_EQ(next.is_zero() ? "never" : base::to_rfc3339(next), c.next);
}

INSTANTIATE_TEST_SUITE_P(
    Cron, NextMatch,
    ::testing::Values(
        CronCase{"EveryFive", "*/5 * * * *", "2026-11-22T00:05:00Z", "UTC", "2026-11-22T00:10:00Z"},
        CronCase{"Fraction", "*/5 * * * *", "2026-11-22T00:04:59.5Z", "UTC", "2026-11-22T00:05:00Z"},
        CronCase{"Seconds", "30 0 12 * * * *", "2026-11-22T12:00:30Z", "UTC", "2026-11-23T12:00:30Z"},
        CronCase{"LeapDay", "0 0 29 2 *", "2026-11-22T00:00:00Z", "UTC", "2028-02-29T00:00:00Z"},
        CronCase{"DayThatNeverIs", "0 0 30 2 *", "2026-11-22T00:00:00Z", "UTC", "never"},
        CronCase{"LastYear", "59 59 23 31 12 * 2099", "2026-11-22T00:00:00Z", "UTC", "2099-12-31T23:59:59Z"},
        CronCase{"NextYear", "0 0 1 1 * 2028-2030/2", "2028-01-01T00:00:00Z", "UTC", "2030-01-01T00:00:00Z"},
        CronCase{"Daily", "@daily", "2026-12-31T12:00:00Z", "UTC", "2027-01-01T00:00:00Z"},
        CronCase{"EitherDay", "0 0 13 * fri", "2026-11-22T00:00:00Z", "UTC", "2026-11-27T00:00:00Z"},
        CronCase{"LastDay", "0 0 L 2 *", "2027-03-01T00:00:00Z", "UTC", "2028-02-29T00:00:00Z"},
        CronCase{"ThirdFriday", "0 0 * * 5#3", "2026-11-22T00:00:00Z", "UTC", "2026-12-18T00:00:00Z"},
        CronCase{"LastMonday", "0 0 * * 1L", "2026-11-22T00:00:00Z", "UTC", "2026-11-30T00:00:00Z"},
        CronCase{"WorkdayNear", "0 0 15W * *", "2026-11-01T00:00:00Z", "UTC", "2026-11-16T00:00:00Z"},
        CronCase{"Year", "0 0 1 1 * 2030", "2026-11-22T00:00:00Z", "UTC", "2030-01-01T00:00:00Z"},
        CronCase{"Past", "0 0 1 1 * 2020", "2026-11-22T00:00:00Z", "UTC", "never"},
        CronCase{"NoSuchDay", "0 0 30 2 *", "2026-11-22T00:00:00Z", "UTC", "never"},
        CronCase{"Berlin", "0 9 * * *", "2026-07-01T00:00:00Z", "Europe/Berlin", "2026-07-01T07:00:00Z"},
        CronCase{"BerlinWinter", "0 9 * * *", "2026-12-01T00:00:00Z", "Europe/Berlin", "2026-12-01T08:00:00Z"},
        CronCase{"AfterTheTable", "0 9 * * *", "2060-07-01T00:00:00Z", "Europe/Berlin", "2060-07-01T07:00:00Z"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Cron, RefusesInvalidSpecifications) {
  for (const char* text : {"", "bad", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
                           "*/0 * * * *", "5-1 * * * *", "a * * * *", "* * * * * * * *", "1,,2 * * * *"})
    EXPECT_FALSE(parse_cron(text)) << text;
}

TEST(Cron, AnEmptyTzdirIsIgnored) {
  const char* before = std::getenv("TZDIR");
  const std::string kept = before ? before : "";
  setenv("TZDIR", "", 1);
  EXPECT_TRUE(is_time_zone("Europe/Berlin"));
  kept.empty() ? unsetenv("TZDIR") : setenv("TZDIR", kept.c_str(), 1);
}

TEST(Cron, ASpecificationWithoutAMatchHasNoNextTime) {  // R-CTRL-1302
  PeriodicConfig periodic{.enabled = true, .specs = {"@daily", "0 0 30 2 *"}, .spec_type = "cron", .time_zone = "UTC"};
  const base::Time now = *base::parse_rfc3339("2026-11-22T01:00:00Z");
  EXPECT_TRUE(next_launch(periodic, now).is_zero());
  std::swap(periodic.specs[0], periodic.specs[1]);
  EXPECT_EQ(base::to_rfc3339(next_launch(periodic, now)), "2026-11-23T00:00:00Z");
}

}  // namespace
}  // namespace berth::model
