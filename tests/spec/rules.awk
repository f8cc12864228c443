# The rules of the specification: number, place, first line; tabs between.
#   awk -f tests/spec/rules.awk tests/spec/[01]*.md
# A rule begins a list item, a paragraph or a cell of a table with its number. In some tables the number stands alone,
# without its part: three digits or more; shorter ones count steps.
function rule(number, text) {
  if (number in known) return  # cited at the head of a later line
  known[number] = 1
  part = number
  sub(/[0-9].*/, "", part)
  gsub(/\*\*/, "", text)
  sub(/^[-|] /, "", text)
  printf "%s\t%s:%d\t%s\n", number, FILENAME, FNR, text
}
/^\|/ {
  count = split($0, cell, "|")
  for (i = 2; i < count; ++i) {
    gsub(/^ +/, "", cell[i])
    if (match(cell[i], /^\*\*R-[A-Z]+-[0-9]+b?/)) rule(substr(cell[i], 3, RLENGTH - 2), $0)
    else if (i == 2 && match(cell[i], /^R-[A-Z]+-[0-9]+/)) rule(substr(cell[i], 1, RLENGTH), $0)
    else if (i == 2 && match(cell[i], /^[0-9][0-9][0-9]+/)) rule(part substr(cell[i], 1, RLENGTH), $0)
  }
  next
}
match($0, /^(- )?\*\*R-[A-Z]+-[0-9]+b?/) {
  number = substr($0, 1, RLENGTH)
  sub(/^(- )?\*\*/, "", number)
  rule(number, $0)
}
