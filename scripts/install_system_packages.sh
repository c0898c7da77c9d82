#!/usr/bin/env bash
# install_system_packages.sh LIST: installs the Debian packages of a list that are missing. Says what it does; does nothing
# when all are there.
set -euo pipefail
list=$1

if ! command -v dpkg-query >/dev/null; then
  echo "fusewire: this is not a Debian system. Install these by hand, then run with SKIP_SYSTEM_PACKAGES=1:" >&2
  grep -v '^#' "$list" >&2
  exit 1
fi

missing=()
while read -r package purpose; do
  case "$package" in '' | '#'*) continue ;; esac
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || { missing+=("$package"); echo "fusewire: needs $package ($purpose)"; }
done < "$list"

[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  run=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  run=(sudo)
else
  echo "fusewire: installing packages needs root, and this is neither root nor a user with sudo. As root, run:" >&2
  echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

echo "fusewire: installing ${missing[*]}"
"${run[@]}" apt-get update -q
"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
