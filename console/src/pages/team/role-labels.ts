import type { Role } from "../../api/session.ts";

export const roleLabels: Record<Role, { name: string; description: string }> = {
  owner: { name: "Owner", description: "Full access, including the team" },
  developer: { name: "Developer", description: "Manages keys, payments, alerts and webhooks, but not the team" },
  viewer: { name: "Viewer", description: "Read-only access, and searches with test keys" },
};

export const roles = ["owner", "developer", "viewer"] as const;
