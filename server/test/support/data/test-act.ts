/** Who makes a change, and why, in the list of changes. */
export const testAct = { operator: "test", reason: "a test" };
