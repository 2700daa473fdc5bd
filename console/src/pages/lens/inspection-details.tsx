import { Anchor, Text } from "@mantine/core";
import type { LensInspection } from "@pennyblack/sdk";
import type { ReactNode } from "react";
import { LensLink } from "../../components/lens-link.tsx";
import { Section } from "../../components/page.tsx";
import { TierBadge } from "../../components/tier-badge.tsx";
import classes from "./lens.module.css";

export function InspectionDetails({ inspection }: { inspection: LensInspection }) {
  const { host, lens, tier, reason, rule, registry, objection_url: objectionUrl } = inspection;
  const facts: [string, ReactNode][] = [
    ["Tier", <TierBadge key="tier" tier={tier} reason={reason} />],
    ["Rule", rule === null ? "None" : <code className={classes.rule}>{rule}</code>],
    ["List", registry === null ? "None" : <ListFacts registry={registry} />],
    ["Lens", <LensLink key="lens" lens={lens} />],
  ];
  return (
    <>
      <Section title={host}>
        <dl className={classes.facts}>
          {facts.map(([term, value]) => (
            <div key={term} className={classes.row}>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </Section>
      <Section title="How to object">
        <Text maw={640}>
          {describeObjection(inspection)}{" "}
          <Anchor href={objectionUrl} target="_blank" underline="always">
            How objections are handled
          </Anchor>
        </Text>
      </Section>
    </>
  );
}

function ListFacts({ registry }: { registry: NonNullable<LensInspection["registry"]> }) {
  const { title, source, licence, attribution, retrieved } = registry;
  const isWeb = /^https?:\/\//.test(source);
  return (
    <>
      <Anchor href={isWeb ? source : undefined} target="_blank" rel="noopener noreferrer">
        {title}
      </Anchor>
      <Text size="sm" c="dimmed">
        By {attribution}. Terms: {licence}. Copy of {retrieved}.
      </Text>
    </>
  );
}

function describeObjection({ rule, registry }: LensInspection): string {
  if (registry)
    return "The tier comes from the published list. Ask its authors to correct it, or open an issue here, because a rule overrides the list.";
  if (rule !== null)
    return "The tier comes from a rule written by hand. If it is wrong, open an issue and describe what kind of source the site is.";
  return "No rule or list names this site, so it is neutral. To suggest a rule, open an issue and describe what kind of source the site is.";
}
