#!/bin/sh
# The file system of a small Debian 12 as a tar archive, with what Node needs and the packages named: what stand-in images
# are made of where no registry of images can be reached. Needs root and mmdebstrap.
#
#   deploy/image/stand-in/make-debian.sh debian.tar [package ...]

set -eu
tar="$1"
shift
mkdir -p "$(dirname "$tar")"

# The authorities that this machine trusts are the ones that its way out to npm needs.
mmdebstrap --quiet --variant=essential --include="ca-certificates libatomic1 libstdc++6 $*" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook='upload /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt' \
  bookworm "$tar.new.tar"
mv "$tar.new.tar" "$tar"
