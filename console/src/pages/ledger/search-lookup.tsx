import { Button, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./ledger.module.css";

/** Opens the page of a search by its request ID. */
export function SearchLookup() {
  const { id } = useWallet();
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const requestId = text.trim();
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (requestId === "") return;
    await navigate({ to: "/w/$walletId/searches/$requestId", params: { walletId: id, requestId } });
  };
  return (
    <form className={classes.lookup} onSubmit={submit} role="search">
      <TextInput
        label="Was a search charged?"
        placeholder="Request ID, such as 0197c3f2-…"
        value={text}
        spellCheck={false}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Button type="submit" variant="default">
        Look up
      </Button>
    </form>
  );
}
