import { SegmentedControl, Stack, Tabs, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { PlaygroundResponse, SearchInput } from "../../api/playground.ts";
import { useSession } from "../../api/session.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { formatCodeSample, type Language } from "../../format/format-code-sample.ts";
import classes from "./playground.module.css";
import { Ranking } from "./ranking.tsx";
import { ResponseSummary } from "./response-summary.tsx";
import { Timing } from "./timing.tsx";

const tabs = ["Summary", "JSON", "Headers", "Timing", "Ranking", "Code"] as const;

type Tab = (typeof tabs)[number];

export function ResponsePanel(props: {
  walletId: string;
  response: PlaygroundResponse | undefined;
  input: SearchInput;
  isBusy: boolean;
}) {
  const { walletId, response, input, isBusy } = props;
  const [activeTab, setActiveTab] = useState<Tab>("Summary");
  const views: Record<Exclude<Tab, "Code">, (response: PlaygroundResponse) => ReactNode> = {
    Summary: (shown) => <ResponseSummary response={shown} walletId={walletId} />,
    JSON: (shown) => <CodeBlock text={JSON.stringify(shown.body, undefined, 2)} label="response JSON" />,
    Headers: (shown) => <HeaderList headers={shown.headers} />,
    Timing: (shown) => <Timing response={shown} />,
    Ranking: (shown) => <Ranking response={shown} />,
  };
  const render = (tab: Tab): ReactNode => {
    if (tab === "Code") return <CodeSample input={input} />;
    if (response && !isBusy) return views[tab](response);
    return <Text c="dimmed">{isBusy ? "Searching…" : "Run a search to see the response."}</Text>;
  };
  return (
    <section aria-label="API response" className={classes.panel}>
      <Tabs value={activeTab} onChange={(value) => setActiveTab((value ?? "Summary") as Tab)} keepMounted={false}>
        <Tabs.List mb="md" className={classes.tabs}>
          {tabs.map((tab) => (
            <Tabs.Tab key={tab} value={tab} px={8}>
              {tab}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map((tab) => (
          <Tabs.Panel key={tab} value={tab}>
            {render(tab)}
          </Tabs.Panel>
        ))}
      </Tabs>
    </section>
  );
}

function HeaderList({ headers }: { headers: Headers }) {
  const lines = [...headers].map(([tab, value]) => `${tab}: ${value}`);
  return <CodeBlock text={lines.join("\n")} label="response headers" isWrapped />;
}

const languages: Language[] = ["curl", "TypeScript", "Python", "MCP"];

function CodeSample({ input }: { input: SearchInput }) {
  const { public_url: url } = useSession();
  const [language, setLanguage] = useState<Language>("curl");
  const { n, category } = input;
  const query = input.query.trim() || "postgresql advisory locks";
  return (
    <Stack gap="sm">
      <SegmentedControl
        size="xs"
        aria-label="Language"
        value={language}
        onChange={(value) => setLanguage(value)}
        data={languages}
      />
      <CodeBlock text={formatCodeSample(language, { url, query, n, category })} label={`${language} example`} />
      <Text size="sm" c="dimmed">
        {language === "MCP"
          ? "For assistants that support the Model Context Protocol. Use a key with its own budget."
          : "The key is read from PENNYBLACK_API_KEY. Keys are shown only once, when they are created."}
      </Text>
    </Stack>
  );
}
