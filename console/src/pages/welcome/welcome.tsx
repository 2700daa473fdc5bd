import { Page } from "../../parts/page.tsx";

export function Welcome() {
  return <Page title="Welcome">Soon.</Page>;
}
