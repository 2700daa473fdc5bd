import assert from "node:assert/strict";
import { test } from "node:test";
import { createSbom } from "./create-sbom.ts";

test("lists every installed npm and Debian package once with its version, and Node", () => {
  const integrity = `sha512-${Buffer.alloc(64, 1).toString("base64")}`;
  const npmLock = JSON.stringify({
    packages: {
      server: { name: "@pennyblack/server", version: "0.1.0" },
      "node_modules/@pennyblack/server": { resolved: "server", link: true },
      "node_modules/pg": { version: "8.23.1", license: "MIT", integrity },
      "node_modules/pg/node_modules/@types/node": { version: "24.0.0" },
    },
  });
  const dpkgStatus = [
    "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36-9+deb12u10",
    "Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1:1",
  ].join("\n\n");
  const sbom = JSON.parse(createSbom({ version: "0.1.0", npmLock, dpkgStatus, nodeVersion: "24.1.0" }));
  assert.deepEqual(
    sbom.components.map(({ purl }: { purl: string }) => purl),
    [
      "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64&distro=debian-12",
      "pkg:generic/node@24.1.0",
      "pkg:npm/%40types/node@24.0.0",
      "pkg:npm/pg@8.23.1",
    ],
  );
  const pg = sbom.components.at(-1);
  assert.deepEqual(pg.licenses, [{ expression: "MIT" }]);
  assert.deepEqual(pg.hashes, [{ alg: "SHA-512", content: "01".repeat(64) }]);
});
