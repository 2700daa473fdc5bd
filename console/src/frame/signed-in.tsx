import { Outlet } from "@tanstack/react-router";
import { ConfirmPerson } from "./confirm-person.tsx";

/** Around everything that needs a person, the first run included. */
export function SignedIn() {
  return (
    <>
      <Outlet />
      <ConfirmPerson />
    </>
  );
}
