import { Button, Group, Modal, Stack } from "@mantine/core";
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
    <Box title={title} size={size ?? "md"} onClose={onClose}>
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
    </Box>
  );
}

/** What came of it, and is shown this once: it closes only on purpose. */
export function Shown(props: { title: string; onClose: () => void; action: string; children: ReactNode }) {
  const { title, onClose, action, children } = props;
  return (
    <Box title={title} size="lg" onClose={onClose} isHeld>
      <Stack gap="md">
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose}>{action}</Button>
        </Group>
      </Stack>
    </Box>
  );
}

/** Put together by hand: Mantine's own head is a second banner of the page. */
function Box(props: { title: string; size: string; onClose: () => void; isHeld?: boolean; children: ReactNode }) {
  const { title, size, onClose, isHeld = false, children } = props;
  return (
    <Modal.Root
      opened
      onClose={onClose}
      size={size}
      zIndex={below}
      closeOnClickOutside={!isHeld}
      closeOnEscape={!isHeld}
      centered
    >
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body p="lg">
          <Group justify="space-between" align="flex-start" wrap="nowrap" mb="md">
            <Modal.Title fw={600} fz="lg">
              {title}
            </Modal.Title>
            {!isHeld && <Modal.CloseButton aria-label="Close" />}
          </Group>
          {children}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
