import { Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import stamp from "../stamp.svg";
import classes from "./centered-page.module.css";

/** A page without navigation, such as sign-in. */
export function CenteredPage(props: {
  title: string;
  description?: ReactNode;
  isWide?: boolean;
  children?: ReactNode;
}) {
  const { title, description, isWide = false, children } = props;
  useEffect(() => {
    document.title = `${title}, Pennyblack`;
  }, [title]);
  return (
    <main className={classes.page} data-wide={isWide || undefined}>
      <div className={classes.brand}>
        <img src={stamp} alt="" width="28" height="28" />
        Pennyblack
      </div>
      <Stack gap="lg">
        <div>
          <Title order={1}>{title}</Title>
          {description !== undefined && (
            <Text c="dimmed" mt={4}>
              {description}
            </Text>
          )}
        </div>
        {children}
      </Stack>
    </main>
  );
}
