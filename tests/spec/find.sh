#!/usr/bin/env bash
# From a rule of the specification to its text, its code and its tests, and back.
#   tests/spec/find.sh R-RANK-105          the rule, the lines of code and the tests that cite it
#   tests/spec/find.sh --unknown           citations of rules that do not exist; the test `house` asks for none
#   tests/spec/find.sh --of FILE FIRST LAST...   number and first line of the rules that a failing test is about: those
#                                          in the text on standard input, and for each LAST those cited nearest above
#                                          it, no higher than the comment above FIRST, where the test begins
set -uo pipefail
spec=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

rules() { awk -f "$spec/rules.awk" "$spec"/[01]*.md; }
citations() { awk -f "$spec/citations.awk" <(rules) "$@"; }  # FILE...
all_citations() {
  cd "$spec/../.." || exit 1
  mapfile -t files \
    < <(grep -rlIE 'R-[A-Z]+-[0-9]' --exclude-dir=spec --exclude-dir=corpus engine bench include tests README.md \
      CHANGELOG.md)
  citations "${files[@]}"
}

show() {  # RULE
  place=$(rules | awk -F'\t' -v rule="$1" '$1 == rule {print $2}')
  [ -n "$place" ] || { echo "the specification has no rule $1" >&2; exit 1; }
  file=${place##*/}
  line=${file##*:}
  file=${file%:*}
  echo "tests/spec/$file:$line"
  # To the next rule, heading or empty line; of a table one row.
  awk -v line="$line" 'NR > line && (/^(- |\*\*R-|\||#|$)/) {exit} NR >= line' "$spec/$file" | sed 's/^/  /'
  cited=$(all_citations | awk -F'\t' -v rule="$1" '$1 == rule {print $2}' | sort -t: -k1,1 -k2,2n | uniq)
  echo "code" && grep -v '^tests/' <<< "$cited" | sed 's/^/  /'
  echo "tests" && grep '^tests/' <<< "$cited" | sed 's/^/  /'
}

nearest() {  # FILE FIRST LAST: the rules cited on the last line with a citation of those lines
  local first=$2
  first=$(awk -v first="$first" 'NR > first {exit} {if ($0 !~ /^\/\//) code = NR < first ? NR : code} END {print code + 1}' "$1")
  citations "$1" | awk -F'[\t:]' -v first="$first" -v last="$3" '$3 >= first && $3 <= last && $3 >= line {
    if ($3 > line) found = ""
    line = $3
    found = found $1 "\n"
  } END {printf "%s", found}'
}

of_failure() {  # FILE FIRST LAST...
  local file=$1 first=$2
  shift 2
  {
    citations - | cut -f1
    for last; do nearest "$file" "$first" "$last"; done
  } | awk -F'\t' 'NR == FNR {asked[$1]; next} $1 in asked {
    if (!printed++) print "What the specification says (all of it: tests/spec/find.sh RULE):"
    print "  " (index($3, $1) == 1 ? "" : $1 " ") $3
  }' - <(rules)
}

case "${1:-}" in
  --unknown) all_citations |
    awk -F'\t' '$3 == "unknown" {print $2 ": cites " $1 ", which the specification does not have"}' ;;
  --of) of_failure "${@:2}" ;;
  R-*) show "$1" ;;
  *) sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" && exit 2 ;;
esac
