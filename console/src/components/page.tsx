import { Group, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import classes from "./page.module.css";

/** A page: what it is, one sentence on what it is for, at most one primary button. */
export function Page(props: { title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const { title, about, actions, children } = props;
  useEffect(() => {
    document.title = `${title}, Pennyblack`;
  }, [title]);
  return (
    <div className={classes.page}>
      <Group justify="space-between" align="flex-start" gap="md" mb="lg">
        <div className={classes.head}>
          <Title order={1}>{title}</Title>
          {about !== undefined && (
            <Text c="dimmed" mt={4}>
              {about}
            </Text>
          )}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </div>
  );
}

/** A part of a page under a heading of its own, above a hairline. */
export function Section(props: { title: string; about?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const { title, about, actions, children } = props;
  return (
    <section className={classes.section} aria-label={title}>
      <Group justify="space-between" align="flex-end" gap="md" mb="sm">
        <div>
          <Title order={2}>{title}</Title>
          {about !== undefined && (
            <Text c="dimmed" size="sm">
              {about}
            </Text>
          )}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </section>
  );
}
