import { Outlet } from "@tanstack/react-router";
import { ReauthenticateDialog } from "./reauthenticate-dialog.tsx";

/** Wraps all pages that require a session. */
export function AuthenticatedLayout() {
  return (
    <>
      <Outlet />
      <ReauthenticateDialog />
    </>
  );
}
