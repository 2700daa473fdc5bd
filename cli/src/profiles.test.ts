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
import { resolveCredentials } from "./credentials.ts";
import { profilesPath, readProfiles, removeProfile, saveKey } from "./profiles.ts";
import { UsageError } from "./usage-error.ts";

const folder = mkdtempSync(join(tmpdir(), "pennyblack-profiles-"));
const path = profilesPath({ XDG_CONFIG_HOME: join(folder, "config") }, "linux");
const url = "https://search.example";

after(() => rmSync(folder, { recursive: true }));
beforeEach(() => rmSync(dirname(path), { recursive: true, force: true }));

test("profiles are stored in the platform's configuration folder", () => {
  assert.equal(profilesPath({}, "linux"), join(homedir(), ".config/pennyblack/profiles.json"));
  assert.equal(profilesPath({}, "darwin"), join(homedir(), "Library/Application Support/pennyblack/profiles.json"));
  assert.equal(profilesPath({ APPDATA: "/roaming" }, "win32"), "/roaming/pennyblack/profiles.json");
});

test("a profile stores one key of each kind in a file readable only by its owner", () => {
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

test("changing a profile's server removes the keys of the old server", () => {
  saveKey(path, "default", { url, key: "pb_live_a" });
  saveKey(path, "default", { url: "https://other.example", key: "pb_mgmt_b" });
  assert.deepEqual(readProfiles(path)["default"]?.keys, { manage: "pb_mgmt_b" });
});

test("rejects a file that other users can access and prints the chmod command", () => {
  saveKey(path, "default", { url, key: "pb_live_a" });
  for (const mode of [0o640, 0o604, 0o620]) {
    chmodSync(path, mode);
    assert.throws(() => readProfiles(path), /Other users can access .*chmod 600/);
    assert.throws(() => saveKey(path, "default", { url, key: "pb_live_b" }), UsageError);
  }
  const keyFile = join(folder, "key");
  writeFileSync(keyFile, "pb_live_file\n", { mode: 0o644 });
  assert.throws(() => resolve({ keyFile }, {}), /Other users can access|chmod 600/);
});

test("an invalid file is neither used nor overwritten", () => {
  saveKey(path, "default", { url, key: "pb_live_a" });
  writeFileSync(path, "{");
  assert.throws(() => saveKey(path, "default", { url, key: "pb_live_b" }), /not valid JSON/);
  assert.equal(readFileSync(path, "utf8"), "{");
});

test("rejects values that are not API keys", () => {
  for (const key of ["", "hunter2", "pb_live_", "pb_live_a\nb"]) {
    assert.throws(() => saveKey(path, "default", { url, key }), UsageError);
  }
  assert.ok(!existsSync(path));
});

function resolve(
  options: Parameters<typeof resolveCredentials>[1],
  env: Record<string, string>,
  kind: "search" | "manage" = "search",
) {
  const { apiKey, baseUrl } = resolveCredentials(kind, options, { env, path });
  return `${apiKey} ${baseUrl}`;
}

test("key precedence is key file, named profile, environment, default profile", () => {
  const keyFile = join(folder, "private-key");
  writeFileSync(keyFile, "pb_live_file\n", { mode: 0o600 });
  saveKey(path, "default", { url: "https://default.example", key: "pb_live_default" });
  saveKey(path, "named", { url: "https://named.example", key: "pb_live_named" });
  const env = { PENNYBLACK_API_KEY: "pb_live_env", PENNYBLACK_URL: "https://env.example" };
  assert.equal(resolve({ keyFile, profile: "named" }, env), "pb_live_file https://named.example");
  assert.equal(resolve({ keyFile }, env), "pb_live_file https://env.example");
  assert.equal(resolve({ profile: "named" }, env), "pb_live_named https://named.example");
  assert.equal(resolve({}, env), "pb_live_env https://env.example");
  assert.equal(resolve({ url: "http://flag.example" }, env), "pb_live_env http://flag.example");
  assert.equal(resolve({}, {}), "pb_live_default https://default.example");
});

test("a saved key is never sent to the server in PENNYBLACK_URL", () => {
  saveKey(path, "default", { url, key: "pb_live_default" });
  assert.equal(resolve({}, { PENNYBLACK_URL: "https://evil.example" }), `pb_live_default ${url}`);
});

test("management commands prefer the management key", () => {
  const env = { PENNYBLACK_API_KEY: "pb_live_a", PENNYBLACK_MANAGEMENT_KEY: "pb_mgmt_b", PENNYBLACK_URL: url };
  assert.equal(resolve({}, env, "manage"), `pb_mgmt_b ${url}`);
  assert.equal(resolve({}, env, "search"), `pb_live_a ${url}`);
});

test("the error names the missing key, server, profile or file", () => {
  assert.throws(() => resolve({}, {}), /No API key\. Set PENNYBLACK_API_KEY/);
  assert.throws(() => resolve({}, {}, "manage"), /PENNYBLACK_MANAGEMENT_KEY/);
  assert.throws(() => resolve({}, { PENNYBLACK_API_KEY: "pb_live_a" }), /No server URL/);
  assert.throws(() => resolve({ profile: "missing" }, {}), /Profile "missing" not found/);
  assert.throws(() => resolve({ keyFile: join(folder, "missing") }, {}), /File not found/);
  saveKey(path, "default", { url, key: "pb_live_a" });
  assert.throws(() => resolve({}, {}, "manage"), /no pb_mgmt_ key/);
});
