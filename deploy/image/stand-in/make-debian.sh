#!/bin/sh
# Creates a minimal Debian 12 root file system as a tar archive, with Node's dependencies and the given packages. Stand-in
# images are built from it when no container registry is available. Requires root and mmdebstrap.
#
#   deploy/image/stand-in/make-debian.sh debian.tar [package ...]

set -eu
tar="$1"
shift
mkdir -p "$(dirname "$tar")"

# Copy this machine's CA certificates, which may be needed to reach npm through a proxy.
mmdebstrap --quiet --variant=essential --include="ca-certificates libatomic1 libstdc++6 $*" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook='upload /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt' \
  bookworm "$tar.new.tar"
mv "$tar.new.tar" "$tar"
