"""Checks the list of software that was installed (SPDX 2.3): its form, and that nothing is missing.

    sbom_check.py DOC_FOLDER PROGRAM PACKAGES_TXT
"""
import collections
import hashlib
import json
import os
import re
import subprocess
import sys

folder, program, listed = sys.argv[1:]
with open(os.path.join(folder, "berth.spdx.json"), encoding="utf-8") as file:
    document = json.load(file)
problems = []


def expect(holds, text):
    if not holds:
        problems.append(text)


# Form: what SPDX 2.3 requires of a document, of packages and of relationships.
expect(document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0",
       "version or licence of the document")
expect(document["SPDXID"] == "SPDXRef-DOCUMENT" and document["name"].startswith("berth-"), "identity of the document")
expect(re.fullmatch(r"https://[^ #]+", document["documentNamespace"]), "namespace of the document")
expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"]), "time of the document")
expect(all(re.match(r"(Tool|Person|Organization): ", one) for one in document["creationInfo"]["creators"]),
       "creators of the document")
packages = {one["name"]: one for one in document["packages"]}
identifiers = collections.Counter(one["SPDXID"] for one in document["packages"])
expect(len(packages) == len(document["packages"]) == len(identifiers), "a package is there twice")
LICENCES = {"Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "Zlib", "curl",
            "LGPL-3.0-or-later",
            "LGPL-2.1-or-later", "GPL-2.0-or-later", "NOASSERTION"}
for name, one in packages.items():
    expect(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one["SPDXID"]), f"{name}: identifier {one['SPDXID']}")
    expect({"versionInfo", "downloadLocation", "copyrightText", "licenseConcluded"} <= set(one) and one["versionInfo"],
           f"{name}: lacks a field")
    expect(one["licenseDeclared"] in LICENCES, f"{name}: licence {one['licenseDeclared']}")
    for reference in one.get("externalRefs", []):
        expect(re.fullmatch(r"pkg:deb/debian/[^ @]+@[^ ]+", reference["referenceLocator"]), f"{name}: {reference}")
related = collections.defaultdict(set)
for one in document["relationships"]:
    for end in (one["spdxElementId"], one["relatedSpdxElement"]):
        expect(end in identifiers or end == "SPDXRef-DOCUMENT", f"a relationship names {end}, which is not there")
    expect("SPDXRef-berth" in (one["spdxElementId"], one["relatedSpdxElement"]), f"a relationship without berth: {one}")
    related[one["relationshipType"]] |= {one["spdxElementId"], one["relatedSpdxElement"]}
expect(related["DESCRIBES"] == {"SPDXRef-DOCUMENT", "SPDXRef-berth"}, "the document describes something else")
with open(program, "rb") as file:
    expect(document["documentNamespace"].endswith(hashlib.sha256(file.read()).hexdigest()),
           "the document is of another program")

# Nothing is missing: the owner of every shared library of the program, and every listed package under its own name or
# that of another package of its source; what is compiled in or loaded with its licence.
def owner(path):
    for form in (path, os.path.realpath(path), os.path.realpath(path).replace("/usr/", "/", 1)):
        found = subprocess.run(["dpkg-query", "-S", form], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    return None


libraries = [line.split()[2] for line in subprocess.run(["ldd", program], capture_output=True, text=True,
                                                        check=True).stdout.split("\n") if "=> /" in line]
expect(len(libraries) > 10, f"ldd names only {libraries}")
for library in libraries:
    name = owner(library)
    expect(name in packages, f"{library} of {name} is loaded and not listed")
    expect(name not in packages or packages[name]["SPDXID"] in related["DYNAMIC_LINK"],
           f"{name} is not listed as linked")
sources = {one.get("sourceInfo") for one in packages.values()}
versions = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\t${source:Package}\t${Version}\t${Depends}\n"],
                          capture_output=True, text=True, check=True).stdout
installed = {fields[0]: fields[1:] for fields in (line.split("\t") for line in versions.splitlines())}
with open(listed, encoding="utf-8") as file:
    for group, name in (line.split()[:2] for line in file if line.strip() and not line.startswith("#")):
        if group in ("tools", "libraries") and name in installed:
            beneath = {part.split()[0] for part in installed[name][2].split(",") if part.strip()}
            expect(name in packages or f"built from the Debian source package {installed[name][0]}" in sources
                   or beneath & set(packages), f"{name} is not listed")
for name, one in packages.items():
    if name == "berth":
        continue
    expect(one["versionInfo"] == installed[name][1], f"{name}: version {one['versionInfo']}")
    if not any(one["SPDXID"] in related[how] for how in ("STATIC_LINK", "DYNAMIC_LINK", "RUNTIME_DEPENDENCY_OF")):
        continue
    licence = os.path.join(folder, "licenses", name)
    expect(os.path.isfile(licence) and os.path.getsize(licence) > 100, f"{name}: no licence next to the list")

try:
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
except ImportError:
    pass
else:
    problems += [message.validation_message
                 for message in validate_full_spdx_document(parse_file(os.path.join(folder, "berth.spdx.json")))]
for problem in problems:
    print("sbom:", problem, file=sys.stderr)
print(f"sbom: {len(packages)} packages")
sys.exit(bool(problems))
