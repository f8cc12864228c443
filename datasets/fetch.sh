#!/bin/sh
# Brings the data of others into datasets/data, checked against datasets/manifest.
# Usage: datasets/fetch.sh [NAME]      without a name it lists what there is. Exit 0 fine, 1 failed, 2 usage.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
manifest=$here/manifest

list() {
  echo "datasets:"
  grep -v '^#' "$manifest" |
    awk 'NF { files[$1]++ } END { for (name in files) print "  " name " (" files[name] " files)" }'
}

if [ $# -eq 0 ]; then list; exit 0; fi
if [ $# -ne 1 ] || [ "$1" = -h ] || [ "$1" = --help ]; then
  echo "usage: datasets/fetch.sh NAME" >&2
  exit 2
fi
name=$1
if ! awk -v name="$name" '!/^#/ && $1 == name { found = 1 } END { exit !found }' "$manifest"; then
  echo "datasets/fetch.sh: there is no dataset '$name'" >&2
  list >&2
  exit 2
fi

# A copy next to the checkout or further up saves the network.
shared=
folder=$here
while [ "$folder" != / ]; do
  folder=$(dirname "$folder")
  if [ -d "$folder/shared/datasets/$name" ]; then shared=$folder/shared/datasets/$name; break; fi
done

check() { [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d ' ' -f 1)" = "$2" ]; }

mkdir -p "$here/data/$name"
part=$here/data/$name/.part.$$
trap 'rm -f "$part" "$part.kept"' EXIT INT TERM
# The list goes into the loop by a here-document, so that a failure inside ends the script.
while read -r dataset file sum rows licence address keep; do
  [ "$dataset" = "$name" ] || continue
  target=$here/data/$name/$file
  mkdir -p "$(dirname "$target")"
  if check "$target" "$sum"; then echo "$file: there already"; continue; fi
  if [ -n "$shared" ] && [ -f "$shared/$file" ]; then
    cp "$shared/$file" "$part"
    from=$shared
  elif command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --retry 3 --output "$part" "$address" || {
      echo "$file: cannot be fetched from $address; check the network, or put the file there by hand: $target" >&2
      exit 1
    }
    if [ -n "$keep" ]; then
      { head -n 1 "$part" && tail -n +2 "$part" | grep -E "${keep#keep=}"; } >"$part.kept" && mv "$part.kept" "$part"
    fi
    from=$address
  else
    echo "$file: curl is missing; apt-get install curl, or put the file there by hand: $target" >&2
    exit 1
  fi
  if ! check "$part" "$sum"; then
    echo "$file: from $from has another sha256 than datasets/manifest says; it was not kept" >&2
    exit 1
  fi
  chmod 644 "$part"
  mv "$part" "$target"
  echo "$file: $rows rows, $licence, from $from"
done <<EOF
$(grep -v '^#' "$manifest")
EOF
