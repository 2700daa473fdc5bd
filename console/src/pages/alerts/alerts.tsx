import { Page } from "../../parts/page.tsx";

export function Alerts() {
  return <Page title="Alerts">Soon.</Page>;
}
