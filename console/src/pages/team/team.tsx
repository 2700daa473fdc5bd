import { Page } from "../../parts/page.tsx";

export function Team() {
  return <Page title="Team">Soon.</Page>;
}
