#!/usr/bin/env bash
# The software that a built berth consists of and comes with, as SPDX 2.3 (JSON), and the licences of that software.
#   sbom.sh PROGRAM SOURCE_DIR OUTPUT_FOLDER
# Writes OUTPUT_FOLDER/berth.spdx.json and OUTPUT_FOLDER/licenses/PACKAGE, the copyright file of each Debian package
# that is compiled in or loaded.
# What is in PROGRAM is found, not declared: packages whose headers the sources name, those of the shared libraries that
# it loads at its start, and of those whose names it contains and loads later. bench/packages.txt adds tools and tests.
# The same build gives the same file: its time is that of the commit. Exit code 77: not a Debian system.
set -euo pipefail
program=$(readlink -f "$1") output=$3
cd "$2"
die() { echo "sbom.sh: $*" >&2; exit 1; }
command -v dpkg-query > /dev/null || { echo "sbom.sh: no dpkg-query; packages are known on Debian only"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# owners: the packages of the files named on standard input. Debian lists files of old packages without /usr.
owners() {
  xargs -r readlink -f | sort -u | sed 'p; s|^/usr||' | { xargs -r dpkg-query -S 2> /dev/null || true; } |
    sed -E 's/[:,].*//' | sort -u
}

# Headers: of libraries in /usr/include and the folder of this architecture, of C++ in the compiler's.
triplet=$(${CXX:-c++} -dumpmachine)
grep -rhoE --include='*.h' --include='*.cc' --include='*.inc' --exclude-dir=micro \
  --exclude-dir=python '^ *# *include <[^>]+>' engine include bench |
  sed -E 's/.*<(.*)>/\1/' | sort -u |
  while read -r header; do
    for folder in /usr/include "/usr/include/${triplet/-pc/}" /usr/include/c++/*; do
      if [ -f "$folder/$header" ]; then echo "$folder/$header"; fi
    done
  done | owners > "$work/compiled"
{ ldd "$program" || die "ldd cannot read $program"; } |
  awk '$2 == "=>" && $3 ~ /^\// {print $3} $1 ~ /^\// {print $1}' | owners > "$work/linked"
ldd "$program" | awk '{print $1}' | sed 's|.*/||' | sort -u > "$work/names"
grep -aoE 'lib[a-z0-9]+\.so\.[0-9]+' "$program" | sort -u | comm -23 - "$work/names" |
  while read -r name; do PATH=$PATH:/sbin:/usr/sbin ldconfig -p |
  awk -v name="$name" '$1 == name && !found++ {print $NF}'; done | owners > "$work/later"
[ -s "$work/linked" ] && [ -s "$work/compiled" ] || die "no package owns the libraries of $program"

dpkg-query -W -f '${Package}\t${Version}\t${Architecture}\t${source:Package}\t${Depends}\n' > "$work/installed"

# Lines "HOW PACKAGE".
{
  sed 's/^/STATIC_LINK /' "$work/compiled"
  sed 's/^/DYNAMIC_LINK /' "$work/linked"
  sed 's/^/RUNTIME_DEPENDENCY_OF /' "$work/later"
  awk '$1 == "tools" {print "BUILD_TOOL_OF", $2}' bench/packages.txt
  # The other libraries of the list: neither compiled in nor loaded, under their own name or that of another package of
  # the same source or of one that they depend on.
  sort -u "$work/compiled" "$work/linked" "$work/later" > "$work/used"
  awk -F '\t' '
    FILENAME ~ /used$/ {used[$1]; next}
    FILENAME ~ /installed$/ {source[$1] = $4; depends[$1] = $5; if ($1 in used) used_source[$4]; next}
    {split($0, field, " ")
     if (field[1] != "libraries" || !(field[2] in source) || (field[2] in used) || (source[field[2]] in used_source)) next
     count = split(depends[field[2]], parts, /[,|] */)
     for (k = 1; k <= count; k++) {sub(/[ :(].*/, "", parts[k]); if (parts[k] in used) next}
     print (field[2] ~ /^libjs-/ ? "RUNTIME_DEPENDENCY_OF" : "TEST_DEPENDENCY_OF"), field[2]}' "$work/used" "$work/installed" bench/packages.txt
} > "$work/uses"

mkdir -p "$output"
rm -rf "$output/licenses"
mkdir "$output/licenses"
awk '$1 !~ /^(BUILD_TOOL|TEST_DEPENDENCY)_OF$/ {print $2}' "$work/uses" | sort -u | while read -r package; do
  install -m 644 "/usr/share/doc/$package/copyright" "$output/licenses/$package" || die "$package has no copyright file"
done
# Lines "PACKAGE LICENCE": of the stanza "Files: *" of machine-readable copyright files, in Debian's short names.
awk '{print $2}' "$work/uses" | sort -u | while read -r package; do
  copyright=/usr/share/doc/$package/copyright
  [ -f "$copyright" ] || continue
  awk -v package="$package" \
    '/^Files: \*[ \t]*$/ {on = 1} on && /^License:/ {print package, $2 (NF > 2 ? "?" : ""); exit}' "$copyright"
done > "$work/licences"

version=$("$program" --version | sed -n 's/^berth //p') commit=$("$program" --version | sed -n 's/^commit *//p')
created=$(TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2> /dev/null || true)
distribution=$(. /etc/os-release && echo "${ID:-debian}-${VERSION_ID:-unknown}")
awk -F '\t' -v version="$version" -v commit="$commit" -v created="${created:-1970-01-01T00:00:00Z}" \
  -v distribution="$distribution" \
  -v digest="$(sha256sum "$program" | cut -d' ' -f1)" '
  # SPDX names of the licences that are named alike by all packages. Of the others the text is in licenses/.
  BEGIN {
    spdx["Apache-2.0"] = spdx["Apache-2"] = "Apache-2.0"; spdx["Expat"] = spdx["MIT"] = "MIT"; spdx["curl"] = "curl"
    spdx["BSD-2-clause"] = spdx["BSD-2-Clause"] = "BSD-2-Clause"; spdx["BSD-3-clause"] = spdx["BSD-3-Clause"] = "BSD-3-Clause"
    spdx["BSL-1.0"] = spdx["Boost-1.0"] = "BSL-1.0"; spdx["CC0-1.0"] = "CC0-1.0"; spdx["Zlib"] = spdx["zlib"] = "Zlib"
    spdx["LGPL-3+"] = "LGPL-3.0-or-later"; spdx["LGPL-2.1+"] = "LGPL-2.1-or-later"; spdx["GPL-2+"] = "GPL-2.0-or-later"
  }
  FILENAME ~ /installed$/ {of[$1] = $4; versions[$1] = $2; architecture[$1] = $3; next}
  FILENAME ~ /licences$/ {split($0, field, " "); licence[field[1]] = spdx[field[2]]; next}
  {split($0, field, " "); how[++uses] = field[1]; package[uses] = field[2]}
  function id(name) {gsub(/\+/, "-plus", name); gsub(/[^A-Za-z0-9.-]/, "-", name); return "SPDXRef-" name}
  function quoted(text) {gsub(/\\/, "\\\\", text); gsub(/"/, "\\\"", text); return "\"" text "\""}
  function escaped(text) {gsub(/%/, "%25", text); gsub(/\+/, "%2B", text); gsub(/:/, "%3A", text); return text}
  function relation(from, type, to) {return sprintf("    {\"spdxElementId\": \"%s\", \"relationshipType\": \"%s\", \"relatedSpdxElement\": \"%s\"}", from, type, to)}
  END {
    print "{\n  \"spdxVersion\": \"SPDX-2.3\",\n  \"dataLicense\": \"CC0-1.0\",\n  \"SPDXID\": \"SPDXRef-DOCUMENT\","
    print "  \"name\": " quoted("berth-" version) ","
    print "  \"documentNamespace\": \"https://spdx.org/spdxdocs/berth-" version "-" digest "\","
    print "  \"creationInfo\": {\"created\": \"" created "\", \"creators\": [\"Tool: berth-sbom.sh-" version "\"]},"
    print "  \"packages\": ["
    printf "    {\"name\": \"berth\", \"SPDXID\": \"SPDXRef-berth\", \"versionInfo\": %s, \"downloadLocation\": \"NOASSERTION\", " \
      "\"filesAnalyzed\": false, \"licenseConcluded\": \"Apache-2.0\", \"licenseDeclared\": \"Apache-2.0\", \"copyrightText\": \"NOASSERTION\", " \
      "\"sourceInfo\": %s, \"primaryPackagePurpose\": \"APPLICATION\"}", quoted(version), quoted("built from commit " commit)
    for (k = 1; k <= uses; k++) {
      name = package[k]
      if (!(name in versions) || name in written) continue
      written[name]
      printf ",\n    {\"name\": %s, \"SPDXID\": \"%s\", \"versionInfo\": %s, \"supplier\": \"Organization: Debian\", " \
        "\"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false, \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": \"%s\", " \
        "\"copyrightText\": \"NOASSERTION\", \"sourceInfo\": %s, \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", " \
        "\"referenceType\": \"purl\", \"referenceLocator\": \"pkg:deb/debian/%s@%s?arch=%s&distro=%s\"}]}", \
        quoted(name), id(name), quoted(versions[name]), licence[name] == "" ? "NOASSERTION" : licence[name], \
        quoted("built from the Debian source package " of[name]), escaped(name), escaped(versions[name]), architecture[name], distribution
    }
    print "\n  ],\n  \"relationships\": ["
    printf "%s", relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-berth")
    for (k = 1; k <= uses; k++) {
      if (!(package[k] in versions)) continue
      other = id(package[k])
      printf ",\n%s", how[k] ~ /_OF$/ ? relation(other, how[k], "SPDXRef-berth") : relation("SPDXRef-berth", how[k], other)
    }
    print "\n  ]\n}"
  }' "$work/installed" "$work/licences" "$work/uses" > "$output/berth.spdx.json"
