import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { readCodeBlocks } from "../../server/test/support/docs/read-code-blocks.ts";
import { packPython } from "../../tools/release/pack-python.ts";
import { releaseVersion } from "../../tools/release/products.ts";

// Runs the checks of the Python client with Debian's packages and reports each of its tests. killed-server.test.ts uses the
// client with real servers.

const folder = import.meta.dirname;
const env = { PATH: "/usr/bin:/bin", HOME: tmpdir(), PYTHONDONTWRITEBYTECODE: "1" };

function run(
  program: string,
  args: string[],
  place: { cwd: string; env: NodeJS.ProcessEnv } = { cwd: folder, env },
): Promise<{ code: unknown; output: string }> {
  return new Promise((done) => {
    execFile(program, args, { ...place, timeout: 300_000, maxBuffer: 10_000_000 }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : error.code, output: stdout + stderr }),
    );
  });
}

/** Type-checks every Python sample of the docs and of the README. */
async function checkSamples(): Promise<{ code: unknown; output: string }> {
  const root = join(folder, "../..");
  const samples = mkdtempSync(join(tmpdir(), "pennyblack-samples-"));
  // Samples can use packages that are not installed, some of which have stand-ins, and write `dict` for a JSON object.
  const relaxed = "# mypy: disable-error-code=import, disallow-any-generics=False, warn-return-any=False\n";
  try {
    const pages = globSync(["README.md", "docs/**/*.md", "clients/python/README.md"], { cwd: root });
    const files = pages.flatMap((page) =>
      readCodeBlocks(pathToFileURL(join(root, page)), "python").map((text, index) => {
        const file = `${page.replaceAll(/\W/g, "_")}_${index + 1}.py`;
        writeFileSync(join(samples, file), relaxed + text);
        return file;
      }),
    );
    assert.ok(files.length > 45, `${files.length} samples`);
    return await run("/usr/bin/mypy", ["--strict", "--cache-dir", cache, ...files], {
      cwd: samples,
      env: { ...env, MYPYPATH: [join(folder, "src"), join(root, "server/test/support/python-stand-ins")].join(":") },
    });
  } finally {
    rmSync(samples, { recursive: true });
  }
}

const modules = await run("/usr/bin/python3", ["-c", "import httpx, mypy, pytest, setuptools, wheel"]);
const skip =
  modules.code !== 0 &&
  process.env["CI"] === undefined &&
  "needs python3-httpx, python3-pytest, python3-setuptools, python3-wheel and mypy";

const cache = join(folder, "../../.pennyblack/mypy");
// In parallel with pytest, which mostly waits. Not for the other tests, because mypy would read all of pytest: 20 s.
const mypy = run("/usr/bin/mypy", ["--strict", "--cache-dir", cache, "src", "tests/scenario.py"]);
// After it, because it reads the client from the cache.
const checkedSamples = mypy.then(() => checkSamples());
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

test("mypy accepts every sample of the docs", { skip }, async () => {
  const { code, output } = await checkedSamples;
  assert.equal(code, 0, output);
});

test("the wheel and the source archive contain the modules, the marker of typed packages and the license", {
  skip,
}, () => {
  const out = mkdtempSync(join(tmpdir(), "pennyblack-python-"));
  try {
    packPython(join(folder, "../.."), out);
    const name = `pennyblack-${releaseVersion()}`;
    const list = "import sys, zipfile; print(*zipfile.ZipFile(sys.argv[1]).namelist(), sep='\\n')";
    const wheel = execFileSync("/usr/bin/python3", ["-c", list, join(out, `${name}-py3-none-any.whl`)], {
      encoding: "utf8",
    });
    const records = ["LICENSE", "METADATA", "RECORD", "WHEEL", "top_level.txt"];
    const sources = [
      "pennyblack/__init__.py",
      "pennyblack/_answer.py",
      "pennyblack/_arguments.py",
      "pennyblack/_async_client.py",
      "pennyblack/_client.py",
      "pennyblack/_errors.py",
      "pennyblack/_meta.py",
      "pennyblack/_pages.py",
      "pennyblack/_repeat.py",
      "pennyblack/_send.py",
      "pennyblack/_transport.py",
      "pennyblack/_version.py",
      "pennyblack/_webhooks.py",
      "pennyblack/py.typed",
      "pennyblack/types.py",
    ];
    assert.deepEqual(wheel.trim().split("\n").toSorted(), [
      ...records.map((file) => `${name}.dist-info/${file}`),
      ...sources,
    ]);
    const archive = execFileSync("tar", ["-tzf", join(out, `${name}.tar.gz`)], { encoding: "utf8" });
    const files = archive.split("\n").filter((file) => file !== "" && !/\/$|\.egg-info\//.test(file));
    const expected = ["LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg"];
    assert.deepEqual(
      files.toSorted(),
      [...expected, ...sources.map((file) => `src/${file}`)].map((file) => `${name}/${file}`),
    );
  } finally {
    rmSync(out, { recursive: true });
  }
});
