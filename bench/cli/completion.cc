// Completion scripts. All three complete commands, options, listed values, and paths. They get workloads, labels,
// strategies and rules from `berth completion --words` at completion time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.h"

namespace berth::cli {
namespace {

/// Collects the command and all its subcommands.
void collect(const CommandText& command, std::vector<const CommandText*>& out) {
  out.push_back(&command);
  for (const CommandText& below : command.commands) collect(below, out);
}

std::vector<const CommandText*> all_commands(const CommandText& program) {
  std::vector<const CommandText*> out;
  collect(program, out);
  return out;
}

std::string last_word(const std::string& words) { return words.substr(words.rfind(' ') + 1); }
std::string parent(const CommandText& command) {
  const std::size_t at = command.words.rfind(' ');
  return at == std::string::npos ? "" : command.words.substr(0, at);
}

bool takes_workload(const CommandText& command) {
  for (const OptionText& option : command.options)
    if (option.positional == "workload") return true;
  return false;
}

bool takes_files(const CommandText& command) {
  for (const OptionText& option : command.options)
    if (!option.positional.empty()) return true;
  return false;
}

/// Quotes a text with single quotes; a quote inside becomes '\''.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// --- bash -----------------------------------------------------------------------------------------------------------

constexpr const char* kBashBegin = R"sh(# bash completion of berth; written by `berth completion bash`.
# _berth_words KIND: completes the last part of a list separated by commas; labels depend on the workload of the line.
_berth_words() {
  local before=""
  [[ $cur == *,* ]] && before=${cur%,*},
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$(berth completion --words "$1" --line="${COMP_WORDS[*]}" 2> /dev/null)" -- "${cur##*,}")
}
_berth() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command="" words="" i
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${COMP_WORDS[i]}" in
)sh";

std::string bash(const CommandText& program) {
  std::string out = kBashBegin;
  const std::vector<const CommandText*> commands = all_commands(program);
  for (const CommandText* command : commands)
    if (!command->words.empty())
      out +=
          fmt::format("      '{} {}') command='{}' ;;\n", parent(*command), last_word(command->words), command->words);
  out += "    esac\n  done\n  case \"$command $prev\" in\n";
  for (const CommandText* command : commands)
    for (const OptionText& option : command->options) {
      if (option.flag() || option.names.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(fmt::format("'{} {}'", command->words, name));
      out += fmt::format("    {}) ", fmt::join(patterns, " | "));
      if (!option.values.empty())
        out += fmt::format("mapfile -t COMPREPLY < <(compgen -W {} -- \"$cur\")",
                           in_quotes(fmt::format("{}", fmt::join(option.values, " "))));
      else if (!option.words().empty())
        out += "_berth_words " + option.words();
      else
        out += option.takes_path() ? "compopt -o default" : ":";
      out += "; return ;;\n";
    }
  out += "  esac\n  case \"$command\" in\n";
  for (const CommandText* command : commands) {
    std::vector<std::string> words, options;
    for (const CommandText& below : command->commands) words.push_back(last_word(below.words));
    for (const OptionText& option : command->options)
      options.insert(options.end(), option.names.begin(), option.names.end());
    out += fmt::format("    '{}')\n      if [[ $cur == -* ]]; then words={}\n", command->words,
                       in_quotes(fmt::format("{}", fmt::join(options, " "))));
    if (takes_workload(*command))
      out += "      else _berth_words workloads; compopt -o default; return; fi ;;\n";
    else if (takes_files(*command))
      out += "      else compopt -o default; fi ;;\n";
    else
      out += fmt::format("      else words={}; fi ;;\n", in_quotes(fmt::format("{}", fmt::join(words, " "))));
  }
  return out + "  esac\n  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\ncomplete -F _berth berth\n";
}

// --- zsh ------------------------------------------------------------------------------------------------------------

/// Escapes characters that are special for _arguments in a description.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionText& option) {
  if (!option.values.empty()) return fmt::format("({})", fmt::join(option.values, " "));
  const std::string words = option.words();
  if (option.positional == "workload") return "_berth_workload_or_file";
  if (!words.empty()) return (option.takes_list() ? "_sequence _berth_" : "_berth_") + words;
  return option.takes_path() ? "_files" : " ";
}

void zsh_command(const CommandText& command, std::string& out) {
  out += fmt::format("    {}) _arguments -S", in_quotes(command.words));
  for (const OptionText& option : command.options) {
    if (!option.positional.empty()) {
      out += " \\\n      " + in_quotes(fmt::format("{}{}:{}",
                                                   option.repeats    ? "*"
                                                   : option.required ? ""
                                                                     : ":",
                                                   zsh_text(option.positional), zsh_action(option)));
      continue;
    }
    for (const std::string& name : option.names) {
      std::string spec = fmt::format("{}{}[{}]", option.repeats ? "*" : "", name, zsh_text(option.about));
      if (!option.flag()) spec += fmt::format(":{}:{}", zsh_text(option.value), zsh_action(option));
      out += " \\\n      " + in_quotes(spec);
    }
  }
  out += " ;;\n";
}

constexpr const char* kZshBegin = R"zsh(#compdef berth
# zsh completion of berth; written by `berth completion zsh`.
_berth_words() { compadd "${@:2}" -- ${(f)"$(berth completion --words $1 --line="${words[*]}" 2> /dev/null)"} }
_berth_workloads() { _berth_words workloads "$@" }
_berth_labels() { _berth_words labels "$@" }
_berth_strategies() { _berth_words strategies "$@" }
_berth_rules() { _berth_words rules "$@" }
_berth_queues() { _berth_words queues "$@" }
_berth_workload_or_file() { _alternative 'workloads:workload:_berth_workloads' 'files:file:_files' }
_berth() {
  local command="" word
  local -a below
  integer at=2
  while (( at < CURRENT )); do
    word=${words[at]}
    case "$command $word" in
)zsh";

std::string zsh(const CommandText& program) {
  std::string out = kZshBegin;
  const std::vector<const CommandText*> commands = all_commands(program);
  for (const CommandText* command : commands)
    if (!command->words.empty())
      out += fmt::format("      '{} {}') command={} ;;\n", parent(*command), last_word(command->words),
                         in_quotes(command->words));
  out += "      *) break ;;\n    esac\n    (( at++ ))\n  done\n";
  // The remaining words belong to the command, whose name replaces the program's.
  out += "  words=(berth \"${words[@]:$((at - 1))}\")\n  (( CURRENT -= at - 2 ))\n";
  out += "  if (( CURRENT == 2 )) && [[ ${words[2]} != -* ]]; then\n    case \"$command\" in\n";
  for (const CommandText* command : commands) {
    if (command->commands.empty()) continue;
    out += fmt::format("      {}) below=(", in_quotes(command->words));
    for (const CommandText& below : command->commands)
      out += " \\\n        " + in_quotes(last_word(below.words) + ":" + below.about);
    out += ") ;;\n";
  }
  out += "    esac\n    if (( ${#below} )); then _describe command below; return; fi\n  fi\n  case \"$command\" in\n";
  for (const CommandText* command : commands) zsh_command(*command, out);
  return out + "  esac\n}\nif [[ ${funcstack[1]} == _berth ]]; then _berth \"$@\"; else compdef _berth berth; fi\n";
}

// --- fish -----------------------------------------------------------------------------------------------------------

/// Condition that the command line is at `command`: its words were given, and none of its subcommands.
std::string fish_condition(const CommandText& command) {
  if (command.words.empty()) return "__fish_use_subcommand";
  std::string out = "__fish_seen_subcommand_from " + last_word(command.words);
  if (const std::string above = parent(command); !above.empty())
    out = "__fish_seen_subcommand_from " + above + "; and " + out;
  if (command.commands.empty()) return out;
  out += "; and not __fish_seen_subcommand_from";
  for (const CommandText& below : command.commands) out += " " + last_word(below.words);
  return out;
}

std::string fish_option(const std::string& condition, const OptionText& option) {
  std::string out = "complete -c berth -n " + in_quotes(condition);
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.values.empty())
    out += " -x -a " + in_quotes(fmt::format("{}", fmt::join(option.values, " ")));
  else if (const std::string words = option.words(); !words.empty())
    out += option.takes_list()
               ? fmt::format(" -x -a '(__fish_complete_list , \"berth completion --words {}\")'", words)
               : fmt::format(" -x -a '(berth completion --words {} --line=(commandline -p | string collect))'", words);
  else if (!option.flag())
    out += option.takes_path() ? " -r -F" : " -x";
  return out + " -d " + in_quotes(option.about) + "\n";
}

std::string fish(const CommandText& program) {
  std::string out = "# fish completion of berth; written by `berth completion fish`.\ncomplete -c berth -f\n";
  for (const CommandText* command : all_commands(program)) {
    const std::string condition = fish_condition(*command);
    for (const CommandText& below : command->commands)
      out += fmt::format("complete -c berth -n {} -a {} -d {}\n", in_quotes(condition), last_word(below.words),
                         in_quotes(below.about));
    for (const OptionText& option : command->options)
      if (!option.names.empty()) out += fish_option(condition, option);
    if (takes_workload(*command))
      out +=
          fmt::format("complete -c berth -n {} -F -a '(berth completion --words workloads)'\n", in_quotes(condition));
    else if (takes_files(*command))
      out += fmt::format("complete -c berth -n {} -F\n", in_quotes(condition));
  }
  return out;
}

}  // namespace

std::string completion_script(const CommandText& program, const std::string& shell) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  return shell == "fish" ? fish(program) : "";
}

}  // namespace berth::cli
