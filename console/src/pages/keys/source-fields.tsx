import { Stack, Textarea } from "@mantine/core";
import type { KeyDraft, KeyErrors } from "./key-draft.ts";

interface Props {
  draft: KeyDraft;
  errors: KeyErrors;
  onChange: (draft: KeyDraft) => void;
}

/** The source policy of a key. */
export function SourceFields({ draft, errors, onChange }: Props) {
  return (
    <Stack gap="md">
      <Textarea
        label="Blocked domains"
        description="Removes results from these domains and their subdomains. One per line."
        placeholder={"example.com\nforum.example.net"}
        autosize
        minRows={2}
        maxRows={8}
        classNames={{ input: "mono" }}
        value={draft.block}
        error={errors.block}
        onChange={(event) => onChange({ ...draft, block: event.currentTarget.value })}
      />
      <Textarea
        label="Allowed domains"
        description="Removes all other results. Leave empty to allow every domain."
        placeholder="docs.example.com"
        autosize
        minRows={2}
        maxRows={8}
        classNames={{ input: "mono" }}
        value={draft.only}
        error={errors.only}
        onChange={(event) => onChange({ ...draft, only: event.currentTarget.value })}
      />
    </Stack>
  );
}
