import { Button, Group, TextInput } from "@mantine/core";
import { useState } from "react";

export function SearchBox(props: { label: string; placeholder: string; onSearch: (text: string) => void }) {
  const [text, setText] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        props.onSearch(text.trim());
      }}
    >
      <Group align="flex-end" mb="lg">
        <TextInput
          label={props.label}
          placeholder={props.placeholder}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          w={{ base: "100%", xs: 320 }}
        />
        <Button type="submit" variant="default">
          Find
        </Button>
      </Group>
    </form>
  );
}
