# Functions that nobody calls: their names appear where they are declared and defined, and nowhere else.
#   awk -f tests/house/uncalled.awk FILE...        FILE: headers and sources of engine/, bench/ and include/
# Prints NAME, FILE:LINE of the first declaration; a tab between. Looks at text, so it is quick and needs no build: two
# functions with one name hide each other, and a function that calls itself hides itself. Names that begin with a capital
# are types. What include/berth declares is for users and needs no caller here. After -v replay=1 calls from bench/conform
# do not count.
function declared(before) {  # Whether a name after this text is declared: a type stands before it.
  while (sub(/[A-Za-z0-9_]+(<[A-Za-z0-9_:, ]*>)?::$/, "", before)) {}
  if (before !~ /[A-Za-z0-9_>&*] $/) return 0
  if (before ~ / [>&*] $/ || before ~ / && $/) return 0  # an operator between two values
  if (before ~ /(^|[^A-Za-z0-9_])(return|co_return|else|throw|case|new|delete|and|or|not|do) $/) return 0
  return 1
}
FNR == 1 {
  folder = FILENAME
  sub(/[^\/]*$/, "", folder)
}
{
  line = $0
  gsub(/\\./, "", line)                     # escapes in texts
  gsub(/'[^']'/, "' '", line)
  gsub(/"[^"]*"/, "\"\"", line)
  sub(/\/\/.*/, "", line)
  if (line ~ /^ *#include/) next
  before = ""
  while (match(line, /[A-Za-z_][A-Za-z0-9_]*/)) {
    name = substr(line, RSTART, RLENGTH)
    before = before substr(line, 1, RSTART - 1)
    line = substr(line, RSTART + RLENGTH)
    if (before ~ /##$/) pasted[name] = folder  # a macro of this folder makes names that end like this
    if (name ~ /^[a-z]/ && name !~ /^(main|volatile)$/ && !(replay && FILENAME ~ /^bench\/conform\//)) {
      is_declared = declared(before)
      if (line !~ /^\(/) {
        if (is_declared) variable[name, FILENAME]
        else named_in[name] = named_in[name] FILENAME "\n"
      } else if (!is_declared || FILENAME ~ /^include\//) {
        called[name]
      } else if (!(name in place) && (FILENAME ~ /\.h$/ || before !~ /^ /)) {
        place[name] = FILENAME ":" FNR
      }
    }
    before = before name
  }
}
END {
  for (name in place) {
    if (name in called) continue
    for (end in pasted)
      if (index(place[name], pasted[end]) == 1 && substr(name, length(name) - length(end) + 1) == end) called[name]
    if (name in called) continue
    count = split(named_in[name], files, "\n") - 1  # without parentheses it is an address, but for a variable of that name
    for (i = 1; i <= count && (name, files[i]) in variable; ++i) {}
    if (i > count) print name "\t" place[name]
  }
}
