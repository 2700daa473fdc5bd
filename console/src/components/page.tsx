import { Group, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import classes from "./page.module.css";

/** Page header and content. A page has at most one primary button. */
export function Page(props: { title: string; description?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const { title, description, actions, children } = props;
  useEffect(() => {
    document.title = `${title}, Pennyblack`;
  }, [title]);
  return (
    <div className={classes.page}>
      <Group justify="space-between" align="flex-start" gap="md" mb="lg">
        <div className={classes.header}>
          <Title order={1}>{title}</Title>
          {description !== undefined && (
            <Text c="dimmed" mt={4}>
              {description}
            </Text>
          )}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </div>
  );
}

export function Section(props: { title: string; description?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const { title, description, actions, children } = props;
  return (
    <section className={classes.section} aria-label={title}>
      <Group justify="space-between" align="flex-end" gap="md" mb="sm">
        <div>
          <Title order={2}>{title}</Title>
          {description !== undefined && (
            <Text c="dimmed" size="sm">
              {description}
            </Text>
          )}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </section>
  );
}
