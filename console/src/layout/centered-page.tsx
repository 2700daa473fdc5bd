import { Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import stamp from "../stamp.svg";
import classes from "./sheet.module.css";

/** A page outside of the frame: the stamp, one matter, and nothing else. */
export function Sheet(props: { title: string; about?: ReactNode; isWide?: boolean; children?: ReactNode }) {
  const { title, about, isWide = false, children } = props;
  useEffect(() => {
    document.title = `${title}, Pennyblack`;
  }, [title]);
  return (
    <main className={classes.sheet} data-wide={isWide || undefined}>
      <div className={classes.brand}>
        <img src={stamp} alt="" width="28" height="28" />
        Pennyblack
      </div>
      <Stack gap="lg">
        <div>
          <Title order={1}>{title}</Title>
          {about !== undefined && (
            <Text c="dimmed" mt={4}>
              {about}
            </Text>
          )}
        </div>
        {children}
      </Stack>
    </main>
  );
}
