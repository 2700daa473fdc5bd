import { readEnvironment } from "../config/config.ts";
import { runAdmin } from "./run-admin.ts";

// npm run admin -- <noun> <verb> [options]

const { stdin, stdout, stderr } = process;
process.exitCode = await runAdmin(process.argv.slice(2), { environment: readEnvironment(), stdin, stdout, stderr });
