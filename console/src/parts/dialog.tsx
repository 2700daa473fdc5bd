import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import type { ReactNode, SubmitEvent } from "react";
import { Refusal } from "./states.tsx";

// Where the server wants to see the person again, that question comes to stand before this one (Mantine's is 200).
const below = 190;

/** A question with one answer button. Enter answers it, Escape leaves it. */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  action: string;
  isDangerous?: boolean;
  isReady?: boolean;
  isBusy: boolean;
  error: unknown;
  onSubmit: () => void;
  size?: string;
  children: ReactNode;
}) {
  const {
    title,
    onClose,
    action,
    isDangerous = false,
    isReady = true,
    isBusy,
    error,
    onSubmit,
    size,
    children,
  } = props;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isReady && !isBusy) onSubmit();
  };
  return (
    <Modal opened onClose={onClose} title={<Title text={title} />} size={size ?? "md"} zIndex={below} centered>
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          {children}
          <Refusal error={error} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isBusy} disabled={!isReady} {...(isDangerous && { color: "red" })}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** What came of it, and is shown this once: it closes only on purpose. */
export function Shown({
  title,
  onClose,
  action,
  children,
}: {
  title: string;
  onClose: () => void;
  action: string;
  children: ReactNode;
}) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={<Title text={title} />}
      size="lg"
      centered
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
      zIndex={below}
    >
      <Stack gap="md">
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose}>{action}</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Title({ text }: { text: string }) {
  return (
    <Text span fw={600} fz="lg">
      {text}
    </Text>
  );
}
