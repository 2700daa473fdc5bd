import { Button, type ButtonProps } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";

export function CopyButton(props: { text: string; label?: string; "aria-label"?: string } & ButtonProps) {
  const { text, label = "Copy", "aria-label": name, ...rest } = props;
  const clipboard = useClipboard({ timeout: 2_000 });
  return (
    <Button
      variant="default"
      size="xs"
      {...rest}
      onClick={() => clipboard.copy(text)}
      aria-live="polite"
      // Screen readers announce the visible text after copying.
      aria-label={clipboard.copied ? undefined : name}
    >
      {clipboard.copied ? "Copied" : label}
    </Button>
  );
}
