import { Page } from "../../parts/page.tsx";

export function SignIn() {
  return <Page title="SignIn">Soon.</Page>;
}
