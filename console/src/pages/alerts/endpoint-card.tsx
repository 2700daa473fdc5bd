import { ActionIcon, Button, Group, Menu, Text } from "@mantine/core";
import { useState } from "react";
import type { Endpoint } from "../../api/alerts.ts";
import { eventTypes } from "../../api/alerts.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Icon } from "../../parts/icon.tsx";
import { Moment } from "../../parts/moment.tsx";
import { StateWord } from "../../parts/state-word.tsx";
import { Refusal } from "../../parts/states.tsx";
import classes from "./alerts.module.css";
import { DeleteEndpoint } from "./delete-endpoint.tsx";
import { Deliveries } from "./deliveries.tsx";
import { EndpointForm } from "./endpoint-form.tsx";
import { RotateSecret } from "./rotate-secret.tsx";
import { useEndpointActs } from "./use-endpoint-acts.ts";

type Open = "change" | "rotate" | "delete";

export function EndpointCard({ endpoint }: { endpoint: Endpoint }) {
  const { mayChange } = useWallet();
  const [open, setOpen] = useState<Open>();
  const [hasLog, setHasLog] = useState(false);
  const { sendTest, toggle } = useEndpointActs(endpoint, () => setHasLog(true));
  const close = (): void => setOpen(undefined);
  return (
    <article className={classes.endpoint} aria-label={endpoint.url}>
      <div className={classes.head}>
        <About endpoint={endpoint} />
        <Group gap="xs" align="flex-start">
          <Button variant="subtle" color="ink" size="xs" aria-expanded={hasLog} onClick={() => setHasLog(!hasLog)}>
            {hasLog ? "Hide deliveries" : "Deliveries"}
          </Button>
          {mayChange && (
            <>
              <Button variant="default" size="xs" loading={sendTest.isPending} onClick={() => sendTest.mutate()}>
                Send a test event
              </Button>
              <EndpointMenu endpoint={endpoint} onToggle={() => toggle.mutate()} onOpen={setOpen} />
            </>
          )}
        </Group>
      </div>
      <Refusal error={sendTest.error ?? toggle.error} />
      {hasLog && <Deliveries endpointId={endpoint.id} />}
      {open === "change" && <EndpointForm endpoint={endpoint} onClose={close} />}
      {open === "rotate" && <RotateSecret endpoint={endpoint} onClose={close} />}
      {open === "delete" && <DeleteEndpoint endpoint={endpoint} onClose={close} />}
    </article>
  );
}

function About({ endpoint }: { endpoint: Endpoint }) {
  const { url, description, events, previous_secret_until: oldUntil } = endpoint;
  return (
    <div>
      <div className={`mono ${classes.url ?? ""}`}>{url}</div>
      <Text size="sm" component="div" my={2}>
        <EndpointState endpoint={endpoint} />
      </Text>
      <Text size="sm" c="dimmed">
        {description !== "" && `${description}. `}
        {events.length === eventTypes.length ? "Told of everything." : `Told of ${events.join(", ")}.`}
        {oldUntil !== null && (
          <>
            {" "}
            The secret before the last one ends <Moment at={oldUntil} />.
          </>
        )}
      </Text>
    </div>
  );
}

const offs = {
  owner: "Switched off",
  gone: "Switched off: it answered that it is gone",
  failing: "Switched off: nothing arrived for five days",
} as const;

function EndpointState({ endpoint }: { endpoint: Endpoint }) {
  const { enabled, disabled_reason: reason, failing_since: since } = endpoint;
  if (!enabled) return <StateWord tone={reason === "owner" ? "quiet" : "danger"}>{offs[reason ?? "owner"]}</StateWord>;
  if (since === null) return <StateWord tone="success">On</StateWord>;
  return (
    <StateWord tone="warning">
      Failing, first <Moment at={since} />
    </StateWord>
  );
}

function EndpointMenu(props: { endpoint: Endpoint; onToggle: () => void; onOpen: (open: Open) => void }) {
  const { endpoint, onToggle, onOpen } = props;
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="ink" aria-label={`More for ${endpoint.url}`}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onOpen("change")}>Change address and events</Menu.Item>
        <Menu.Item onClick={onToggle}>{endpoint.enabled ? "Switch off" : "Switch on"}</Menu.Item>
        <Menu.Item onClick={() => onOpen("rotate")}>Replace the secret</Menu.Item>
        <Menu.Divider />
        <Menu.Item c="var(--pb-danger)" onClick={() => onOpen("delete")}>
          Delete
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
