import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

// podman and buildah with separate storage, so that test images do not conflict with an operator's images of the same
// name. Both require root.

export type Run = (...args: string[]) => Promise<string>;

export interface Containers {
  podman: Run;
  buildah: Run;
  /** Runs another program that uses podman. */
  call: (program: string, args: string[]) => Promise<string>;
  /** Removes all containers and images. */
  close: () => Promise<void>;
}

const run = promisify(execFile);

export function openContainers(folder: string): Containers {
  const env = { ...process.env, ...writeConfig(folder) };
  const call = async (program: string, args: string[]): Promise<string> => {
    const options = { maxBuffer: 1 << 28, env: env };
    const { stdout } = await run(program, args, options).catch((error: unknown) => {
      const { stderr } = error as { stderr?: string };
      throw new Error(`${program} ${args.join(" ")}:\n${stderr?.slice(-4_000)}`);
    });
    return stdout.trim();
  };
  return {
    podman: (...args) => call("podman", args),
    buildah: (...args) => call("buildah", args),
    call,
    async close() {
      await call("podman", ["rm", "--force", "--all", "--time", "0"]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Debian's podman expects systemd by default, which a build machine may not have. */
function writeConfig(folder: string): Record<string, string> {
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
