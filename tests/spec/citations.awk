# Who cites which rule: the rule, file and line, and "unknown" if the specification has no such rule; tabs between.
#   awk -f tests/spec/citations.awk RULES FILE...        RULES: what rules.awk prints
# Understands R-CTRL-822, R-CTRL-822 to 826, R-CTRL-822, 830 and 831, R-CTRL-8xx, R-CTRL-822 to R-CTRL-826. Gaps in a range
# are normal: its ends must exist, of R-CTRL-8xx one rule. A list may go on in the next line.
function cite(number) {
  printf "%s\t%s:%d%s\n", number, FILENAME, FNR, number in known ? "" : "\tunknown"
}
# Cites the rules between two numbers and returns how many there are. Numbers of three digits may begin with 0.
function cite_between(part, from, to, i, number, cited) {
  for (i = from + 1; i < to; ++i) {
    number = length(from) == 3 ? sprintf("%03d", i) : i
    if (part number in known) {
      cite(part number)
      ++cited
    }
  }
  return cited + 0
}
# Reads the numbers after `part` at the head of `text` and cites them; returns what follows them. `from`: the number
# before, if a "to" precedes.
function read_list(part, text, from, number) {
  for (;;) {
    if (!match(text, /^[0-9]+b?/)) return text
    number = substr(text, 1, RLENGTH)
    text = substr(text, RLENGTH + 1)
    if (text ~ /^xx/) {
      if (!cite_between(part, number * 100 - 1, number * 100 + 100)) cite(part number "xx")
      text = substr(text, 3)
    } else {
      if (from != "") cite_between(part, from, number)
      cite(part number)
    }
    from = ""
    open_part = ""
    if (match(text, /^(,| to| and| or|, and|, or) *$/)) {  # the list may go on in the next line
      open_part = part
      open_from = text ~ /to *$/ ? number : ""
      return ""
    }
    if (!match(text, /^(, | to | and | or |, and |, or )[0-9]/) && !match(text, "^ to " part "[0-9]")) return text
    if (text ~ /^ to /) from = number
    text = substr(text, RLENGTH)
  }
}
FNR == 1 { open_part = "" }
NR == FNR {
  known[$1] = 1
  next
}
{
  text = $0
  if (open_part != "") {
    continued = text
    sub(/^[ \t]*(\/\/\/?|#|\*|-)?[ \t]*/, "", continued)
    part = open_part
    open_part = ""
    if (continued ~ /^[0-9]+b?[^A-Za-z0-9%]/ || continued ~ /^[0-9]+b?$/) text = read_list(part, continued, open_from)
  }
  while (match(text, /R-[A-Z]+-[0-9]+/)) {
    text = substr(text, RSTART)
    match(text, /^R-[A-Z]+-/)
    part = substr(text, 1, RLENGTH)
    text = read_list(part, substr(text, RLENGTH + 1), "")
  }
}
