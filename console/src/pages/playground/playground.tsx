import { Page } from "../../parts/page.tsx";

export function Playground() {
  return <Page title="Playground">Soon.</Page>;
}
