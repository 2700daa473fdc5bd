import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

// podman and buildah over a storage of their own: what is built and run here never meets an operator's images, some of
// which would bear the same names. Both need root.

export type Run = (...words: string[]) => Promise<string>;

export interface Containers {
  podman: Run;
  buildah: Run;
  /** Any other program that calls podman. */
  call: (program: string, words: string[]) => Promise<string>;
  /** Ends what runs and deletes every image. */
  close: () => Promise<void>;
}

const run = promisify(execFile);

export function openContainers(folder: string): Containers {
  const environment = { ...process.env, ...writeSettings(folder) };
  const call = async (program: string, words: string[]): Promise<string> => {
    const options = { maxBuffer: 1 << 28, env: environment };
    const { stdout } = await run(program, words, options).catch((error: unknown) => {
      const { stderr } = error as { stderr?: string };
      throw new Error(`${program} ${words.join(" ")}:\n${stderr?.slice(-4_000)}`);
    });
    return stdout.trim();
  };
  return {
    podman: (...words) => call("podman", words),
    buildah: (...words) => call("buildah", words),
    call,
    async close() {
      await call("podman", ["rm", "--force", "--all", "--time", "0"]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Debian's podman takes its runtime and limits from a service manager, which a build machine need not have. */
function writeSettings(folder: string): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  const [storage, containers] = [join(folder, "storage.conf"), join(folder, "containers.conf")];
  writeFileSync(storage, `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/storage"\nrunroot = "${folder}/run"\n`);
  writeFileSync(
    containers,
    [
      "[containers]",
      'default_ulimits = ["nofile=16384:16384", "nproc=16384:16384"]',
      "[engine]",
      'runtime = "runc"',
      'cgroup_manager = "cgroupfs"',
      'events_logger = "file"',
      "[network]",
      `network_config_dir = "${folder}/networks"`,
    ].join("\n"),
  );
  return { CONTAINERS_STORAGE_CONF: storage, CONTAINERS_CONF: containers };
}
