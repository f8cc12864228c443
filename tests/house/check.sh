#!/usr/bin/env bash
# House rules that no compiler checks: what README.md names exists, the list of packages agrees with the build and with
# README.md, folders explain themselves, rules that are cited exist, functions are called, no file names a path of
# one machine.
#   tests/house/check.sh SOURCE_DIR BERTH
set -uo pipefail
cd "$1" || exit 1
berth=$2
failures=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
broken() { echo "$1" >&2; failures=$((failures + 1)); }

# The files of the project: what git tracks or would track; without git everything outside build/.
if git rev-parse --show-toplevel > /dev/null 2>&1; then
  mapfile -t files \
    < <(git ls-files --cached --others --exclude-standard | while read -r f; do [ -f "$f" ] && echo "$f"; done)
else
  mapfile -t files < <(find . -path ./build -prune -o -type f -print | sed 's|^\./||')
fi
[ ${#files[@]} -gt 20 ] || broken "only ${#files[@]} files found: the check runs in the wrong folder"

# 1. The top level has these entries and no others.
allowed=' CMakeLists.txt CMakePresets.json LICENSE CHANGELOG.md README.md engine bench datasets include tests profiles '
for entry in $(printf '%s\n' "${files[@]}" | cut -d/ -f1 | sort -u); do
  case "$entry" in .*) continue ;; esac
  [[ $allowed == *" $entry "* ]] || broken "$entry: does not belong at the top level"
done

# 2. Every path in README.md, CHANGELOG.md, engine/README.md and tests/golden/README.md exists; build/ and files a run
# writes do not count.
for readme in README.md CHANGELOG.md engine/README.md tests/golden/README.md; do
  [ -f "$readme" ] || { broken "$readme: missing"; continue; }
  while read -r path; do
    [ -e "$path" ] || [ -e "$(dirname "$readme")/$path" ] || broken "$readme: names $path, which does not exist"
  done < <(grep -oE '(\.ci|bench|datasets|engine|include|profiles|tests|components|control|evals)/[A-Za-z0-9_./-]*[A-Za-z0-9_/]|\]\([^):#]+\)' "$readme" |
    sed -E 's/^\]\((.*)\)$/\1/' | grep -v -E '^(build|https?)' | sort -u)
done

# 3. Every command `berth X` in README.md's code is a command of the program, and every command has a help text.
commands=$("$berth" --help | awk '/^Subcommands:/ {on = 1; next} on && /^  [a-z]/ {print $1}')
[ -n "$commands" ] || broken "berth --help lists no command"
while read -r command; do
  grep -qx -- "$command" <<< "$commands" || broken "README.md: names 'berth $command', which the program does not know"
done < <(grep -oE 'build/release/berth [a-z]+' README.md | awk '{print $2}' | sort -u)
"$berth" --help | grep -q -- '--version' || broken "berth --help does not mention --version"
for command in $commands; do
  help=$("$berth" "$command" --help 2>&1) || broken "berth $command --help fails"
  grep -q '^Usage: ' <<< "$help" || broken "berth $command --help shows no usage"
  ! grep -n -F -- ',......' <<< "$help" || broken "berth $command --help writes a list as ',......'"
done

# 4. Packages: bench/packages.txt against the table in bench/guide/packages.md and against what the build asks for.
listed=$(awk '!/^#/ && NF {print $2}' bench/packages.txt | sort)
while read -r group package purpose; do
  grep -qF "| \`$package\` | $purpose |" bench/guide/packages.md ||
    broken "bench/guide/packages.md: has no row '| \`$package\` | $purpose |' as in bench/packages.txt"
  case "$group" in tools | libraries | checks) ;; *) broken "bench/packages.txt: $package is in the unknown group $group" ;; esac
done < <(grep -v '^#' bench/packages.txt)
for package in $(grep -oE '^\| `[a-z0-9.+-]+` \|' bench/guide/packages.md | tr -d '|` '); do
  grep -qx -- "$package" <<< "$listed" ||
    broken "bench/guide/packages.md: lists the package $package, bench/packages.txt does not"
done
for package in $(sed -nE 's/^ *berth_require\([^ ]+ ([^ )]+)\).*/\1/p' engine/cmake/BerthPackages.cmake); do
  grep -qx -- "$package" <<< "$listed" ||
    broken "bench/packages.txt: lacks $package, which BerthPackages.cmake asks for"
done

# 5. Every folder with sources says what it is; engine/README.md's map has every folder of engine/.
for folder \
  in $(printf '%s\n' "${files[@]}" | grep -E '^(engine|bench|include)/.*\.(h|cc)$' | xargs dirname | sort -u); do
  [ -f "$folder/README.md" ] || broken "$folder: has sources and no README.md"
