import { SegmentedControl, Stack, Tabs, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { Outcome, Question } from "../../api/playground.ts";
import { useSession } from "../../api/session.ts";
import { Code } from "../../parts/code.tsx";
import { type Language, writeCode } from "../../words/write-code.ts";
import classes from "./playground.module.css";
import { Receipt } from "./receipt.tsx";
import { Timing } from "./timing.tsx";
import { Why } from "./why.tsx";

const names = ["Answer", "JSON", "Headers", "Timing", "Why", "Code"] as const;

type Name = (typeof names)[number];

/** Right: what a program gets. */
export function Panel(props: { walletId: string; outcome: Outcome | undefined; question: Question; isBusy: boolean }) {
  const { walletId, outcome, question, isBusy } = props;
  const [chosen, setChosen] = useState<Name>("Answer");
  const views: Record<Exclude<Name, "Code">, (outcome: Outcome) => ReactNode> = {
    Answer: (shown) => <Receipt outcome={shown} walletId={walletId} />,
    JSON: (shown) => <Code text={JSON.stringify(shown.body, undefined, 2)} label="the answer as JSON" />,
    Headers: (shown) => <HeaderList headers={shown.headers} />,
    Timing: (shown) => <Timing outcome={shown} />,
    Why: (shown) => <Why outcome={shown} />,
  };
  const show = (name: Name): ReactNode => {
    if (name === "Code") return <CodeView question={question} />;
    if (outcome && !isBusy) return views[name](outcome);
    return <Text c="dimmed">{isBusy ? "On its way." : "Nothing yet: search first."}</Text>;
  };
  return (
    <section aria-label="What the API said" className={classes.panel}>
      <Tabs value={chosen} onChange={(value) => setChosen((value ?? "Answer") as Name)} keepMounted={false}>
        <Tabs.List mb="md" className={classes.tabs}>
          {names.map((name) => (
            <Tabs.Tab key={name} value={name} px={8}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {names.map((name) => (
          <Tabs.Panel key={name} value={name}>
            {show(name)}
          </Tabs.Panel>
        ))}
      </Tabs>
    </section>
  );
}

function HeaderList({ headers }: { headers: Headers }) {
  const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
  return <Code text={lines.join("\n")} label="the headers of the answer" isWrapped />;
}

const languages: Language[] = ["curl", "TypeScript", "Python", "MCP"];

function CodeView({ question }: { question: Question }) {
  const { public_url: url } = useSession();
  const [language, setLanguage] = useState<Language>("curl");
  const { n, category } = question;
  const query = question.query.trim() || "postgresql advisory locks";
  return (
    <Stack gap="sm">
      <SegmentedControl
        size="xs"
        aria-label="Language"
        value={language}
        onChange={(value) => setLanguage(value)}
        data={languages}
      />
      <Code text={writeCode(language, { url, query, n, category })} label={`this search in ${language}`} />
      <Text size="sm" c="dimmed">
        {language === "MCP"
          ? "For an assistant that speaks the Model Context Protocol. Give it a key with a budget of its own."
          : "The key is taken from PENNYBLACK_API_KEY: it was shown once, when it was made."}
      </Text>
    </Stack>
  );
}
