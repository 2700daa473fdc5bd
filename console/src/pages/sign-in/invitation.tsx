import { Page } from "../../parts/page.tsx";

export function Invitation() {
  return <Page title="Invitation">Soon.</Page>;
}
