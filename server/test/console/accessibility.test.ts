import { testAccessibility } from "./test-accessibility.ts";

testAccessibility("light, 1280 px", { colorScheme: "light", viewport: { width: 1280, height: 800 } });
