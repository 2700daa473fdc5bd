import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

// Runs the checks of the Python client with Debian's packages and reports each of its tests. killed-server.test.ts uses the
// client with real servers.

const folder = import.meta.dirname;
const env = { PATH: "/usr/bin:/bin", HOME: tmpdir(), PYTHONDONTWRITEBYTECODE: "1" };

function run(program: string, args: string[], cwd = folder): Promise<{ code: unknown; output: string }> {
  return new Promise((done) => {
    execFile(program, args, { cwd, env, timeout: 300_000, maxBuffer: 10_000_000 }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : error.code, output: stdout + stderr }),
    );
  });
}

const modules = await run("/usr/bin/python3", ["-c", "import httpx, mypy, pytest, setuptools, wheel"]);
const skip =
  modules.code !== 0 &&
  process.env["CI"] === undefined &&
  "needs python3-httpx, python3-pytest, python3-setuptools, python3-wheel and mypy";

const cache = join(folder, "../../.pennyblack/mypy");
// In parallel with pytest, which mostly waits. Not for the other tests, because mypy would read all of pytest: 20 s.
const mypy = run("/usr/bin/mypy", ["--strict", "--cache-dir", cache, "src", "tests/scenario.py"]);
const pytest = skip
  ? { code: 0, output: "" }
  : await run("/usr/bin/python3", ["-m", "pytest", "-v", "-p", "no:cacheprovider"]);
const cases = [...pytest.output.matchAll(/^(tests\/\S+?::.+) (PASSED|FAILED|ERROR|SKIPPED) +\[ *\d+%\]$/gm)];

test("pytest runs every case and passes", { skip }, () => {
  assert.equal(pytest.code, 0, pytest.output);
  assert.ok(
    pytest.output.includes(`collected ${cases.length} items`) && cases.length > 100,
    pytest.output.slice(0, 2_000),
  );
});

for (const [, name = "", result] of cases) {
  test(name, () => assert.equal(result, "PASSED", pytest.output));
}

test("mypy --strict accepts the client and its use", { skip }, async () => {
  const { code, output } = await mypy;
  assert.equal(code, 0, output);
});

test("the wheel contains the modules, the marker of typed packages and the license", { skip }, async () => {
  // In a copy, because setuptools writes beside its sources.
  const copy = mkdtempSync(join(tmpdir(), "pennyblack-python-"));
  try {
    for (const name of ["pyproject.toml", "README.md", "LICENSE", "src"])
      cpSync(join(folder, name), join(copy, name), { recursive: true });
    const program = "from setuptools import build_meta; print(build_meta.build_wheel('.'))";
    const built = await run("/usr/bin/python3", ["-c", program], copy);
    assert.equal(built.code, 0, built.output);
    const list = "import zipfile; print(*zipfile.ZipFile('pennyblack-0.1.0-py3-none-any.whl').namelist(), sep='\\n')";
    const { output } = await run("/usr/bin/python3", ["-c", list], copy);
    assert.deepEqual(output.trim().split("\n").toSorted(), [
      "pennyblack-0.1.0.dist-info/LICENSE",
      "pennyblack-0.1.0.dist-info/METADATA",
      "pennyblack-0.1.0.dist-info/RECORD",
      "pennyblack-0.1.0.dist-info/WHEEL",
      "pennyblack-0.1.0.dist-info/top_level.txt",
      "pennyblack/__init__.py",
      "pennyblack/_calls.py",
      "pennyblack/_client.py",
      "pennyblack/_errors.py",
      "pennyblack/_meta.py",
      "pennyblack/_pages.py",
      "pennyblack/_repeat.py",
      "pennyblack/_send.py",
      "pennyblack/_version.py",
      "pennyblack/py.typed",
      "pennyblack/types.py",
    ]);
  } finally {
    rmSync(copy, { recursive: true });
  }
});
