const folder = process.env["NODE_COMPILE_CACHE"];

/** The compile cache of tools/test-report.ts, for child processes that do not inherit the environment. */
export const compileCache: Record<string, string> = folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