done
for folder in engine/*/; do
  [ -f "$folder/CMakeLists.txt" ] || continue
  name=$(basename "$folder")
  grep -q "\`$name\`" engine/README.md || broken "engine/README.md: does not mention $name"
done

# 6. Layers: a folder of engine/ or bench/ includes only lower ones there. The map in README.md says which these are,
# and no folder of engine/ includes one of bench/.
check_layers() {  # FOLDER, and a pair of folders of which the first is higher
  declare -A layers=()
  local name number folder own file include other
  while read -r name number; do layers[$name]=$number; done < <(
    awk '/^ +[0-9]+  [a-z]/ {
      number = $1; sub(/^ +[0-9]+ +/, ""); sub(/   .*/, "")
      for (i = 1; i <= NF; ++i) print $i, number
    }' "$1/README.md")
  [ "${layers[$2]:-0}" -gt "${layers[$3]:-0}" ] || broken "$1/README.md: has no map of layers"
  for folder in "$1"/*/; do
    name=$(basename "$folder")
    [ -n "$(find "$folder" -name '*.cc' -print -quit)" ] || continue
    own=${layers[$name]:-none}
    [ "$own" != none ] || { broken "$folder: is in no layer ($1/README.md)"; continue; }
    while IFS=: read -r file include; do
      other=${layers[$include]:-none}
      [ "$other" = none ] && continue
      [ "$include" = "$name" ] || [ "$other" -lt "$own" ] ||
        broken "$file: includes $include/, which is not below $name/"
    done < <(grep -rnoE '^#include "[a-z_]+/' --include='*.h' --include='*.cc' "$folder" |
      sed -E 's/^([^:]+):[0-9]+:#include "([a-z_]+)\//\1:\2/')
  done
}
check_layers engine api base
check_layers bench cli run
while read -r file; do broken "$file: includes the benchmark"; done < <(
  grep -rlE "^#include \"($(find bench -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | paste -sd'|'))/" --include='*.h' --include='*.cc' engine include)

# 7. Every rule that something cites is in tests/spec.
while read -r citation; do broken "$citation"; done < <(tests/spec/find.sh --unknown)
grep -q '^  engine/rank/numbers.h:' <<< "$(tests/spec/find.sh R-RANK-105)" ||
  broken "tests/spec/find.sh does not find who cites R-RANK-105"

# 8. Every function is called by something other than tests, micro benchmarks and the replay of recorded decisions, or
# tests/house/uncalled.txt says why it is there. What the replay itself defines, the replay may call.
sources=()
for file in "${files[@]}"; do
  case "$file" in bench/micro/*) ;; engine/*.h | engine/*.cc | engine/*.inc | bench/*.h | bench/*.cc | include/*.h)
    sources+=("$file") ;; esac
done
uncalled=$({
  awk -f tests/house/uncalled.awk "${sources[@]}"
  awk -v replay=1 -f tests/house/uncalled.awk "${sources[@]}"
} | sort -u)
excused=$(awk '!/^#/ && NF {print $1}' tests/house/uncalled.txt)
while IFS=$'\t' read -r name place; do
  grep -qxE -- "$name|$(dirname "$place")/" <<< "$excused" ||
    broken "$place: nothing calls $name; remove it, or say why it stays in tests/house/uncalled.txt"
done <<< "$uncalled"
for entry in $excused; do
  grep -qE "^$entry	|	$entry[^/]*$" <<< "$uncalled" ||
    broken "tests/house/uncalled.txt: $entry is called or gone, take it off the list"
done
[ "$(printf 'int alone();\nint used();\nint x = used();\n' > "$scratch/a.h"; awk -f tests/house/uncalled.awk "$scratch/a.h" | cut -f1)" = alone ] ||
  broken "tests/house/uncalled.awk does not find a function that nothing calls"

# 9. A kind of resource is one file and one line of the table; so is the made-up one that a test adds.
kinds=engine/sched/node/resources table=engine/sched/node/resource_table.h
for kind in "$kinds"/*.h; do
  name=$(basename "$kind" .h)
  [ "$(grep -c "ResourceKind{\"$name\"" "$table")" = 1 ] || broken "$kind: $table does not have one line for it"
done
[ "$(grep -c 'ResourceKind{"' "$table")" = "$(find "$kinds" -name '*.h' | wc -l)" ] ||
  broken "$table: has kinds without a file in $kinds"
[ "$(grep -rlE 'licences_on|has_licences|kLicences' engine tests/sched | sort | tr '\n' ' ')" \
  = 'tests/sched/licences.h tests/sched/resource_kinds_test.cc ' ] ||
  broken "tests/sched/licences.h: the made-up kind of resource takes more than a file and a line"
[ "$(grep -c kLicences tests/sched/resource_kinds_test.cc)" = 1 ] ||
  broken "tests/sched/resource_kinds_test.cc: the made-up kind takes more than a line"

# 10. No file names a path of the machine it was written on. (Letters in brackets keep this line from finding itself.)
violations=$scratch/violations
printf '%s\n' "${files[@]}" | grep -vE '\.(gz|png)$' |
  xargs -d '\n' grep -m 3 -nHIE '/wor[k]/|/tmp/bash_job[s]|/home/[a-z]+/|/roo[t]/|BRIEF\.m[d]' > "$violations"
if [ -s "$violations" ]; then
  cat "$violations" >&2
  broken "the lines above name a path of one machine"
fi
[ "$failures" -eq 0 ] && echo "house: all rules hold over ${#files[@]} files"
exit $((failures > 0))
