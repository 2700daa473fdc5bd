import { Chip, Group } from "@mantine/core";
import { useId } from "react";
import classes from "./chips.module.css";

/** Single-choice filter. */
export function Chips<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly { value: Value; label: string }[];
  onChange: (value: Value) => void;
}) {
  const { label, value, options, onChange } = props;
  const labelId = useId();
  return (
    <Chip.Group value={value} onChange={onChange}>
      <div className={classes.chips} role="radiogroup" aria-labelledby={labelId}>
        <span className={classes.label} id={labelId}>
          {label}
        </span>
        <Group gap={6}>
          {options.map((option) => (
            <Chip key={option.value} value={option.value} size="xs" variant="outline" radius="sm">
              {option.label}
            </Chip>
          ))}
        </Group>
      </div>
    </Chip.Group>
  );
}
