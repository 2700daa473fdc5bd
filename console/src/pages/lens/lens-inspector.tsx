import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { ApiProblem } from "../../api/client.ts";
import { inspectionQuery, lensesQuery } from "../../api/lenses.ts";
import { Page } from "../../components/page.tsx";
import { EmptyState, QueryState } from "../../components/states.tsx";
import { InspectionDetails } from "./inspection-details.tsx";
import classes from "./lens.module.css";

const route = getRouteApi("/signed-in/w/$walletId/lens");

/** The tier of a page in the ranking, where it comes from, and how to object. The URL of this page can be shared. */
export function LensInspector() {
  const { url = "", lens = "base" } = route.useSearch();
  const inspection = useQuery({ ...inspectionQuery(lens, url), enabled: url !== "" });
  const isInvalid = inspection.error instanceof ApiProblem && inspection.error.status === 400;
  return (
    <Page
      title="Lens inspector"
      description="See which tier a page has in the ranking, the rule or list behind it, and how to object."
    >
      <InspectionForm key={`${lens} ${url}`} initial={{ url, lens }} isInvalid={isInvalid} />
      {url === "" && (
        <EmptyState title="No page selected">
          Enter the URL of a page, or a domain. Inspecting is free, and no search is run.
        </EmptyState>
      )}
      {url !== "" && !isInvalid && <QueryState query={inspection} title="Couldn't inspect the page." rows={5} />}
      {inspection.data && <InspectionDetails inspection={inspection.data} />}
    </Page>
  );
}

function InspectionForm({ initial, isInvalid }: { initial: { url: string; lens: string }; isInvalid: boolean }) {
  const navigate = route.useNavigate();
  const lenses = useQuery(lensesQuery);
  const [url, setUrl] = useState(initial.url);
  const [lens, setLens] = useState(initial.lens);
  const names = lenses.data?.map(({ name }) => name) ?? [lens];
  const submit = (event: SubmitEvent): unknown => {
    event.preventDefault();
    return url.trim() !== "" && navigate({ search: { url: url.trim(), lens } });
  };
  return (
    <form onSubmit={submit} className={classes.form}>
      <TextInput
        label="URL or domain"
        placeholder="https://example.org/page"
        name="url"
        autoComplete="off"
        spellCheck={false}
        required
        maxLength={2_048}
        className={classes.url}
        error={isInvalid && "Enter a URL or a domain, such as example.org"}
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <NativeSelect
        label="Lens"
        value={lens}
        onChange={(event) => setLens(event.currentTarget.value)}
        data={names.map((name) => ({ value: name, label: name === "base" ? "base (no category)" : name }))}
      />
      <Button type="submit" className={classes.submit}>
        Inspect
      </Button>
    </form>
  );
}
