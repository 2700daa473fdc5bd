import { TextInput, type TextInputProps } from "@mantine/core";

export function AmountInput(props: Omit<TextInputProps, "onChange"> & { onChange: (text: string) => void }) {
  const { onChange, ...rest } = props;
  return (
    <TextInput
      leftSection="$"
      leftSectionPointerEvents="none"
      inputMode="decimal"
      autoComplete="off"
      {...rest}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
