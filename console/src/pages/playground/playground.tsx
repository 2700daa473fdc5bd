import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Key } from "../../api/keys.ts";
import { keysQuery } from "../../api/keys.ts";
import { type Category, type Question, searchOnce } from "../../api/playground.ts";
import type { Mode } from "../../api/wallet.ts";
import { useMode } from "../../frame/mode.tsx";
import { useWallet } from "../../frame/use-wallet.ts";
import { Page } from "../../parts/page.tsx";
import { Failure, Refusal, RowsSkeleton } from "../../parts/states.tsx";
import { AskForm } from "./ask-form.tsx";
import { FailureChips } from "./failure-chips.tsx";
import { NoKey } from "./no-key.tsx";
import { Panel } from "./panel.tsx";
import classes from "./playground.module.css";
import { Results } from "./results.tsx";

/** A search by hand, with everything that the API tells about it. Queries are kept nowhere. */
export function Playground() {
  const { id, mayChange } = useWallet();
  const { mode } = useMode();
  const keys = useQuery(keysQuery(id));
  const usable = keys.data
    ?.filter((key) => key.mode === mode && key.state === "active")
    .toSorted((one, other) => (other.last_used_at ?? "").localeCompare(one.last_used_at ?? ""));
  const isRefused = mode === "live" && !mayChange;
  return (
    <Page
      title="Playground"
      about={mode === "live" ? "A real search, paid from this wallet." : "A search with made-up results. Free."}
    >
      {keys.isPending && <RowsSkeleton rows={3} />}
      {keys.error && !keys.data && (
        <Failure error={keys.error} what="The keys of this wallet could not be read." retry={() => keys.refetch()} />
      )}
      {usable && (isRefused || usable.length === 0) && <NoKey mode={mode} walletId={id} isRefused={isRefused} />}
      {usable && !isRefused && usable.length > 0 && <Bench key={mode} mode={mode} walletId={id} keys={usable} />}
    </Page>
  );
}

function Bench({ mode, walletId, keys }: { mode: Mode; walletId: string; keys: Key[] }) {
  const queries = useQueryClient();
  const [query, setQuery] = useState("");
  const [category, setCategory] = useState<Category>();
  const [n, setN] = useState(10);
  const [chosenId, setChosenId] = useState(keys[0]?.id ?? "");
  const keyId = keys.some(({ id }) => id === chosenId) ? chosenId : (keys[0]?.id ?? "");

  const search = useMutation({
    mutationFn: (question: Question) => searchOnce(walletId, question),
    onSettled: () => queries.invalidateQueries({ queryKey: ["wallet", walletId] }),
  });
  const ask = (words: string): void => search.mutate({ keyId, query: words, n, category });

  return (
    <>
      <AskForm
        mode={mode}
        walletId={walletId}
        keys={keys}
        question={{ query, category, n, keyId }}
        change={{ query: setQuery, category: setCategory, n: setN, keyId: setChosenId }}
        isBusy={search.isPending}
        ask={() => ask(query.trim())}
      />
      {mode === "test" && (
        <FailureChips
          run={(words) => {
            if (search.isPending) return;
            setQuery(words);
            ask(words);
          }}
        />
      )}
      <Refusal error={search.error} />
      <div className={classes.columns}>
        <Results walletId={walletId} mode={mode} outcome={search.data} isBusy={search.isPending} />
        <Panel
          walletId={walletId}
          outcome={search.data}
          isBusy={search.isPending}
          question={search.variables ?? { query, n, category, keyId }}
        />
      </div>
    </>
  );
}
