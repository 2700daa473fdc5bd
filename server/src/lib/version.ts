/** The product version, as in package.json and CHANGELOG.md. */
export const version = "0.0.0";
