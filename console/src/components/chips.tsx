import { Chip, Group } from "@mantine/core";

/** Single-choice filter. */
export function Chips<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange: (value: Value) => void;
}) {
  const { label, value, options, onChange } = props;
  return (
    <Chip.Group value={value} onChange={onChange}>
      <Group gap={6} role="radiogroup" aria-label={label}>
        {options.map((option) => (
          <Chip key={option.value} value={option.value} size="xs" variant="outline" radius="sm">
            {option.label}
          </Chip>
        ))}
      </Group>
    </Chip.Group>
  );
}
