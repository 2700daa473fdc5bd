import { Menu, useMantineColorScheme } from "@mantine/core";

const next = { auto: "light", light: "dark", dark: "auto" } as const;
const words = { auto: "as the system", light: "light", dark: "dark" } as const;

export function ColorSchemeItem() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu.Item closeMenuOnClick={false} onClick={() => setColorScheme(next[colorScheme])}>
      Colours: {words[colorScheme]}
    </Menu.Item>
  );
}
