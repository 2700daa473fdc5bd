import { testAccessibility } from "./test-accessibility.ts";

// Only the rules that depend on the color scheme and the width. The others would repeat accessibility.test.ts.

testAccessibility("dark, 390 px", {
  colorScheme: "dark",
  viewport: { width: 390, height: 844 },
  rules: ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"],
});
