import { Button, Group, Modal, Stack } from "@mantine/core";
import type { ReactNode, SubmitEvent } from "react";
import { InlineError } from "./states.tsx";

// Below Mantine's default (200), so that the reauthentication dialog opens on top.
const zIndex = 190;

/** A form in a dialog. Enter submits, Escape cancels. */
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
    <DialogFrame title={title} size={size ?? "md"} onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          {children}
          <InlineError error={error} />
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
    </DialogFrame>
  );
}

/** Shows a secret once, so it closes only with its button. */
export function ResultDialog(props: { title: string; onClose: () => void; action: string; children: ReactNode }) {
  const { title, onClose, action, children } = props;
  return (
    <DialogFrame title={title} size="lg" onClose={onClose} isPersistent>
      <Stack gap="md">
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose}>{action}</Button>
        </Group>
      </Stack>
    </DialogFrame>
  );
}

/** Mantine's default modal header is a second banner landmark, so the title is in the body. */
function DialogFrame(props: {
  title: string;
  size: string;
  onClose: () => void;
  isPersistent?: boolean;
  children: ReactNode;
}) {
  const { title, size, onClose, isPersistent = false, children } = props;
  return (
    <Modal.Root
      opened
      onClose={onClose}
      size={size}
      zIndex={zIndex}
      closeOnClickOutside={!isPersistent}
      closeOnEscape={!isPersistent}
      centered
    >
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body p="lg">
          <Group justify="space-between" align="flex-start" wrap="nowrap" mb="md">
            <Modal.Title fw={600} fz="lg">
              {title}
            </Modal.Title>
            {!isPersistent && <Modal.CloseButton aria-label="Close" />}
          </Group>
          {children}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
