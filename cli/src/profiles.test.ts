import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { findAccess } from "./find-access.ts";
import { profilesPath, readProfiles, removeProfile, saveKey } from "./profiles.ts";
import { UsageError } from "./usage-error.ts";

const folder = mkdtempSync(join(tmpdir(), "pennyblack-profiles-"));
const path = profilesPath({ XDG_CONFIG_HOME: join(folder, "config") }, "linux");
const url = "https://search.example";

after(() => rmSync(folder, { recursive: true }));
beforeEach(() => rmSync(dirname(path), { recursive: true, force: true }));

test("profiles are where the operating system keeps settings", () => {
  assert.equal(profilesPath({}, "linux"), join(homedir(), ".config/pennyblack/profiles.json"));
  assert.equal(profilesPath({}, "darwin"), join(homedir(), "Library/Application Support/pennyblack/profiles.json"));
  assert.equal(profilesPath({ APPDATA: "/roaming" }, "win32"), "/roaming/pennyblack/profiles.json");
});

test("a profile keeps a key of each kind, in a file that nobody else can read", () => {
  assert.equal(saveKey(path, "default", { url, key: "pb_live_a" }), "search");
  assert.equal(saveKey(path, "default", { url, key: "pb_mgmt_b" }), "manage");
  saveKey(path, "other", { url, key: "pb_test_c" });
  assert.deepEqual(readProfiles(path)["default"], { url, keys: { search: "pb_live_a", manage: "pb_mgmt_b" } });
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(dirname(path)), ["profiles.json"]);
  removeProfile(path, "default");
  assert.deepEqual(Object.keys(readProfiles(path)), ["other"]);
  assert.throws(() => removeProfile(path, "default"), UsageError);
});

test("a profile that moves to another server forgets the keys of the old one", () => {
  saveKey(path, "default", { url, key: "pb_live_a" });
  saveKey(path, "default", { url: "https://other.example", key: "pb_mgmt_b" });
  assert.deepEqual(readProfiles(path)["default"]?.keys, { manage: "pb_mgmt_b" });
});

test("a file that others can read is refused, with the way out", () => {
  saveKey(path, "default", { url, key: "pb_live_a" });
  for (const mode of [0o640, 0o604, 0o620]) {
    chmodSync(path, mode);
    assert.throws(() => readProfiles(path), /Others can read .*chmod 600/);
    assert.throws(() => saveKey(path, "default", { url, key: "pb_live_b" }), UsageError);
  }
  const keyFile = join(folder, "key");
  writeFileSync(keyFile, "pb_live_file\n", { mode: 0o644 });
  assert.throws(() => access({ keyFile }, {}), /Others can read|chmod 600/);
});

test("a broken file is neither used nor overwritten", () => {
  saveKey(path, "default", { url, key: "pb_live_a" });
  writeFileSync(path, "{");
  assert.throws(() => saveKey(path, "default", { url, key: "pb_live_b" }), /not valid JSON/);
  assert.equal(readFileSync(path, "utf8"), "{");
});

test("what is not a key is not saved", () => {
  for (const key of ["", "hunter2", "pb_live_", "pb_live_a\nb"]) {
    assert.throws(() => saveKey(path, "default", { url, key }), UsageError);
  }
  assert.ok(!existsSync(path));
});

function access(
  options: Parameters<typeof findAccess>[1],
  env: Record<string, string>,
  kind: "search" | "manage" = "search",
) {
  const { apiKey, baseUrl } = findAccess(kind, options, { env, path });
  return `${apiKey} ${baseUrl}`;
}

test("a key file comes before a named profile, that before the environment, that before the default profile", () => {
  const keyFile = join(folder, "private-key");
  writeFileSync(keyFile, "pb_live_file\n", { mode: 0o600 });
  saveKey(path, "default", { url: "https://default.example", key: "pb_live_default" });
  saveKey(path, "named", { url: "https://named.example", key: "pb_live_named" });
  const env = { PENNYBLACK_API_KEY: "pb_live_env", PENNYBLACK_URL: "https://env.example" };
  assert.equal(access({ keyFile, profile: "named" }, env), "pb_live_file https://named.example");
  assert.equal(access({ keyFile }, env), "pb_live_file https://env.example");
  assert.equal(access({ profile: "named" }, env), "pb_live_named https://named.example");
  assert.equal(access({}, env), "pb_live_env https://env.example");
  assert.equal(access({ url: "http://flag.example" }, env), "pb_live_env http://flag.example");
  assert.equal(access({}, {}), "pb_live_default https://default.example");
});

test("a saved key is not sent to a server that only the environment names", () => {
  saveKey(path, "default", { url, key: "pb_live_default" });
  assert.equal(access({}, { PENNYBLACK_URL: "https://evil.example" }), `pb_live_default ${url}`);
});

test("managing takes the management key if there is one", () => {
  const env = { PENNYBLACK_API_KEY: "pb_live_a", PENNYBLACK_MANAGEMENT_KEY: "pb_mgmt_b", PENNYBLACK_URL: url };
  assert.equal(access({}, env, "manage"), `pb_mgmt_b ${url}`);
  assert.equal(access({}, env, "search"), `pb_live_a ${url}`);
});

test("what is missing is named", () => {
  assert.throws(() => access({}, {}), /No key\. Set PENNYBLACK_API_KEY/);
  assert.throws(() => access({}, {}, "manage"), /PENNYBLACK_MANAGEMENT_KEY/);
  assert.throws(() => access({}, { PENNYBLACK_API_KEY: "pb_live_a" }), /Where is the server/);
  assert.throws(() => access({ profile: "nobody" }, {}), /There is no profile "nobody"/);
  assert.throws(() => access({ keyFile: join(folder, "nothing") }, {}), /There is no file/);
  saveKey(path, "default", { url, key: "pb_live_a" });
  assert.throws(() => access({}, {}, "manage"), /no key that begins with pb_mgmt_/);
});
