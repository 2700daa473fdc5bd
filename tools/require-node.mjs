// One clear line instead of a syntax error. Plain JavaScript, because older versions of Node do not run TypeScript. On Linux
// x64 `npm install` provides the right version, and `npm run` uses it.
const [major = "0"] = process.versions.node.split(".");
if (Number(major) < 24) {
  console.error(`Pennyblack needs Node 24 or newer, and this is Node ${process.versions.node}. See https://nodejs.org`);
  process.exit(1);
}
