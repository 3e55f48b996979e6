# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What build and check share: Debian's source package, fetched, unpacked once and kept; the series.

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mmopt

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

note() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

versions() {
	sed '/^#/d' "$here/sources" | cut -d ' ' -f 1
}

# named_source VERSION: sets package and exact from the file "sources".
named_source() {
	package='' exact=''
	read -r package exact < <(awk -v version="$1" '$1 == version { print $2, $3 }' "$here/sources") ||
		die "$1: no such kernel; those in $here/sources: $(versions | paste -s -d ' ')"
}

# offered_source: exact where apt still offers it, else the newest, which is said.
offered_source() {
	local newest

	if apt-cache show "$package=$exact" >/dev/null 2>&1; then
		return
	fi
	newest=$(apt-cache show --no-all-versions "$package" 2>/dev/null | sed -n 's/^Version: //p')
	[ -n "$newest" ] || die "apt offers no $package (apt-get update?)"
	note "apt does not offer $package $exact any more, taking $newest"
	exact=$newest
}

# fetch_source FOLDER: downloads the package and unpacks its tarball as FOLDER/linux.
fetch_source() {
	local folder=$1

	# apt-get downloads as the user _apt where it may.
	chmod 755 "$folder"
	(cd "$folder" && apt-get -qq download "$package=$exact") >&2 || die "cannot download $package=$exact"
	dpkg-deb -x "$folder"/*.deb "$folder/x" || die "cannot unpack $package=$exact"
	unpack_tarball "$folder/x/usr/src/$package.tar.xz" "$folder"
	rm -rf "$folder"/*.deb "$folder/x"
}

# unpack_tarball FILE FOLDER
unpack_tarball() {
	mkdir "$2/linux"
	tar -xf "$1" -C "$2/linux" --strip-components=1 --use-compress-program='xz -T 0' || die "cannot unpack $1"
}

# debian_source VERSION: sets source, an unpacked tree that nobody writes to, and exact, its version.
debian_source() {
	local folder lock

	named_source "$1"
	offered_source
	folder=$cache/source-$1-$exact
	mkdir -p "$cache"
	exec {lock}>"$folder.lock"
	flock "$lock"
	if [ ! -d "$folder" ]; then
		rm -rf "$folder.new"
		mkdir "$folder.new"
		fetch_source "$folder.new"
		mv "$folder.new" "$folder"
	fi
	exec {lock}>&-
	touch "$folder"
	# shellcheck disable=SC2034  # for those that read this file
	source=$folder/linux
}

# series VERSION: its patches, in order.
series() {
	sed "/^#/d; /^\$/d; s|^|$here/$1/|" "$here/$1/series"
}
