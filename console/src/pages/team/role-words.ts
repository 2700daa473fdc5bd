import type { Role } from "../../api/session.ts";

/** What each role may do. */
export const roleWords: Record<Role, { name: string; may: string }> = {
  owner: { name: "Owner", may: "everything, and says who else is in the team" },
  developer: { name: "Developer", may: "keys, money, alerts and webhooks, but not the team" },
  viewer: { name: "Viewer", may: "sees everything and changes nothing; searches with test keys" },
};

export const roles = ["owner", "developer", "viewer"] as const;
