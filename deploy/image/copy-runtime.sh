#!/bin/sh
# Copies what Node needs at run time from a Debian system to a new folder: the program, the shared libraries it is linked
# with, CA certificates, and the package records of what was copied. Run by the Dockerfile.
#
#   deploy/image/copy-runtime.sh FOLDER

set -eu
mkdir "$1"
cd "$1"

mkdir -p etc/ssl/certs run usr/lib usr/lib64 usr/local/bin var/lib/dpkg var/tmp tmp
chmod 1777 tmp var/tmp
ln -s usr/lib lib
ln -s usr/lib64 lib64
node="$(command -v node)"
cp "$node" usr/local/bin/node
libraries="$(ldd "$node" | grep -o '/[^ ]*')"
for library in $libraries; do
  folder=".$(realpath "$(dirname "$library")")"
  mkdir -p "$folder"
  cp --dereference "$library" "$folder/"
done
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/; fi
cp --dereference /etc/os-release etc/os-release
printf '%s\n' root:x:0:0::/:/sbin/nologin node:x:1000:1000::/tmp:/sbin/nologin >etc/passwd
printf '%s\n' root:x:0: node:x:1000: >etc/group

# dpkg may have recorded a library with or without the /usr prefix.
for library in $libraries; do dpkg-query --search "$library" "/usr$library" 2>/dev/null || true; done |
  cut -d: -f1 | sort -u | xargs dpkg-query --status >var/lib/dpkg/status

# Fails if a library is missing.
chroot . /usr/local/bin/node --version
