import type { Category, Key } from "@pennyblack/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { isAppKey } from "../../api/apps.ts";
import { keysQuery } from "../../api/keys.ts";
import { runSearch, type SearchInput } from "../../api/playground.ts";
import type { Mode } from "../../api/wallet.ts";
import { Page } from "../../components/page.tsx";
import { InlineError, QueryState } from "../../components/states.tsx";
import { useMode } from "../../layout/mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { NoKey } from "./no-key.tsx";
import classes from "./playground.module.css";
import { ResponsePanel } from "./response-panel.tsx";
import { Results } from "./results.tsx";
import { SearchForm } from "./search-form.tsx";
import { TestQueries } from "./test-queries.tsx";

/** Runs one search and shows the complete response. Queries are not stored. */
export function Playground() {
  const { id, canEdit } = useWallet();
  const { mode } = useMode();
  const keys = useQuery(keysQuery(id));
  const usable = keys.data
    ?.filter((key) => key.mode === mode && key.state === "active" && !isAppKey(key))
    .toSorted((first, second) => (second.last_used_at ?? "").localeCompare(first.last_used_at ?? ""));
  const isViewer = mode === "live" && !canEdit;
  return (
    <Page
      title="Playground"
      description={
        mode === "live" ? "Run a live search, paid from this wallet." : "Run a free search with synthetic results."
      }
    >
      <QueryState query={keys} title="Couldn't load keys." rows={3} />
      {usable && (isViewer || usable.length === 0) && <NoKey mode={mode} walletId={id} isViewer={isViewer} />}
      {usable && !isViewer && usable.length > 0 && (
        <PlaygroundForm key={mode} mode={mode} walletId={id} keys={usable} />
      )}
    </Page>
  );
}

function PlaygroundForm({ mode, walletId, keys }: { mode: Mode; walletId: string; keys: Key[] }) {
  const queries = useQueryClient();
  const [query, setQuery] = useState("");
  const [category, setCategory] = useState<Category>();
  const [n, setN] = useState(10);
  const [chosenId, setChosenId] = useState(keys[0]?.id ?? "");
  const keyId = keys.some(({ id }) => id === chosenId) ? chosenId : (keys[0]?.id ?? "");

  const search = useMutation({
    mutationFn: (input: SearchInput) => runSearch(walletId, input),
    onSettled: () => queries.invalidateQueries({ queryKey: ["wallet", walletId] }),
  });
  const submit = (text: string): void => search.mutate({ keyId, query: text, n, category });

  return (
    <>
      <SearchForm
        mode={mode}
        walletId={walletId}
        keys={keys}
        input={{ query, category, n, keyId }}
        onChange={{ query: setQuery, category: setCategory, n: setN, keyId: setChosenId }}
        isBusy={search.isPending}
        onSearch={() => submit(query.trim())}
      />
      {mode === "test" && (
        <TestQueries
          run={(text) => {
            if (search.isPending) return;
            setQuery(text);
            submit(text);
          }}
        />
      )}
      <InlineError error={search.error} />
      <div className={classes.columns}>
        <Results walletId={walletId} mode={mode} response={search.data} isBusy={search.isPending} />
        <ResponsePanel
          walletId={walletId}
          response={search.data}
          isBusy={search.isPending}
          input={search.variables ?? { query, n, category, keyId }}
        />
      </div>
    </>
  );
}
