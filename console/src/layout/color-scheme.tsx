import { Menu, useMantineColorScheme } from "@mantine/core";

const next = { auto: "light", light: "dark", dark: "auto" } as const;
const labels = { auto: "system", light: "light", dark: "dark" } as const;

export function ColorSchemeItem() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu.Item closeMenuOnClick={false} onClick={() => setColorScheme(next[colorScheme])}>
      Theme: {labels[colorScheme]}
    </Menu.Item>
  );
}
