import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
} from "@mantine/core";

// Ink on paper with one accent color. Red is for danger only, amber for test mode and warnings. Every text and
// background pair meets WCAG AA; the axe tests check both color schemes.

const ink: MantineColorsTuple = [
  "#faf8f4",
  "#efece5",
  "#dcd8cf",
  "#b9b5ac",
  "#8d8a83",
  "#63625e",
  "#4a4b4a",
  "#313437",
  "#1d2124",
  "#14171a",
];
const blue: MantineColorsTuple = [
  "#eaf1fb",
  "#d3e1f5",
  "#a7c4ec",
  "#7fb0f0",
  "#5a92dc",
  "#3a76c4",
  "#1f5aa6",
  "#1a4c8c",
  "#153d71",
  "#102f57",
];
const green: MantineColorsTuple = [
  "#e9f5ee",
  "#cfe8d9",
  "#a3d2b6",
  "#7cc79b",
  "#55a578",
  "#3d9262",
  "#2e7d4f",
  "#256540",
  "#1c4d31",
  "#133522",
];
const amber: MantineColorsTuple = [
  "#fdf3e2",
  "#fae4be",
  "#f4cc87",
  "#f0b95b",
  "#dd9a2e",
  "#c98013",
  "#b26a00",
  "#8f5500",
  "#6c4000",
  "#4a2c00",
];
const red: MantineColorsTuple = [
  "#fbebea",
  "#f5d2d0",
  "#eaa9a5",
  "#f2938c",
  "#d7605a",
  "#c6423b",
  "#b3261e",
  "#921e18",
  "#701712",
  "#4e100c",
];

// Mantine's dark scale, from text to background: 4 is borders, 6 inputs, 7 the page.
const dark: MantineColorsTuple = [
  "#e9e6df",
  "#c9c5bc",
  "#a5a29a",
  "#8f8c85",
  "#3a3f44",
  "#25292d",
  "#181b1e",
  "#101214",
  "#0c0e0f",
  "#080909",
];

export const theme = createTheme({
  colors: { ink, blue, green, amber, red, gray: ink, dark },
  primaryColor: "blue",
  primaryShade: { light: 6, dark: 3 },
  autoContrast: true,
  // Mantine picks the text color of filled buttons for the light scheme only.
  variantColorResolver: (input) => {
    const colors = defaultVariantColorsResolver(input);
    return input.variant === "filled" ? { ...colors, color: "var(--pb-on-filled)" } : colors;
  },
  black: "#14171a",
  white: "#faf8f4",
  defaultRadius: 4,
  cursorType: "pointer",
  respectReducedMotion: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: "13px", sm: "14px", md: "15px", lg: "18px", xl: "22px" },
  headings: {
    fontWeight: "600",
    sizes: {
      h1: { fontSize: "26px", lineHeight: "1.25" },
      h2: { fontSize: "18px", lineHeight: "1.35" },
      h3: { fontSize: "15px", lineHeight: "1.4" },
    },
  },
  spacing: { xs: "8px", sm: "12px", md: "16px", lg: "24px", xl: "40px" },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-body": "#faf8f4",
    "--mantine-color-text": "#14171a",
    "--mantine-color-dimmed": "#5b5a56",
    "--mantine-color-anchor": "#1f5aa6",
    "--mantine-color-placeholder": "#6d6b66",
    "--mantine-color-error": "#b3261e",
    "--mantine-color-default": "#fffefb",
    "--mantine-color-default-hover": "#f2efe8",
    "--mantine-color-default-border": "#d3cfc5",
    "--pb-hairline": "#e2ded5",
    "--pb-raised": "#fffefb",
    "--pb-hover": "#f2efe8",
    "--pb-accent": "#1f5aa6",
    "--pb-success": "#2e7d4f",
    "--pb-warning": "#8f5500",
    "--pb-danger": "#b3261e",
    "--pb-on-filled": "#fffefb",
    "--pb-test-band": "#fae4be",
    "--pb-test-ink": "#4a2c00",
  },
  dark: {
    "--mantine-color-body": "#101214",
    "--mantine-color-text": "#e9e6df",
    "--mantine-color-dimmed": "#a5a29a",
    "--mantine-color-anchor": "#7fb0f0",
    "--mantine-color-placeholder": "#8f8c85",
    "--mantine-color-error": "#f2938c",
    "--mantine-color-default": "#181b1e",
    "--mantine-color-default-hover": "#202428",
    "--mantine-color-default-border": "#3a3f44",
    "--pb-hairline": "#2a2e32",
    "--pb-raised": "#16191b",
    "--pb-hover": "#1c2023",
    "--pb-accent": "#7fb0f0",
    "--pb-success": "#7cc79b",
    "--pb-warning": "#f0b95b",
    "--pb-danger": "#f2938c",
    "--pb-on-filled": "#101214",
    "--pb-test-band": "#4a2c00",
    "--pb-test-ink": "#fae4be",
  },
});
