import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Builds the wheel and the source archive of the Python client with setuptools. */
export function packPython(tree: string, out: string): void {
  mkdirSync(out, { recursive: true });
  // In a copy, because setuptools writes beside its sources.
  const copy = mkdtempSync(join(tmpdir(), "pennyblack-python-"));
  try {
    for (const name of ["pyproject.toml", "README.md", "LICENSE", "src"])
      cpSync(join(tree, "clients/python", name), join(copy, name), { recursive: true });
    const program = [
      "import sys",
      "from setuptools import build_meta",
      // setuptools replaces sys.argv.
      "out = sys.argv[1]",
      "build_meta.build_sdist(out)",
      "build_meta.build_wheel(out)",
    ].join("\n");
    const env = { PATH: "/usr/bin:/bin", HOME: copy, PYTHONDONTWRITEBYTECODE: "1" };
    execFileSync("/usr/bin/python3", ["-c", program, out], { cwd: copy, env, stdio: ["ignore", "ignore", "pipe"] });
  } finally {
    rmSync(copy, { recursive: true });
  }
}
