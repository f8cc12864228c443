#!/usr/bin/env bash
# Man pages and completion scripts have the contents of `berth --help`, and shells accept them.
#   tests/install/completion_test.sh BERTH
set -uo pipefail
berth=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
broken() { echo "not so: $1" >&2; failures=$((failures + 1)); }
# same WHAT WANTED GOT
same() { [ "$2" = "$3" ] || broken "$1: wanted '$2', got '$3'"; }
mkdir "$work/bin"
ln -s "$berth" "$work/bin/berth"
export PATH=$work/bin:$PATH
commands=$(berth --help | awk '/^Subcommands:/ {on = 1; next} /^$/ {on = 0} on && /^  [a-z]/ {print $1}')
workloads=$(berth run --list | awk '{print $1}' | sort | xargs)

# --- man pages: one per command, each with every option of its help, without a complaint of the formatter.
mkdir "$work/man"
berth man --into "$work/man" || broken "berth man --into fails"
for command in $commands; do
  page=$work/man/berth-$command.1
  [ -e "$page" ] || { broken "no man page of $command"; continue; }
  about=$(berth "$command" --help | head -n 1)
  [ "${#about}" -le 66 ] || broken "the description of $command makes a line of berth --help longer than 80 columns"
  cmp -s "$page" <(berth man "$command") || broken "berth man $command prints another page than it writes"
  while read -r option; do
    grep -qF -- "\\fB${option//-/\\-}\\fR" "$page" || broken "the man page of $command lacks $option"
  done < <(berth "$command" --help | grep -oE '^  (-[a-z], )?--[a-z0-9-]+' | tr -d ' ' | tr ',' '\n')
done
[ -e "$work/man/berth-gate-record.1" ] || broken "no man page of gate record"
if command -v groff > /dev/null; then
  for page in "$work"/man/*.1; do
    complaints=$(groff -man -ww -Tutf8 "$page" 2>&1 > /dev/null)
    [ -z "$complaints" ] || broken "groff says of ${page##*/}: $complaints"
  done
fi
berth man nonsense > /dev/null 2>&1
same "exit code of berth man nonsense" 2 $?
berth completion tcsh > /dev/null 2>&1
same "exit code of berth completion tcsh" 2 $?

# --- one meaning per option: the same name takes the same kind of value in every command. --resume and
# --output name a folder in one command. --preemption is a rule that is compared, and the scheduler's switch in plan.
for command in $commands "gate record"; do
  # shellcheck disable=SC2086  # a command of two words
  berth $command --help | sed -nE 's/^  (-[a-z], )?(--[a-z0-9-]+) ?([^ ]*).*/\2 \3/p'
done | sed -E 's/(,?\.\.\.)+$//' | grep -vE '^--(resume|output|preemption)' | sort -u | awk '{print $1}' |
  uniq -d > "$work/twice"
[ ! -s "$work/twice" ] || broken "options with two meanings: $(xargs < "$work/twice")"
for command in $commands "gate record"; do
  # shellcheck disable=SC2086
  berth $command --help | grep -qE '^  (-[a-z], )?--[a-z0-9-]+ TEXT' && [ "$command" != conform ] &&
    broken "berth $command --help does not say what an option takes"
done

# --- bash: what COMPREPLY holds after these words.
bash_reply() {
  bash -c 'source <(berth completion bash); compopt() { :; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _berth; echo "${COMPREPLY[*]}"' bash "$@"
}
same "bash: berth ru" run "$(bash_reply berth ru)"
same "bash: berth run --ord" --order "$(bash_reply berth run --ord)"
same "bash: berth run --order" "free deterministic" "$(bash_reply berth run --order "")"
same "bash: berth run --order=d" deterministic "$(bash_reply berth run --order = d)"
same "bash: berth gate re" record "$(bash_reply berth gate re)"
same "bash: workloads" "$workloads" "$(bash_reply berth run "" | tr ' ' '\n' | sort | xargs)"
same "bash: every command" "$(echo $commands)" "$(bash_reply berth "")"
same "bash: labels of a workload" "full smoke" \
  "$(bash_reply berth run quickstart --label "" | tr ' ' '\n' | sort | xargs)"
same "bash: a strategy after a comma" nomad-binpack,tetris "$(bash_reply berth compare --strategies nomad-binpack,tet)"
same "bash: a preemption rule" exact-lexicographic "$(bash_reply berth compare --preemption exact-lex)"
case " $(bash_reply berth gate record --) " in
  *" --base "*) broken "bash: berth gate record -- offers options of berth gate" ;;
esac

# --- fish completes by itself.
if command -v fish > /dev/null; then
  export HOME=$work
  fish_reply() { fish --no-config -c "source (berth completion fish | psub); complete -C '$1'" | cut -f 1 |
    grep -E "$2" | sort | xargs; }
  same "fish: berth ru" run "$(fish_reply 'berth ru' .)"
  same "fish: berth run --order" "deterministic free" "$(fish_reply 'berth run --order ' .)"
  same "fish: berth run --ord" --order "$(fish_reply 'berth run --ord' .)"
  same "fish: berth gate re" record "$(fish_reply 'berth gate re' .)"
  same "fish: labels of a workload" "full smoke" "$(fish_reply 'berth run quickstart --label ' '^(full|smoke)$')"
  same "fish: a strategy after a comma" nomad-binpack,tetris \
    "$(fish_reply 'berth compare --strategies nomad-binpack,tet' .)"
  same "fish: a workload" quickstart "$(fish_reply 'berth run quick' '^quickstart$')"
else
  broken "fish is not there; apt-get install fish"
fi

# --- zsh: what the script hands to the functions of its completion system.
if command -v zsh > /dev/null; then
  zsh_reply() {
    zsh -f -c '
      compdef() { : }
      _arguments() { print -rl -- "$@" }
      _describe() { print -rl -- "${(P@)2}" }
      source <(berth completion zsh)
      words=("$@") CURRENT=$# _berth' zsh "$@"
  }
  same "zsh: every command" "$(echo $commands)" "$(zsh_reply berth "" | cut -d : -f 1 | xargs)"
  zsh_reply berth run --order "" | grep -qE '^--order\[.*\]:TEXT:\(free deterministic\)$' ||
    broken "zsh: berth run --order has no list of values"
  zsh_reply berth run "" | grep -qx ':workload:_berth_workload_or_file' || broken "zsh: berth run completes no workload"
  zsh_reply berth compare "" |
    grep -qE '^--strategies\[.*:_sequence _berth_strategies$|^\*--strategies\[.*:_sequence _berth_strategies$' ||
    broken "zsh: --strategies completes no strategy"
  same "zsh: below gate" \
    "$(berth gate --help | awk '/^Subcommands:/ {on = 1; next} /^$/ {on = 0} on && /^  [a-z]/ {print $1}' | xargs)" \
    "$(zsh_reply berth gate "" | cut -d : -f 1 | xargs)"
else
  broken "zsh is not there; apt-get install zsh"
fi
[ "$failures" -eq 0 ] && echo "man pages and completion of $(wc -w <<< "$commands") commands hold"
exit $((failures > 0))
