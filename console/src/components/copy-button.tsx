import { Button, type ButtonProps } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";

export function CopyButton({ text, label = "Copy", ...rest }: { text: string; label?: string } & ButtonProps) {
  const clipboard = useClipboard({ timeout: 2_000 });
  return (
    <Button variant="default" size="xs" {...rest} onClick={() => clipboard.copy(text)} aria-live="polite">
      {clipboard.copied ? "Copied" : label}
    </Button>
  );
}
