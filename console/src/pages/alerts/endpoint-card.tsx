import { ActionIcon, Button, Group, Menu, Text } from "@mantine/core";
import type { Webhook } from "@pennyblack/sdk";
import { useState } from "react";
import { Icon } from "../../components/icon.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { InlineError } from "../../components/states.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./alerts.module.css";
import { DeleteEndpoint } from "./delete-endpoint.tsx";
import { Deliveries } from "./deliveries.tsx";
import { eventTypes } from "./describe-delivery.ts";
import { EndpointForm } from "./endpoint-form.tsx";
import { RotateSecret } from "./rotate-secret.tsx";
import { useEndpointActions } from "./use-endpoint-actions.ts";

type OpenDialog = "change" | "rotate" | "delete";

export function EndpointCard({ endpoint }: { endpoint: Webhook }) {
  const { canEdit } = useWallet();
  const [open, setOpen] = useState<OpenDialog>();
  const [isLogOpen, setIsLogOpen] = useState(false);
  const { sendTest, toggle } = useEndpointActions(endpoint, () => setIsLogOpen(true));
  const close = (): void => setOpen(undefined);
  return (
    <article className={classes.endpoint} aria-label={endpoint.url}>
      <div className={classes.header}>
        <EndpointSummary endpoint={endpoint} />
        <Group gap="xs" align="flex-start">
          <Button
            variant="subtle"
            color="ink"
            size="xs"
            aria-expanded={isLogOpen}
            onClick={() => setIsLogOpen(!isLogOpen)}
          >
            {isLogOpen ? "Hide deliveries" : "Deliveries"}
          </Button>
          {canEdit && (
            <>
              <Button variant="default" size="xs" loading={sendTest.isPending} onClick={() => sendTest.mutate()}>
                Send test event
              </Button>
              <EndpointMenu endpoint={endpoint} onToggle={() => toggle.mutate()} onOpen={setOpen} />
            </>
          )}
        </Group>
      </div>
      <InlineError error={sendTest.error ?? toggle.error} />
      {isLogOpen && <Deliveries endpointId={endpoint.id} />}
      {open === "change" && <EndpointForm endpoint={endpoint} onClose={close} />}
      {open === "rotate" && <RotateSecret endpoint={endpoint} onClose={close} />}
      {open === "delete" && <DeleteEndpoint endpoint={endpoint} onClose={close} />}
    </article>
  );
}

function EndpointSummary({ endpoint }: { endpoint: Webhook }) {
  const { url, description, events, previous_secret_until: previousUntil } = endpoint;
  return (
    <div>
      <div className={`mono ${classes.url ?? ""}`}>{url}</div>
      <Text size="sm" component="div" my={2}>
        <EndpointStatus endpoint={endpoint} />
      </Text>
      <Text size="sm" c="dimmed">
        {description !== "" && `${description}. `}
        {events.length === eventTypes.length ? "All events." : `Events: ${events.join(", ")}.`}
        {previousUntil !== null && (
          <>
            {" "}
            The previous secret expires <RelativeTime at={previousUntil} />.
          </>
        )}
      </Text>
    </div>
  );
}

const disabledReasons = {
  owner: "Disabled",
  gone: "Disabled: it returned 410 Gone",
  failing: "Disabled: every delivery failed for five days",
} as const;

function EndpointStatus({ endpoint }: { endpoint: Webhook }) {
  const { enabled, disabled_reason: reason, failing_since: since } = endpoint;
  if (!enabled)
    return (
      <StatusBadge tone={reason === "owner" ? "neutral" : "danger"}>{disabledReasons[reason ?? "owner"]}</StatusBadge>
    );
  if (since === null) return <StatusBadge tone="success">Enabled</StatusBadge>;
  return (
    <StatusBadge tone="warning">
      Failing, started <RelativeTime at={since} />
    </StatusBadge>
  );
}

function EndpointMenu(props: { endpoint: Webhook; onToggle: () => void; onOpen: (open: OpenDialog) => void }) {
  const { endpoint, onToggle, onOpen } = props;
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="ink" aria-label={`Actions for ${endpoint.url}`}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onOpen("change")}>Edit</Menu.Item>
        <Menu.Item onClick={onToggle}>{endpoint.enabled ? "Disable" : "Enable"}</Menu.Item>
        <Menu.Item onClick={() => onOpen("rotate")}>Rotate secret</Menu.Item>
        <Menu.Divider />
        <Menu.Item c="var(--pb-danger)" onClick={() => onOpen("delete")}>
          Delete
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
